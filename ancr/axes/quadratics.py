"""The second axis: which quadratic  cᵀHc − 2bᵀc  a code minimises.

Every quadratic of the family is given by four numbers:

    H = gram·XᵀX + blocks·blockdiag(X_iᵀX_i) + ridge·I,      b = target·Xᵀy,

and, for SRC, a fifth one, the weight of ‖c‖₁. With weights of samples each atom has a price of its own in place of the
ridge: see `Quadratic.priced`. A new quadratic is a function that returns them, passed wherever
``quadratic`` takes a name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ancr._core.arrays import Array, add_to_diagonal, dense, is_single, like, namespace, row_squares, row_sums
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.products import Queries


@dataclass(frozen=True)
class Quadratic:
    """H and b as weights of products that the dictionary provides.

    Attributes
    ----------
    ridge : float
        Weight of ‖c‖², the paper's λ.
    gram, blocks, target : float
        Weights of XᵀX, of the class blocks X_iᵀX_i on its diagonal, and of Xᵀy.
    absolute : float
        Weight of ‖c‖₁, added to the quadratic.
    surcharges : ndarray of shape (n_atoms,) or None
        What each atom pays for c_j² on top of the ridge, in double precision; None for nothing. The ridge is the least
        that any atom pays, so that it bounds the curvature of H from below with surcharges as well as without.
    multiples : ndarray of shape (n_atoms,) or None
        What each atom pays for abs(c_j) as a multiple ≥ 1 of ``absolute``; None for one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ancr import RepresentationClassifier
    >>> from ancr.axes.quadratics import Quadratic
    >>> def twice_the_ridge(alpha, beta, n_classes):
    ...     return Quadratic(ridge=2.0 * alpha)
    >>> X, y = load_iris(return_X_y=True)
    >>> RepresentationClassifier(quadratic=twice_the_ridge, constraint="affine").fit(X[::2], y[::2]).predict(X[1::50])
    array([0, 1, 2])
    """

    ridge: float = 0.0
    gram: float = 1.0
    blocks: float = 0.0
    target: float = 1.0
    absolute: float = 0.0
    surcharges: np.ndarray | None = field(default=None, compare=False, repr=False)
    multiples: np.ndarray | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        weights = (self.ridge, self.gram, self.blocks, self.absolute)
        if not all(0.0 <= weight < float("inf") for weight in weights) or not self.gram + self.blocks > 0.0:
            raise ValueError(f"a quadratic needs weights >= 0 and gram or blocks > 0 to be convex, got {self}")

    def priced(self, weights: np.ndarray | None) -> Quadratic:
        """The same quadratic where an atom of weight w pays ridge/w for c_j² and absolute/w for abs(c_j).

        Parameters
        ----------
        weights : ndarray of shape (n_atoms,) or None
            Weights > 0 of the atoms, in the order of the dictionary; None leaves all as they are.

        Examples
        --------
        >>> import numpy as np
        >>> from ancr.axes.quadratics import ridge
        >>> priced = ridge(0.1).priced(np.array([1.0, 2.0]))
        >>> priced.prices.tolist()
        [0.1, 0.05]
        """
        if weights is None:
            return self
        prices, multiples = self.prices / weights, (1.0 if self.multiples is None else self.multiples) / weights
        least, lowest = float(prices.min()), float(multiples.min())
        return replace(
            self,
            ridge=least,
            absolute=self.absolute * lowest,
            surcharges=prices - least if np.ptp(prices) else None,
            multiples=multiples / lowest if self.absolute and np.ptp(multiples) else None,
        )

    def without_multiples(self) -> Quadratic:
        """The quadratic in d, c_j = d_j/multiple_j, for atoms divided by multiples: all abs(d_j) have one price."""
        assert self.multiples is not None
        prices = self.prices / self.multiples**2
        least = float(prices.min())
        extra = prices - least
        return replace(self, ridge=least, surcharges=extra if extra.any() else None, multiples=None)

    @property
    def prices(self) -> Any:
        """What atoms pay for c_j²: the ridge or, with surcharges, one number per atom."""
        return self.ridge if self.surcharges is None else self.ridge + self.surcharges

    @property
    def largest_price(self) -> float:
        """The most that an atom pays."""
        return float(np.max(self.prices))

    def prices_like(self, values: Array) -> Array:
        """The prices in the library, on the device and in the precision of an array."""
        return self.prices if self.surcharges is None else _in_kind_of(self.prices, values)

    def prices_of(self, atoms: Array) -> Array | float:
        """What atoms pay for c_j², by their positions in an array of any library and shape; the ridge if all pay it."""
        if self.surcharges is None:
            return self.ridge
        xp = namespace(atoms)
        return xp.reshape(xp.take(like(self.prices, atoms), xp.reshape(atoms, (-1,))), tuple(atoms.shape))

    def multiples_like(self, values: Array) -> Array:
        """The multiples in the library, on the device and in the precision of an array; 1 where there are none."""
        return 1.0 if self.multiples is None else _in_kind_of(self.multiples, values)

    def of_atoms(self, atoms: slice | np.ndarray) -> Quadratic:
        """The same for some of the atoms."""
        parts = {name: getattr(self, name) for name in ("surcharges", "multiples")}
        return replace(self, **{name: part[atoms] for name, part in parts.items() if part is not None})

    def times(self, factor: float) -> Quadratic:
        """The quadratic of samples in other units: prices times the square of the factor, finite even where it is not.

        Examples
        --------
        >>> from ancr.axes.quadratics import ridge
        >>> ridge(0.5).times(2.0).ridge
        2.0
        """
        extra = None if self.surcharges is None else times_square(self.surcharges, factor)
        ridge, absolute = times_square(self.ridge, factor), times_square(self.absolute, factor)
        ridge = ridge if ridge > 1e-290 else 0.0  # a subnormal ridge has lost its digits, and no atom notices it
        return replace(self, ridge=float(ridge), absolute=float(absolute), surcharges=extra)

    def matrix(self, dictionary: BaseDictionary, shift: float = 0.0, prices: bool = True) -> Array:
        """H + shift·I, a new (n_atoms, n_atoms) array; ``prices=False`` leaves out what atoms pay for c_j²."""
        matrix = self.gram * dictionary.gram
        if self.blocks:
            for block, gram in zip(dictionary.blocks, dictionary.block_grams, strict=True):
                matrix[block, block] += self.blocks * gram
        return add_to_diagonal(matrix, (self.prices_like(matrix) if prices else 0.0) + shift)

    def linear(self, queries: Queries) -> Array:
        """b for each query: (n_queries, n_atoms). Not to be written to.

        A price of an atom takes half of itself from its entry; −∞ stands for an atom that a query may not use.
        """
        linear = queries.cross if self.target == 1.0 else self.target * queries.cross
        return linear if queries.terms is None else queries.charged(linear, -np.inf)

    def pull(self, queries: Queries, codes: Array, prices: bool = True) -> Array:
        """b − Hc for each query, minus half the quadratic's gradient: (n_queries, n_atoms).

        ``prices=False`` leaves out of H what atoms pay for c_j²; it affects only atoms that a code uses. Atoms that a
        query may not use pull far below all others.
        """
        pull = queries.residual_cross(codes, self.target, self.gram)
        if self.blocks:
            pull -= self.blocks * queries.dictionary.class_cross(codes)
        if self.largest_price and prices:
            pull -= self.prices_like(pull) * dense(codes)
        return pull if queries.terms is None else queries.charged(pull, barred(pull.dtype))

    def times_codes(self, dictionary: BaseDictionary, codes: Array) -> Array:
        """Hc for each code: (n_queries, n_atoms)."""
        image = self.gram * dictionary.times_gram(codes)
        if self.blocks:
            image += self.blocks * dictionary.class_cross(codes)
        return image + self.prices_like(image) * dense(codes) if self.largest_price else image

    def diagonal(self, dictionary: BaseDictionary) -> Array:
        """H_jj of each atom, in double precision."""
        return (self.gram + self.blocks) * dictionary.squares + self.prices_like(dictionary.squares)

    def reach(self, dictionary: BaseDictionary) -> float:
        """The most by which any code can lower the objective, as a multiple of ‖y‖².

        Completing the squares leaves gram·‖y·target/gram − Xc‖², or without a Gram term one such square per class.
        """
        if self.gram:
            return self.target**2 / self.gram
        return dictionary.n_classes * self.target**2 / self.blocks

    def objective(self, queries: Queries, codes: Array) -> Array:
        """‖y‖² + cᵀHc − 2bᵀc + absolute·‖c‖₁ for each query: for ridge, the paper's ‖y − Xc‖² + λ‖c‖²."""
        value = self.excess(queries, codes)
        unreachable = 1.0 - self.reach(queries.dictionary)
        return value + unreachable * queries.squares if unreachable else value

    def excess(self, queries: Queries, codes: Array) -> Array:
        """The objective without the constant that no code can reach, which is never negative."""
        squares = self.squares(queries, codes)
        return squares + self.absolute_price(codes) if self.absolute else squares

    def absolute_price(self, codes: Array) -> Array:
        """absolute·‖c‖₁ of each code, with the multiples."""
        sizes = abs(codes)
        if self.multiples is None:
            return self.absolute * row_sums(sizes)
        return self.absolute * (sizes @ self.multiples_like(sizes))

    def squares(self, queries: Queries, codes: Array) -> Array:
        """All of the excess but the ℓ1 term, as a sum of squares, free of cancellation."""
        squares = row_squares(codes)  # infinite for large codes, which may be optimal without a ridge
        value = self.ridge * squares if self.ridge else namespace(squares).zeros_like(squares)
        if self.surcharges is not None:
            squares = codes.multiply(codes) if issparse(codes) else codes * codes
            value += squares @ _in_kind_of(self.surcharges, value)
        if self.gram:
            value += self.gram * queries.misfits(codes, self.target / self.gram)
        if self.blocks:
            query_scale = 0.0 if self.gram else self.target / self.blocks
            value += self.blocks * row_sums(queries.class_misfits(codes, query_scale))
        return value


