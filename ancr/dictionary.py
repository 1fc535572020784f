"""The dictionary: what ``fit`` builds and every later step reads."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from ancr._arrays import check_rows, is_foreign, is_single, leaves, like, namespace, to_numpy
from ancr._parallel import read_only

_FLOATS = (np.float64, np.float32)


@dataclass(frozen=True)
class Dictionary:
    """Atoms, sorted by class, with the class blocks and Gram matrices that solvers and rules ask for.

    Use `Dictionary.build`, which validates. Atoms of a class lie next to each other, so that a class block is a
    slice and never a copy; ``order`` leads back to the order given by the user. What has an entry for every feature
    or every pair of atoms is of the library and on the device of the samples given; positions are NumPy's.

    Attributes
    ----------
    atoms : array of shape (n_atoms, n_features)
        The columns of the paper's X, as rows, float32 or float64.
    order : ndarray of shape (n_atoms,)
        ``atoms[i]`` is the user's sample ``order[i]``.
    classes : array of shape (n_classes,)
        Sorted labels, of the library of the labels given.
    bounds : ndarray of shape (n_classes + 1,)
        Class ``k`` owns the atoms ``bounds[k]:bounds[k + 1]``.
    """

    atoms: np.ndarray
    order: np.ndarray
    classes: np.ndarray
    bounds: np.ndarray

    @classmethod
    def build(cls, samples, labels=None, *, normalize=True, classes=None, dtype=_FLOATS, name="X"):
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
            Labels that must have a block, be it an empty one, and among which all labels must be.
        dtype : dtype or sequence of dtypes
            Where it is one dtype, the one of the atoms.
        name : str, default="X"
            What error messages call the samples.

        Returns
        -------
        Dictionary
        """
        if is_foreign(samples):
            samples = check_rows(samples, name, None if dtype is _FLOATS else dtype)
        else:
            samples = check_array(samples, dtype=dtype, input_name=name)
        given = np.zeros(samples.shape[0], int) if labels is None else labels
        labels = column_or_1d(to_numpy(given))
        check_consistent_length(labels, range(samples.shape[0]))
        found, codes = np.unique(labels, return_inverse=True)
        if classes is not None:
            found, codes = _among(np.unique(to_numpy(classes)), found, codes)
        order = np.argsort(codes, kind="stable")
        atoms = namespace(samples).take(samples, like(order, samples), axis=0)
        if normalize:
            atoms = leaves(atoms).unit_rows(atoms, copy=False)
        return cls(atoms, order, like(found, given), _bounds(codes[order], len(found)))

    def extend(self, samples, labels, *, normalize=True, classes=None, name="X"):
        """The dictionary of these atoms and more, as `build` would make it of all samples together.

        Matrices that this one holds are carried over: when the larger one is asked for them, only what involves a
        new atom is computed.

        Parameters
        ----------
        samples, labels, normalize, classes, name
            As for `build`; samples take the dtype of these atoms, labels may bring new classes.

        Returns
        -------
        Dictionary
        """
        more = Dictionary.build(samples, labels, normalize=normalize, classes=classes, dtype=self.dtype, name=name)
        if kind_of_labels(self.classes) != kind_of_labels(more.classes):
            raise ValueError(f"labels must be of the kind seen before, {self.classes.dtype}, got {more.classes.dtype}")
        classes = np.union1d(self.classes, more.classes)
        codes = np.concatenate([np.searchsorted(classes, part.classes)[part.labels] for part in (self, more)])
        rank = np.argsort(codes, kind="stable")
        old, new = np.split(np.argsort(rank), [self.n_atoms])
        atoms = np.empty((len(rank), self.n_features), self.dtype)
        atoms[old], atoms[new] = self.atoms, more.atoms
        order = np.concatenate([self.order, more.order + self.n_atoms])[rank]
        extended = Dictionary(atoms, order, classes, _bounds(codes[rank], len(classes)))
        if growth := self._grow(old, new):
            vars(extended)["_growth"] = growth
        return extended

    def _grow(self, old, new):
        """What a larger dictionary can build on: the matrices held here, or those this one has yet to build on."""
        held = {name: vars(self)[name] for name in ("gram", "scatter", "spread") if name in vars(self)}
        if held:
            return Growth({**held, "mean": self.mean} if "spread" in held else held, old, new)
        if growth := vars(self).get("_growth"):
            return Growth(growth.held, old[growth.old], np.concatenate([old[growth.new], new]))
        return None

    def settle(self):
        """Let go of what `extend` carried over and nobody asked for."""
        vars(self).pop("_growth", None)

    def _carried(self, name):
        """The growth that can extend a matrix of a smaller dictionary, or None."""
        growth = vars(self).get("_growth")
        return growth if growth is not None and name in growth.held else None

    @property
    def n_atoms(self):
        """Number of training samples, the paper's n."""
        return self.atoms.shape[0]

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
    def itemsize(self):
        """Bytes of a number."""
        return 4 if self.is_single else 8

    @property
    def xp(self):
        """Namespace of the atoms."""
        return namespace(self.atoms)

    @property
    def leaves(self):
        """Numeric leaves for arrays of the atoms' kind."""
        return leaves(self.atoms)

    @cached_property
    def blocks(self):
        """One slice a class, into the sorted atoms."""
        return [slice(a, b) for a, b in zip(self.bounds[:-1].tolist(), self.bounds[1:].tolist(), strict=True)]

    @cached_property
    def labels(self):
        """Class number of every sorted atom."""
        return np.repeat(np.arange(self.n_classes), np.diff(self.bounds))

    @cached_property
    def gram(self):
        """XᵀX, computed when first asked for and kept."""
        growth = self._carried("gram")
        return growth.extend_gram(self.atoms) if growth else _gram(self.atoms)

    @cached_property
    def scatter(self):
        """XXᵀ in double precision, (n_features, n_features)."""
        growth = self._carried("scatter")
        return growth.extend_scatter(self.atoms) if growth else _scatter(self.atoms)

    @cached_property
    def longest(self):
        """The largest ℓ2 norm of an atom, in double precision; of NumPy's atoms alone."""
        return float(np.einsum("ij,ij->i", self.atoms, self.atoms, dtype=np.float64).max()) ** 0.5

    @cached_property
    def mean(self):
        """x̄, the mean atom, in double precision."""
        return self.xp.mean(_in_double(self.atoms), axis=0)

    @cached_property
    def spread(self):
        """(X − x̄1ᵀ)(X − x̄1ᵀ)ᵀ in double precision, the scatter about the mean."""
        growth = self._carried("spread")
        return growth.extend_spread(self.atoms) if growth else _scatter(_in_double(self.atoms) - self.mean)

    @cached_property
    def block_grams(self):
        """X_iᵀX_i of every class."""
        return [self.atoms[block, :] @ self.atoms[block, :].T for block in self.blocks]

    @cached_property
    def indicator(self):
        """1 where an atom (row) is of a class (column), in the atoms' library."""
        own = np.eye(self.n_classes)[self.labels]
        return self.xp.astype(like(own, self.atoms), self.dtype)

    @cached_property
    def flat_block_grams(self):
        """X_iᵀX_i of every class one after the other in one array, and where each begins; for many small classes."""
        from ancr._kernels import class_grams

        starts = np.concatenate([[0], np.cumsum(np.diff(self.bounds) ** 2)])
        flat = np.empty(starts[-1], self.dtype)
        class_grams(*map(read_only, (self.atoms, self.bounds, starts)), flat)
        return flat, starts

    def in_given_order(self, codes):
        """Codes over the sorted atoms, dense or CSR, with their columns in the user's order."""
        if np.array_equal(self.order, np.arange(self.n_atoms)):
            return codes
        if is_foreign(codes):
            return self.xp.take(codes, like(self.position, codes), axis=1)
        return codes[:, self.position]

    @cached_property
    def position(self):
        """Where the user's sample ``i`` sits among the sorted atoms: the inverse of ``order``."""
        position = np.empty_like(self.order)
        position[self.order] = np.arange(self.n_atoms)
        return position


