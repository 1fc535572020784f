"""Certified codes over atoms of lengths that differ by seven decades, against optima in rational numbers.

    python -m tests.campaign.decades --problems 2000

All plain sets in turn, with and without a ridge; duplicated and dependent atoms, queries that are atoms or mixtures of
them. The exit status is 1 if a code is certified that is more than 1e-6 of f* above it; an f* that is
rounding counts as `least`, as ``docs/exact.md`` says.
"""

import argparse
import sys
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np

from ancr import solve
from tests.rational import minimum, objective, rational

SETS = ("simplex", "nonnegative", "affine", "free")


def problem(seed):
    """Atoms, a query, λ and the set."""
    rng = np.random.default_rng([26, seed])
    n, d = int(rng.integers(2, 5)), int(rng.integers(1, 4))
    atoms = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3.3, 3.85, (n, 1))
    if seed % 5 == 0:
        atoms[-1] = atoms[0] * rng.choice([1.0, 2.0, -1.0])  # a copy, or dependent
    queries = (atoms[0], atoms[0] * 1.001, rng.dirichlet(np.ones(n)) @ atoms, atoms[-1] + 1e-3 * rng.standard_normal(d))
    return atoms, queries[rng.integers(4)], [0.0, 1e-9, 1e-6, 1e-3][rng.integers(4)], SETS[seed % 4]


def excess(atoms, query, alpha, constraint):
    """(f − f*)/f* of a certified code; None if it is not certified."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = solve(atoms, query[None], alpha=alpha, constraint=constraint)
    if not solution.verify()[0]:
        return None
    rows, y = rational(atoms), rational(query)
    H = [[sum(a * b for a, b in zip(u, v, strict=True)) for v in rows] for u in rows]
    for j in range(len(rows)):
        H[j][j] += Fraction(alpha)
    b, square = [sum(p * q for p, q in zip(u, y, strict=True)) for u in rows], sum(p * p for p in y)
    nonnegative, sums = constraint in ("simplex", "nonnegative"), constraint in ("simplex", "affine")
    code = rational((solution.codes.toarray() if nonnegative else solution.codes)[0])
    code = [value / sum(code) for value in code] if sums else code
    best = square + minimum(H, b, nonnegative, sums)
    return float((square + objective(H, b, code) - best) / max(best, least(rows, y, square, sums)))


def least(rows, y, square, sums):
    """What an objective counts as that is less: 1e-12 of the best single atom or the query, 2⁻⁶⁴ of the longest."""
    squares = [sum(p * p for p in u) for u in rows]
    single = min(sum((p - q) ** 2 for p, q in zip(u, y, strict=True)) for u in rows)
    size = single if sums else square
    return max(Fraction(1e-12) * size, Fraction(1, 2**64) * max(squares) if sums else 0, Fraction(1, 10**300))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=2000)
    counts, wrong = Counter(), []
    for seed in range(parser.parse_args().problems):
        *given, constraint = problem(seed)
        found = excess(*given, constraint)
        counts[constraint, "certified" if found is not None else "not certified"] += 1
        if found is not None and found > 1e-6:
            wrong.append((seed, constraint, given[2], found))
    print(*sorted(counts.items()), *wrong, f"{len(wrong)} certified beyond 1e-6 of the optimum", sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
