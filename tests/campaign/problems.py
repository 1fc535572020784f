"""Problems for the campaign: any of them can be made again from a seed and an index.

A problem is drawn on every axis by itself, so that each combination of atoms, queries, offset, scale, set, weights,
precision, memory order and array library turns up sooner or later. ``families`` says what was drawn. Kernels, weights
and what queries ask for come from a second stream of random numbers, so that the rest of a problem does not depend on
them.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from ancr import Locality
from ancr.axes.sets import SETS, CappedSimplex, named_set
from ancr.axes.spaces import Space
from ancr.solvers import ADMM

# What is drawn on each axis, with its share.
ATOMS = {"random": 4, "non-negative": 3, "duplicated": 2, "nearly duplicated": 2, "zero": 1, "scaled": 2, "low rank": 2}
QUERIES = {"random": 4, "mixture": 3, "atom": 2, "mean": 1, "zero": 1, "negative": 2, "far": 1}
OFFSETS = {0.0: 12, 1.0: 2, 1e2: 2, 1e4: 2, 1e6: 2}
SCALES = {"1": 12, "1e-30 to 1e30": 7, "1e±150": 1}
QUADRATICS = {"ridge": 12, "least_squares": 3, "l1": 2, "subspace": 1, "probabilistic": 1, "competitive": 1}
SOLVERS = {"exact": 16, "closed_form": 2, "admm": 2}
PRECISIONS = {"float64": 3, "float32": 1}
ORDERS = {"C": 6, "F": 2, "strided": 1, "reversed": 1}
LIBRARIES = {"numpy": 97, "array_api_strict": 1, "torch": 2}
SPACES = {"as given": 8, "lifted": 1, "with a constant": 1}
KERNELS = {"linear": 17, "rbf": 1, "poly": 1, "precomputed": 1}
SAMPLE_WEIGHTS = {"none": 9, "weights": 1}
FEATURE_WEIGHTS = {"none": 9, "weights": 1}
ASKED = {"nothing": 12, "exclude": 2, "prices": 2, "locality": 1, "start": 1, "exclude, prices and start": 2}
CAPPED = 0.02


@dataclass(frozen=True)
class Problem:
    """Arguments of `ancr.solve`, with the name of the array library to solve in and the families drawn from.

    Attributes
    ----------
    atoms, queries : ndarray
        As they are given to the solver, in their precision and memory order.
    settings : dict
        The other arguments.
    library : str
        The array library.
    families : dict
        What was drawn, by axis.
    sample_weight : ndarray or None
        Weights of the atoms, which `ancr.solve` does not take and classifiers do.
    samples : tuple of ndarray or None
        The rows behind a precomputed kernel: of the atoms and of the queries.
    """

    atoms: np.ndarray
    queries: np.ndarray
    settings: dict
    library: str
    families: dict
    sample_weight: np.ndarray | None = field(default=None)
    samples: tuple | None = field(default=None)


def make_problem(seed, index, spaces=SPACES):
    """The problem with this index in the campaign with this seed; ``spaces`` are those to draw from.

    With the space "as given" alone it is a problem without kernels, weights, caps or anything that queries ask for.
    """
    problem = _base_problem(seed, index, spaces)
    return problem if set(spaces) == {"as given"} else _extended(np.random.default_rng([seed, index, 1]), problem)


def _base_problem(seed, index, spaces):
    rng = np.random.default_rng([seed, index])
    kind, aim, offset, scale, precision = (_draw(rng, axis) for axis in (ATOMS, QUERIES, OFFSETS, SCALES, PRECISIONS))
    n_features = _size(rng, 30)
    atoms = _atoms(rng, kind, _size(rng, 200 if rng.random() < 0.02 else 40), n_features)
    queries = _queries(rng, aim, atoms, int(rng.integers(1, 4)))
    shift = offset * _spread(atoms) * rng.standard_normal(n_features)
    factor = _factor(rng, scale)
    atoms, queries = (_finite((rows + shift) * factor, precision) for rows in (atoms, queries))
    settings = _settings(rng, atoms)
    order, library = _draw(rng, ORDERS), _draw(rng, LIBRARIES)
    library = "numpy" if settings["relaxation"] else library  # the only one that solves it
    space, lift = _draw(rng, spaces), 10.0 ** rng.uniform(-3, 3)
    settings["space"] = Space(lift=0.0 if space == "as given" else lift, normalize=space == "lifted")
    families = {
        "atoms": kind,
        "queries": aim,
        "offset": f"{offset:g}",
        "scale": scale,
        "set": settings["constraint"],
        "quadratic": settings["quadratic"] + (", relaxed" if settings["relaxation"] else ""),
        "solver": getattr(settings["solver"], "name", settings["solver"]),
        "precision": precision,
        "memory order": order,
        "space": space,
        "library": library,
    }
    return Problem(_in_order(atoms, order), _in_order(queries, order), settings, library, families)


def _extended(rng, problem):
    """The same with a kernel, weights, a cap and what queries ask for, where drawn and where one solver takes them."""
    kernel, weighted, features, asked = (_draw(rng, axis) for axis in (KERNELS, SAMPLE_WEIGHTS, FEATURE_WEIGHTS, ASKED))
    settings, sample_weight, n_atoms = dict(problem.settings), None, len(problem.atoms)
    plain, relaxed = settings["quadratic"] in ("ridge", "least_squares"), settings["relaxation"] is not None
    if rng.random() < CAPPED and plain and not relaxed and kernel == "linear":
        settings |= {"constraint": CappedSimplex(float(rng.uniform(1.0, 3.0) / n_atoms))}
        admm = ADMM(rho=_weight(rng, problem.atoms) or 1.0, max_iter=100)
        settings["solver"] = "exact" if rng.random() < 0.7 else admm
        weighted, asked = "none", asked if settings["solver"] == "exact" else "nothing"
    if weighted == "weights" and not relaxed and problem.library == "numpy":
        sample_weight = 10.0 ** rng.uniform(-2, 2, n_atoms)
    if features == "weights" and kernel != "precomputed":
        settings["feature_weight"] = 10.0 ** rng.uniform(-2, 2, problem.atoms.shape[1]) * (
            rng.random(problem.atoms.shape[1]) < 0.9
        )
    if kernel == "precomputed" and not _has_products(problem):
        kernel = "linear"
    problem = replace(problem, settings=settings, sample_weight=sample_weight)
    problem = _in_kernel(rng, problem, kernel)
    problem.settings.update(_asked(rng, asked, problem, relaxed or settings["quadratic"] == "l1"))
    drawn = {"kernel": kernel, "sample weights": "none" if sample_weight is None else "weights", "asked": asked}
    drawn |= {"feature weights": "weights" if "feature_weight" in settings else "none"}
    drawn |= {"set": named_set(settings["constraint"]).name}
    drawn |= {"solver": getattr(settings["solver"], "name", settings["solver"])}
    return replace(problem, families=problem.families | drawn)


def _has_products(problem):
    """Whether squares of atoms and queries are within the range of the precision."""
    with np.errstate(over="ignore"):
        squares = np.sum(np.vstack([problem.atoms, problem.queries]).astype(np.longdouble) ** 2, axis=1)
    limits, squares = np.finfo(problem.atoms.dtype), squares[squares > 0]
    return bool((squares < 1e-3 * limits.max).all() and (squares > 1e9 * limits.tiny).all())


def _in_kernel(rng, problem, kernel):
    """The problem in a kernel; for "precomputed" its arrays are inner products."""
    if kernel == "linear":
        return problem
    space = problem.settings["space"]
    if kernel == "precomputed":
        rows = [values.astype(np.longdouble) for values in (problem.atoms, problem.queries)]
        with np.errstate(over="ignore"):
            atoms, queries = ((values @ rows[0].T).astype(problem.atoms.dtype) for values in rows)
        problem.settings["space"] = "precomputed"
        return replace(problem, atoms=atoms, queries=queries, samples=tuple(rows))
    options = {"lift": space.lift, "normalize": space.normalize, "degree": int(rng.integers(1, 4))}
    problem.settings["space"] = Space(kernel, coef0=float(rng.choice([0.0, 1.0])), **options)
    return problem


def _asked(rng, asked, problem, without_prices):
    """What queries ask for, as arguments of `ancr.solve`."""
    shape, settings, terms = (len(problem.queries), len(problem.atoms)), problem.settings, {}
    if "exclude" in asked:
        terms["exclude"] = rng.random(shape) < rng.uniform(0.0, 0.8)
        terms["exclude"][:, rng.integers(shape[1])] = False
        left, fewest = (~terms["exclude"]).sum(axis=1), named_set(settings["constraint"]).fewest_atoms
        terms["exclude"][left < fewest] = False
    if asked == "locality" and not without_prices:
        terms["prices"] = Locality(float(10.0 ** rng.uniform(-4, 1)))
    if "prices" in asked and not without_prices:
        with np.errstate(over="ignore"):
            size = np.mean(np.sum(problem.atoms.astype(float) ** 2, axis=1))
        size = np.sqrt(size) if settings["space"] == "precomputed" else size
        prices = rng.standard_normal(shape) * 10.0 ** rng.uniform(-4, 1) * (size if 0.0 < size < 1e250 else 1.0)
        limited = named_set(settings["constraint"]).sums_to_one
        terms["prices"] = prices if limited or rng.random() < 0.3 else np.abs(prices)
    if "start" in asked:
        terms["start"] = rng.dirichlet(np.ones(shape[1]), shape[0]) * (rng.random(shape) < 0.5)
    return terms


def _draw(rng, shares):
    weights = np.array(list(shares.values()), float)
    return list(shares)[rng.choice(len(weights), p=weights / weights.sum())]


def _size(rng, largest):
    """From 1 on, small ones more often."""
    return int(np.exp(rng.uniform(0.0, np.log(largest + 1))))


def _atoms(rng, kind, n_atoms, n_features):
    atoms = rng.standard_normal((n_atoms, n_features))
    some = rng.random(n_atoms) < rng.uniform(0.1, 0.9)
    if kind == "non-negative":
        return np.abs(atoms)
    if kind == "duplicated":
        return atoms[rng.integers(0, n_atoms, n_atoms)]
    if kind == "nearly duplicated":
        return atoms[rng.integers(0, n_atoms, n_atoms)] + 10.0 ** rng.uniform(-14, -2) * atoms
    if kind == "zero":
        atoms[some] = 0.0
    if kind == "scaled":
        return atoms * 10.0 ** (rng.uniform(0, 20) * rng.uniform(-0.5, 0.5, (n_atoms, 1)))
    if kind == "low rank":
        rank = min(int(rng.integers(1, 4)), n_features)
        return atoms[:, :rank] @ rng.standard_normal((rank, n_features))
    return atoms


def _queries(rng, aim, atoms, n_queries):
    n_atoms, n_features = atoms.shape
    noise = rng.standard_normal((n_queries, n_features)) * (_spread(atoms) or 1.0)
    if aim == "mixture":
        return rng.dirichlet(np.ones(n_atoms), n_queries) @ atoms + 10.0 ** rng.uniform(-8, 0) * noise
    if aim == "atom":
        return atoms[rng.integers(0, n_atoms, n_queries)]
    if aim == "mean":
        return np.repeat(atoms.mean(axis=0, keepdims=True), n_queries, axis=0)
    if aim == "zero":
        return np.zeros_like(noise)
    if aim == "negative":
        return -np.abs(noise) if rng.random() < 0.5 else -rng.dirichlet(np.ones(n_atoms), n_queries) @ atoms
    if aim == "far":
        return noise * 10.0 ** rng.uniform(-150, 150)
    return noise


def _spread(atoms):
    """Length of a typical atom."""
    return float(np.sqrt(np.median(np.sum(atoms**2, axis=1))))


def _factor(rng, scale):
    if scale == "1":
        return 1.0
    return 10.0 ** rng.uniform(-30, 30) if scale == "1e-30 to 1e30" else 10.0 ** rng.choice([-150, 150])


def _finite(rows, precision):
    """Rows in their precision; what would be infinite there is given as the largest number of half the digits."""
    largest = np.sqrt(np.finfo(precision).max)
    with np.errstate(over="ignore"):
        cast = rows.astype(precision)
    return cast if np.isfinite(cast).all() else (rows / np.abs(rows).max() * largest).astype(precision)


def _settings(rng, atoms):
    quadratic, solver = _draw(rng, QUADRATICS), _draw(rng, SOLVERS)
    constraint = str(rng.choice([name for name, kind in SETS.items() if kind.plain]))
    if quadratic == "l1" and SETS[constraint].sums_to_one:
        constraint = "nonnegative" if SETS[constraint].nonnegative else "free"
    if solver == "closed_form":
        constraint = str(rng.choice(["free", "affine"]))
        quadratic = "ridge" if quadratic == "l1" else quadratic
    if solver == "admm":
        constraint = str(rng.choice(["nonnegative", "simplex"]))
        quadratic = "ridge" if quadratic == "l1" else quadratic
    settings = {"constraint": constraint, "quadratic": quadratic, "solver": solver, "alpha": _weight(rng, atoms)}
    settings |= {"beta": 10.0 ** rng.uniform(-4, 1), "relaxation": None}
    if quadratic in ("subspace", "probabilistic", "competitive"):
        settings["labels"] = rng.integers(0, int(rng.integers(1, 5)), len(atoms))
    may_relax = SETS[constraint].nonnegative and quadratic in ("ridge", "least_squares") and solver == "exact"
    if may_relax and rng.random() < 0.3:
        settings["relaxation"] = _weight(rng, atoms) or 1.0
    if solver == "admm":
        settings["solver"] = ADMM(rho=_weight(rng, atoms) or 1.0, max_iter=100)
    return settings


def _weight(rng, atoms):
    """λ, γ or ρ: zero, or from 1e-8 to 1e2, as it is or times the mean square of the atoms."""
    if rng.random() < 0.2:
        return 0.0
    with np.errstate(over="ignore"):
        size = np.mean(np.sum(atoms.astype(float) ** 2, axis=1)) if rng.random() < 0.5 else 1.0
    return float(10.0 ** rng.uniform(-8, 2) * (size if 0.0 < size < 1e300 else 1.0))


def _in_order(rows, order):
    """The same numbers in another memory order."""
    if order == "F":
        return np.asfortranarray(rows)
    if order == "reversed":
        return rows[::-1, ::-1].copy()[::-1, ::-1]
    if order == "strided":
        wide = np.full((2 * rows.shape[0], 3 * rows.shape[1]), np.nan, rows.dtype)
        wide[::2, ::3] = rows
        return wide[::2, ::3]
    return rows
