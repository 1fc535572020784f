"""Products of all atoms with vectors in single precision, with a bound on their error."""

from __future__ import annotations

import numpy as np

from ancr._parallel import read_only
from ancr.dictionary import Dictionary

# Features whose products are added up in one go: the error of a sum grows with its length.
FEATURES_AT_ONCE = 512


class Estimate:
    """Products of all atoms with double-precision vectors, in single precision: half the price, and a known error.

    A solver needs such products to the last digit for the atoms that it uses, and for others only to tell that they do
    not matter. Those in doubt it computes again.

    Parameters
    ----------
    dictionary : Dictionary
        Atoms in double precision.
    """

    def __init__(self, dictionary: Dictionary) -> None:
        atoms, self._longest = dictionary.atoms, dictionary.longest or 1.0
        self._atoms = np.empty(atoms.shape, np.float32)
        np.divide(atoms, self._longest, out=self._atoms, casting="same_kind")
        # What adding up a block of features, and all blocks, can lose.
        d = atoms.shape[1]
        self._error = (min(d, FEATURES_AT_ONCE) + d / FEATURES_AT_ONCE + 4) * 2.0**-24

    def __call__(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Products with unit vectors, by what to multiply them, and the error for an atom of unit norm."""
        from ancr._kernels import to_unit_length

        units, lengths = np.empty(vectors.shape, np.float32), np.empty(len(vectors))
        to_unit_length(read_only(vectors), units, lengths)
        # All numbers are finite; some builds of BLAS raise the flag over lanes that they do not use.
        with np.errstate(invalid="ignore"):
            products = units[:, :FEATURES_AT_ONCE] @ self._atoms[:, :FEATURES_AT_ONCE].T
            for start in range(FEATURES_AT_ONCE, vectors.shape[1], FEATURES_AT_ONCE):
                block = slice(start, start + FEATURES_AT_ONCE)
                products += units[:, block] @ self._atoms[:, block].T
        return products, lengths * self._longest, lengths * self._error
