r"""Algorithm 1 on the simplex with a fixed number of iterations: the same codes with cheaper products.

An iteration multiplies all atoms with v only to find the few entries of s above the threshold, and their values. With
the names of `ancr.solvers.admm` and a = 1 − ρ/(2μ),

    s ← c + s − z = Xᵀv/μ + a·s + (ρ/μ − 1)·z,

so s = XᵀV + Z, where V ← aV + v/μ has d numbers and Z ← aZ + (ρ/μ − 1)z needs no product. XᵀV in single precision, with
its error known, tells which entries may lie above the threshold; those are computed again in double. So z, Xz and V
are what they are in double precision, and c, at the end, is one product in double.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ancr._parallel import read_only
from ancr.dictionary import Dictionary
from ancr.solvers.estimate import Estimate
from ancr.solvers.two_parts import TwoParts

if TYPE_CHECKING:
    from ancr.solvers.admm import ThroughFeatures

# From here on a product in single precision saves more than it takes to make up for.
ENOUGH_ATOMS = 500
# Above this share of entries in doubt it does not.
MANY = 0.25


class Screened:
    """The iterations of Algorithm 1, for NumPy arrays with fewer features than atoms.

    Parameters
    ----------
    dictionary : Dictionary
        The atoms.
    c_step : ThroughFeatures
        What the c-step is made of.
    """

    def __init__(self, dictionary: Dictionary, c_step: ThroughFeatures) -> None:
        self._c_step, self._dictionary = c_step, dictionary
        gains = dictionary.dtype == np.float64 and dictionary.n_atoms >= ENOUGH_ATOMS
        self._estimate = Estimate(dictionary) if gains else None

    def codes(self, queries: np.ndarray, n_iter: int, code: str) -> np.ndarray | TwoParts:
        """c or z, after ``n_iter`` iterations."""
        from ancr import _kernels

        step, atoms, rho, push = self._c_step, self._c_step.atoms, self._c_step.rho, self._c_step.push
        estimate, stay = self._estimate, 1.0 - push / 2.0
        target = step.target * queries
        image, shifted_image, vector = np.zeros((3, *queries.shape), queries.dtype)
        rest = np.zeros((len(queries), len(atoms)), queries.dtype)
        threshold, right = np.zeros(len(queries)), target.copy()
        # What Z turns into when no z-step follows: z, or the part of c that asks for no product, ρ(z − Z/2)/μ.
        at_the_end = {"z": (0.0, 1.0), "c": (-push / 2.0, push)}
        # c asks for one more c-step after the last z-step.
        last = n_iter if code == "z" else n_iter - 1
        for iteration in range(1, last + 1):
            v = right @ step.inverse
            _kernels.follow(target, v, image, shifted_image, vector, stay, step.diagonal, step.shift)
            weights = (stay, push - 1.0) if iteration < last else at_the_end[code]
            products, scale, error = self._products(estimate, vector)
            doubts = _kernels.screened_step(
                products, scale, error, read_only(atoms), vector, rest, *weights, threshold, rho, target,
                shifted_image, image, right,
            )  # fmt: skip
            if doubts > MANY * rest.size:
                estimate = None
        if code == "z":
            return rest / rest.sum(axis=1, keepdims=True)
        vectors = step.diagonal * (right @ step.inverse) - (push / 2.0) * vector
        return TwoParts(self._dictionary, estimate, vectors, rest)

    def _products(self, estimate: Estimate | None, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """XᵀV, by what to multiply it, and its error."""
        if estimate is None:
            return vector @ self._c_step.atoms.T, np.ones(len(vector)), np.zeros(len(vector))
        products, scale, error = estimate(vector)
        return products, scale, self._dictionary.longest * error
