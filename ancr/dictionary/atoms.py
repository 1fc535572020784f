"""The dictionary: what ``fit`` builds and every later step reads.

It alone knows where samples live. Quadratics, rules, solvers and the certificate ask it for inner products; only a
solver that declares ``on_coordinates``, or that asks first whether there are any, reads ``coordinates``.

`Dictionary` is the one whose atoms have coordinates; `ancr.dictionary.inner_products` has those that are known by
their inner products alone. `ancr.axes.spaces` makes either.
"""

from abc import ABC, abstractmethod
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import frexp

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from ancr._core.arrays import (
    concat,
    in_double,
    is_non_numpy,
    is_single,
    like,
    namespace,
    read_only,
    row_squares,
    squares_in_double,
    take_rows,
    to_numpy,
    unit_rows,
)
from ancr._core.checks import check_rows
from ancr.dictionary.gram import Growth, gram_of, scatter_of

_FLOATS = (np.float64, np.float32)
# Average number of samples per class from which one matrix product per class is quicker than a loop.
_LARGE_CLASS = 8


@dataclass(frozen=True)
class BaseDictionary(ABC):
    """What dictionaries share, wherever samples live: classes, their blocks and the order of the atoms.

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
    """

    atoms: np.ndarray
    order: np.ndarray
    classes: np.ndarray
    bounds: np.ndarray
    weights: np.ndarray | None = field(default=None, kw_only=True)
    n_given: int | None = field(default=None, kw_only=True)

    @property
    def units(self):
        """What samples have been multiplied by: one, without coordinates."""
        return 1.0

    def moved(self, queries, aim=1.0):
        """Queries as given, where the atoms have been moved to: where they are, without coordinates."""
        return queries

    def cross_as_given(self, cross, queries, aim):
        """xᵀy of the samples and queries as given, from the cross products of these atoms and the moved queries."""
        return cross

    @cached_property
    def longest(self):
        """The largest ℓ2 norm of an atom."""
        return float(self.xp.max(self.squares)) ** 0.5

    @property
    def largest_square(self):
        """The largest squared norm of an atom, or a number above it."""
        return self.longest**2

    @abstractmethod
    def eigenvalues(self, on_plane):
        """Eigenvalues of XᵀX, restricted to Σc = 0 if ``on_plane``, and what rounding can do to them."""

    @property
    @abstractmethod
    def has_coordinates(self):
        """Whether atoms have coordinates that a solver can read, and not inner products alone."""

    @property
    def knows_lengths(self):
        """Whether ‖y‖² of a query is known, and not only its inner products with the atoms."""
        return True

    @property
    def by_products(self):
        """A dictionary of the same atoms whose queries can be taken and joined: itself, where they have coordinates."""
        return self

    def products(self, queries):
        """Queries as the dictionary `by_products` takes them."""
        return queries

    @property
    @abstractmethod
    def on_host(self):
        """The dictionary `by_products` with NumPy arrays."""

    def least_squared_norms(self, queries):
        """What ‖y‖² of each query cannot be below: itself, where it is known."""
        return self.squared_norms(queries)

    def value_rounding(self, queries):
        """What rounding can do to xᵀy in double precision beyond that of sums of products, as a share of ‖x‖·‖y‖."""
        return 0.0

    @property
    def own_rounding(self):
        """The same for inner products of the atoms with each other."""
        return 0.0

    @property
    def is_certain(self):
        """Whether atoms and queries surely live in one space; inner products that a user gives may not."""
        return True

    def inconsistent_with_gram(self, queries):
        """Whether each query has inner products with the atoms that no space has, as far as is known."""
        return self.xp.zeros_like(queries[:, 0], dtype=self.xp.bool)

    @property
    def n_distinct(self):
        """At most so many atoms are neither zero nor equal to another one."""
        return self.n_atoms

    @property
    def in_safe_units(self):
        """Itself, where there are no coordinates to rescale."""
        return self

    def checked(self, ridge):
        """The dictionary for proofs, and what it takes from the ridge: itself and nothing, where it is certain."""
        return self, 0.0

    @property
    def is_convex(self):
        """Whether XᵀX is positive semi-definite, so that every quadratic of the family is convex."""
        return True

    @property
    @abstractmethod
    def coordinates(self):
        """The columns of the paper's X, as rows: (n_atoms, n_features); (0, 0) without coordinates."""

    @cached_property
    @abstractmethod
    def in_double(self):
        """The same dictionary in double precision; the dictionary itself if it already is."""

    @cached_property
    @abstractmethod
    def in_single(self):
        """The same dictionary in single precision; the dictionary itself if it already is."""

    @property
    @abstractmethod
    def mirrored(self):
        """The atoms and, after them, their mirror images −x, all in one class."""

    @abstractmethod
    def rescaled(self, factors):
        """The same classes with each atom multiplied by a factor of its own."""

    @property
    @abstractmethod
    def dimension(self):
        """Dimension of the space that the atoms can span: no more of them than this are independent."""

    @cached_property
    @abstractmethod
    def gram(self):
        """XᵀX."""

    @cached_property
    @abstractmethod
    def squares(self):
        """‖x‖² of each atom, in double precision."""

    @cached_property
    @abstractmethod
    def block_grams(self):
        """X_iᵀX_i of each class."""

    @cached_property
    @abstractmethod
    def flat_block_grams(self):
        """X_iᵀX_i of all classes, one after the other in one array, and where each begins; for many small classes."""

    @abstractmethod
    def cross(self, queries, scale=1.0):
        """scale·xᵀy of each query y with each atom x: (n_queries, n_atoms)."""

    @abstractmethod
    def squared_norms(self, queries):
        """‖y‖² of each query."""

    @abstractmethod
    def squared_distances_to_mean(self, queries):
        """‖y − x̄‖² of each query to the mean atom x̄, in double precision."""

    @abstractmethod
    def residual_cross(self, queries, codes, target=1.0, gram=1.0):
        """xᵀ(target·y − gram·Xc) for each query y with code c and each atom x; without queries y is zero."""

    @abstractmethod
    def class_cross(self, codes):
        """X_iᵀX_i c_i for each class i, side by side: (n_queries, n_atoms)."""

    @abstractmethod
    def misfits(self, queries, codes, scale=1.0):
        """‖scale·y − Xc‖² for each query."""

    @abstractmethod
    def class_misfits(self, queries, codes, scale=1.0):
        """‖scale·y − X_i c_i‖² for each query y and class i: (n_queries, n_classes)."""

    @abstractmethod
    def class_shortfalls(self, codes):
        """‖Xc − X_i c_i‖² for each class i: how far it falls short of what all classes represent together."""

    def own_queries(self, rows):
        """Atoms as queries, for leaving each of them out."""
        return self.atoms[rows, :]

    # --- growth

    def extend(self, samples, labels, *, normalize=True, classes=None, weights=None, name="X"):
        """The dictionary of these atoms and more samples, as `build` would make it from all samples together.

        Matrices that this dictionary holds are carried over: when the larger one needs them, it computes only the
        products that involve new atoms.

        Parameters
        ----------
        samples, labels, normalize, classes, weights, name
            As for `build`; samples take the dtype of these atoms, and labels may contain new classes.

        Returns
        -------
        BaseDictionary
            Of the kind of this one.
        """
        options = {"normalize": normalize, "classes": classes, "weights": weights, "name": name}
        more = Dictionary.build(samples, labels, dtype=self.dtype, **options)
        before, added = to_numpy(self.classes), to_numpy(more.classes)
        if kind_of_labels(before) != kind_of_labels(added):
            raise ValueError(f"labels must be of the kind seen before, {before.dtype}, got {added.dtype}")
        classes = np.union1d(before, added)
        places = [np.searchsorted(classes, own)[part.labels] for own, part in ((before, self), (added, more))]
        codes = np.concatenate(places)
        rank = np.argsort(codes, kind="stable")
        old, new = np.split(np.argsort(rank), [self.n_atoms])
        atoms = take_rows(concat([self.atoms, more.atoms]), rank)
        order = np.concatenate([self.order, more.order + self.n_samples])[rank]
        bounds, n_samples = _bounds(codes[rank], len(classes)), self.n_samples + more.n_samples
        kept = {
            "weights": None if self.weights is more.weights is None else np.concatenate([*map(_weights, (self, more))]),
            "n_given": None if n_samples == len(rank) else n_samples,
        }
        if kept["weights"] is not None:
            kept["weights"] = kept["weights"][rank]
        extended = replace(self, atoms=atoms, order=order, classes=like(classes, self.classes), bounds=bounds, **kept)
        if growth := self._grow(old, new):
            vars(extended)["_growth"] = growth
        return extended

    def _grow(self, old, new):
        """What a larger dictionary can extend: the matrices held here, or those that this one has not extended yet."""
        held = {name: vars(self)[name] for name in ("gram", "scatter", "spread") if name in vars(self)}
        if "centred" in vars(self) and "gram" in vars(self.centred):
            held |= {"centred_gram": self.centred.gram, "origin": self.centred.origin}
        if held:
            return Growth({**held, "mean": self.mean} if "spread" in held else held, old, new)
        if growth := vars(self).get("_growth"):
            return Growth(growth.held, old[growth.old], np.concatenate([old[growth.new], new]))
        return None

    def settle(self):
        """Discard matrices that `extend` carried over and that were not used."""
        vars(self).pop("_growth", None)

    def _carried(self, name):
        """The `Growth` that can extend this matrix of a smaller dictionary, or None."""
        growth = vars(self).get("_growth")
        return growth if growth is not None and name in growth.held else None

    # --- sizes, kinds and classes

    @property
    def n_atoms(self):
        """Number of training samples, the paper's n."""
        return self.atoms.shape[0]

    @property
    def n_samples(self):
        """Number of samples given: the atoms, and those of weight zero."""
        return self.n_atoms if self.n_given is None else self.n_given

    @property
    def n_features(self):
        """Dimension of a sample, the paper's d."""
        return self.atoms.shape[1]

    @property
    def n_classes(self):
        """Number of classes, the paper's K."""
        return self.classes.shape[0]

    @property
    def dtype(self):
        """float32 or float64."""
        return self.atoms.dtype

    @property
    def is_single(self):
        """Whether the atoms are in single precision."""
        return is_single(self.dtype)

    @property
    def is_non_numpy(self):
        """Whether the atoms are an array of another library than NumPy."""
        return is_non_numpy(self.atoms)

    def like(self, values):
        """Values as an array of the atoms' library, on their device."""
        return like(values, self.atoms)

    @property
    def itemsize(self):
        """Bytes per number."""
        return 4 if self.is_single else 8

    @property
    def xp(self):
        """Namespace of the atoms."""
        return namespace(self.atoms)

    @cached_property
    def blocks(self):
        """One slice per class, into the sorted atoms."""
        return [slice(a, b) for a, b in zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True)]

    @cached_property
    def labels(self):
        """Class number of each sorted atom."""
        return np.repeat(np.arange(self.n_classes), np.diff(self.bounds))

    @cached_property
    def indicator(self):
        """1 where an atom (row) belongs to a class (column), in the atoms' library."""
        labels, names = self.like(self.labels), self.like(np.arange(self.n_classes))
        return self.xp.astype(labels[:, None] == names, self.dtype)

    # --- products that are known already

    def knowing_cross(self, queries, cross, squares=None):
        """The same dictionary, for a caller who has the cross products of these queries, and their ‖y‖², already."""
        known = copy(self)
        vars(known)["_known"] = queries, cross, squares
        return known

    def _knows(self, queries):
        return "_known" in vars(self) and vars(self)["_known"][0] is queries

    def keeping(self, queries):
        """A context in which inner products with these queries are computed once, where that is worth keeping them."""
        return nullcontext()

    # --- sums class by class

    def class_sums(self, values):
        """Sum over the atoms of each class, of dense or CSR values: (n_queries, n_classes)."""
        if is_non_numpy(values):
            return values @ self.indicator
        if sparse.issparse(values):
            rows = np.repeat(np.arange(values.shape[0]), np.diff(values.indptr))
            cells, shape = rows * self.n_classes + self.labels[values.indices], (values.shape[0], self.n_classes)
            return np.bincount(cells, values.data, minlength=shape[0] * shape[1]).reshape(shape).astype(values.dtype)
        # np.add.reduceat cannot sum an empty range, and a class that is known only by name has no atoms.
        return np.stack([values[:, block].sum(axis=1) for block in self.blocks], axis=1)

    def class_dots(self, left, right):
        """left_iᵀright_i for each class i of dense values."""
        if is_non_numpy(left):
            return self.class_sums(left * right)
        from ancr._core import array_kernels

        dots = np.empty((len(left), self.n_classes), left.dtype)
        array_kernels.class_dots(*map(read_only, (left, right, self.bounds)), dots)
        return dots

    def class_norms(self, codes):
        """‖c_i‖² for each class i of dense or CSR codes."""
        return self.class_sums(codes.multiply(codes)) if sparse.issparse(codes) else self.class_dots(codes, codes)

    def class_forms(self, codes):
        """c_iᵀ(X_iᵀX_i)c_i for each class i: by matrix products, or for many small classes at once."""
        if is_non_numpy(codes) and self._places is not None:
            return self._forms_at_once(codes)
        if is_non_numpy(codes) or self.n_atoms >= _LARGE_CLASS * self.n_classes:
            pairs = zip(self.blocks, self.block_grams, strict=True)
            images = self.xp.concat([codes[:, block] @ gram for block, gram in pairs], axis=1)
            return self.class_dots(codes, images)
        from ancr._core import array_kernels

        forms = np.empty((len(codes), self.n_classes), codes.dtype)
        array_kernels.class_forms(*map(read_only, (codes, *self.flat_block_grams, self.bounds)), forms)
        return forms

    @cached_property
    def _places(self):
        """The atom at each place of each class, all classes as long as the longest; None if that wastes much room."""
        sizes = np.diff(self.bounds)
        longest = int(sizes.max())
        if longest * self.n_classes > 2 * self.n_atoms:
            return None
        places = np.arange(longest)
        return self.like(np.where(places < sizes[:, None], self.bounds[:-1, None] + places, 0).ravel())

    def _forms_at_once(self, codes):
        """c_iᵀ(X_iᵀX_i)c_i by one batched product, for libraries where each call costs more than a small class."""
        xp = self.xp
        entries = xp.reshape(xp.take(codes, self._places, axis=1), (codes.shape[0], self.n_classes, -1))
        entries = xp.permute_dims(entries, (1, 0, 2))
        return xp.permute_dims(xp.vecdot(entries @ self._padded_grams, entries, axis=-1), (1, 0))

    # --- order

    def in_given_order(self, codes):
        """Codes over the sorted atoms, dense or CSR, with their columns in the user's order."""
        if self.n_given is not None:
            return self._among_given(codes)
        if np.array_equal(self.order, np.arange(self.n_atoms)):
            return codes
        if is_non_numpy(codes):
            return self.xp.take(codes, like(self.position, codes), axis=1)
        return codes[:, self.position]

    def _among_given(self, codes):
        """Codes with a column for each sample given; those of weight zero are not used."""
        if sparse.issparse(codes):
            rows = sparse.csr_array(codes)
            wide = sparse.csr_array((rows.data, self.order[rows.indices], rows.indptr), (rows.shape[0], self.n_given))
            wide.sort_indices()
            return wide
        if is_non_numpy(codes):
            picked = np.zeros((self.n_atoms, self.n_given))
            picked[np.arange(self.n_atoms), self.order] = 1.0
            return codes @ self.xp.astype(like(picked, codes), codes.dtype)
        wide = np.zeros((codes.shape[0], self.n_given), codes.dtype)
        wide[:, self.order] = codes
        return wide

    @cached_property
    def position(self):
        """Where the user's sample ``i`` sits among the sorted atoms: the inverse of ``order``."""
        position = np.empty_like(self.order)
        position[self.order] = np.arange(self.n_atoms)
        return position


