"""Solvers, and `prepare` and `solve`, which code queries over atoms without a classifier."""

from __future__ import annotations

from ancr.axes.problem import Problem
from ancr.certificate.solution import Solution
from ancr.solvers.admm import ADMM
from ancr.solvers.choice import PARAMETER_CONSTRAINTS, SOLVERS, make_solver
from ancr.solvers.closed_form import ClosedForm
from ancr.solvers.coder import Coder, prepare, solve
from ancr.solvers.contract import Solver
from ancr.solvers.interior_point import InteriorPoint
from ancr.solvers.relaxed import Relaxed
from ancr.solvers.shortest import ShortestCode
from ancr.solvers.sparse_augmented import SparseAugmented
from ancr.solvers.working_set.device import DeviceWorkingSet
from ancr.solvers.working_set.host import HostWorkingSet

__all__ = [
    "ADMM", "PARAMETER_CONSTRAINTS", "SOLVERS", "ClosedForm", "Coder", "DeviceWorkingSet", "HostWorkingSet",
    "InteriorPoint", "Problem", "Relaxed", "ShortestCode", "Solution", "Solver", "SparseAugmented", "make_solver",
    "prepare", "solve",
]  # fmt: skip
