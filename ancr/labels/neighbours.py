"""Samples that are nearly the same: duplicates among training samples, and leaks between two sets."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from ancr._core.arrays import check_same_kind, in_double, to_numpy
from ancr.dictionary.atoms import BaseDictionary, check_samples
from ancr.dictionary.coordinates import Dictionary
from ancr.dictionary.products import Queries

# A pair nearer to each other than this share of the usual distance to the nearest sample counts as the same.
NEAR = 0.2
# Squares and products cancel: their difference is uncertain by so many roundings of the longest sample's square.
_ROUNDING = 64.0
# Rows compared at once.
_ROWS = 1024


class Pair(NamedTuple):
    """Two samples that are nearly the same, and how far they are apart in the space of the classifier."""

    first: int
    second: int
    distance: float


def near_duplicates(dictionary: BaseDictionary, near: float = NEAR) -> list[Pair]:
    """Pairs of training samples, the nearest first; rows are those of the samples given.

    Parameters
    ----------
    dictionary : BaseDictionary
        The atoms.
    near : float
        Share of the median distance to the nearest sample below which two samples count as the same.
    """
    exact = _where_distances_are_exact(dictionary)
    limit, found = _limit(exact, near), []
    for start, apart in _between_atoms(exact):
        left, right = np.nonzero(np.triu(apart <= limit, start + 1))
        ends = np.sort([exact.order[left + start], exact.order[right]], axis=0)
        found += [Pair(*pair) for pair in zip(*ends.tolist(), apart[left, right].tolist(), strict=True)]
    return _sorted(found)


def leaks(classifier: Any, X: Any, near: float = NEAR) -> list[Pair]:
    """Pairs of a training sample (first) and a row of X (second) that are nearly the same, the nearest first."""
    if not isinstance(near, Real) or not near >= 0.0:
        raise ValueError(f"near must be a number of at least 0, got {near!r}")
    dictionary: BaseDictionary = classifier.dictionary_
    check_same_kind(X, dictionary.atoms, "X", "the samples of the audit")
    samples = check_samples(X, "X", dictionary.dtype)
    if samples.shape[1] != classifier.n_features_in_:
        raise ValueError(f"X must have the {classifier.n_features_in_} features of the audit, got {samples.shape[1]}")
    if not dictionary.knows_lengths:
        raise ValueError("leaks need k(y, y) of the rows of X, which space='precomputed' does not have")
    exact = _where_distances_are_exact(dictionary)
    limit, found = _limit(exact, near), []
    for part in gen_batches(samples.shape[0], _ROWS):
        rows = classifier.space_.rows(samples[part, :])
        apart = _distances(Queries.of(dictionary, rows).in_double.seen_by(exact))
        for row, atom in zip(*np.nonzero(apart <= limit), strict=True):
            found.append(Pair(int(dictionary.order[atom]), part.start + int(row), float(apart[row, atom])))
    return _sorted(found)


def _where_distances_are_exact(dictionary: BaseDictionary) -> BaseDictionary:
    """The same atoms in double precision, about their mean where they have coordinates."""
    double = dictionary.in_double
    return double.centred if isinstance(double, Dictionary) else double


def _limit(dictionary: BaseDictionary, near: float) -> float:
    """Samples at most so far apart count as the same: a share of the usual distance, and no less than rounding."""
    rounding = (_ROUNDING * np.finfo(float).eps) ** 0.5 * dictionary.longest
    return max(near * _usual_distance(dictionary), rounding)


def _usual_distance(dictionary: BaseDictionary) -> float:
    """Median distance of an atom to the nearest other one."""
    nearest = []
    for start, apart in _between_atoms(dictionary):
        np.fill_diagonal(apart[:, start:], np.inf)
        nearest.append(apart.min(axis=1))
    return float(np.median(np.concatenate(nearest)))


def _between_atoms(dictionary: BaseDictionary) -> Iterator[tuple[int, np.ndarray]]:
    """Distances of some atoms at a time to all, with the place of the first; without a Gram matrix."""
    for rows in gen_batches(dictionary.n_atoms, _ROWS):
        queries = Queries.of(dictionary, dictionary.atoms[rows, :], squares=dictionary.squares[rows])
        yield rows.start, _distances(queries)


def _distances(queries: Queries) -> np.ndarray:
    """‖x − y‖ for queries y and all atoms x."""
    apart = in_double(queries.squares)[:, None] + queries.dictionary.squares - 2.0 * in_double(queries.cross)
    return np.sqrt(np.maximum(to_numpy(apart), 0.0))


def _sorted(pairs: list[Pair]) -> list[Pair]:
    return sorted(pairs, key=lambda pair: (pair.distance, pair.first, pair.second))
