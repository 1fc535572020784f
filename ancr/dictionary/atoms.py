"""The dictionary: what ``fit`` builds and every later step reads.

It alone knows where samples live. Quadratics, rules, solvers and the certificate ask it for inner products of the
atoms, and `ancr.dictionary.products.Queries` for those of a block of queries; only a solver that declares
``on_coordinates``, or that asks first whether there are any, reads ``coordinates``.

`Atoms` are samples sorted by class, without any product; `BaseDictionary` is what dictionaries share.
`ancr.dictionary.coordinates` has the one whose atoms have coordinates, `ancr.dictionary.inner_products` those that are
known by their inner products alone. `ancr.axes.spaces` makes either.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from ancr._core.arrays import (
    Array,
    is_non_numpy,
    is_single,
    like,
    namespace,
    read_only,
    take_rows,
    to_numpy,
    unit_rows,
)
from ancr._core.checks import check_rows, is_checked

if TYPE_CHECKING:
    from ancr.dictionary.coordinates import Dictionary
    from ancr.dictionary.gram import Growth
    from ancr.dictionary.products import Queries

_FLOATS = (np.float64, np.float32)


@dataclass(eq=False)
class Atoms:
    """Samples sorted by class, with the way back to the order given.

    Atoms of a class lie next to each other, so that a class block is a slice and never a copy. Arrays with an entry
    per feature or per pair of atoms have the library and device of the samples given; positions are NumPy arrays.

    Attributes
    ----------
    atoms : array of shape (n_atoms, n_features)
        The training samples, as rows, float32 or float64.
    order : ndarray of shape (n_atoms,)
        ``atoms[i]`` is the user's sample ``order[i]``.
    classes : array of shape (n_classes,)
        Sorted labels, in the array library of the labels given.
    bounds : ndarray of shape (n_classes + 1,)
        Class ``k`` owns the atoms ``bounds[k]:bounds[k + 1]``.
    weights : ndarray of shape (n_atoms,) or None
        Weights > 0 of the atoms, in double precision: one of weight w pays λ/w. None where all are one.
    n_given : int or None
        Number of samples given, where those of weight zero are no atoms; None where all are.
    n_atoms, n_features, n_classes : int
        The paper's n, d and K.
    n_samples : int
        Number of samples given: the atoms, and those of weight zero.
    dtype : dtype
        float32 or float64.
    is_single : bool
        Whether the atoms are in single precision.
    itemsize : int
        Bytes per number.
    """

    atoms: Array
    order: np.ndarray
    classes: Array
    bounds: np.ndarray
    weights: np.ndarray | None = field(default=None, kw_only=True)
    n_given: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.n_atoms, self.n_features = self.atoms.shape
        self.n_classes: int = self.classes.shape[0]
        self.n_samples: int = self.n_atoms if self.n_given is None else self.n_given
        self.dtype: Any = self.atoms.dtype
        self.is_single: bool = is_single(self.dtype)
        self.itemsize = 4 if self.is_single else 8

    @classmethod
    def build(
        cls,
        samples: Any,
        labels: Any = None,
        *,
        normalize: bool = True,
        classes: Any = None,
        weights: np.ndarray | None = None,
        dtype: Any = _FLOATS,
        name: str = "X",
    ) -> Self:
        """Validate samples and sort them by class.

        Parameters
        ----------
        samples : array-like of shape (n_samples, n_features)
            Rows are training samples. float32 stays float32; anything else numeric becomes float64.
        labels : array-like of shape (n_samples,) or None
            Class of each sample; None makes a single class.
        normalize : bool, default=True
            Scale rows to unit ℓ2 norm (Algorithm 2, step 1). All-zero rows stay zero.
        classes : array-like or None
            Classes that get a block even if it is empty; they must include every label in ``labels``.
        weights : ndarray of shape (n_samples,) or None
            Weights ≥ 0; a sample of weight zero is left out.
        dtype : dtype or sequence of dtypes
            A single dtype is the dtype of the atoms.
        name : str, default="X"
            What error messages call the samples.
        """
        samples = check_samples(samples, name, dtype)
        return cls.of_checked(samples, labels, normalize=normalize, classes=classes, weights=weights)

    @classmethod
    def of_checked(
        cls,
        samples: Array,
        labels: Any = None,
        *,
        normalize: bool = True,
        classes: Any = None,
        weights: np.ndarray | None = None,
    ) -> Self:
        """As `build`, of samples that are validated already."""
        if labels is None and classes is None and weights is None:
            atoms = namespace(samples).asarray(samples, copy=True)  # the caller's may change
            return cls(unit_rows(atoms, copy=False) if normalize else atoms, **one_class(samples.shape[0]))
        given = np.zeros(samples.shape[0], int) if labels is None else labels
        labels = column_or_1d(to_numpy(given))
        check_consistent_length(labels, range(samples.shape[0]))
        kept = np.arange(len(labels)) if weights is None else np.flatnonzero(weights)
        found, codes = np.unique(labels[kept], return_inverse=True)
        if classes is not None:
            found, codes = _among(np.unique(to_numpy(classes)), found, codes)
        rank = np.argsort(codes, kind="stable")
        order = kept[rank]
        atoms = namespace(samples).take(samples, like(order, samples), axis=0)
        if normalize:
            atoms = unit_rows(atoms, copy=False)
        given_weights = None if weights is None or bool((weights[order] == 1.0).all()) else weights[order]
        n_given = None if len(order) == samples.shape[0] else samples.shape[0]
        bounds = bounds_of(codes[rank], len(found))
        return cls(atoms, order, like(found, given), bounds, weights=given_weights, n_given=n_given)

    @classmethod
    def of(cls, given: Atoms, *more: Any) -> Self:
        """The same samples as another kind of atoms; ``more`` is what that kind has beside them."""
        kept: dict[str, Any] = {"weights": given.weights, "n_given": given.n_given}
        return cls(given.atoms, given.order, given.classes, given.bounds, *more, **kept)

    @property
    def is_non_numpy(self) -> bool:
        """Whether the atoms are an array of another library than NumPy."""
        return is_non_numpy(self.atoms)

    def like(self, values: Array) -> Array:
        """Values as an array of the atoms' library, on their device."""
        return like(values, self.atoms)

    @property
    def xp(self) -> Any:
        """Namespace of the atoms."""
        return namespace(self.atoms)

    @cached_property
    def blocks(self) -> list[slice]:
        """One slice per class, into the sorted atoms."""
        return [slice(a, b) for a, b in zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True)]

    @cached_property
    def labels(self) -> np.ndarray:
        """Class number of each sorted atom."""
        return np.repeat(np.arange(self.n_classes), np.diff(self.bounds))

    @cached_property
    def indicator(self) -> Array:
        """1 where an atom (row) belongs to a class (column), in the atoms' library."""
        labels, names = self.like(self.labels), self.like(np.arange(self.n_classes))
        return self.xp.astype(labels[:, None] == names, self.dtype)

    # --- sums class by class

    def class_sums(self, values: Any) -> Array:
        """Sum over the atoms of each class, of dense or CSR values: (n_queries, n_classes)."""
        if is_non_numpy(values):
            return values @ self.indicator
        if sparse.issparse(values):
            rows = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
            cells, shape = rows * self.n_classes + self.labels[values.indices], (values.shape[0], self.n_classes)
            return np.bincount(cells, values.data, minlength=shape[0] * shape[1]).reshape(shape).astype(values.dtype)
        # np.add.reduceat cannot sum an empty range, and a class that is known only by name has no atoms.
        return np.stack([values[:, block].sum(axis=1) for block in self.blocks], axis=1)

    def class_dots(self, left: Array, right: Array) -> Array:
        """left_iᵀright_i for each class i of dense values."""
        if is_non_numpy(left):
            return self.class_sums(left * right)
        from ancr._core import array_kernels

        dots = np.empty((len(left), self.n_classes), left.dtype)
        array_kernels.class_dots(*map(read_only, (left, right, self.bounds)), dots)
        return dots

    def class_norms(self, codes: Any) -> Array:
        """‖c_i‖² for each class i of dense or CSR codes."""
        return self.class_sums(codes.multiply(codes)) if sparse.issparse(codes) else self.class_dots(codes, codes)

    # --- order

    def in_given_order(self, codes: Any) -> Any:
        """Codes over the sorted atoms, dense or CSR, with their columns in the user's order."""
        if self.n_given is not None:
            return self._among_given(codes)
        if np.array_equal(self.order, np.arange(self.n_atoms)):
            return codes
        if is_non_numpy(codes):
            return self.xp.take(codes, like(self.position, codes), axis=1)
        return codes[:, self.position]

    def _among_given(self, codes: Any) -> Any:
        """Codes with a column for each sample given; those of weight zero are not used."""
        shape = (codes.shape[0], self.n_samples)
        if sparse.issparse(codes):
            rows = sparse.csr_array(codes)
            wide = sparse.csr_array((rows.data, self.order[rows.indices], rows.indptr), shape)
            wide.sort_indices()
            return wide
        if is_non_numpy(codes):
            picked = np.zeros((self.n_atoms, self.n_samples))
            picked[np.arange(self.n_atoms), self.order] = 1.0
            return codes @ self.xp.astype(like(picked, codes), codes.dtype)
        wide = np.zeros(shape, codes.dtype)
        wide[:, self.order] = codes
        return wide

    @cached_property
    def position(self) -> np.ndarray:
        """Where the user's sample ``i`` sits among the sorted atoms: the inverse of ``order``."""
        position = np.empty_like(self.order)
        position[self.order] = np.arange(self.n_atoms)
        return position