def barred(dtype: Any) -> float:
    """The pull of an atom that a query may not use: below all others, and finite, so that a weight of zero ends it."""
    return -1e30 if is_single(dtype) else -1e150


def times_square(price: Any, factor: float) -> Any:
    """price·factor², finite even where factor² is not."""
    return np.minimum(price * factor * factor, 1e280)


def _in_kind_of(values: np.ndarray, array: Array) -> Array:
    """NumPy values in the library, on the device and in the precision of an array."""
    xp = namespace(array)
    return xp.astype(like(values, array), array.dtype, copy=False)


# One function per choice on the axis. All have the same parameters; each uses what it needs of λ, β and K classes.


def ridge(alpha: float, beta: float = 0.0, n_classes: int = 1) -> Quadratic:
    """‖y − Xc‖² + λ‖c‖²: CRC, ACR, NCR and ANCR."""
    return Quadratic(ridge=alpha)


def least_squares(alpha: float = 0.0, beta: float = 0.0, n_classes: int = 1) -> Quadratic:
    """‖y − Xc‖²: NRC."""
    return Quadratic()


def absolute(alpha: float, beta: float = 0.0, n_classes: int = 1) -> Quadratic:
    """‖y − Xc‖² + λ‖c‖₁: SRC."""
    return Quadratic(absolute=alpha)


