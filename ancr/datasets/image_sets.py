"""Data sets of photographs, as paths of images or as features stored in the same folder."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
from sklearn.utils import Bunch

from ancr._core.files import PathLike
from ancr._core.locations import DataNotFoundError, data_homes
from ancr._core.messages import one_line
from ancr.datasets.bunches import dataset_bunch, per_class_split
from ancr.datasets.registry import DatasetInfo, dataset_info, find_tree
from ancr.samples.array_files import check_arrays, read_mat, read_npz

# What is shown with every result on features that replace the paper's own.
_LABELS = {"efficientnet_lite0": "EfficientNet-Lite0 (substitute)"}
_FIELDS = ("features", "labels", "is_train", "class_names", "image_names")
# Of each image its path, its class and whether it is for training.
_Images: TypeAlias = list[tuple[Path, int, bool]]


def load_stanford40(
    data_home: PathLike | None = None,
    *,
    features: str | None = None,
    split: str = "official",
    n_per_class: int = 100,
    seed: int = 0,
) -> Bunch:
    """Stanford 40 Actions: 9532 images of 40 actions, 100 training images per class.

    Parameters
    ----------
    data_home : path-like or None
        Folder that holds ``stanford40/``; None searches ``ANCR_DATA``, then the folder for fetched data.
    features : str or None
        Name of stored features, such as ``"efficientnet_lite0"``; None gives image paths.
    split : {"official", "random"}
        The published lists (4000 and 5532 images), or ``n_per_class`` images drawn from each class.
    n_per_class, seed : int
        Training images per class and seed of the random split.

    Returns
    -------
    Bunch
        ``data`` (features, or paths), ``filenames``, ``target``, ``target_names``, ``train_indices``,
        ``test_indices``, ``image_shape``, ``licence``, ``citation``, ``DESCR``.
    """
    if split not in ("official", "random"):
        raise ValueError(f"split={split!r}, but expected 'official' or 'random'")
    bunch = _load("stanford40", data_home, features, _stanford40)
    if split == "random":
        bunch.train_indices, bunch.test_indices = per_class_split(bunch.target, n_per_class, seed)
    return bunch


def _stanford40(root: Path) -> tuple[list[str], _Images]:
    splits = root / "ImageSplits"
    # the first line is a header
    actions = [line.split()[0] for line in (splits / "actions.txt").read_text().splitlines()[1:] if line.strip()]
    return actions, [
        (root / "JPEGImages" / name, label, part == "train")
        for label, action in enumerate(actions)
        for part in ("train", "test")
        for name in (splits / f"{action}_{part}.txt").read_text().split()
    ]


def load_cub200(data_home: PathLike | None = None, *, features: str | None = None) -> Bunch:
    """CUB-200-2011: 11788 images of 200 birds, 5994 for training and 5794 for testing.

    Parameters
    ----------
    data_home : path-like or None
        Folder that holds ``cub200_2011/``; None searches ``ANCR_DATA``, then the folder for fetched data.
    features : str or None
        Name of stored features, such as ``"efficientnet_lite0"``; None gives image paths.

    Returns
    -------
    Bunch
        ``data`` (features, or paths), ``filenames``, ``target``, ``target_names``, ``train_indices``,
        ``test_indices``, ``image_shape``, ``licence``, ``citation``, ``DESCR``.
    """
    return _load("cub200", data_home, features, _cub200)


def _cub200(root: Path) -> tuple[list[str], _Images]:
    names, labels, flags = (
        _column(root / f"{file}.txt") for file in ("images", "image_class_labels", "train_test_split")
    )
    columns = zip(names, labels, flags, strict=True)
    images = [(root / "images" / name, int(label) - 1, flag == "1") for name, label, flag in columns]
    return _column(root / "classes.txt"), images


def _column(path: Path) -> list[str]:
    """The values of a file of lines ``id value``, sorted by id, so that all files have the same order."""
    pairs = (line.split(maxsplit=1) for line in path.read_text().splitlines() if line.strip())
    return [value for _, value in sorted((int(key), value) for key, value in pairs)]


def load_aircraft(data_home: PathLike | None = None, *, features: str | None = None) -> Bunch:
    """FGVC-Aircraft: 10000 images of 100 variants, 6667 for training (with validation) and 3333 for testing.

    The folder tree is the one that ``torchvision.datasets.FGVCAircraft`` downloads; reading it does not need torch.

    Parameters
    ----------
    data_home : path-like or None
        Folder that holds ``fgvc_aircraft/`` or ``fgvc-aircraft-2013b/``; None searches
        ``ANCR_DATA``, then the folder for fetched data.
    features : str or None
        Name of stored features; None gives image paths.

    Returns
    -------
    Bunch
        ``data`` (features, or paths), ``filenames``, ``target``, ``target_names``, ``train_indices``,
        ``test_indices``, ``image_shape``, ``licence``, ``citation``, ``DESCR``.

    Examples
    --------
    >>> from ancr.datasets import load_aircraft
    >>> bunch = load_aircraft(features="efficientnet_lite0")  # doctest: +SKIP
    >>> bunch.data.shape, bunch.target_names[:3]  # doctest: +SKIP
    """
    return _load("aircraft", data_home, features, _aircraft)


def _aircraft(root: Path) -> tuple[list[str], _Images]:
    folder, images = root / "data", []
    variants = [line.strip() for line in (folder / "variants.txt").read_text().splitlines() if line.strip()]
    for part in ("trainval", "test"):
        for line in (folder / f"images_variant_{part}.txt").read_text().splitlines():
            image, variant = line.strip().split(" ", 1)
            images.append((folder / "images" / f"{image}.jpg", variants.index(variant), part == "trainval"))
    return variants, images


def load_cars(data_home: PathLike | None = None, *, features: str | None = None) -> Bunch:
    """Stanford Cars: 16185 images of 196 models, 8144 for training and 8041 for testing.

    No public link works any more; the folder tree is the one that ``torchvision.datasets.StanfordCars`` reads.

    Parameters
    ----------
    data_home : path-like or None
        Folder that holds ``stanford_cars/``; None searches ``ANCR_DATA``, then the folder for fetched data.
    features : str or None
        Name of stored features, such as ``"efficientnet_lite0"``; None gives image paths.

    Returns
    -------
    Bunch
        ``data`` (features, or paths), ``filenames``, ``target``, ``target_names``, ``train_indices``,
        ``test_indices``, ``image_shape``, ``licence``, ``citation``, ``DESCR``.

    Examples
    --------
    >>> from ancr.datasets import load_cars
    >>> bunch = load_cars(features="efficientnet_lite0")  # doctest: +SKIP
    >>> bunch.data.shape, bunch.target_names[:3]  # doctest: +SKIP
    """
    return _load("cars", data_home, features, _cars)


def _cars(root: Path) -> tuple[list[str], _Images]:
    train = _annotations(root / "devkit" / "cars_train_annos.mat", root / "cars_train", True)
    test = _annotations(root / "cars_test_annos_withlabels.mat", root / "cars_test", False)
    return _variable(root / "devkit" / "cars_meta.mat", "class_names").tolist(), train + test


def _annotations(path: Path, folder: Path, is_train: bool) -> _Images:
    rows = _variable(path, "annotations")
    try:
        return [(folder / str(row["fname"]), int(row["class"]) - 1, is_train) for row in rows]
    except (TypeError, ValueError, IndexError) as error:
        raise ValueError(f"{path}: annotations must have the fields fname and class: {one_line(error)}") from error


def _variable(path: Path, name: str) -> np.ndarray:
    content = read_mat(path, squeeze=True)
    check_arrays(path, content, [name])
    return np.atleast_1d(content[name])


def _load(
    name: str, data_home: PathLike | None, features: str | None, read: Callable[[Path], tuple[list[str], _Images]]
) -> Bunch:
    """Stored features, or the paths of the images: ``data`` and ``filenames``; missing images are an error."""
    info = dataset_info(name)
    if features:
        return _load_features(info, features, data_home)
    class_names, images = read(find_tree(info, data_home))
    paths, target, is_train = zip(*images, strict=True)
    missing = [path for path in paths if not path.is_file()]
    if missing:
        listed = ", ".join(map(str, missing[:5]))
        raise FileNotFoundError(f"{info.title}: {len(missing)} of {len(paths)} images are missing: {listed}")
    filenames = np.asarray([str(path) for path in paths])
    return dataset_bunch(info, filenames, target, class_names, is_train, filenames=filenames)


def _load_features(info: DatasetInfo, features: str, data_home: PathLike | None = None) -> Bunch:
    """Load features stored as ``<set>/<features>.npz`` or ``<set>/<features>_<width>.npz``.

    ``ancr extract`` writes such a file: ``features``, ``labels``, ``is_train``, ``class_names`` and
    ``image_names``. The field ``features`` of the result says which features replace the paper's own.
    """
    path = _find(info, features, data_home)
    values = read_npz(path, _FIELDS)
    check_arrays(path, values, _FIELDS)
    _check_shapes(path, values)
    # stored as float16 to save disk space
    vectors, names = values["features"].astype(np.float32), values["image_names"]
    return dataset_bunch(
        info,
        vectors,
        values["labels"],
        values["class_names"],
        values["is_train"],
        filenames=names,
        features=_LABELS.get(features, features),
    )


def _check_shapes(path: Path, values: Mapping[str, np.ndarray]) -> None:
    vectors, labels, n_classes = values["features"], values["labels"], len(np.atleast_1d(values["class_names"]))
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu":
        raise ValueError(f"{path}: features of shape {vectors.shape} and type {vectors.dtype}, but expected vectors")
    for name in ("labels", "is_train", "image_names"):
        if values[name].shape != vectors.shape[:1]:
            raise ValueError(f"{path}: {name} of shape {values[name].shape}, but {len(vectors)} features")
    if labels.dtype.kind not in "iu" or (len(labels) and not 0 <= labels.min() <= labels.max() < n_classes):
        raise ValueError(f"{path}: labels must be integers from 0 to {n_classes - 1}, the places of their class_names")


def _find(info: DatasetInfo, features: str, data_home: PathLike | None) -> Path:
    folders = [home / info.folder for home in data_homes(data_home)]
    for folder in folders:
        found = [*folder.glob(f"{features}.npz"), *sorted(folder.glob(f"{features}_[0-9]*.npz"))]
        if found:
            return found[0]
    stored = sorted({path.stem for folder in folders for path in folder.glob("*.npz")})
    raise DataNotFoundError(
        f"features={features!r} of {info.title} not found in {', '.join(map(str, folders))}. "
        f"Stored there: {', '.join(stored) or 'none'}. `ancr extract {info.name}` computes them from images."
    )
