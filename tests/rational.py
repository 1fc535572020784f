"""Small problems solved exactly, in rational numbers: min cᵀHc − 2bᵀc on a set, by trying every support."""

from fractions import Fraction
from itertools import chain, combinations


def rational(values):
    """Numbers, or nested lists of them, as fractions."""
    return [rational(value) for value in values] if hasattr(values, "__len__") else Fraction(float(values))


def solve_system(matrix, right):
    """x with matrix·x = right; None if the matrix is singular."""
    rows, n = [[*row, value] for row, value in zip(matrix, right, strict=True)], len(matrix)
    for i in range(n):
        pivot = next((j for j in range(i, n) if rows[j][i]), None)
        if pivot is None:
            return None
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(n):
            if j != i and rows[j][i]:
                rows[j] = [a - rows[j][i] * b for a, b in zip(rows[j], rows[i], strict=True)]
    return [row[n] for row in rows]


def objective(H, b, c):
    """cᵀHc − 2bᵀc."""
    products = (sum(h * x for h, x in zip(row, c, strict=True)) for row in H)
    return sum(x * (product - 2 * y) for x, product, y in zip(c, products, b, strict=True))


def minimum(H, b, nonnegative, sums_to_one, cap=None):
    """The least objective of a positive semi-definite problem that has one; with a cap on a simplex below it."""
    n, values = len(b), [] if sums_to_one else [Fraction(0)]
    for at_cap in chain.from_iterable(combinations(range(n), size) for size in range(n + 1 if cap else 1)):
        rest = [i for i in range(n) if i not in at_cap]
        missing = 1 - len(at_cap) * (cap or 0)
        for support in chain.from_iterable(combinations(rest, size) for size in range(len(rest) + 1)):
            code, size = [cap if i in at_cap else Fraction(0) for i in range(n)], len(support)
            if size:
                matrix = [[H[i][j] for j in support] for i in support]
                right = [b[i] - sum(H[i][j] * cap for j in at_cap) for i in support]
                if sums_to_one:
                    one = Fraction(1)
                    matrix, right = [*([*row, one] for row in matrix), [*[one] * size, 0]], [*right, missing]
                found = solve_system(matrix, right)
                if found is None:
                    continue
                for i, value in zip(support, found[:size], strict=True):
                    code[i] = value
            if (nonnegative and min(code) < 0) or (cap and max(code) > cap) or (sums_to_one and sum(code) != 1):
                continue
            values.append(objective(H, b, code))
    return min(values)
