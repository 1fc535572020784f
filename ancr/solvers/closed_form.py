"""Codes without inequality constraints: one factorisation, then one matrix product for all queries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ancr._core.arrays import Array, add_to_diagonal, in_double, namespace, row_major, row_sums
from ancr._core.psd import psd_solver
from ancr.axes.problem import Problem
from ancr.axes.quadratics import Quadratic
from ancr.certificate.solution import Solution
from ancr.dictionary.products import Queries
from ancr.solvers.contract import Solver


class ClosedForm(Solver):
    """Free and affine codes: an affine map of the query, c = offset + (y − centre)·operator.

    **Free** (CRC): c = H⁻¹b. For H = XᵀX + λI the identity H⁻¹Xᵀ = Xᵀ(XXᵀ + λI)⁻¹ lets the factorisation run on
    the smaller of n and d.

    **Affine** (ACR): on Σc = 1 the mean atom x̄ can be subtracted from all atoms and from the query without
    changing y − Xc. With c = 1/n + w and X̄ = X − x̄1ᵀ the problem becomes min ‖(y − x̄) − X̄w‖² + λ‖w‖², 1ᵀw = 0, and
    the constraint is met automatically because X̄1 = 0. So the affine code is 1/n plus the *free* code of the centred
    query over the centred atoms: as cheap as CRC, and stable for every λ ≥ 0.

    **Weights**: where atom j pays λ_j, c = Dd with D_jj = √(λ/λ_j) and d the code over the atoms XD at one λ. On
    Σc = 1 the mean atom and 1/n become the weighted ones, with shares in proportion to 1/λ_j: then Σc = 1 is again met
    automatically.

    With class blocks in H there is no such shortcut, and the whole n × n matrix is factored.

    If H is singular, the code of least norm is returned.
    """

    name = "closed_form"
    on_coordinates = True
    is_exact = True

    def refuses(self, problem: Problem) -> str | None:
        """It solves problems whose code is an affine function of the query."""
        if problem.has_l1_term:
            return "it has no ℓ1 term"
        return "it is for sets without inequalities" if problem.constraint.has_inequalities else None

    def set_up(self) -> None:
        """Factor what all queries share."""
        affine = self.problem.constraint.sums_to_one
        # The origin is moved below, where the offset is known.
        self._work = replace(self.problem, fixed_origin=True).standard_form.problem
        dictionary: Any = self._work.dictionary  # one with coordinates
        quadratic = self._work.quadratic
        atoms, xp = dictionary.coordinates, dictionary.xp
        narrow = dictionary.n_features < dictionary.n_atoms
        self._centre, self._offset = xp.zeros_like(atoms[0, :]), xp.zeros_like(atoms[:, 0])
        if quadratic.blocks and (affine or quadratic.gram):
            self._prepare_dense(affine)
        elif quadratic.blocks:
            # H is block-diagonal: each class has its own small ridge problem.
            alone = replace(quadratic, gram=quadratic.blocks, blocks=0.0)
            blocks = [block for block in dictionary.blocks if block.stop > block.start]
            operators = [ridge_operator(atoms[block, :], alone.of_atoms(block)) for block in blocks]
            self._operator = xp.concat(operators, axis=1)
        elif affine:
            self._prepare_affine()
        else:
            # The dictionary holds this product, and extends it when it grows.
            held = dictionary.scatter if narrow else None if dictionary.is_single else dictionary.gram
            self._operator = ridge_operator(atoms, quadratic, held if quadratic.surcharges is None else None)
        self._largest = float(xp.max(xp.abs(self._operator)))

    def _prepare_affine(self) -> None:
        """Operator, centre and offset through the smaller of n and d."""
        dictionary: Any = self._work.dictionary
        quadratic, atoms, xp = self._work.quadratic, dictionary.coordinates, dictionary.xp
        query_scale = quadratic.target / quadratic.gram
        even = quadratic.surcharges is None
        # Where prices differ, the code of a query at the centre is proportional to their inverses.
        share = xp.ones_like(in_double(atoms)[:, 0]) if even else 1.0 / quadratic.prices_like(dictionary.squares)
        share = share / xp.sum(share)
        mean = dictionary.mean if even else share @ in_double(atoms)
        self._centre = xp.astype(mean, atoms.dtype) / query_scale
        centred = in_double(atoms) - mean
        held = dictionary.spread if even and dictionary.n_features < dictionary.n_atoms else None
        operator = ridge_operator(centred, quadratic, held, share)
        # Rounding errors along 1 are divided by λ; they must not change the code's sum.
        operator = operator - xp.sum(operator, axis=1, keepdims=True) * share
        # The centre that queries are measured from is rounded; the offset makes up for it.
        rounded = in_double(self._centre) - mean / query_scale
        self._offset = xp.astype(share + rounded @ operator, atoms.dtype)
        self._operator = row_major(operator, atoms.dtype)

    def _prepare_dense(self, affine: bool) -> None:
        """Operator and offset from the whole n × n matrix H.

        Affine: with c = 1/n + w and P the projection on 1ᵀw = 0, PHP·w = P(b − H1/n). A multiple of 11ᵀ makes the
        matrix definite without touching w.
        """
        dictionary, quadratic = self._work.dictionary, self._work.quadratic
        xp, double = dictionary.xp, dictionary.in_double  # rounding of a single-precision H exceeds many a ridge
        matrix, right = quadratic.matrix(double), quadratic.target * double.coordinates
        n = matrix.shape[0]
        if affine:
            even = -xp.mean(matrix, axis=1)
            matrix = _centred(_centred(matrix).T)
            size = float(xp.linalg.trace(matrix)) / n or 1.0
            solve = psd_solver(matrix + size / n, quadratic.ridge)
            offset = solve(even - xp.mean(even))
            self._offset = xp.astype(1.0 / n + offset - xp.mean(offset), dictionary.dtype)
            operator = _centred(solve(_centred(right)))
        else:
            operator = psd_solver(matrix, quadratic.ridge)(right)
        self._operator = row_major(operator.T, dictionary.dtype)

    def solve_block(self, queries: Queries, history: bool = False) -> Solution:
        """Code a block of queries."""
        rows = queries.rows
        self._check_distance(rows)
        codes = (queries.seen_by(self._work.dictionary).rows - self._centre) @ self._operator
        codes += self._offset
        if self.problem.constraint.sums_to_one:  # large weights of opposite sign cost digits of the sum
            codes += ((1.0 - row_sums(codes)) / codes.shape[1])[:, None]
        xp = self.problem.dictionary.xp
        once = xp.ones_like(rows[:, 0], dtype=xp.int64)
        solution = Solution(codes, once, self._finite(rows, codes), self.problem, queries)
        return solution.with_history() if history else solution

    def _check_distance(self, queries: Array) -> None:
        """On a cone codes shrink with their query; on Σc = 1 the squares of far queries would overflow."""
        xp, summed = self.problem.dictionary.xp, self.problem.constraint.sums_to_one
        if summed and queries.shape[0] and float(xp.max(xp.abs(queries))) * self._work.dictionary.units > 1e150:
            raise ValueError("queries must be at most 1e150 times as long as the atoms; rescale them")

    def _finite(self, queries: Array, codes: Array) -> Array:
        """Whether no code has overflowed; looked at only where one could."""
        xp = self.problem.dictionary.xp
        largest = (
            float(xp.max(xp.abs(queries))) * self._work.dictionary.units * max(self._largest * queries.shape[1], 1.0)
        )
        if largest < 0.01 * float(xp.finfo(codes.dtype).max):
            return xp.ones_like(queries[:, 0], dtype=xp.bool)
        return xp.all(xp.isfinite(codes), axis=1)


def ridge_operator(atoms: Array, quadratic: Quadratic, held: Array | None = None, share: Array | None = None) -> Array:
    """The (d, n) matrix that maps a query to its ridge code, through the smaller of n and d.

    ``held`` is the product of the atoms on that side, in double precision, if it is known already. Atoms that are
    centred, Σ share_j x_j = 0, give that ``share``.
    """
    n, d = atoms.shape
    xp = namespace(atoms)
    ridge, double = quadratic.ridge / quadratic.gram, in_double(atoms)
    even = quadratic.surcharges is None
    scale: Any = 1.0 if even else xp.sqrt(quadratic.ridge / quadratic.prices_like(double))
    double = double if even else double * scale[:, None]
    if held is not None:
        side = xp.asarray(held, copy=True)
    else:
        side = double.T @ double if d < n else double @ double.T
    if share is not None and d >= n:
        side = _made_definite(side, share / scale)
    side = add_to_diagonal(side, ridge)
    solve = psd_solver(side, ridge)
    operator = solve(double.T) if d < n else solve(double).T
    return row_major((quadratic.target / quadratic.gram) * operator * scale, atoms.dtype)


def _made_definite(gram: Array, null: Array) -> Array:
    """The Gram matrix of centred atoms plus a multiple of vvᵀ, v in its null space: it changes no code."""
    xp = namespace(gram)
    size = float(xp.linalg.trace(gram)) / gram.shape[0] or 1.0
    return gram + null[:, None] * (null * (size / float(xp.sum(null * null))))


def _centred(columns: Array) -> Array:
    """Columns minus their means."""
    return columns - namespace(columns).mean(columns, axis=0)
