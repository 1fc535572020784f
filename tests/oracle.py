"""Independent answers: quadprog's dual active-set method, and SciPy's Lawson–Hanson where H is singular."""

import numpy as np
import quadprog
from scipy.optimize import nnls


def objective(atoms, query, code, alpha):
    """‖y − Xc‖² + λ‖c‖², written out."""
    return np.sum((query - code @ atoms) ** 2) + alpha * np.sum(code**2)


def best_objective(atoms, query, alpha, constraint):
    """Optimal value of one query."""
    if constraint == "nonnegative":
        n = len(atoms)
        stacked = np.vstack([atoms.T, np.sqrt(alpha) * np.eye(n)])
        return nnls(stacked, np.concatenate([query, np.zeros(n)]), maxiter=50 * n)[1] ** 2
    return objective(atoms, query, _simplex_code(atoms, query, alpha), alpha)


def _simplex_code(atoms, query, alpha):
    n = len(atoms)
    # Distances to the query instead of products: the same problem on the simplex, better scaled. The added
    # multiple of the identity makes H definite; it moves the optimum by less than the tests resolve.
    apart = atoms - query
    gram = apart @ apart.T
    size = max(np.trace(gram) / n, 1e-300)
    hessian = gram / size + (alpha / size + 1e-12) * np.eye(n)
    equality = np.ones((n, 1))
    constraints = np.hstack([equality, np.eye(n)])
    bounds = np.concatenate([[1.0], np.zeros(n)])
    code = quadprog.solve_qp(hessian, np.zeros(n), constraints, bounds, meq=1)[0]
    code = np.maximum(code, 0.0)
    return code / code.sum()
