"""Atoms whose lengths differ by seven decades: certified means within 1e-6 of the optimum, in rational numbers."""

from fractions import Fraction

import numpy as np
import pytest

from ancr import solve
from tests.campaign.decades import large_excesses, large_problem
from tests.rational import minimum, objective, rational, solve_system


def test_an_optimum_beside_outliers_is_found_and_certified():
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((113, 36))
    lengths = 10.0 ** rng.uniform(np.log10(5e-4), np.log10(7e3), 113)
    lengths[0] = 0.06
    atoms *= (lengths / np.linalg.norm(atoms, axis=1))[:, None]
    solution = solve(atoms, atoms[:1], alpha=1e-6)
    # By the conditions of an optimum about the query, in long double: the gap of the code itself.
    apart, code = (atoms - atoms[0]).astype(np.longdouble), solution.codes.toarray()[0].astype(np.longdouble)
    pull = -(apart @ (code @ apart)) - np.longdouble(1e-6) * code
    f = np.sum((code @ apart) ** 2) + np.longdouble(1e-6) * np.sum(code**2)
    assert solution.verify().all()
    pull -= code @ pull
    step = np.maximum(pull / np.longdouble(1e-6), -code)  # the most that c + t ≥ 0 can gain, by strong convexity
    assert np.sum((2.0 * pull - 1e-6 * step) * step) <= 1e-6 * f


def problem(seed):
    """Atoms of lengths over seven decades, a query beside one of them, and λ."""
    rng = np.random.default_rng([3, seed])
    n, d = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    atoms = rng.standard_normal((n, d))
    atoms *= 10.0 ** rng.uniform(-3.3, 3.85, (n, 1))
    query = [atoms[0], atoms[0] * 1.001, rng.dirichlet(np.ones(n)) @ atoms][seed % 3]
    return atoms, query, [1e-6, 1e-3, 1e-9][seed % 3]


@pytest.mark.filterwarnings("ignore:.*could not be certified")
@pytest.mark.parametrize("constraint", ["simplex", "nonnegative", "affine", "free"])
def test_certified_means_within_a_millionth_of_the_optimum(constraint):
    certified = 0
    for seed in range(12):
        atoms, query, alpha = problem(seed)
        solution = solve(atoms, query[None], alpha=alpha, constraint=constraint)
        if not solution.verify()[0]:
            continue
        certified += 1
        rows, y = rational(atoms), rational(query)
        H = [[sum(a * b for a, b in zip(u, v, strict=True)) for v in rows] for u in rows]
        for j in range(len(rows)):
            H[j][j] += Fraction(alpha)
        b, square = [sum(p * q for p, q in zip(u, y, strict=True)) for u in rows], sum(p * p for p in y)
        nonnegative, sums = constraint in ("simplex", "nonnegative"), constraint in ("simplex", "affine")
        code = solution.codes
        code = rational((code.toarray() if nonnegative else code)[0])
        if sums:
            code = [value / sum(code) for value in code]
        best = square + minimum(H, b, nonnegative, sums)
        assert square + objective(H, b, code) - best <= Fraction(1e-6) * max(best, Fraction(1e-24) * square)
    assert certified >= 8


@pytest.mark.filterwarnings("ignore:.*could not be certified")
@pytest.mark.parametrize("seed", [11, 110, 187, 338])
def test_with_a_ridge_no_optimum_is_too_small(seed):
    """Long queries and λ = 1e-12: f* is rounding beside ‖y‖², and certified codes were up to 30 times above it."""
    excesses = list(large_excesses(*large_problem(seed)))
    assert all(excess <= 1e-6 for excess in excesses if excess is not None)


def relaxed_optimum(H, b, half, negative):
    """The code with the least cᵀHc − 2bᵀc + half·‖min(c, 0)‖², by Newton's method from the signs of another code."""
    while True:
        matrix = [[h + half * (i == j and negative[i]) for j, h in enumerate(row)] for i, row in enumerate(H)]
        code = solve_system(matrix, b)
        if negative == (negative := [value < 0 for value in code]):
            return code


@pytest.mark.filterwarnings("ignore:.*could not be certified")
@pytest.mark.parametrize(("offset", "may_be_hard"), [(1.0, False), (1e6, True)])
def test_a_relaxation_is_certified_relative_to_its_objective_too(offset, may_be_hard):
    """Far from the origin the objective is a small share of ‖y‖², of which 1e-8 would hide several per cent of it."""
    alpha, relaxation = 2e-3, 2e-4
    for seed in range(6):
        rng = np.random.default_rng(seed)
        atoms = rng.standard_normal((4, 4)) * [[1], [1], [30], [1000]] + offset
        query = 100.0 * rng.standard_normal(4) + offset
        solution = solve(atoms, query[None], alpha=alpha, relaxation=relaxation, constraint="nonnegative")
        if not solution.verify()[0]:
            assert may_be_hard
            continue
        rows, y, code = rational(atoms), rational(query), rational(solution.codes[0])
        H = [[sum(a * b for a, b in zip(u, v, strict=True)) for v in rows] for u in rows]
        for j in range(4):
            H[j][j] += Fraction(alpha)
        b, half = [sum(p * q for p, q in zip(u, y, strict=True)) for u in rows], Fraction(relaxation) / 2
        best = relaxed_optimum(H, b, half, [value < 0 for value in code])
        reached, least = (
            sum(p * p for p in y) + objective(H, b, c) + half * sum(min(v, 0) ** 2 for v in c) for c in (code, best)
        )
        assert reached - least <= Fraction(1e-6) * least
