"""Independent solutions: enumeration of supports for a few atoms, quadprog's dual active-set method for more."""

from itertools import chain, combinations

import numpy as np
import quadprog


def objective(atoms, query, code, alpha):
    """‖y − Xc‖² + λ‖c‖², written out."""
    return np.sum((query - code @ atoms) ** 2) + alpha * np.sum(code**2)


def best_objective(atoms, query, alpha, constraint):
    """Optimal value of one query, on the simplex or on the orthant."""
    code = (_by_enumeration if len(atoms) <= 8 else _by_quadprog)(atoms, query, alpha, constraint)
    return objective(atoms, query, code, alpha)


def _by_enumeration(atoms, query, alpha, constraint):
    """Solve the equality-constrained problem on every support; the best feasible answer is the optimum."""
    n, d = atoms.shape
    on_simplex = constraint == "simplex"
    best, best_value = np.zeros(n), np.inf if on_simplex else objective(atoms, query, np.zeros(n), alpha)
    supports = chain.from_iterable(combinations(range(n), size) for size in range(1, min(n, d + 1) + 1))
    supports = supports if not alpha else chain.from_iterable(combinations(range(n), k + 1) for k in range(n))
    for support in map(list, supports):
        stacked = np.vstack([atoms[support].T, np.sqrt(alpha) * np.eye(len(support))])
        aim = np.concatenate([query, np.zeros(len(support))])
        if on_simplex:  # eliminate the first entry: c_0 = 1 − Σ others
            rest = np.linalg.lstsq(stacked[:, 1:] - stacked[:, :1], aim - stacked[:, 0], rcond=None)[0]
            part = np.concatenate([[1.0 - rest.sum()], rest])
        else:
            part = np.linalg.lstsq(stacked, aim, rcond=None)[0]
        code = np.zeros(n)
        code[support] = part
        if part.min() >= 0 and objective(atoms, query, code, alpha) < best_value:
            best, best_value = code, objective(atoms, query, code, alpha)
    return best


def _by_quadprog(atoms, query, alpha, constraint):
    # A multiple of the identity makes H definite; it moves the optimum by less than the tests can detect.
    n = len(atoms)
    if constraint == "simplex":
        apart = atoms - query  # the same problem on the simplex, better scaled
        gram, linear, sums = apart @ apart.T, np.zeros(n), np.ones((n, 1))
    else:
        gram, linear, sums = atoms @ atoms.T, atoms @ query, np.empty((n, 0))
    size = max(np.trace(gram) / n, np.abs(linear).max(initial=0.0), alpha) or 1.0
    hessian = gram / size + (alpha / size + 1e-13) * np.eye(n)
    bounds = np.concatenate([np.ones(sums.shape[1]), np.zeros(n)])
    constraints = np.hstack([sums, np.eye(n)])
    code = np.maximum(quadprog.solve_qp(hessian, linear / size, constraints, bounds, meq=sums.shape[1])[0], 0.0)
    return code / code.sum() if constraint == "simplex" else code


def best_relaxed(atoms, query, alpha, relaxation, constraint):
    """(objective, c, z) of min ‖y − Xc‖² + λ‖c‖² + γ/2·‖c − z‖² as one quadratic programme in (c, z)."""
    n = len(atoms)
    eye, half = np.eye(n), relaxation / 2
    hessian = np.block([[atoms @ atoms.T + (alpha + half) * eye, -half * eye], [-half * eye, half * eye]])
    linear = np.concatenate([atoms @ query, np.zeros(n)])
    sums = np.ones((n, 1)) if constraint == "simplex" else np.empty((n, 0))
    constraints = np.vstack([np.zeros((n, n + sums.shape[1])), np.hstack([sums, eye])])
    bounds = np.concatenate([np.ones(sums.shape[1]), np.zeros(n)])
    size = np.trace(hessian) / (2 * n)
    hessian = hessian / size + 1e-13 * np.eye(2 * n)
    best = quadprog.solve_qp(hessian, linear / size, constraints, bounds, meq=sums.shape[1])[0]
    c, z = best[:n], np.maximum(best[n:], 0.0)
    return relaxed_objective(atoms, query, c, z, alpha, relaxation), c, z


def relaxed_objective(atoms, query, c, z, alpha, relaxation):
    """The relaxed objective, written out."""
    return objective(atoms, query, c, alpha) + relaxation / 2 * np.sum((c - z) ** 2)


def best_by_quadprog(hessian, linear, absolute, sums_to_one, nonnegative, relaxation=None, highest=np.inf):
    """min cᵀHc − 2bᵀc + absolute·‖c‖₁ over {0 ≤ c ≤ highest, Σc = 1} or what is asked of it, by quadprog.

    A free code is split into its positive and negative part where the ℓ1 term asks for it; with a relaxation γ the
    constraints are those of a second variable z, at the price γ/2·‖c − z‖².
    """
    n = len(linear)
    split = bool(absolute) and not nonnegative
    if split:
        sign = np.hstack([np.eye(n), -np.eye(n)])
        hessian, linear = sign.T @ hessian @ sign, linear @ sign
    size = len(linear)
    linear = linear - absolute / 2
    bounded = nonnegative or split
    if relaxation is not None:
        half = relaxation / 2 * np.eye(size)
        hessian = np.block([[hessian + half, -half], [-half, half]])
        linear = np.concatenate([linear, np.zeros(size)])
    wanted = slice(size if relaxation is not None else 0, None)
    sums = [np.ones(len(linear[wanted]))] if sums_to_one else []
    rows = np.vstack([*sums, *(np.eye(len(linear[wanted])) if bounded else [])]) if sums or bounded else None
    if rows is None:
        code = np.linalg.lstsq(hessian, linear, rcond=None)[0]
        return code @ hessian @ code - 2 * linear @ code
    bounds = np.concatenate([np.ones(len(sums)), np.zeros(len(rows) - len(sums))])
    if highest < np.inf:
        caps = -np.eye(len(linear[wanted]))
        rows, bounds = np.vstack([rows, caps]), np.concatenate([bounds, np.full(len(caps), -highest)])
    constraints = np.zeros((len(linear), len(rows)))
    constraints[wanted] = rows.T
    # The proximal point method: each step is definite enough for quadprog, and the steps lead to the optimum.
    near = 1e-7 * (max(np.trace(hessian) / len(hessian), np.abs(linear).max(initial=0.0)) or 1.0)
    code = np.zeros(len(linear))
    for _ in range(50):
        aim = linear + near * code
        code = quadprog.solve_qp(hessian + near * np.eye(len(hessian)), aim, constraints, bounds, meq=len(sums))[0]
    return code @ hessian @ code - 2 * linear @ code
