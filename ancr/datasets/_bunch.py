"""The structure that every loader returns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from ancr.datasets.registry import DatasetInfo


def dataset_bunch(
    info: DatasetInfo,
    data: np.ndarray,
    target: ArrayLike,
    target_names: ArrayLike,
    *,
    train: np.ndarray | None = None,
    test: np.ndarray | None = None,
    image_shape: tuple[int, ...] | None = None,
    **more: Any,
) -> Bunch:
    """Make a :class:`~sklearn.utils.Bunch` with the fields that all loaders share.

    Parameters
    ----------
    info : DatasetInfo
        Registry entry with licence, citation and description.
    data : ndarray
        One row per sample, or one path per image.
    target : ndarray of int
        Class of each sample, as an index into ``target_names``.
    target_names : sequence of str
        Names of the classes.
    train, test : ndarray of int or None
        The split; None if there is none.
    image_shape : tuple of int or None
        Height and width of each sample; None if images differ in size or samples are not images.
    **more
        Further fields.
    """
    return Bunch(
        data=data,
        target=np.asarray(target, dtype=np.int64),
        target_names=np.asarray(target_names, dtype=str),
        train_indices=train,
        test_indices=test,
        image_shape=image_shape,
        name=info.name,
        licence=info.licence,
        citation=info.citation,
        DESCR=f"{info.title}\n\n{info.description}\n\nHome: {info.home_page}\nLicence: {info.licence}\n"
        f"Citation: {info.citation}",
        **more,
    )


def image_bunch(
    info: DatasetInfo, paths: Sequence[Path], target: ArrayLike, target_names: ArrayLike, is_train: ArrayLike
) -> Bunch:
    """Bunch of an image data set: ``data`` and ``filenames`` are paths; missing images are an error."""
    missing = [path for path in paths if not path.is_file()]
    if missing:
        listed = ", ".join(map(str, missing[:5]))
        raise FileNotFoundError(f"{info.title}: {len(missing)} of {len(paths)} images are missing: {listed}")
    in_train = np.asarray(is_train, dtype=bool)
    filenames = np.asarray([str(path) for path in paths])
    return dataset_bunch(
        info,
        filenames,
        target,
        target_names,
        train=np.flatnonzero(in_train),
        test=np.flatnonzero(~in_train),
        filenames=filenames,
    )
