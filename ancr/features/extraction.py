"""Run batches of images through a network and a pooling."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ancr._core.arrays import thread_count
from ancr._core.progress import progress_bar
from ancr.features._torch import choose_device, import_torch
from ancr.features.backbones import Backbone
from ancr.features.images import DecodedImages, Image, collate
from ancr.features.pooling import average_pooling, bilinear_pooling, fisher_pooling

_POOLINGS = {"average": average_pooling, "bilinear": bilinear_pooling}


@dataclass
class Batch:
    """Result of a batch: vectors or local descriptors of the readable images, and error messages for the others."""

    positions: list[int]
    readable: list[int]
    output: Any
    reasons: dict[int, str]


@dataclass
class Extractor:
    """A network and its pooling, with the settings to run them.

    Parameters
    ----------
    network : Backbone
        The network with its output layer.
    pooling : {"average", "bilinear", "fisher"} or None
        Pooling of local descriptors; None if the network gives vectors.
    mixture : GaussianMixture or None
        Mixture of Fisher vectors.
    batch_size, device, precision
        As in :class:`ancr.features.DeepFeatures`.
    """

    network: Backbone
    pooling: str | None
    mixture: Any
    batch_size: int
    device: Any
    precision: str

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that a vector depends on besides its image."""
        identity = {**self.network.identity, "pooling": self.pooling, "precision": self.precision}
        if self.mixture is not None:
            parts = (self.mixture.weights_, self.mixture.means_, self.mixture.covariances_)
            content = b"".join(np.ascontiguousarray(part).tobytes() for part in parts)
            identity["mixture"] = hashlib.blake2b(content, digest_size=16).hexdigest()
        return identity

    def batches(self, images: Sequence[Image]) -> Iterator[Batch]:
        """Yield batches with vectors (n_readable, width) as NumPy arrays."""
        for batch in self.raw_batches(images):
            if batch.readable:
                batch.output = self._pool(batch.output)
            yield batch

    def raw_batches(self, images: Sequence[Image]) -> Iterator[Batch]:
        """Yield batches with the network's output as tensors; other processes decode the next images."""
        self.prepare()
        with progress_bar("images", len(images), enabled=not self._are_few(images)) as advance:
            for positions, readable, tensors, reasons in self._loader(images):
                output = self.run(tensors) if readable else None
                yield Batch(positions, readable, output, reasons)
                advance(len(positions))

    def prepare(self) -> None:
        """Move the network to the device."""
        self.network.module.to(self.device, memory_format=self._layout)

    def run(self, tensors: Any) -> Any:
        """Run the network on preprocessed images in the chosen precision; the output is float32."""
        torch = import_torch()
        precision = getattr(torch, self.precision)
        mixed = torch.autocast(self.device.type, dtype=precision, enabled=precision != torch.float32)
        with torch.inference_mode(), mixed:
            tensors = tensors.to(self.device, non_blocking=True, memory_format=self._layout)
            return self.network.forward(tensors).float()

    @property
    def _layout(self) -> Any:
        """Memory format: channels last is faster on tensor cores."""
        torch = import_torch()
        return torch.channels_last if self.device.type == "cuda" else torch.contiguous_format

    def sample_descriptors(
        self, images: Sequence[Image], n_descriptors: int, random_state: int
    ) -> Iterator[tuple[Batch, list[np.ndarray]]]:
        """Yield batches with local descriptors, equally many per image and at most ``n_descriptors`` in total."""
        random = np.random.default_rng(random_state)
        each = max(1, n_descriptors // max(1, len(images)))
        for batch in self.raw_batches(images):
            local = batch.output.cpu().numpy() if batch.readable else ()
            yield batch, [image[random.permutation(len(image))[:each]] for image in local]

    def _are_few(self, images: Sequence[Image]) -> bool:
        """Whether starting a process takes longer than decoding them."""
        return len(images) <= 2 * self.batch_size

    def _loader(self, images: Sequence[Image]) -> Any:
        from torch.utils.data import DataLoader

        return DataLoader(
            DecodedImages(images, self.network.transform),
            batch_size=self.batch_size,
            num_workers=0 if self._are_few(images) else min(8, thread_count() - 1),
            collate_fn=collate,
            pin_memory=self.device.type == "cuda",
        )

    def _pool(self, output: Any) -> np.ndarray:
        if self.pooling == "fisher":
            return fisher_pooling(output.cpu().numpy(), self.mixture)
        if self.pooling is not None:
            output = _POOLINGS[self.pooling](output)
        return output.cpu().numpy()


def resolve_precision(precision: str, device: str) -> str:
    """``"auto"`` is float16 on a CUDA GPU and float32 elsewhere."""
    if precision != "auto":
        return precision
    return "float16" if choose_device(device).type == "cuda" else "float32"