@dataclass(frozen=True)
class Dictionary(BaseDictionary):
    """Atoms with coordinates, sorted by class, with the class blocks and Gram matrices that solvers and rules ask for.

    Use `Dictionary.build`, which validates. Atoms of a class lie next to each other, so that a class block is a
    slice and never a copy; ``order`` leads back to the order given by the user. Arrays
    with an entry per feature or per pair of atoms have the library and device of the samples given; positions are
    NumPy arrays.

    Attributes
    ----------
    origin : array of shape (n_features,) or None
        The point that was subtracted from the samples given, after they were multiplied by ``units``.
    units : float
        A power of two.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ancr import ANCRClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> dictionary = ANCRClassifier().fit(X, y).dictionary_
    >>> dictionary.n_atoms, dictionary.gram.shape
    (150, (150, 150))
    """

    origin: np.ndarray | None = None
    units: float = 1.0

    @classmethod
    def build(cls, samples, labels=None, *, normalize=True, classes=None, weights=None, dtype=_FLOATS, name="X"):
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

        Returns
        -------
        Dictionary
        """
        samples = check_samples(samples, name, dtype)
        given = np.zeros(samples.shape[0], int) if labels is None else labels
        labels = column_or_1d(to_numpy(given))
        check_consistent_length(labels, range(samples.shape[0]))
        kept = np.arange(len(labels)) if weights is None else np.flatnonzero(weights)
        labels = labels[kept]
        found, codes = np.unique(labels, return_inverse=True)
        if classes is not None:
            found, codes = _among(np.unique(to_numpy(classes)), found, codes)
        rank = np.argsort(codes, kind="stable")
        order = kept[rank]
        atoms = namespace(samples).take(samples, like(order, samples), axis=0)
        if normalize:
            atoms = unit_rows(atoms, copy=False)
        bounds, given_weights = _bounds(codes[rank], len(found)), None if weights is None else weights[order]
        even = given_weights is None or bool((given_weights == 1.0).all())
        n_given = None if len(order) == samples.shape[0] else samples.shape[0]
        found, given_weights = like(found, given), None if even else given_weights
        return cls(atoms, order, found, bounds, weights=given_weights, n_given=n_given)

    @property
    def has_coordinates(self):
        """True: ``coordinates`` are the atoms."""
        return True

    @property
    def coordinates(self):
        """The columns of the paper's X, as rows: (n_atoms, n_features)."""
        return self.atoms

    @property
    def dimension(self):
        """Number of features."""
        return self.n_features

    @cached_property
    def in_double(self):
        """The same dictionary in double precision; the dictionary itself if it already is."""
        return self.with_atoms(in_double(self.atoms)) if self.is_single else self

    @cached_property
    def in_single(self):
        """The same dictionary in single precision; the dictionary itself if it already is."""
        return self if self.is_single else self.with_atoms(self.xp.astype(self.atoms, self.xp.float32))

    def with_atoms(self, atoms):
        """The same classes with other coordinates, and the origin that these have."""
        return replace(self, atoms=atoms, origin=None, units=1.0)

    @property
    def mirrored(self):
        """The atoms and, after them, their mirror images −x, all in one class."""
        return Dictionary(concat([self.atoms, -self.atoms]), **one_class(2 * self.n_atoms))

    @property
    def on_host(self):
        """The same dictionary with NumPy arrays."""
        return self.with_atoms(np.ascontiguousarray(to_numpy(self.atoms)))

    def rescaled(self, factors):
        """The same classes with each atom multiplied by a factor of its own."""
        return self.with_atoms(self.xp.astype(self.atoms * self.like(factors)[:, None], self.dtype, copy=False))

    @cached_property
    def largest_entry(self):
        """The largest absolute value in the atoms."""
        return max(float(self.xp.max(self.atoms)), -float(self.xp.min(self.atoms)))

    @property
    def largest_square(self):
        """The largest squared norm that an atom can have, from its largest entry; zero where it is lost."""
        return self.largest_entry * self.largest_entry * self.n_features

    @cached_property
    def in_safe_units(self):
        """The same dictionary in units in which squares of the atoms neither overflow nor vanish."""
        exponent = frexp(self.largest_entry)[1]
        is_safe = abs(exponent) <= (50 if self.is_single else 400)
        return self if is_safe or not self.largest_entry else self.scaled(2.0 ** -max(exponent, -1000))

    def scaled(self, factor):
        """The same dictionary in other units."""
        return replace(self, atoms=self.atoms * factor, units=factor)

    @cached_property
    def centred(self):
        """The same dictionary with the mean atom as its origin."""
        origin = self.xp.astype(self.mean, self.dtype)
        centred = replace(self, atoms=self.atoms - origin, origin=origin)
        if growth := self._carried("centred_gram"):
            vars(centred)["gram"] = growth.extend_centred_gram(centred.atoms, origin)
        return centred

    def moved(self, queries, aim=1.0):
        """Queries as given, in the units of these atoms; aim·y is measured from their origin."""
        queries = queries if self.units == 1.0 else queries * self.units
        return queries if self.origin is None else queries - self.origin / aim

    def cross_as_given(self, cross, queries, aim):
        """xᵀy of the samples and queries as given, from the cross products of these atoms and the moved queries."""
        if self.origin is not None:
            origin = in_double(self.origin)
            of_atoms, of_queries = in_double(self.atoms) @ origin, in_double(queries) @ origin + (origin @ origin) / aim
            cross = cross + of_atoms / aim + of_queries[:, None]
        return cross / self.units / self.units

    def eigenvalues(self, on_plane):
        """Squares of the singular values of X, which are as accurate as the atoms are."""
        # About their mean once more: a centre that is rounded would leave a direction that Σc = 0 does not have.
        atoms = in_double((self.centred if on_plane else self).atoms)
        values = to_numpy(self.xp.linalg.svdvals(atoms)) ** 2
        return values, 16.0 * np.finfo(float).eps ** 2 * self.n_features * len(values) * float(values.max())

    @cached_property
    def gram(self):
        """XᵀX, computed on first use and cached."""
        growth = self._carried("gram")
        return growth.extend_gram(self.atoms) if growth else gram_of(self.atoms)

    @cached_property
    def scatter(self):
        """XXᵀ in double precision, (n_features, n_features)."""
        growth = self._carried("scatter")
        return growth.extend_scatter(self.atoms) if growth else scatter_of(self.atoms)

    @cached_property
    def squares(self):
        """‖x‖² of each atom, in double precision."""
        return squares_in_double(self.atoms)

    @cached_property
    def mean(self):
        """x̄, the mean atom, in double precision."""
        return self.xp.mean(in_double(self.atoms), axis=0)

    @property
    def squared_mean(self):
        """‖x̄‖²."""
        return float(self.mean @ self.mean)

    @cached_property
    def spread(self):
        """(X − x̄1ᵀ)(X − x̄1ᵀ)ᵀ in double precision, the scatter about the mean."""
        growth = self._carried("spread")
        return growth.extend_spread(self.atoms) if growth else scatter_of(in_double(self.atoms) - self.mean)

    @cached_property
    def block_grams(self):
        """X_iᵀX_i of each class."""
        return [self.atoms[block, :] @ self.atoms[block, :].T for block in self.blocks]

    @cached_property
    def _padded_grams(self):
        """X_iᵀX_i of each class, zero beyond its atoms: (n_classes, longest, longest)."""
        xp, longest = self.xp, self._places.shape[0] // self.n_classes
        atoms = xp.reshape(xp.take(self.atoms, self._places, axis=0), (self.n_classes, longest, -1))
        inside = self.like(np.arange(longest) < np.diff(self.bounds)[:, None])
        atoms = xp.where(inside[:, :, None], atoms, xp.zeros_like(atoms))
        return atoms @ xp.matrix_transpose(atoms)

    @cached_property
    def flat_block_grams(self):
        """X_iᵀX_i of all classes, one after the other in one array, and where each begins; for many small classes."""
        from ancr._core.array_kernels import class_grams

        starts = np.concatenate([[0], np.cumsum(np.diff(self.bounds) ** 2)])
        flat = np.empty(starts[-1], self.dtype)
        class_grams(*map(read_only, (self.atoms, self.bounds, starts)), flat)
        return flat, starts

    # --- inner products with queries and codes

    def cross(self, queries, scale=1.0):
        """scale·xᵀy of each query y with each atom x: (n_queries, n_atoms)."""
        if self._knows(queries):
            return scale * vars(self)["_known"][1]
        return (queries if scale == 1.0 else scale * queries) @ self.atoms.T

    def residual_cross(self, queries, codes, target=1.0, gram=1.0):
        """xᵀ(target·y − gram·Xc) for each query y with code c and each atom x; without queries y is zero."""
        image = gram * self.image(codes)
        return (-image if queries is None else target * queries - image) @ self.atoms.T

    def class_cross(self, codes):
        """X_iᵀX_i c_i for each class i, side by side: (n_queries, n_atoms)."""
        products = [(codes[:, block] @ self.atoms[block, :]) @ self.atoms[block, :].T for block in self.blocks]
        return self.xp.concat(products, axis=1)

    def image(self, codes):
        """Xc for each code, a point where queries live."""
        return codes @ self.atoms

    def squared_norms(self, queries):
        """‖y‖² of each query, for NumPy arrays in double precision."""
        return row_squares(queries) if is_non_numpy(queries) else np.einsum("ij,ij->i", queries, queries, dtype=float)

    def squared_distances_to_mean(self, queries):
        """‖y − x̄‖² of each query to the mean atom x̄, in double precision."""
        return row_squares(in_double(queries) - self.mean)

    def misfits(self, queries, codes, scale=1.0):
        """‖scale·y − Xc‖² for each query."""
        return row_squares(scale * queries - self.image(codes))

    def class_misfits(self, queries, codes, scale=1.0):
        """‖scale·y − X_i c_i‖² for each query y and class i, in the cheapest way: (n_queries, n_classes)."""
        return self._class_misfits(queries if scale == 1.0 else scale * queries, codes)

    def class_shortfalls(self, codes):
        """‖Xc − X_i c_i‖² for each class i: how far it falls short of what all classes represent together."""
        return self._class_misfits(self.image(codes), codes)

    def lengths_with_and_without(self, queries, row, atoms, weights, place):
        """‖y − Σ w_j x_j‖ of one query of a block over some atoms, and the same without the atom at ``place``."""
        used = to_numpy(self.xp.take(self.atoms, like(atoms, self.atoms), axis=0))
        misfit = to_numpy(queries[row, :]) - weights @ used
        return np.linalg.norm(misfit), np.linalg.norm(misfit + weights[place] * used[place])

    def _class_misfits(self, targets, codes):
        if sparse.issparse(codes):
            return self._misfits_of_sparse(targets, codes)
        # Writing, reading and squaring the d-vector X_i c_i of a class was measured to cost 4 products per entry.
        spared = 4 * self.n_classes * self.n_features + self._knows(targets) * self.n_atoms * self.n_features
        if (np.diff(self.bounds) ** 2).sum() < spared:
            return self._misfits_through_grams(targets, codes)
        squares = [self._misfits_of_class(k, targets, codes) for k in range(self.n_classes)]
        return self.xp.stack(squares, axis=1)

    def _misfits_of_sparse(self, targets, codes):
        from ancr._core.array_kernels import sparse_class_squares

        squares = np.empty((len(targets), self.n_classes), targets.dtype)
        codes.sort_indices()  # the entries of a class must be contiguous
        arrays = (codes.indptr, codes.indices, codes.data, targets, self.atoms, self.labels)
        sparse_class_squares(*map(read_only, arrays), squares)
        return squares

    def _misfits_of_class(self, k, targets, codes):
        """‖t − X_k c_k‖² from the d-vector of class k itself."""
        block = self.blocks[k]
        return row_squares(targets - codes[:, block] @ self.atoms[block, :])

    def _misfits_through_grams(self, targets, codes):
        """‖t‖² − 2·tᵀX_i c_i + c_iᵀ(X_iᵀX_i)c_i, and the direct formula where that difference cancels."""
        xp = self.xp
        spread = self.class_forms(codes) + row_squares(targets)[:, None]
        squares = spread - 2.0 * self.class_dots(codes, self.cross(targets))
        # Below this share of the terms added up, too few correct digits are left for a square root.
        cancelled = squares < float(xp.finfo(squares.dtype).eps) ** 0.375 * spread
        for k in np.flatnonzero(to_numpy(xp.any(cancelled, axis=0))).tolist():
            mask, column = cancelled[:, k], squares[:, k]
            (rows,) = xp.nonzero(mask)
            column[mask] = self._misfits_of_class(k, xp.take(targets, rows, axis=0), xp.take(codes, rows, axis=0))
            squares[:, k] = column
        return squares


