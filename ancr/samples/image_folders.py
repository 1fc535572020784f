"""Images of a folder whose sub-folders are classes, or of a CSV of path and label."""

import hashlib
import os
import warnings
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np

from ancr._core.locations import WrongTreeError, describe_tree
from ancr._core.messages import counted
from ancr.samples.sample_set import DataWarning, Samples
from ancr.samples.table_files import Table, some

# What Pillow reads as pixels: no programs (EPS), drawings (WMF), films (MPEG) or files of data (HDF5, GRIB, FITS).
# fmt: off
IMAGE_SUFFIXES = frozenset({
    ".apng", ".avif", ".avifs", ".blp", ".bmp", ".bw", ".cur", ".dcx", ".dds", ".dib", ".flc", ".fli", ".ftc",
    ".ftu", ".gbr", ".gif", ".icb", ".icns", ".ico", ".j2c", ".j2k", ".jfif", ".jp2", ".jpc", ".jpe", ".jpeg",
    ".jpf", ".jpg", ".jpx", ".msp", ".pbm", ".pcd", ".pcx", ".pfm", ".pgm", ".png", ".pnm", ".ppm", ".psd", ".pxr",
    ".qoi", ".ras", ".rgb", ".rgba", ".sgi", ".tga", ".tif", ".tiff", ".vda", ".vst", ".webp", ".xbm", ".xpm",
})
# fmt: on
_UNLABELLED = ("unlabelled", "unlabeled")
_LIST = ("path", "label", "is_train")
_Row = tuple[Path, str | None, bool | None]
Found = tuple[Samples, list[Path]]


def folder_images(root: Path, follow_links: bool = True) -> Found:
    """The images of a folder: sub-folders are classes; loose images and those in ``unlabelled/`` have no label.

    Parameters
    ----------
    root : Path
        The folder. Folders ``train/`` and ``test/`` that hold the classes are the split.
    follow_links : bool
        Whether a link may lead out of the folder; otherwise such files are left out with a warning.

    Returns
    -------
    samples : Samples
        The images; they have no vectors yet.
    ignored : list of Path
        Files that are not images.
    """
    parts, real = _visible_folders(root), Path(os.path.realpath(root))
    split = {part.name.lower() for part in parts} == {"train", "test"}
    rows: list[_Row] = []
    ignored, outside = [], []
    for part in parts if split else [root]:
        for folder in [*_visible_folders(part), part]:
            before = len(rows)
            for file in _files(folder, root, deep=folder != part):
                if not follow_links and not Path(os.path.realpath(file)).is_relative_to(real):
                    outside.append(file)
                elif is_image(file):
                    label = None if folder == part or folder.name.lower() in _UNLABELLED else folder.name
                    rows.append((file, label, part.name.lower() == "train" if split else None))
                else:
                    ignored.append(file)
            if len(rows) == before and folder != part:
                _warn(f"Class {folder.name!r} is empty: {folder} holds no image")
    if outside:
        lead, were = counted(len(outside), "link leads", "links lead"), "was" if len(outside) == 1 else "were"
        _warn(f"{lead} out of the folder and {were} left out: {some(outside, 5, 400)}")
    if not rows:
        trouble = "holds no image" if ignored or parts else "is empty"
        raise WrongTreeError(f"{root} {trouble}, but expected one sub-folder of images per class")
    return _samples(root, rows), ignored


def flat_images(root: Path) -> Found:
    """The images of a folder without sub-folders, each a class of its own that is named after the file."""
    files = _files(root, root, deep=False)
    rows: list[_Row] = [(file, file.stem, None) for file in files if is_image(file)]
    if not rows:
        raise WrongTreeError(f"{root} holds no image.\nFound:\n{describe_tree(root)}")
    return _samples(root, rows), [file for file in files if not is_image(file)]


def _samples(root: Path, rows: list[_Row]) -> Samples:
    paths, labels, flags = zip(*rows, strict=True)
    return Samples.of(
        np.empty((len(rows), 0)),
        labels,
        list(map(str, paths)),
        name=root.stem,
        is_train=None if None in flags else np.array(flags),
        image_paths=paths,
        origin=str(root.resolve()),
    )


