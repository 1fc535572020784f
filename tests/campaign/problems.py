"""Problems for the campaign: any of them can be made again from a seed and an index.

A problem is drawn on every axis by itself, so that each combination of atoms, queries, offset, scale, set, weights,
precision, memory order and array library turns up sooner or later. ``families`` says what was drawn.
"""

from dataclasses import dataclass

import numpy as np

from ancr.axes.sets import SETS
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
    """

    atoms: np.ndarray
    queries: np.ndarray
    settings: dict
    library: str
    families: dict


def make_problem(seed, index, spaces=SPACES):
    """The problem with this index in the campaign with this seed; ``spaces`` are those to draw from."""
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
    constraint = str(rng.choice(list(SETS)))
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
