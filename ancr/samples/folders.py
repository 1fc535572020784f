"""A user's own images: one sub-folder per class, or a CSV of path and label."""

import hashlib
import warnings
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from ancr._core.locations import WrongTreeError, describe_tree
from ancr.samples.delimited import csv_rows, parse_flag

IMAGE_SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})

_EXPECTED = "folder/\n  first class/\n    image.jpg …\n  second class/\n    image.jpg …"


class DataWarning(UserWarning):
    """The data is probably not as the user intended."""


def load_folder(path, *, label_from="folder"):
    """Load the images of a folder, or of a CSV of path and label.

    Parameters
    ----------
    path : path-like
        A folder with one sub-folder per class (images may be in deeper folders); a folder with such folders
        ``train/`` and ``test/``, which give the split; or a ``.csv`` file with the columns ``path`` and
        ``label`` (and optionally ``is_train``), where paths are relative to the file.
    label_from : {"folder", "name"}
        ``"name"`` is for a folder without sub-folders that holds one image per class, named after the class.

    Returns
    -------
    Bunch
        ``data`` and ``filenames`` (paths), ``target``, ``target_names``, ``train_indices``, ``test_indices``
        (None if there is no split), ``ignored`` (files that are not images), ``duplicates`` (pairs of identical
        images in different classes).

    Raises
    ------
    WrongTreeError
        If the folder has no sub-folders.
    ValueError
        If a class is empty, or a CSV gives two labels for one path.

    Warns
    -----
    DataWarning
        About files that are not images, identical images in different classes, and class names that differ only
        in case.

    Examples
    --------
    >>> from ancr.datasets import load_folder
    >>> bunch = load_folder("photos")  # one sub-folder of images per class  # doctest: +SKIP
    >>> bunch.target_names  # doctest: +SKIP
    """
    path = Path(path).expanduser()
    if label_from not in ("folder", "name"):
        raise ValueError(f"label_from={label_from!r}, but expected 'folder' or 'name'")
    if path.is_file() and path.suffix.lower() == ".csv":
        rows, ignored = _read_csv(path), []
    elif path.is_dir():
        rows, ignored = _read_flat(path) if label_from == "name" else _read_tree(path)
    else:
        raise FileNotFoundError(f"path={str(path)!r} is neither a folder nor a .csv file")
    duplicates = _same_content_in_two_classes(rows)
    _warn(rows, ignored, duplicates)
    return _bunch(path, rows, ignored, duplicates)


def _read_tree(root):
    """``(path, label, is_train)`` of each image in the class folders, and the files that are not images."""
    folders = _visible_folders(root)
    split = {folder.name.lower() for folder in folders} == {"train", "test"}
    rows, ignored = [], [entry for entry in sorted(root.iterdir()) if entry.is_file() and not _hidden(entry)]
    for part in folders if split else [root]:
        is_train = part.name.lower() == "train" if split else None
        classes = _visible_folders(part)
        if all(map(_hidden, part.iterdir())):
            raise WrongTreeError(f"{part} is empty, but expected one sub-folder of images per class")
        if not classes:
            raise WrongTreeError(
                f"{part} has no sub-folder per class.\nExpected:\n{_EXPECTED}\nFound:\n{describe_tree(part)}"
            )
        for folder in classes:
            files = [entry for entry in sorted(folder.rglob("*")) if entry.is_file() and not _hidden(entry)]
            images = [file for file in files if _is_image(file)]
            if not images:
                raise ValueError(f"class {folder.name!r} is empty: {folder} holds no image")
            rows += [(image, folder.name, is_train) for image in images]
            ignored += [file for file in files if not _is_image(file)]
    return rows, ignored


def _read_flat(root):
    files = [entry for entry in sorted(root.iterdir()) if entry.is_file() and not _hidden(entry)]
    images = [file for file in files if _is_image(file)]
    if not images:
        raise WrongTreeError(f"{root} holds no image.\nFound:\n{describe_tree(root)}")
    return [(image, image.stem, None) for image in images], [file for file in files if not _is_image(file)]