@dataclass(eq=False)
class Provable(Atoms):
    """Atoms with what a proof may rest on; coordinates leave no doubt."""

    @property
    def knows_lengths(self) -> bool:
        """Whether ‖y‖² of a query is known, and not only its inner products with the atoms."""
        return True

    @property
    def is_certain(self) -> bool:
        """Whether atoms and queries surely live in one space; inner products that a user gives may not."""
        return True

    @property
    def is_convex(self) -> bool:
        """Whether XᵀX is positive semi-definite, so that every quadratic of the family is convex."""
        return True

    def value_rounding(self, rows: Array) -> float:
        """What rounding can do to xᵀy in double precision beyond that of sums of products, as a share of ‖x‖·‖y‖."""
        return 0.0

    @property
    def own_rounding(self) -> float:
        """The same for the Gram matrix."""
        return self.value_rounding(self.atoms)

    @property
    def n_distinct(self) -> int:
        """At most so many atoms are neither zero nor equal to another one."""
        return self.n_atoms


@dataclass(eq=False)
class BaseDictionary(Provable, ABC):
    """What dictionaries share, wherever samples live: products of the atoms with each other.

    Attributes
    ----------
    origin : array of shape (n_features,) or None
        The point that was subtracted from the samples given, after they were multiplied by ``units``.
    units : float
        A power of two; one without coordinates.
    has_coordinates : bool
        Whether atoms have coordinates that a solver can read, and not inner products alone.
    queries_type : type
        What `ancr.dictionary.products.Queries.of` makes for it.
    held : dict of str to array
        Matrices that were needed so far.
    growth : Growth or None
        What this dictionary can extend of a smaller one's; None once all that is needed has been.
    """

    origin: Array | None = field(default=None, kw_only=True)
    units: float = field(default=1.0, kw_only=True)
    held: dict[str, Any] = field(default_factory=dict, init=False, repr=False)
    growth: Growth | None = field(default=None, init=False, repr=False)

    has_coordinates: ClassVar[bool]
    queries_type: ClassVar[type[Queries]]

    def once(self, name: str, compute: Callable[[], Any]) -> Any:
        """A matrix of this name, computed on first use and held."""
        if name not in self.held:
            self.held[name] = compute()
        return self.held[name]

    @property
    def bare(self) -> Self:
        """The same atoms without what was computed from them; what can be extended of a smaller dictionary is kept."""
        bare = replace(self)
        bare.growth = self.growth
        return bare

    # --- products

    @property
    def gram(self) -> Array:
        """XᵀX, computed on first use and held."""
        return self.once("gram", self._gram)

    @abstractmethod
    def _gram(self) -> Array:
        """Compute XᵀX."""

    @property
    def squares(self) -> Array:
        """‖x‖² of each atom, in double precision."""
        return self.once("squares", self._squares)

    @abstractmethod
    def _squares(self) -> Array:
        """Compute ‖x‖² of each atom."""

    @property
    def block_grams(self) -> list[Array]:
        """X_iᵀX_i of each class."""
        return self.once("block_grams", self._block_grams)

    @abstractmethod
    def _block_grams(self) -> list[Array]:
        """Compute X_iᵀX_i of each class."""

    @property
    @abstractmethod
    def squared_mean(self) -> float:
        """‖x̄‖² of the mean atom."""

    @cached_property
    def longest(self) -> float:
        """The largest ℓ2 norm of an atom."""
        return float(self.xp.max(self.squares)) ** 0.5

    @property
    def largest_square(self) -> float:
        """The largest squared norm of an atom, or a number above it."""
        return self.longest**2

    @abstractmethod
    def times_gram(self, codes: Any) -> Array:
        """XᵀXc for each code: (n_queries, n_atoms)."""

    @abstractmethod
    def class_cross(self, codes: Any) -> Array:
        """X_iᵀX_i c_i for each class i, side by side: (n_queries, n_atoms)."""

    @abstractmethod
    def class_shortfalls(self, codes: Any) -> Array:
        """‖Xc − X_i c_i‖² for each class i: how far it falls short of what all classes represent together."""

    # --- the same atoms in another form

    @property
    @abstractmethod
    def coordinates(self) -> Array:
        """The columns of the paper's X, as rows: (n_atoms, n_features); (0, 0) without coordinates."""

    @property
    def located(self) -> Dictionary:
        """The dictionary itself, for those who know that its atoms have coordinates; an error if they have none."""
        raise TypeError("the atoms are known by their inner products alone and have no coordinates")

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Dimension of the space that the atoms can span: no more of them than this are independent."""

    @cached_property
    def in_double(self) -> Self:
        """The same dictionary in double precision; the dictionary itself if it already is."""
        return self._in_precision("float64") if self.is_single else self

    @cached_property
    def in_single(self) -> Self:
        """The same dictionary in single precision; the dictionary itself if it already is."""
        return self if self.is_single else self._in_precision("float32")

    @abstractmethod
    def _in_precision(self, name: str) -> Self:
        """The same dictionary in the other precision."""

    @property
    def made_from(self) -> BaseDictionary | None:
        """The dictionary that this one is derived from; None if it is derived from no other."""
        return None

    @property
    def in_safe_units(self) -> BaseDictionary:
        """Itself, where there are no coordinates to rescale."""
        return self

    @abstractmethod
    def eigenvalues(self, on_plane: bool) -> tuple[np.ndarray, float]:
        """Eigenvalues of XᵀX, restricted to Σc = 0 if ``on_plane``, and what rounding can do to them."""


def check_samples(samples: Any, name: str = "X", dtype: Any = _FLOATS) -> Array:
    """Validate samples of any library; float32 stays float32, anything else numeric becomes float64."""
    if is_non_numpy(samples):
        return check_rows(samples, name, None if dtype is _FLOATS else dtype)
    if is_checked(samples, dtype if dtype is _FLOATS else [dtype]):
        return samples
    return check_array(samples, dtype=dtype, input_name=name)


def _among(classes: np.ndarray, found: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes, and the position among them of each label ``found[codes]``; every label must be listed."""
    if kind_of_labels(classes) != kind_of_labels(found) or not np.isin(found, classes).all():
        raise ValueError(f"classes must list every label of y, got classes={classes} for labels {found}")
    return classes, np.searchsorted(classes, found)[codes]


def one_class(n_atoms: int) -> dict[str, Any]:
    """Order, classes and bounds of atoms that are all of one class."""
    return {"order": np.arange(n_atoms), "classes": np.zeros(1, int), "bounds": np.array([0, n_atoms])}


def restricted(dictionary: BaseDictionary, kept: np.ndarray) -> BaseDictionary:
    """The dictionary of some of its atoms, by their positions in ascending order; classes stay as they are."""
    return replace(
        dictionary,
        atoms=take_rows(dictionary.atoms, kept),
        order=dictionary.order[kept],
        bounds=bounds_of(dictionary.labels[kept], dictionary.n_classes),
        weights=None if dictionary.weights is None else dictionary.weights[kept],
        n_given=dictionary.n_samples,
    )


def bounds_of(sorted_codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Where each class begins, and the last one ends."""
    return np.searchsorted(sorted_codes, np.arange(n_classes + 1))


def kind_of_labels(classes: np.ndarray) -> str:
    """Kind of the labels: numbers, strings or objects. Only labels of the same kind can be sorted together."""
    return "number" if classes.dtype.kind in "biuf" else classes.dtype.kind
