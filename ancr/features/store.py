"""Feature vectors by the content of their images, in memory or on disk."""

import hashlib
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ancr._core.files import PathLike, atomic_folder, write_text


class FeatureStore:
    """Vectors by 16-byte digest, added in blocks.

    On disk, a block is a folder of two arrays, ``digests.npy`` and ``features.npy``. It is written under a
    temporary name and renamed when complete, so a killed process loses only the block that it was writing, and the
    next process deletes its draft. Several processes can write at the same time, because each block has a unique
    name; at worst they compute the same vector twice. Blocks are memory-mapped when read.

    Parameters
    ----------
    folder : path-like or None
        Folder of all features on disk; None keeps them in memory.
    identity : dict
        Everything that the vectors depend on besides the image; each identity has a sub-folder, which documents
        it in ``identity.json``.
    """

    def __init__(self, folder: PathLike | None, identity: Mapping[str, Any]) -> None:
        self.folder: Path | None = None
        self._blocks: list[np.ndarray] = []
        self._places: dict[bytes | None, tuple[int, int]] = {}
        if folder is not None:
            text = json.dumps(identity, sort_keys=True, indent=1)
            self.folder = Path(folder) / hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
            self.folder.mkdir(parents=True, exist_ok=True)
            write_text(self.folder / "identity.json", text)
            self._open(self.folder)

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._places

    def add(self, digests: Sequence[bytes], features: np.ndarray) -> None:
        """Add the vectors of a block of images."""
        features = np.ascontiguousarray(features, dtype=np.float32)
        if self.folder is not None:
            features = _write(self.folder, digests, features)
        self._register(digests, features)

    def gather(self, digests: Sequence[bytes | None]) -> np.ndarray:
        """Vectors of images, one row per image; NaN for images that are not in the store."""
        width = self._blocks[0].shape[1] if self._blocks else 0
        out = np.full((len(digests), width), np.nan, np.float32)
        places = np.array([self._places.get(digest, (-1, -1)) for digest in digests]).reshape(-1, 2)
        for number in np.unique(places[places[:, 0] >= 0, 0]):
            here = places[:, 0] == number
            out[here] = self._blocks[number][places[here, 1]]
        return out

    def _register(self, digests: Sequence[bytes], features: np.ndarray) -> None:
        self._blocks.append(features)
        number = len(self._blocks) - 1
        self._places |= {digest: (number, row) for row, digest in enumerate(digests)}

    def _open(self, folder: Path) -> None:
        for block in sorted(folder.glob("block-*")):
            try:
                digests = [row.tobytes() for row in np.load(block / "digests.npy")]
                features = np.load(block / "features.npy", mmap_mode="r")
            except (OSError, ValueError):
                continue  # incomplete after a power failure: its images are computed again
            self._register(digests, features)


def _write(folder: Path, digests: Sequence[bytes], features: np.ndarray) -> np.ndarray:
    block = folder / f"block-{time.time_ns():020d}-{uuid.uuid4().hex[:8]}"
    with atomic_folder(block) as draft:
        np.save(draft / "digests.npy", np.frombuffer(b"".join(digests), np.uint8).reshape(len(digests), -1))
        np.save(draft / "features.npy", features)
    return np.load(block / "features.npy", mmap_mode="r")
