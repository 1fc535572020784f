"""Small degenerate problems with every option, on all sets, precisions and machines, against exact rational numbers.

Each problem meets each option once; weights of the ridge and scales take turns.
"""

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import sparse

from ancr import CappedSimplex, Locality, solve
from ancr._core.arrays import to_numpy
from tests.array_libraries import converter
from tests.marks import rarely
from tests.rational import minimum, objective, rational

# Certificates divide and take squares: whatever is zero or leaves the range must be met before.
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

ATOMS = {
    "one atom": [[2, -1]],
    "equal atoms": [[1, 2], [1, 2], [1, 2]],
    "zero atoms": [[0, 0, 0], [0, 0, 0]],
    "some zero, some twice": [[0, 0], [3, 1], [3, 1], [0, 0]],
    "more atoms than features": [[1], [-2], [4], [3]],
    "on a line": [[1, 1], [2, 2], [4, 4], [-1, -1]],
    "corners": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "decades": [[64, 0], [0, 1], [1, 1], [1, 4096]],
}
# Queries of each: zero, an atom, and this one.
OTHER = [3, -1, 2]
SETS = {
    "free": "free",
    "affine": "affine",
    "nonnegative": "nonnegative",
    "simplex": "simplex",
    "half": CappedSimplex(0.5),
    "even": None,  # a cap of 1/n over the atoms left
}
ALPHAS, PRICES = (0.0, 0.125, 64.0), np.array([2.0, -1.0, 0.5, 3.0])


def masks(shape, left):
    """Atoms that queries may not use: the first of odd queries, if enough are left."""
    mask = np.zeros(shape, bool)
    mask[1::2, 0] = shape[1] > left
    return mask


def all_but(shape, left):
    """The same for all atoms but the last of them."""
    return np.arange(shape[1])[None, :] < np.full((shape[0], 1), shape[1] - left)


# What is asked for by queries over atoms of a shape, of which ``left`` must remain: arguments of `solve`.
OPTIONS = {
    "nothing": lambda shape, left: {},
    "a mask": lambda shape, left: {"exclude": masks(shape, left)},
    "a sparse mask": lambda shape, left: {"exclude": sparse.coo_array(masks(shape, left))},
    "positions": lambda shape, left: {"exclude": np.where(masks(shape, left).any(axis=1), 0, -1)},
    "all but a few": lambda shape, left: {"exclude": all_but(shape, left)},
    "prices": lambda shape, left: {"prices": PRICES[: shape[1]]},
    "equal prices": lambda shape, left: {"prices": np.ones(shape)},
    "tiny prices": lambda shape, left: {"prices": np.tile(2.0**-80 * PRICES[: shape[1]], (shape[0], 1))},
    "huge prices": lambda shape, left: {"prices": np.tile(2.0**60 * PRICES[: shape[1]], (shape[0], 1))},
    "locality": lambda shape, left: {"prices": Locality(0.25)},
    "a start": lambda shape, left: {"start": np.tile(PRICES[: shape[1]], (shape[0], 1))},
    "a start, huge prices": lambda shape, left: {"start": np.ones(shape), "prices": 2.0**60 * PRICES[: shape[1]]},
    "weights": lambda shape, left: {"feature_weight": np.array([4.0, 0.0, 0.25])},
    "all but a few, prices": lambda shape, left: {"exclude": all_but(shape, left), "prices": np.ones(shape)},
    "history": lambda shape, left: {"history": True},
}


