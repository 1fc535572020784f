r"""Which samples to label next: those that the classifier is unsure about, from all over the pool.

A batch of the least sure samples alone asks the same question many times, since neighbours are unsure together. The
farthest of them are no better: they are outliers. So of the least sure ones those are taken that stand for many others
of the pool which no labelled sample represents. Representing y by the labelled samples A costs, without constraints,

    s(y, y) = min_c ‖y − Ac‖² + λ‖c‖²,    s(y, x) = yᵀx − yᵀA(AᵀA + λI)⁻¹Aᵀx,

and one more labelled sample x lowers that cost by s(y, x)²/(s(x, x) + λ). So the candidate for which these have the
largest weighted sum over the pool is taken, then the best one beside it, and so on: samples that stand for many others
which nothing represents yet. (s is the posterior covariance of a Gaussian process given the labelled samples.)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_n_features, validate_data

from ancr._core.arrays import Array, check_same_kind, in_double, is_non_numpy, map_rows, take_rows, to_numpy
from ancr._core.axis import check_takes
from ancr._core.messages import naming
from ancr.axes.problem import Problem
from ancr.classifiers.representation import chosen_classifier
from ancr.dictionary.atoms import BaseDictionary, check_samples
from ancr.dictionary.products import Queries
from ancr.solvers.choice import make_solver

# Batches of the least sure samples that one is chosen from.
_BATCHES = 6
# λ of the representation that is to improve, as a share of the mean squared length of the labelled samples; between
# 0.01 and 1 the choice hardly matters.
_RIDGE = 0.1
# At most so many candidates, if fewer are wanted, and samples of the pool that stand for all: memory stays bounded.
_MOST = 4000


def next_to_label(
    estimator: Any,
    pool: Any,
    n: int,
    *,
    labelled: Any = None,
    strategy: str | Callable[..., Any] = "auto",
    random_state: int = 0,
) -> np.ndarray:
    """Rows of a pool whose labels would help most.

    Parameters
    ----------
    estimator : classifier
        A classifier of this package, fitted on the samples labelled so far.
    pool : array-like of shape (n_pool, n_features)
        Samples without a label, in the library and on the device of those that the estimator was fitted on.
    n : int
        How many to choose; all that are left if there are fewer.
    labelled : array-like of int or None, default=None
        Rows of the pool that have a label already: they are not chosen. Samples that the estimator was fitted on need
        not be in the pool.
    strategy : {"auto", "margin", "far", "random"} or callable, default="auto"
        ``"auto"``: of the six batches of least margin, the one that makes the unsure samples of the pool best
        represented; with a precomputed kernel as ``"margin"``, since products within the pool are not known.
        ``"margin"``: the least difference between the two largest decision values. ``"far"``: one by one, the
        farthest from all labelled and chosen ones, in the space of the classifier.
        ``"random"``: any. A callable ``strategy(estimator, pool)`` returns a number for each row of the whole pool, and
        of the rows without a label those with the largest are taken.
    random_state : int, default=0
        Orders samples that are equally good.

    Returns
    -------
    ndarray of shape (n,)
        Rows of the pool, the most useful first.

    Warns
    -----
    UserWarning
        If samples as good as the last one chosen (for ``"auto"``: as unsure as the last one considered) were left out:
        equal ones are taken in a random order.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import ANCRClassifier, next_to_label
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = ANCRClassifier().fit(X[:50], y[:50])
    >>> len(next_to_label(clf, X[50:300], 10))
    10
    """
    estimator = chosen_classifier(estimator)
    if not isinstance(n, (int, np.integer)) or n < 1:
        raise ValueError(f"n must be a whole number above 0, got {n!r}")
    samples = _checked_pool(estimator, pool)
    if not callable(strategy) and not (isinstance(strategy, str) and strategy in STRATEGIES):
        raise ValueError(f"strategy must be one of {sorted(STRATEGIES)} or a callable, got {strategy!r}")
    if callable(strategy):
        check_takes(strategy, "strategy", "estimator", "pool")
    known = _rows(labelled, samples.shape[0])
    open_rows = np.setdiff1d(np.arange(samples.shape[0]), known)
    mixed = _generator(random_state).permutation(open_rows)  # equal samples come in this order
    if not len(mixed):
        return mixed
    n = min(int(n), len(mixed))
    with warnings.catch_warnings():
        # The names of columns have been checked; parts of the pool have none.
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        if callable(strategy):
            return mixed[_smallest(-_numbers(strategy(estimator, samples), samples.shape[0])[mixed], n)]
        return mixed[STRATEGIES[strategy](estimator, take_rows(samples, mixed), n, take_rows(samples, known))]


def _checked_pool(estimator: Any, pool: Any) -> Array:
    """The pool as an array, with the columns that the estimator was fitted on, as `predict` checks them."""
    with naming("pool"):
        check_same_kind(pool, estimator.dictionary_.atoms, "pool", "the samples that estimator was fitted on")
        samples = check_samples(pool, "pool", estimator.dictionary_.dtype)
        if is_non_numpy(pool):
            _check_n_features(estimator, samples, reset=False)
        else:
            validate_data(estimator, pool, reset=False, skip_check_array=True)
    return samples


def _generator(random_state: Any) -> np.random.Generator:
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(f"random_state must be a whole number of at least 0, got {random_state!r}") from None


def _rows(labelled: Any, n_pool: int) -> np.ndarray:
    if labelled is None:
        return np.empty(0, int)
    with naming("labelled"):
        rows = np.asarray(to_numpy(labelled))
    rows = np.flatnonzero(rows) if rows.dtype == bool and rows.shape == (n_pool,) else rows
    numbers = not rows.size or (rows.dtype.kind in "iu" and rows.min() >= 0 and rows.max() < n_pool)
    if rows.ndim != 1 or not numbers:
        raise ValueError(f"labelled must hold rows of the pool, 0 to {n_pool - 1}, or one bool for each")
    return rows.astype(int)


def _margins(estimator: Any, samples: Array) -> np.ndarray:
    values = to_numpy(estimator.decision_function(samples))
    if values.ndim == 1:
        return np.abs(values)
    top = np.partition(values, -2, axis=1)[:, -2:]
    return top[:, 1] - top[:, 0]


def _least_sure(estimator: Any, samples: Array, n: int, labelled: Array) -> np.ndarray:
    return _smallest(_margins(estimator, samples), n)


def _smallest(values: np.ndarray, n: int, last: str = "chosen") -> np.ndarray:
    """Places of the n smallest values; tells of ties that the order of the rows decides."""
    order = np.argsort(values, kind="stable")
    if n < len(order):
        # Copies in different blocks of a product differ by rounding.
        equal = np.isclose(values, values[order[n - 1]], rtol=1e-6, atol=0.0)
        if equal[order[n]]:
            many = f"{np.count_nonzero(equal)} samples"
            text = f"{many} are as good as the last one {last}: random_state decides between them"
            warnings.warn(text, UserWarning, stacklevel=4)
    return order[:n]


def _unsure_and_representative(estimator: Any, samples: Array, n: int, labelled: Array) -> np.ndarray:
    """Of the least sure, those that make the pool best represented, where a sample counts by how unsure it is."""
    space, margins = estimator.space_, _margins(estimator, samples)
    if space.is_pairwise:  # nothing is known of the products within the pool
        return _smallest(margins, n)
    unsure = _smallest(margins, max(n, min(_BATCHES * n, _MOST)), "considered")
    if len(unsure) <= n:
        return unsure
    candidates, part = take_rows(samples, unsure), slice(min(_MOST, len(margins)))  # in random order
    own, rows, pool = space.dictionary(candidates), space.rows(candidates), space.rows(samples[part, :])
    ridge = _RIDGE * _usual_square(estimator.dictionary_, has_origin=space.normalize)
    return unsure[_best_represented(estimator.dictionary_, own, rows, pool, _unsure_shares(margins)[part], ridge, n)]


def _best_represented(
    labelled: BaseDictionary,
    candidates: BaseDictionary,
    rows: Array,
    pool: Array,
    weights: np.ndarray,
    ridge: float,
    n: int,
) -> np.ndarray:
    """Places of n candidates, the most useful first.

    Parameters
    ----------
    labelled, candidates : BaseDictionary
        The samples that have labels, and those that may be chosen.
    rows, pool : array of shape (n_candidates, n_features) and (n_pool, n_features)
        The candidates again, and the samples to be represented, as queries of the same space.
    weights : ndarray of shape (n_pool,)
        How much each sample of the pool counts.
    ridge : float
        λ.
    n : int
        How many to choose, at most as many as there are candidates.
    """
    solver = make_solver("closed_form", Problem.of(labelled, "ridge", "free", alpha=ridge))
    codes = in_double(solver.solve(rows).sorted_codes)

    def unrepresented(queries: Array) -> np.ndarray:
        """s/λ; the products of queries and labelled samples live for a block."""

        def work(block: slice) -> np.ndarray:
            part = queries[block, :]
            of_candidates, of_labelled = (in_double(Queries.of(d, part).cross) for d in (candidates, labelled))
            both = of_candidates - of_labelled @ codes.T
            return np.asarray(to_numpy(both), float) / ridge

        return np.concatenate(map_rows(work, queries, 16 * (labelled.n_atoms + candidates.n_atoms)))

    return _one_by_one(np.sqrt(weights)[:, None] * unrepresented(pool), unrepresented(rows), n)


def _one_by_one(of_pool: np.ndarray, among: np.ndarray, n: int) -> np.ndarray:
    """Places of n columns, each the best beside those before it.

    Parameters
    ----------
    of_pool : ndarray of shape (n_pool, n_candidates)
        s(y, x)/λ for the samples y of the pool and the candidates x, times the root of the weight of y.
    among : ndarray of shape (n_candidates, n_candidates)
        s(x, x')/λ for two candidates.

    Notes
    -----
    In units of λ a chosen x takes uvᵀ from s, with u = s(·, x)/√(s(x, x) + 1) over the pool and v the same over the
    candidates. These are kept, and s itself is left as it was: one product with it per choice is all that is needed.
    """
    own, squares = np.diag(among).copy(), np.einsum("ij,ij->j", of_pool, of_pool)
    left, right = np.zeros((n, len(of_pool))), np.zeros((n, len(among)))
    free, chosen = np.ones(len(among), bool), []
    for step in range(n):
        gains = squares / (np.maximum(own, 0.0) + 1.0)
        best = int(np.argmax(np.where(free, gains, -np.inf)))
        free[best] = False
        chosen.append(best)
        before, length = right[:step, best], np.sqrt(max(own[best], 0.0) + 1.0)
        u = (of_pool[:, best] - before @ left[:step]) / length
        v = (among[best] - before @ right[:step]) / length
        overlap = u @ of_pool - (left[:step] @ u) @ right[:step]
        squares = np.maximum(squares - 2.0 * v * overlap + v**2 * (u @ u), 0.0)
        own = own - v**2
        left[step], right[step] = u, v
    return np.array(chosen)


def _unsure_shares(margins: np.ndarray) -> np.ndarray:
    """How unsure samples are, from 1 to 0; with samples of one class labelled, all are."""
    usual = float(np.median(margins))
    if not np.isfinite(usual):
        return np.where(np.isfinite(margins) | np.isinf(margins).all(), 1.0, 0.0)
    return np.exp(-margins / (usual or 1.0))


def _usual_square(dictionary: BaseDictionary, has_origin: bool) -> float:
    """The mean square of samples; where the origin is anywhere, that of their distance to the mean."""
    square = float(dictionary.xp.mean(dictionary.squares))
    spread = square if has_origin else max(square - dictionary.squared_mean, 1e-12 * square)
    return spread or 1.0


def _farthest(estimator: Any, samples: Array, n: int, labelled: Array) -> np.ndarray:
    """One by one, the sample farthest from all labelled and chosen ones."""
    dictionary, space = estimator.dictionary_, estimator.space_
    if space.is_pairwise:
        raise ValueError("strategy='far' needs distances within the pool, which space='precomputed' does not have")
    # A dictionary of the candidates knows the inner products between them, in every space.
    own = space.dictionary(samples)
    rows = space.rows(samples)
    nearest = _square_to_nearest(dictionary, rows)
    if labelled.shape[0]:
        nearest = np.minimum(nearest, _square_to_nearest(space.dictionary(labelled), rows))
    chosen: list[int] = []
    squares = to_numpy(own.squares)
    for _ in range(n):
        best = int(np.argmax(nearest))
        chosen.append(best)
        products = to_numpy(in_double(Queries.of(own, rows[best : best + 1, :]).cross))[0]
        nearest = np.minimum(nearest, squares + squares[best] - 2.0 * products)
        nearest[chosen] = -np.inf
    return np.array(chosen)


def _square_to_nearest(atoms: BaseDictionary, rows: Array) -> np.ndarray:
    """‖y − x‖² to the nearest atom x, for each row y."""

    def work(block: slice) -> np.ndarray:
        part = Queries.of(atoms, rows[block, :])
        apart = in_double(part.squares)[:, None] + atoms.squares - 2.0 * in_double(part.cross)
        return to_numpy(atoms.xp.min(apart, axis=1))

    return np.concatenate(map_rows(work, rows, 16 * atoms.n_atoms))


def _at_random(estimator: Any, samples: Array, n: int, labelled: Array) -> np.ndarray:
    return np.arange(n)


def _numbers(returned: Any, n_pool: int) -> np.ndarray:
    """What a callable returned, as one number for each sample of the pool."""
    with naming("strategy"):
        returned = to_numpy(returned)
        if np.iscomplexobj(returned):
            raise ValueError("strategy must return real numbers, got complex ones")
        values = np.asarray(returned, float)
    if values.shape != (n_pool,):
        raise ValueError(f"strategy must return one number per sample, {n_pool}, got shape {values.shape}")
    if np.isnan(values).any():
        raise ValueError("strategy must return one number per sample, got NaN")
    return values


STRATEGIES: dict[str, Callable[..., np.ndarray]] = {
    "auto": _unsure_and_representative,
    "margin": _least_sure,
    "far": _farthest,
    "random": _at_random,
}
