"""The paper's random splits."""

import numpy as np
from numpy.typing import ArrayLike

from ancr._core.messages import counted, plain


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
