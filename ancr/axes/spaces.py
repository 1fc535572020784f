r"""The first axis: where samples live. A power, a lift, the unit norm, a kernel, in this order:

    x ↦ sign(x)·|x|^p ↦ (x, s·r) ↦ x/‖x‖ ↦ φ(x),      φ(x)ᵀφ(y) = k(x, y).

A space is made from its parameters alone; `Space.prepare` returns a copy that knows what it has to learn from the
training samples (their length r, the width of ``gamma="scale"``, landmarks), and makes their dictionary and the rows
of queries:

    space = Space("rbf", power=0.5).prepare(samples)
    dictionary, rows = space.dictionary(samples, labels), space.rows(queries)

All that follows needs inner products alone. Where the Gram matrix would not fit, ``n_landmarks`` gives coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from itertools import product
from math import frexp, sqrt
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints

from ancr._core.arrays import (
    Array,
    concat,
    in_double,
    is_non_numpy,
    is_single,
    map_rows,
    namespace,
    squares_in_double,
    take_columns,
    take_rows,
    to_numpy,
    unit_rows,
)
from ancr._core.axis import AxisObject
from ancr._core.budgets import LARGEST_GRAM
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.coordinates import Dictionary
from ancr.dictionary.gram import extended
from ancr.dictionary.inner_products import KernelDictionary
from ancr.dictionary.mercer import RBF, Function, Kernel, Polynomial, Precomputed

# Samples among which landmarks are sought, per landmark, and on which the error of the approximation is measured.
_POOL, _MEASURED = 3, 2000
# Below this share of the largest, an eigenvalue of the landmarks' Gram matrix is only rounding, in single precision and
# in double.
_LEAST_SHARE = {True: 1e-6, False: 1e-12}

_POSITIVE = Interval(Real, 0, None, closed="neither")
_NAMED = StrOptions({"linear", "rbf", "poly", "precomputed"})
_PARAMETER_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [_NAMED, callable],
    "gamma": [StrOptions({"scale"}), _POSITIVE],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "power": [_POSITIVE],
    "lift": [Interval(Real, 0, None, closed="left")],
    "normalize": ["boolean"],
    "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
    "random_state": ["random_state"],
}
# Landmarks that take the place of a Gram matrix above the budget, where nobody chose their number.
_LANDMARKS = 2000


class Space(AxisObject):
    """Where samples live: ``sign(x)·|x|^p``, then a lift, then unit norm, then a kernel.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="linear"
        ``"linear"``: xᵀy; ``"rbf"``: exp(−κ‖x − y‖²); ``"poly"``: (κ·xᵀy + coef0)^degree. A callable takes two
        matrices of samples and returns the matrix of their kernel values, as that of scikit-learn's ``SVC`` does
        (that of ``KernelRidge`` takes two rows); an `ancr.dictionary.mercer.Kernel` is one, too. With
        ``"precomputed"``, training samples are the square matrix of their inner products and queries are rows of inner
        products with the training samples.
    gamma : {"scale"} or float, default="scale"
        κ > 0 of ``"rbf"`` and ``"poly"``. ``"scale"`` is 1 / (n_features · variance) of the training samples after
        power, lift and unit norm.
    degree : int, default=3
        Degree of ``"poly"``.
    coef0 : float, default=0.0
        Constant of ``"poly"``.
    power : float, default=1.0
        p > 0. ½ brings large features and small ones closer together; 1 leaves samples as they are.
    lift : float, default=0.0
        s ≥ 0. Above 0, each sample gets one more coordinate after the power, s·r with r the root mean square length of
        the training samples, so that the unit norm keeps what the length of a sample says: the larger s, the more. 0
        keeps directions alone. Without the unit norm, where Σc = 1, the coordinate has no effect; on other sets it adds
        (s·r)²·(1 − Σc)² to the objective.
    normalize : bool, default=True
        Scale samples to unit ℓ2 norm, after power and lift. Not used with ``"precomputed"``.
    n_landmarks : int or None, default=None
        Approximate the kernel by coordinates in the span of so many training samples (Nyström); None does not.
    random_state : int, RandomState instance or None, default=None
        Chooses the landmarks.

    Attributes
    ----------
    gamma_ : float
        κ in use, after `prepare`.
    constant_ : float
        s·r, the coordinate that the lift adds; 0 without one.
    landmarks_ : ndarray of shape (n_landmarks, n_coordinates) or None
        Landmarks, after power, lift and unit norm.
    error_ : float
        Share of the samples' squared length that landmarks cannot represent, Σ(k(x, x) − ‖φ̂(x)‖²) / Σk(x, x) over
        at most 2000 training samples; 0 without landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr import Space
    >>> samples = np.array([[4.0, 0.0], [0.0, 1.0], [9.0, 16.0]])
    >>> space = Space("rbf", gamma=0.5, power=0.5).prepare(samples)
    >>> space.rows(samples[2:])
    array([[0.6, 0.8]])
    >>> space.dictionary(samples, [0, 0, 1]).gram.round(3)
    array([[1.   , 0.368, 0.67 ],
           [0.368, 1.   , 0.819],
           [0.67 , 0.819, 1.   ]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = _PARAMETER_CONSTRAINTS
    gamma_: float
    constant_: float
    landmarks_: Array
    error_: float
    _kernel: Kernel
    _coordinates: _Coordinates | None

    def __init__(
        self,
        kernel: str | Callable[..., Any] = "linear",
        *,
        gamma: str | float = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        power: float = 1.0,
        lift: float = 0.0,
        normalize: bool = True,
        n_landmarks: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel, self.gamma, self.degree, self.coef0 = kernel, gamma, degree, coef0
        self.power, self.lift, self.normalize = power, lift, normalize
        self.n_landmarks, self.random_state = n_landmarks, random_state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.get_params() == other.get_params()

    def __hash__(self) -> int:
        return hash((self.kernel, self.gamma, self.power, self.lift, self.normalize))

    @property
    def is_pairwise(self) -> bool:
        """Whether samples are rows of inner products with the training samples."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def is_linear(self) -> bool:
        """Whether the samples' own coordinates are those of the space."""
        return isinstance(self.kernel, str) and self.kernel == "linear"

    @property
    def idle(self) -> set[str]:
        """Parameters that have no effect with this kernel."""
        uses = {"rbf": {"gamma"}, "poly": {"gamma", "degree", "coef0"}}
        of_kernels = {"gamma", "degree", "coef0"}
        of_kernels -= uses.get(self.kernel, set()) if isinstance(self.kernel, str) else set()
        # Distances do not see a coordinate that all samples share.
        no_lift = self.is_pairwise or (self.kernel == "rbf" and not self.normalize)
        return of_kernels | ({"lift"} if no_lift else set())

    @property
    def follows_products(self) -> bool:
        """Whether inner products and squares of rows after the power tell those in the space, see `of_products`."""
        known = self.is_linear or (self.kernel == "rbf" and not isinstance(self.gamma, str))
        return known and not self.lift and self.n_landmarks is None

    def of_products(self, cross: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Inner products in the space, from those of rows and from their squares: ‖x − y‖² = ‖x‖² + ‖y‖² − 2xᵀy."""
        if self.is_linear:
            return cross
        return np.exp(float(self.gamma) * np.minimum(2.0 * cross - first - second, 0.0))

    @property
    def is_plain(self) -> bool:
        """Whether samples stay as they are, but for their norm."""
        return self.is_linear and self.power == 1.0 and not self.lift

    @property
    def has_coordinates(self) -> bool:
        """Whether rows of the dictionary are points, not only inner products."""
        return self.is_linear or self.n_landmarks is not None

    @property
    def without_lift(self) -> Space:
        """The same space at lift 0."""
        return Space(**{**self.get_params(), "lift": 0.0})

    def part(self, samples: Array, rows: np.ndarray, columns: np.ndarray) -> Array:
        """Some of the samples; where samples are inner products, those with the training samples ``columns``."""
        some = take_rows(samples, rows)
        return take_columns(some, columns) if self.is_pairwise else some

    def within_budget(self, n_samples: int, itemsize: int) -> Space:
        """The space itself, or its approximation by landmarks where a Gram matrix of so many samples would not fit."""
        fits = n_samples**2 * itemsize <= LARGEST_GRAM
        if fits or self.is_linear or self.is_pairwise or self.n_landmarks is not None:
            return self
        random_state = 0 if self.random_state is None else self.random_state
        return Space(**{**self.get_params(), "n_landmarks": _LANDMARKS, "random_state": random_state})

    def reproducible(self) -> Space:
        """The space itself, or with the seed 0 where landmarks are drawn and a seed was left open."""
        is_open = self.n_landmarks is not None and self.random_state is None
        return Space(**{**self.get_params(), "random_state": 0}) if is_open else self

    def prepare(self, samples: Array, name: str = "X", length: float | None = None) -> Space:
        """A copy that is ready for training samples that are already validated, and for their queries.

        ``length`` is r where these samples do not tell it: `length_of` all samples, if they are in several files.
        """
        prepared = copy(self)
        prepared.gamma_, prepared.constant_ = 1.0, 0.0
        prepared.landmarks_, prepared.error_, prepared._coordinates = None, 0.0, None
        if self.lift and not self.is_pairwise:
            length = self.length_of(samples) if length is None else length
            prepared.constant_ = _constant(self.lift, length, samples)
        if self.is_linear:
            if self.n_landmarks is not None:
                raise ValueError("n_landmarks requires a non-linear kernel: kernel='linear' has coordinates already")
            return prepared
        if self.is_pairwise:
            self._check_pairwise(samples, name)
        rows = prepared._flattened(samples)
        prepared.gamma_ = _gamma(self.gamma, rows)
        prepared._kernel = prepared._make_kernel()
        if self.n_landmarks is not None:
            prepared._choose_landmarks(rows)
        elif (size := rows.shape[0] ** 2 * (4 if is_single(rows.dtype) else 8)) > LARGEST_GRAM:
            raise ValueError(
                f"kernel={self.kernel!r} keeps the inner products of all pairs of samples, "
                f"{size / 2**30:.1f} GiB for {rows.shape[0]} of them: set n_landmarks, "
                "to 2000 for instance"
            )
        return prepared

    def length_of(self, samples: Array) -> float:
        """r, the root mean square length of samples after the power."""
        return root_mean_square(samples if self.power == 1.0 else signed_power(samples, self.power))

    def _check_pairwise(self, samples: Array, name: str) -> None:
        if samples.shape[0] != samples.shape[1]:
            raise ValueError(
                f"{name} must be the square matrix of inner products for space='precomputed', got {samples.shape}"
            )
        if self.power != 1.0 or self.lift or self.n_landmarks is not None:
            raise ValueError(
                "power, lift and n_landmarks need samples, and space='precomputed' has inner products alone"
            )
        xp, sizes = namespace(samples), namespace(samples).abs(samples)
        uneven = xp.abs(samples - samples.T) > 1e-5 * sizes + 1e-6 * xp.max(sizes)
        if bool(xp.any(uneven)):
            raise ValueError(f"{name} must be a symmetric matrix of inner products for space='precomputed'")

    def _make_kernel(self) -> Kernel:
        if not isinstance(self.kernel, str):
            return self.kernel if isinstance(self.kernel, Kernel) else Function(self.kernel)
        kernels: dict[str, Callable[[], Kernel]] = {
            "rbf": partial(RBF, self.gamma_),
            "poly": partial(Polynomial, self.gamma_, self.degree, self.coef0),
            "precomputed": Precomputed,
        }
        return kernels[self.kernel]()

    # --- samples to rows

    @property
    def to_rows(self) -> Callable[[Array], Array] | None:
        """The function that turns a block of queries into rows of the dictionary; None where there is nothing to do."""
        plain = self.power == 1.0 and not self.lift and self.landmarks_ is None
        if plain and (self.is_pairwise or not self.normalize):
            return None
        return unit_rows if plain else self.rows

    def rows(self, samples: Array) -> Array:
        """Samples as rows of the dictionary: after power, lift and unit norm, and in the coordinates of landmarks."""
        rows = self._flattened(samples)
        return rows if self._coordinates is None else self._coordinates(rows)

    def _flattened(self, samples: Array) -> Array:
        """Samples after power, lift and unit norm."""
        if self.is_pairwise:
            return samples
        rows = samples if self.power == 1.0 else signed_power(samples, self.power)
        rows = with_constant(rows, self.constant_) if self.lift else rows
        return unit_rows(rows, copy=rows is samples) if self.normalize else rows

    def dictionary(
        self, samples: Array, labels: Any = None, *, classes: Any = None, weights: Any = None
    ) -> BaseDictionary:
        """The dictionary of the training samples that this space was prepared for, or of others, validated already."""
        options = {"classes": classes, "weights": weights}
        if self.is_plain:
            return Dictionary.of_checked(samples, labels, normalize=self.normalize, **options)
        atoms = Dictionary.of_checked(self._all_rows(samples), labels, normalize=False, **options)
        without_coordinates = not self.is_linear and self._coordinates is None
        return KernelDictionary.of(atoms, self._kernel) if without_coordinates else atoms

    def extend(
        self, dictionary: BaseDictionary, samples: Array, labels: Any, classes: Any = None, weights: Any = None
    ) -> BaseDictionary:
        """A dictionary with more samples; r, κ and landmarks stay what they are."""
        rows = self._all_rows(namespace(samples).astype(samples, dictionary.dtype, copy=False))
        return extended(dictionary, rows, labels, classes=classes, weights=weights)

    def _all_rows(self, samples: Array) -> Array:
        """As `rows`, in blocks."""
        if self._coordinates is None:
            return self.rows(samples)
        return concat(map_rows(lambda block: self.rows(samples[block, :]), samples, 16 * self.landmarks_.shape[0]))

    # --- landmarks

    def _choose_landmarks(self, rows: Array) -> None:
        """k-means++ among a part of the samples, and the coordinates that they give."""
        assert self.n_landmarks is not None
        random, n_rows, xp = check_random_state(self.random_state), rows.shape[0], namespace(rows)
        count = min(self.n_landmarks, n_rows)
        pool = take_rows(rows, random.permutation(n_rows)[: _POOL * count])
        far = _far_apart(to_numpy(_dictionary_of(pool, self._kernel).gram), count, random)
        self.landmarks_ = take_rows(pool, far)
        self._coordinates = _Coordinates(self._kernel, self.landmarks_)
        measured = take_rows(rows, random.permutation(n_rows)[:_MEASURED])
        squares = self._kernel.squares(measured)
        lost = squares - squares_in_double(self._coordinates(measured))
        self.error_ = float(xp.sum(xp.clip(lost, 0.0, None))) / (float(xp.sum(squares)) or 1.0)


class _Coordinates:
    """Nyström coordinates S^(−½)Uᵀk(x), with USUᵀ the Gram matrix of the landmarks and k(x) the products with them.

    Inner products of these coordinates are those of the kernel between projections on the span of the landmarks.
    """

    def __init__(self, kernel: Kernel, landmarks: Array) -> None:
        dictionary, xp = _dictionary_of(landmarks, kernel), namespace(landmarks)
        self._values = kernel.prepare(dictionary.atoms, dictionary.order)
        sizes, vectors = xp.linalg.eigh(in_double(dictionary.gram))
        least = _LEAST_SHARE[is_single(landmarks.dtype)] * max(float(sizes[-1]), 0.0)
        kept = np.flatnonzero(to_numpy(sizes) > least)
        if not len(kept):
            raise ValueError("all landmarks have length zero under this kernel")
        mapped = take_columns(vectors, kept) / xp.sqrt(take_rows(sizes, kept))
        self._map = xp.astype(mapped, landmarks.dtype)

    def __call__(self, rows: Array) -> Array:
        return self._values(rows) @ self._map


# What `space` may be: the name of a kernel, a custom kernel, or a space.
SpaceLike = str | Callable[..., Any] | Space
SPACE_CONSTRAINTS: list[Any] = [_NAMED, Space, callable]


def named_space(space: SpaceLike, normalize: bool = True) -> Space:
    """The space of a kernel, given by name or as a function; a `Space` is returned unchanged, after checking it.

    Examples
    --------
    >>> from ancr.axes.spaces import named_space
    >>> named_space("rbf")
    Space(kernel='rbf')
    """
    found = space if isinstance(space, Space) else Space(space, normalize=normalize)
    if not (found is not space and _NAMED.is_satisfied_by(space)):  # its name is all that could be wrong
        validate_parameter_constraints(_PARAMETER_CONSTRAINTS, found.get_params(), caller_name="Space")
    return found


def asks_for_inner_products(space: object) -> bool:
    """Whether samples are inner products already; False for anything that is no space, which validation reports."""
    known = space if isinstance(space, Space) else Space(space) if isinstance(space, str) else None
    return known is not None and known.is_pairwise


def usual_spaces() -> list[Space]:
    """The spaces that a search compares where none are given: lifts, powers, and three widths of the RBF kernel."""
    return [
        space
        for lift, power in product((0.0, 1.0, 2.0), (1.0, 0.5))
        for space in (
            Space(power=power, lift=lift),
            *(Space("rbf", gamma=gamma, power=power, lift=lift) for gamma in (0.5, 1.0, 2.0)),
        )
    ]


def _dictionary_of(rows: Array, kernel: Kernel) -> KernelDictionary:
    return KernelDictionary.of(Dictionary.build(rows, normalize=False), kernel)


def _far_apart(gram: np.ndarray, count: int, random: Any) -> np.ndarray:
    """Samples far from each other in the space of their Gram matrix: k-means++, each drawn by its squared distance.

    Fewer than ``count`` if the others are copies of those.
    """
    squares = np.diagonal(gram).astype(float)
    chosen, apart = [int(random.randint(len(gram)))], np.full(len(gram), np.inf)
    while len(chosen) < count:
        last = chosen[-1]
        apart = np.clip(np.minimum(apart, squares + squares[last] - 2.0 * gram[last]), 0.0, None)
        apart[last] = 0.0
        reached = np.cumsum(apart)
        if not reached[-1] > 0.0:
            break
        chosen.append(int(np.searchsorted(reached, random.uniform() * reached[-1])))
    return np.array(chosen)


def signed_power(samples: Array, power: float) -> Array:
    """sign(x)·|x|^p, entry by entry.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.axes.spaces import signed_power
    >>> signed_power(np.array([[-4.0, 9.0]]), 0.5)
    array([[-2.,  3.]])
    """
    xp = namespace(samples)
    sizes = xp.abs(samples)
    powers = xp.sign(samples) * (xp.sqrt(sizes) if power == 0.5 else sizes**power)
    if power > 1.0 and not bool(xp.all(xp.isfinite(powers))):
        raise ValueError(f"power={power:g} takes samples beyond the range of {samples.dtype}; rescale them or lower it")
    return powers


def root_mean_square(samples: Array) -> float:
    """The root mean square length of samples; their squares neither overflow nor vanish."""
    xp = namespace(samples)
    largest = float(xp.max(xp.abs(samples)))
    if not largest:
        return 0.0
    unit = 2.0 ** (frexp(largest)[1] - 1)  # a power of two, which rounds nothing
    safe = samples if 1e-100 < largest < 1e100 else in_double(samples) / unit
    root = sqrt(float(xp.mean(squares_in_double(safe))))
    return root if safe is samples else root * unit


def _constant(lift: float, length: float, samples: Array) -> float:
    """s·r, the coordinate that all samples share."""
    constant = lift * length
    if not constant <= float(namespace(samples).finfo(samples.dtype).max):
        raise ValueError(f"lift={lift:g} takes samples beyond the range of {samples.dtype}; rescale them")
    return constant


def with_constant(rows: Array, constant: float) -> Array:
    """Rows with one more coordinate, the same for all: a copy."""
    if is_non_numpy(rows):
        xp = namespace(rows)
        return xp.concat([rows, xp.full_like(rows[:, :1], constant)], axis=1)
    lifted = np.empty((rows.shape[0], rows.shape[1] + 1), rows.dtype)
    lifted[:, :-1], lifted[:, -1] = rows, constant
    return lifted


def _gamma(gamma: str | float, rows: Array) -> float:
    """κ; "scale" is 1 / (n_features · variance), 1 for samples that are all alike."""
    if not isinstance(gamma, str):
        return float(gamma)
    variance = float(namespace(rows).var(in_double(rows))) if is_non_numpy(rows) else float(rows.var(dtype=float))
    return 1.0 / (rows.shape[1] * variance) if variance > 0.0 else 1.0
