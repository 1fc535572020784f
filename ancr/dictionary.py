"""The dictionary: what ``fit`` builds and every later step reads."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from ancr._arrays import check_rows, is_foreign, is_single, leaves, like, namespace, to_numpy


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
    def build(cls, samples, labels=None, *, normalize=True, name="X"):
        """Validate samples and sort them by class.

        Parameters
        ----------
        samples : array-like of shape (n_samples, n_features)
            Rows are training samples. float32 stays float32; anything else numeric becomes float64.
        labels : array-like of shape (n_samples,) or None
            Class of each sample; None makes a single class.
        normalize : bool, default=True
            Scale rows to unit ℓ2 norm (Algorithm 2, step 1). All-zero rows stay zero.
        name : str, default="X"
            What error messages call the samples.

        Returns
        -------
        Dictionary
        """
        if is_foreign(samples):
            samples = check_rows(samples, name)
        else:
            samples = check_array(samples, dtype=[np.float64, np.float32], input_name=name)
        given = np.zeros(samples.shape[0], int) if labels is None else labels
        labels = column_or_1d(to_numpy(given))
        check_consistent_length(labels, range(samples.shape[0]))
        classes, codes = np.unique(labels, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        atoms = namespace(samples).take(samples, like(order, samples), axis=0)
        if normalize:
            atoms = leaves(atoms).unit_rows(atoms, copy=False)
        bounds = np.searchsorted(codes[order], np.arange(len(classes) + 1))
        classes = like(classes, given)
        return cls(atoms, order, classes, bounds)

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
        if is_foreign(self.atoms):
            return self.atoms @ self.atoms.T
        gram = np.empty((self.n_atoms, self.n_atoms), self.dtype)
        # By blocks of rows, half of them by symmetry: one call for 16,000 atoms crashes some builds of BLAS.
        for start in range(0, self.n_atoms, 2048):
            rows, before = slice(start, start + 2048), slice(0, start)
            np.matmul(self.atoms[rows], self.atoms[: start + 2048].T, out=gram[rows, : start + 2048])
            gram[before, rows] = gram[rows, before].T
        return gram

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
        """``block_grams`` one after the other in one array, and where each begins."""
        flat = np.concatenate([gram.ravel() for gram in self.block_grams])
        starts = np.concatenate([[0], np.cumsum(np.diff(self.bounds) ** 2)])
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