def subspace(alpha: float, beta: float = 0.0, n_classes: int = 1) -> Quadratic:
    """Σ‖y − X_i c_i‖² + λ‖c‖²: NSC, each class by itself."""
    return Quadratic(ridge=alpha, gram=0.0, blocks=1.0)


def probabilistic(alpha: float, beta: float, n_classes: int) -> Quadratic:
    """‖y − Xc‖² + λ‖c‖² + βΣ‖Xc − X_i c_i‖²: ProCRC. The sum is (K − 2)‖Xc‖² + Σ‖X_i c_i‖²."""
    return Quadratic(ridge=alpha, gram=beta * (n_classes - 2) + 1.0, blocks=beta)


def competitive(alpha: float, beta: float, n_classes: int = 1) -> Quadratic:
    """‖y − Xc‖² + λ‖c‖² + βΣ‖y − X_i c_i‖²: CCRC."""
    return Quadratic(ridge=alpha, blocks=beta, target=1.0 + beta)


def relaxed(alpha: float, relaxation: float) -> Quadratic:
    """‖(1 + w)ŷ − X̂z‖² + w‖z‖², w = 2λ/γ: what a constraint relaxed by γ becomes in the whitened space.

    Not in the table below, because its atoms and queries are not those given; see `ancr.solvers.relaxed`.
    """
    weight = 2.0 * alpha / relaxation
    return Quadratic(ridge=weight, target=1.0 + weight)


QUADRATICS: dict[str, Callable[..., Quadratic]] = {
    "ridge": ridge,
    "least_squares": least_squares,
    "l1": absolute,
    "subspace": subspace,
    "probabilistic": probabilistic,
    "competitive": competitive,
}


def weights_of(quadratic: str | Callable[..., Quadratic], alpha: float, beta: float, n_classes: int) -> Quadratic:
    """The weights of a quadratic, by name or as a function of λ, β and the number of classes."""
    function = QUADRATICS[quadratic] if isinstance(quadratic, str) else quadratic
    weights = function(alpha, beta, n_classes)
    if not isinstance(weights, Quadratic):
        raise ValueError(f"quadratic must be a function that returns a Quadratic, got {weights!r} from {quadratic!r}")
    return weights
