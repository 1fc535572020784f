"""Stored features of an image data set, in the same folder as its images."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from ancr._core.files import PathLike
from ancr._core.locations import DataNotFoundError, data_homes
from ancr.datasets._bunch import dataset_bunch
from ancr.datasets.registry import DatasetInfo
from ancr.samples.array_files import check_arrays, read_npz

# What is shown with every result on features that replace the paper's own.
_LABELS = {"efficientnet_lite0": "EfficientNet-Lite0 (substitute)"}
_FIELDS = ("features", "labels", "is_train", "class_names", "image_names")


def load_features(info: DatasetInfo, features: str, data_home: PathLike | None = None) -> Bunch:
    """Load features stored as ``<set>/<features>.npz`` or ``<set>/<features>_<width>.npz``.

    ``ancr extract`` writes such a file: ``features``, ``labels``, ``is_train``, ``class_names`` and
    ``image_names``. The field ``features`` of the result says which features replace the paper's own.
    """
    path = _find(info, features, data_home)
    values = read_npz(path, _FIELDS)
    check_arrays(path, values, _FIELDS)
    _check_shapes(path, values)
    is_train = values["is_train"].astype(bool)
    return dataset_bunch(
        info,
        # stored as float16 to save disk space
        values["features"].astype(np.float32),
        values["labels"],
        values["class_names"],
        train=np.flatnonzero(is_train),
        test=np.flatnonzero(~is_train),
        filenames=values["image_names"],
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