def _read_csv(path):
    """Rows of a CSV; the first line is a header if it has the column names."""
    lines = [(line, [cell.strip() for cell in cells]) for line, cells in csv_rows(path) if any(map(str.strip, cells))]
    if not lines:
        raise ValueError(f"{path} is empty; expected the columns path,label")
    header = [cell.lower() for cell in lines[0][1]]
    columns = header if {"path", "label"} <= set(header) else ["path", "label", "is_train"][: len(header)]
    if len(columns) < 2:
        raise ValueError(f"{path} has {len(columns)} column, but expected path,label")
    twice = [name for name in ("path", "label", "is_train") if columns.count(name) > 1]
    if twice:
        raise ValueError(f"{path} has several columns named {twice[0]!r}; rename or remove all but one")
    rows = [_csv_row(path, line, columns, cells) for line, cells in (lines[1:] if columns is header else lines)]
    _check_csv_rows(path, rows)
    return rows


def _csv_row(path, line, columns, cells):
    if len(cells) != len(columns):
        raise ValueError(f"{path}, line {line} has {len(cells)} cells, but expected {len(columns)}")
    row = dict(zip(columns, cells, strict=True))
    if not row["path"] or not row["label"]:
        missing = "path" if not row["path"] else "label"
        raise ValueError(f"{path}, line {line}: no {missing} for {row['path'] or row['label']!r}")
    flag = row.get("is_train")
    is_train = parse_flag(flag, f"{path}, line {line}, column 'is_train'") if flag else None
    return path.parent / Path(row["path"]).expanduser(), row["label"], is_train


def _check_csv_rows(path, rows):
    if not rows:
        raise ValueError(f"{path} has a header but no rows")
    if len({flag is None for _, _, flag in rows}) > 1:
        raise ValueError(f"{path}: is_train is empty in some rows; fill it in or remove the column")
    missing = [str(image) for image, _, _ in rows if not image.is_file()]
    if missing:
        raise FileNotFoundError(f"{path} lists {len(missing)} files that do not exist: {', '.join(missing[:5])}")
    labels = {}
    for image, label, _ in rows:
        if labels.setdefault(image, label) != label:
            raise ValueError(f"{path} gives {image} two labels: {labels[image]!r} and {label!r}")


def _same_content_in_two_classes(rows):
    """Pairs of identical images with different labels; only files of equal size are read."""
    by_size, pairs = defaultdict(list), []
    for image, label, _ in rows:
        by_size[image.stat().st_size].append((image, label))
    for files in by_size.values():
        if len({label for _, label in files}) < 2:
            continue
        by_content = defaultdict(list)
        for image, label in files:
            by_content[hashlib.blake2b(image.read_bytes()).digest()].append((image, label))
        for same in by_content.values():
            pairs += [(str(a), str(b)) for (a, la), (b, lb) in combinations(same, 2) if la != lb]
    return pairs


def _warn(rows, ignored, duplicates):
    def warn(message):
        warnings.warn(message, DataWarning, stacklevel=4)

    if ignored:
        warn(f"{len(ignored)} files are not images and were left out: {_some(ignored)}")
    if duplicates:
        pairs = _some(f"{a} = {b}" for a, b in duplicates)
        warn(f"{len(duplicates)} pairs of identical images are in different classes: {pairs}")
    names = defaultdict(set)
    for _, label, _ in rows:
        names[label.strip().casefold()].add(label)
    for clash in names.values():
        if len(clash) > 1:
            warn(f"class names differ only in case: {', '.join(map(repr, sorted(clash)))}")


def _bunch(path, rows, ignored, duplicates):
    paths, labels, flags = zip(*rows, strict=True)
    filenames = np.asarray([str(image) for image in paths])
    target_names, target = np.unique(labels, return_inverse=True)
    split = None not in flags
    is_train = np.asarray(flags, dtype=bool)
    return Bunch(
        data=filenames,
        filenames=filenames,
        target=target.astype(np.int64),
        target_names=target_names,
        train_indices=np.flatnonzero(is_train) if split else None,
        test_indices=np.flatnonzero(~is_train) if split else None,
        image_shape=None,
        ignored=[str(file) for file in ignored],
        duplicates=duplicates,
        name=path.stem,
        licence="the user's own",
        citation="",
        DESCR=f"{len(filenames)} images of {len(target_names)} classes from {path}",
    )


def _visible_folders(root):
    return sorted(entry for entry in root.iterdir() if entry.is_dir() and not _hidden(entry))


def _hidden(entry):
    return entry.name.startswith(".")


def _is_image(file):
    return file.suffix.lower() in IMAGE_SUFFIXES


def _some(items, most=5):
    items = list(map(str, items))
    return ", ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")