@cache
def problem(name, option, of_set, turn):
    """Atoms, queries, arguments of `solve`, and for each query (H, b, ‖y‖², the optimum, atoms left), all exact."""
    atoms = np.array(ATOMS[name], float)
    n, d = atoms.shape
    queries = np.vstack([np.zeros((1, d)), atoms[:1], np.array([OTHER], float)[:, :d]])
    left = 1 if of_set in ("free", "nonnegative", "affine", "simplex") else min(n, 2)
    alpha, constraint, shape = ALPHAS[turn], SETS[of_set], (len(queries), n)
    options = dict(OPTIONS[option](shape, left))
    signs, sums = of_set not in ("free", "affine"), of_set not in ("free", "nonnegative")
    if "prices" in options and of_set in ("free", "affine", "nonnegative"):  # a price could pay for more and more
        alpha = alpha or ALPHAS[1]
    if "feature_weight" in options:
        options["feature_weight"] = options["feature_weight"][:d]
    options["alpha"] = alpha
    mask = options.get("exclude", np.zeros(shape, bool))
    mask = mask.toarray() if sparse.issparse(mask) else mask
    mask = mask if mask.ndim == 2 else np.arange(n) == mask[:, None]
    if n < 2 and of_set == "half":
        constraint = CappedSimplex(1.0)
    if of_set == "even":
        constraint = CappedSimplex(1.0 / float((~mask).sum(axis=1).min()))
    weights = rational(options.get("feature_weight", np.ones(d)))
    x, exact = rational(atoms), []
    for i, query in enumerate(queries):
        y, kept = rational(query), [int(j) for j in np.flatnonzero(~mask[i])]

        def inner(u, v):
            return sum(w * p * q for w, p, q in zip(weights, u, v, strict=True))

        prices = options.get("prices", np.zeros(n))
        if isinstance(prices, Locality):
            apart = [[a - b for a, b in zip(x[j], y, strict=True)] for j in kept]
            prices = [Fraction(prices.weight) * inner(u, u) for u in apart]
        else:
            prices = rational(np.broadcast_to(prices, shape)[i][kept])
        H = [[inner(x[j], x[k]) + (Fraction(alpha) if j == k else 0) for k in kept] for j in kept]
        b = [inner(x[j], y) - price / 2 for j, price in zip(kept, prices, strict=True)]
        cap = rational(constraint.highest) if isinstance(constraint, CappedSimplex) else None
        # Where a cap leaves one code, 1/n of its rounding may be missing from the sum.
        cap = max(cap, Fraction(1, len(kept))) if cap is not None else None
        best = minimum(H, b, signs, sums, cap)
        exact.append((H, b, inner(y, y), best, kept, max([abs(price) for price in prices])))
    return atoms, queries, {**options, "constraint": constraint}, exact


def inside(code, of_set, cap):
    """An exact code, moved into its set as far as rounding has left it outside."""
    if of_set not in ("free", "affine"):
        code = [max(value, Fraction(0)) for value in code]
    if of_set == "affine":
        return [value + (1 - sum(code)) / len(code) for value in code]
    if of_set not in ("free", "nonnegative"):
        code = [value / sum(code) for value in code]
        assert cap is None or max(code) <= cap * (1 + Fraction(1, 10**6))
    return code


@pytest.mark.filterwarnings("ignore:.*could not be certified")  # which are those is asserted
@pytest.mark.parametrize("library", ["numpy", *rarely("torch", "array_api_strict")])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("of_set", SETS)
def test_codes_are_optimal_and_certified(of_set, dtype, library):
    convert, double = converter(library), dtype == np.float64
    for (i, name), (j, option) in product(enumerate(ATOMS), enumerate(OPTIONS)):
        if of_set == "affine" and "huge" in option and not double:
            continue  # seven digits of codes of 1e18
        atoms, queries, options, exact = problem(name, option, of_set, (i + j) % 3)
        # A power of two changes no digit.
        scale = 2.0 ** ((0, 100, -100) if double else (0, 30, -30))[(i // 3 + j) % 3]
        settings = options | {"alpha": options["alpha"] * scale**2}
        if isinstance(options.get("prices"), np.ndarray):
            settings["prices"] = options["prices"] * scale**2
        given = (convert((rows * scale).astype(dtype)) for rows in (atoms, queries))
        solution = solve(*given, **settings)
        assert solution.toarray().dtype == dtype
        where = f"{name}, {option}, alpha {options['alpha']}, scale {scale}"
        check(solution, exact, of_set, options["constraint"], double, scale, where)
        # Codes of 1e18 sum to one in no precision; beside an exact fit rounding exceeds such prices less the least one.
        lost = of_set == "affine" and "huge" in option
        lost |= not options["alpha"] and option in ("locality", "tiny prices")
        assert lost or to_numpy(solution.verify()).all(), (where, solution.gap)


def check(solution, exact, of_set, constraint, double, scale, where):
    """Codes inside their set, none above the optimum, and no claim below the truth."""
    codes, gaps = solution.toarray().astype(float), to_numpy(solution.gap)
    cap = rational(constraint.highest) if isinstance(constraint, CappedSimplex) else None
    scales = to_numpy(solution.problem.scale(solution.queries, solution.sorted_codes)) / scale**2
    for i, (H, b, square, best, kept, dearest) in enumerate(exact):
        assert not np.delete(codes[i], kept).any(), where
        code = inside(rational(codes[i][kept]), of_set, cap)
        excess = objective(H, b, code) - best
        size = max(abs(best + square), dearest, square, max(H[j][j] for j in range(len(kept))))
        assert excess <= size * (Fraction(1, 10**12) if double else Fraction(1, 10**5)), (where, i, float(excess))
        claim = gaps[i] * scales[i] if gaps[i] < np.inf else np.inf
        assert float(excess) <= claim + (1e-15 if double else 1e-8) * float(size), (where, i)
