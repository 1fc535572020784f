"""What loaders share: the structure that they return, and the paper's random splits."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from ancr._core.messages import counted, plain
from ancr.datasets.registry import DatasetInfo


def dataset_bunch(
    info: DatasetInfo,
    data: np.ndarray,
    target: ArrayLike,
    target_names: ArrayLike,
    is_train: ArrayLike | None = None,
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
    is_train : array-like of bool or None
        Which samples are for training; None if there is no split.
    image_shape : tuple of int or None
        Height and width of each sample; None if images differ in size or samples are not images.
    **more
        Further fields.
    """
    in_train = None if is_train is None else np.asarray(is_train, bool)
    return Bunch(
        data=data,
        target=np.asarray(target, dtype=np.int64),
        target_names=np.asarray(target_names, dtype=str),
        train_indices=None if in_train is None else np.flatnonzero(in_train),
        test_indices=None if in_train is None else np.flatnonzero(~in_train),
        image_shape=image_shape,
        name=info.name,
        licence=info.licence,
        citation=info.citation,
        DESCR=f"{info.title}\n\n{info.description}\n\nHome: {info.home_page}\nLicence: {info.licence}\n"
        f"Citation: {info.citation}",
        **more,
    )


def per_class_split(
    target: ArrayLike, n_per_class: int, seed: int, pool: ArrayLike | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw ``n_per_class`` training samples from each class (the paper's USPS protocol).

    Parameters
    ----------
    target : array-like of shape (n_samples,)
        Labels of all samples.
    n_per_class : int
        Training samples per class.
    seed : int
        Seed of the draw.
    pool : array-like of int or None
        Indices of the samples to draw from; None means all.

    Returns
    -------
    train, rest : ndarray of int
        Indices that were drawn, and the remaining indices of the pool.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.datasets import per_class_split
    >>> train, test = per_class_split(np.repeat([0, 1], 10), 3, 0)
    >>> len(train), len(test)
    (6, 14)
    """
    labels = np.asarray(target)
    places = np.arange(len(labels)) if pool is None else np.asarray(pool)
    random = np.random.default_rng(seed)
    drawn = []
    for label in np.unique(labels[places]):
        members = places[labels[places] == label]
        if len(members) < n_per_class:
            few = counted(len(members), "sample")
            raise ValueError(f"n_per_class={n_per_class}, but class {plain(label)} has only {few}")
        drawn.append(random.choice(members, n_per_class, replace=False))
    train = np.sort(np.concatenate(drawn))
    return train, np.setdiff1d(places, train)
