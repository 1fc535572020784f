"""Supports by principal pivoting, for many queries over few atoms.

With few atoms the whole system fits into a core's first cache, and putting an atom into the support or taking one out
is a single rank-one update of it: quicker than a factor that has to be made again. What is found are supports to start
from. The kernels of `host_kernels` factor each of them once, price all atoms and go on where it is not optimal, so what
they promise does not rest on what is done here.

Factoring once for all queries of equal support (Van Benthem and Keenan, 2004) was tried and does not pay: with noise,
8,000 pixels over 30 endmembers have 7,990 different supports.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# With this many queries in a block over so few atoms, pivoting pays for one more kernel to compile.
MANY_QUERIES, FEW_ATOMS = 128, 40


def find_supports(program: Any, linear: np.ndarray, codes: Any) -> None:
    """Write supports of the queries that have none, with their codes.

    Parameters
    ----------
    program : Program
        The problem as `host_kernels` takes it, with H.
    linear : ndarray of shape (n_queries, n_atoms)
        b of each query, −∞ at atoms that it may not use.
    codes : Codes
        Where supports, codes and sizes go; the size of a query whose support is not found stays zero.
    """
    from ancr.solvers.working_set.host_kernels import DEPENDENT
    from ancr.solvers.working_set.pivoting_kernels import pivot_all

    hessian = program.matrix.astype(float) + program.kappa
    hessian[np.diag_indices_from(hessian)] += program.prices
    linear = np.ascontiguousarray(linear, float)
    limits = program.shift, program.sums_to_one, program.numbers[DEPENDENT]
    pivot_all(hessian, *_over_all_atoms(hessian, linear), linear, *limits, *codes)


def _over_all_atoms(hessian: np.ndarray, linear: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """H⁻¹ and the rows H⁻¹b; no rows if atoms depend on each other or some may not be used."""
    try:
        inverse = np.linalg.inv(hessian)
    except np.linalg.LinAlgError:
        return hessian, linear[:0]
    exact = np.abs(inverse @ hessian - np.eye(len(hessian))).max() < 1e-6
    return inverse, linear @ inverse.T if exact and np.isfinite(linear).all() else linear[:0]
