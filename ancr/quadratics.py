"""The first axis: which quadratic  cᵀHc − 2bᵀc  a code minimises.

Every quadratic of the family is four numbers:

    H = gram·XᵀX + blocks·blockdiag(X_iᵀX_i) + ridge·I,      b = target·Xᵀy,

and one more, the weight of ‖c‖₁, for SRC.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ancr._arrays import add_to_diagonal, leaves, namespace


@dataclass(frozen=True)
class Quadratic:
    """H and b as weights on what the dictionary already holds.

    Attributes
    ----------
    ridge : float
        Weight of ‖c‖², the paper's λ.
    gram, blocks, target : float
        Weights of XᵀX, of the class blocks X_iᵀX_i on its diagonal, and of Xᵀy.
    absolute : float
        Weight of ‖c‖₁ beside the quadratic.
    """

    ridge: float = 0.0
    gram: float = 1.0
    blocks: float = 0.0
    target: float = 1.0
    absolute: float = 0.0

    def matrix(self, dictionary, shift=0.0):
        """H + shift·I, a new (n_atoms, n_atoms) array."""
        matrix = self.gram * dictionary.gram
        if self.blocks:
            for block, gram in zip(dictionary.blocks, dictionary.block_grams, strict=True):
                matrix[block, block] += self.blocks * gram
        return add_to_diagonal(matrix, self.ridge + shift)

    def linear(self, dictionary, queries):
        """b for every query: (n_queries, n_atoms)."""
        return (self.target * queries) @ dictionary.atoms.T

    def pull(self, dictionary, queries, codes, ridge=True):
        """b − Hc for every query, minus half the quadratic's gradient: (n_queries, n_atoms).

        ``ridge=False`` leaves the ridge out of H, which touches only atoms that a code uses.
        """
        atoms = dictionary.atoms
        pull = (self.target * queries - self.gram * (codes @ atoms)) @ atoms.T
        if self.blocks:
            for block in dictionary.blocks:
                pull[:, block] -= self.blocks * ((codes[:, block] @ atoms[block, :]) @ atoms[block, :].T)
        if self.ridge and ridge:
            pull -= self.ridge * (codes.toarray() if sparse.issparse(codes) else codes)
        return pull

    def diagonal(self, dictionary):
        """H_jj of every atom."""
        return (self.gram + self.blocks) * _row_squares(dictionary.atoms) + self.ridge

    def reach(self, dictionary):
        """The most of ‖y‖² that a code could ever take off the objective, as a factor.

        Completing the squares leaves gram·‖y·target/gram − Xc‖², or without a Gram term one such square a class.
        """
        if self.gram:
            return self.target**2 / self.gram
        return dictionary.n_classes * self.target**2 / self.blocks

    def objective(self, dictionary, queries, codes):
        """‖y‖² + cᵀHc − 2bᵀc + absolute·‖c‖₁ for every query: for ridge, the paper's ‖y − Xc‖² + λ‖c‖²."""
        value = self.excess(dictionary, queries, codes)
        unreachable = 1.0 - self.reach(dictionary)
        return value + unreachable * _row_squares(queries) if unreachable else value

    def excess(self, dictionary, queries, codes):
        """The objective as a sum of squares, which no code brings below zero and where nothing cancels."""
        value = self.ridge * _row_squares(codes)
        if self.gram:
            value += self.gram * _row_squares(self.target / self.gram * queries - codes @ dictionary.atoms)
        if self.blocks:
            aim = 0.0 if self.gram else self.target / self.blocks * queries
            for block in dictionary.blocks:
                value += self.blocks * _row_squares(aim - codes[:, block] @ dictionary.atoms[block, :])
        return value + self.absolute * _row_sums(abs(codes)) if self.absolute else value


def _row_squares(rows):
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return leaves(rows).row_dots(rows, rows)


def _row_sums(rows):
    if sparse.issparse(rows):
        return np.asarray(rows.sum(axis=1)).ravel()
    return namespace(rows).sum(rows, axis=1)


# One builder a row of the axis. All are called alike; each takes what it needs of λ, γ and the number of classes K.


def ridge(alpha, gamma=0.0, n_classes=1):
    """‖y − Xc‖² + λ‖c‖²: CRC, ACR, NCR and ANCR."""
    return Quadratic(ridge=alpha)


def least_squares(alpha=0.0, gamma=0.0, n_classes=1):
    """‖y − Xc‖²: NRC."""
    return Quadratic()


def absolute(alpha, gamma=0.0, n_classes=1):
    """‖y − Xc‖² + λ‖c‖₁: SRC."""
    return Quadratic(absolute=alpha)


def subspace(alpha, gamma=0.0, n_classes=1):
    """Σ‖y − X_i c_i‖² + λ‖c‖²: NSC, every class by itself."""
    return Quadratic(ridge=alpha, gram=0.0, blocks=1.0)


def probabilistic(alpha, gamma, n_classes):
    """‖y − Xc‖² + λ‖c‖² + γΣ‖Xc − X_i c_i‖²: ProCRC. The sum is (K − 2)‖Xc‖² + Σ‖X_i c_i‖²."""
    return Quadratic(ridge=alpha, gram=gamma * (n_classes - 2) + 1.0, blocks=gamma)


def competitive(alpha, gamma, n_classes=1):
    """‖y − Xc‖² + λ‖c‖² + γΣ‖y − X_i c_i‖²: CCRC."""
    return Quadratic(ridge=alpha, blocks=gamma, target=1.0 + gamma)


def relaxed(alpha, relaxation):
    """‖(1 + w)ŷ − X̂z‖² + w‖z‖², w = 2λ/γ: what a constraint relaxed by γ leaves in the whitened space.

    Not of the table below, because its atoms and queries are not those given; see `ancr.solvers.relaxed`.
    """
    weight = 2.0 * alpha / relaxation
    return Quadratic(ridge=weight, target=1.0 + weight)


QUADRATICS = {
    "ridge": ridge,
    "least_squares": least_squares,
    "l1": absolute,
    "subspace": subspace,
    "probabilistic": probabilistic,
    "competitive": competitive,
}