def check_samples(samples, name="X", dtype=_FLOATS):
    """Validate samples of any library; float32 stays float32, anything else numeric becomes float64."""
    if is_non_numpy(samples):
        return check_rows(samples, name, None if dtype is _FLOATS else dtype)
    return check_array(samples, dtype=dtype, input_name=name)


def _among(classes, found, codes):
    """The classes, and the position among them of each label ``found[codes]``; every label must be listed."""
    if kind_of_labels(classes) != kind_of_labels(found) or not np.isin(found, classes).all():
        raise ValueError(f"classes must list every label of y, got classes={classes} for labels {found}")
    return classes, np.searchsorted(classes, found)[codes]


def _weights(dictionary):
    return np.ones(dictionary.n_atoms) if dictionary.weights is None else dictionary.weights


def one_class(n_atoms):
    """Order, classes and bounds of atoms that are all of one class."""
    return {"order": np.arange(n_atoms), "classes": np.zeros(1, int), "bounds": np.array([0, n_atoms])}


def _bounds(sorted_codes, n_classes):
    return np.searchsorted(sorted_codes, np.arange(n_classes + 1))


def kind_of_labels(classes):
    """Kind of the labels: numbers, strings or objects. Only labels of the same kind can be sorted together."""
    return "number" if classes.dtype.kind in "biuf" else classes.dtype.kind


def about_mean(columns):
    """Columns minus their means."""
    return columns - columns.mean(axis=0)
