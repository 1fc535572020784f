"""What a sample is, whatever its place and name: the digest of its content, with a number where contents are equal.

Labels, pictures and exports go by it, so that adding, deleting, renaming and reordering samples leaves them right.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ancr.samples.sample_set import Samples, of_images

_DIGEST = 12
_CHUNK = 4096


@dataclass(frozen=True)
class Known:
    """A sample that a project has seen.

    Attributes
    ----------
    id : str
        Its identity.
    content : str
        Digest of its content.
    name : str
        Its name when it was seen last.
    """

    id: str
    content: str
    name: str


def digest(content: bytes) -> str:
    """The digest of a file or a row."""
    return hashlib.blake2b(content, digest_size=_DIGEST).hexdigest()


def contents(samples: Samples) -> list[str]:
    """The digest of each sample: of its image file, or of its row of numbers and its name, if the data gives one."""
    if samples.image_paths and of_images(samples.features):
        return [digest(_bytes(path)) for path in samples.image_paths]
    names = [b""] * len(samples) if has_counted_names(samples) else [encoded(name) for name in samples.names.tolist()]
    found = []
    for start in range(0, len(samples), _CHUNK):
        rows = _row_bytes(samples.vectors[start : start + _CHUNK])
        found += [digest(row + name) for row, name in zip(rows, names[start : start + _CHUNK], strict=True)]
    return found


def _row_bytes(rows: np.ndarray) -> list[bytes]:
    """Each row as bytes that equal rows share; a table with words as JSON, where NaN and None are gaps."""
    if rows.dtype.kind == "O":
        return [json.dumps(row).encode() for row in rows.tolist()]
    return [row.tobytes() for row in np.ascontiguousarray(rows, dtype=np.float64) + 0.0]  # no −0


def has_counted_names(samples: Samples) -> bool:
    """Whether names only count the rows."""
    names = samples.names.tolist()
    first = names[0].removeprefix("row ") if names else ""
    return first.isdecimal() and names == [f"row {number}" for number in range(int(first), int(first) + len(names))]


def encoded(text: str) -> bytes:
    """Text in UTF-8, whatever surrogates it has."""
    return text.encode("utf-8", "surrogatepass")


def identities(digests: Sequence[str], names: Sequence[str], known: Iterable[Known], are_keys: bool) -> list[str]:
    """The identity of each sample, the one it had before if the project has seen it.

    Equal contents are told apart by their names, then by order.

    Parameters
    ----------
    digests, names : sequence of str
        Content and name of each sample.
    known : iterable of Known
        What the project has seen.
    are_keys : bool
        Whether names are keys of rows: a row whose content has changed is still the sample of that name.

    Examples
    --------
    >>> from ancr.studio.identities import Known, identities
    >>> identities(["aa", "aa", "bb"], ["x", "y", "z"], [], False)
    ['aa', 'aa-2', 'bb']
    >>> identities(["aa", "bb"], ["y", "z"], [Known("aa", "aa", "x"), Known("aa-2", "aa", "y")], False)
    ['aa-2', 'bb']
    """
    left: dict[str, dict[str, str]] = defaultdict(dict)  # content: {id: name}
    for one in known:
        left[one.content][one.id] = one.name
    taken = {id for ids in left.values() for id in ids}
    places: dict[str, list[int]] = defaultdict(list)
    for place, content in enumerate(digests):
        places[content].append(place)
    found: dict[int, str] = {}
    for content, here in places.items():
        _claim(found, here, names, left[content])
    if are_keys:
        _claim_by_key(found, names, [pair for ids in left.values() for pair in ids.items()])
    counts: dict[str, int] = defaultdict(int)
    for place, content in enumerate(digests):
        if place not in found:
            found[place] = _fresh(content, taken, counts)
            taken.add(found[place])
    return [found[place] for place in range(len(digests))]


def _claim(found: dict[int, str], here: list[int], names: Sequence[str], left: dict[str, str]) -> None:
    """Give samples of one content the identities that are left for it: those of the same name, then the others."""
    by_name: dict[str, list[int]] = defaultdict(list)
    for place in reversed(here):
        by_name[names[place]].append(place)
    for id, name in list(left.items()):
        if by_name[name]:
            found[by_name[name].pop()] = id
            del left[id]
    for place, id in zip([place for place in here if place not in found], list(left), strict=False):
        found[place] = id
        del left[id]


def _claim_by_key(found: dict[int, str], names: Sequence[str], left: list[tuple[str, str]]) -> None:
    """Give rows that are new by content the identities of rows of the same name whose content is gone."""
    by_name = {name: id for id, name in left}
    for place, name in enumerate(names):
        if place not in found and name in by_name:
            found[place] = by_name.pop(name)


def _fresh(content: str, taken: set[str], counts: dict[str, int]) -> str:
    """An identity that nothing has: the content, with the next number where others have the same."""
    id = content
    while id in taken or not counts[content]:
        counts[content] += 1
        id = content if counts[content] == 1 else f"{content}-{counts[content]}"
    return id


def _bytes(path: Path | None) -> bytes:
    return b"" if path is None else path.read_bytes()