@dataclass(frozen=True)
class Growth:
    """What a dictionary took over from a smaller one.

    Attributes
    ----------
    held : dict of str to ndarray
        Matrices of the smaller one, by the names they have there, and with a spread the mean it is about.
    old, new : ndarray of int
        Atoms of the larger, by position: those of the smaller, in their order there, and the others.
    """

    held: dict
    old: np.ndarray
    new: np.ndarray

    def extend_gram(self, atoms):
        """The larger dictionary's Gram: the old entries moved to their places, products for the new rows alone."""
        gram, new = np.empty((len(atoms), len(atoms)), atoms.dtype), atoms[self.new]
        gram[np.ix_(self.old, self.old)] = self.held["gram"]
        gram[np.ix_(self.new, self.new)] = _gram(new)
        between = new @ atoms[self.old].T
        gram[np.ix_(self.new, self.old)] = between
        gram[np.ix_(self.old, self.new)] = between.T
        return gram

    def extend_scatter(self, atoms):
        """The scatter of the old atoms plus that of the new ones."""
        return self.held["scatter"] + _scatter(atoms[self.new])

    def extend_spread(self, atoms):
        """Scatters about two means, joined without a difference that could cancel (Chan, Golub and LeVeque, 1983)."""
        new = atoms[self.new].astype(np.float64, copy=False)
        mean, weight = new.mean(axis=0), len(self.old) * len(new) / len(atoms)
        apart = mean - self.held["mean"]
        return self.held["spread"] + _scatter(new - mean) + weight * np.outer(apart, apart)


def _gram(atoms):
    if is_foreign(atoms):
        return atoms @ atoms.T
    gram = np.empty((len(atoms), len(atoms)), atoms.dtype)
    # By blocks of rows, half of them by symmetry: one call for 16,000 atoms crashes some builds of BLAS.
    for start in range(0, len(atoms), 2048):
        rows, before = slice(start, start + 2048), slice(0, start)
        np.matmul(atoms[rows], atoms[: start + 2048].T, out=gram[rows, : start + 2048])
        gram[before, rows] = gram[rows, before].T
    return gram


def _scatter(rows):
    rows = _in_double(rows)
    return rows.T @ rows


def _in_double(rows):
    xp = namespace(rows)
    return xp.astype(rows, xp.float64, copy=False)


def _among(classes, found, codes):
    """Class numbers of labels ``found[codes]`` in a list of classes that must hold them all."""
    if kind_of_labels(classes) != kind_of_labels(found) or not np.isin(found, classes).all():
        raise ValueError(f"classes must list every label of y, got classes={classes} for labels {found}")
    return classes, np.searchsorted(classes, found)[codes]


def _bounds(sorted_codes, n_classes):
    return np.searchsorted(sorted_codes, np.arange(n_classes + 1))


def kind_of_labels(classes):
    """What can be sorted together: numbers, strings or whatever objects there are."""
    return "number" if classes.dtype.kind in "biuf" else classes.dtype.kind
