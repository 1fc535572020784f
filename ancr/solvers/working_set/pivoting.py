"""Codes by principal pivoting, for many queries over few atoms.

With few atoms all of H fits into a core's first cache, and so does its inverse over the atoms in use, which changes
by one rank when an atom joins or leaves: quicker than a factor that has to be made again. The code that is found is
refined and judged like those of `host_kernels`: by the pulls of all atoms, and to the same allowance. What does not
pass goes on there, from the support found.

Three other ways were slower on 8,000 pixels over 30 endmembers with 9.6 of them in use, which take 12.8 exchanges from
the best single atom (``docs/solve.md``): to update all of the tableau and not the inverse alone, to start from the
support of a similar query, and to factor once for all queries of equal support (Van Benthem and Keenan, 2004).
"""

from __future__ import annotations

from typing import Any

import numpy as np

# With this many queries in a block over so few atoms, pivoting pays for one more kernel to compile.
MANY_QUERIES, FEW_ATOMS = 128, 40
# Vectors are as long as whole registers, so that loops have no rest.
_LANES = 8


def find_codes(program: Any, linear: np.ndarray, squares: np.ndarray, todo: np.ndarray, codes: Any) -> np.ndarray:
    """Write codes of queries that have no support yet; return which of them are left to the other kernels.

    Parameters
    ----------
    program : Program
        The problem as `host_kernels` takes it, with H.
    linear : ndarray of shape (n_queries, n_atoms)
        b of each query, −∞ at atoms that it may not use.
    squares : ndarray of shape (n_queries,)
        ‖y‖² of each query.
    todo : ndarray of int
        Which queries.
    codes : Codes
        Where supports, codes and sizes go; the size of a query whose support is not found stays zero.
    """
    from ancr.solvers.working_set.host_kernels import UNFINISHED, make_workspace
    from ancr.solvers.working_set.pivoting_kernels import pivot_all

    n = len(program.matrix)
    width = -(-n // _LANES) * _LANES
    hessian = np.eye(width)
    hessian[:n, :n] = program.matrix
    hessian[:n, :n] += program.eta
    hessian[np.arange(n), np.arange(n)] += program.prices
    linear = np.ascontiguousarray(linear, float)
    work = make_workspace(width, n)
    pivot_all(program, hessian, *_over_all_atoms(hessian[:n, :n], linear), linear, squares, todo, work, codes)
    return todo[codes.found[todo, 1] == UNFINISHED]


def _over_all_atoms(hessian: np.ndarray, linear: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """H⁻¹ and the rows H⁻¹b; no rows if atoms depend on each other or some may not be used."""
    try:
        inverse = np.linalg.inv(hessian)
    except np.linalg.LinAlgError:
        return np.ascontiguousarray(hessian), linear[:0]
    exact = np.abs(inverse @ hessian - np.eye(len(hessian))).max() < 1e-6
    return inverse, linear @ inverse.T if exact and np.isfinite(linear).all() else linear[:0]