def _files(folder: Path, root: Path, deep: bool) -> list[Path]:
    """The files of a folder that are not hidden."""
    entries = sorted(folder.rglob("*") if deep else folder.iterdir())
    return [
        entry
        for entry in entries
        if entry.is_file() and not any(part.startswith(".") for part in entry.relative_to(root).parts)
    ]


def lists_images(table: Table) -> bool:
    """Whether a table is a list of images."""
    return {"path", "label"} <= {name.lower() for name in table.columns}


def listed_images(table: Table) -> Found:
    """The images that a CSV lists; paths are relative to it."""
    at = {"path": "path", "label": "label", **{name.lower(): name for name in table.columns if name.lower() in _LIST}}
    table.check_columns(at.values())
    rows: list[_Row] = []
    for chunk in table.chunks(list(at.values()), 2**14):
        paths, labels = chunk.texts(at["path"]), chunk.labels(at["label"])
        if "" in paths:
            raise ValueError(f"{chunk.where(paths.index(''), 'path')}: the path is missing")
        flags = chunk.flags(at["is_train"]) if "is_train" in at else [None] * len(paths)
        files = [table.path.parent / Path(path).expanduser() for path in paths]
        rows += zip(files, labels, flags, strict=True)
    _check_list(table.path, rows)
    return _samples(table.path, rows), []


def _check_list(path: Path, rows: list[_Row]) -> None:
    missing = [str(image) for image, _, _ in rows if not image.is_file()]
    if missing:
        raise FileNotFoundError(f"{path} lists {len(missing)} files that do not exist: {', '.join(missing[:5])}")
    known: dict[Path, str | None] = {}
    for image, label, _ in rows:
        if known.setdefault(image, label) != label:
            raise ValueError(f"{path} gives {image} two labels: {known[image]!r} and {label!r}")


def _same_content_in_two_classes(samples: Samples) -> list[tuple[str, str]]:
    """Pairs of identical images with different labels; only files of equal size are read."""
    by_size, by_content = defaultdict(list), defaultdict(list)
    for image, label in zip(samples.image_paths, samples.labels, strict=True):
        if image is not None and label is not None:
            by_size[image.stat().st_size].append((image, label))
    for files in by_size.values():
        if len({label for _, label in files}) > 1:
            for image, label in files:
                by_content[hashlib.blake2b(image.read_bytes()).digest()].append((image, label))
    pairs = [pair for same in by_content.values() for pair in combinations(same, 2)]
    return [(str(a), str(b)) for (a, first), (b, second) in pairs if first != second]


def warn_of_doubts(samples: Samples, ignored: list[Path]) -> list[tuple[str, str]]:
    """Warn of files that are not images, identical images in different classes, and class names alike but for case.

    Returns
    -------
    list of tuple of str
        Pairs of identical images in different classes.
    """
    duplicates = _same_content_in_two_classes(samples)
    if ignored:
        are = "file is not an image and was" if len(ignored) == 1 else "files are not images and were"
        _warn(f"{len(ignored)} {are} left out: {some(ignored, 5, 400)}")
    if duplicates:
        pairs = some([f"{a} = {b}" for a, b in duplicates], 5, 800)
        _warn(f"{len(duplicates)} pairs of identical images are in different classes: {pairs}")
    names = defaultdict(set)
    for name in samples.class_names.tolist():
        names[name.casefold()].add(name)
    for clash in names.values():
        if len(clash) > 1:
            _warn(f"class names differ only in case: {', '.join(map(repr, sorted(clash)))}")
    return duplicates


def _warn(message: str) -> None:
    warnings.warn(message, DataWarning, stacklevel=4)


def _visible_folders(root: Path) -> list[Path]:
    return sorted(entry for entry in root.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def is_image(file: Path) -> bool:
    """Whether the name of a file says that it is an image."""
    return file.suffix.lower() in IMAGE_SUFFIXES
