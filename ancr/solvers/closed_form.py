"""Codes without inequality constraints: one factorisation, then one matrix product for all queries."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

from ancr._core.arrays import Array, add_to_diagonal, concat_columns, in_double, namespace, row_major, row_sums
from ancr._core.psd import psd_inverse, psd_inverse_on_plane, psd_solver, psd_solver_on_plane
from ancr.axes.problem import Problem
from ancr.axes.quadratics import Quadratic
from ancr.certificate.solution import Solution
from ancr.dictionary.gram import scatter_of
from ancr.dictionary.products import Queries
from ancr.dictionary.terms import Terms
from ancr.solvers.contract import Solver


class ClosedForm(Solver):
    """Free and affine codes: an affine map of the query or, without coordinates, of its inner products k.

    **Free** (CRC): c = H⁻¹b. For H = XᵀX + λI the identity H⁻¹Xᵀ = Xᵀ(XXᵀ + λI)⁻¹ lets the factorisation run on
    the smaller of n and d.

    **Affine** (ACR): on Σc = 1 the mean atom x̄ can be subtracted from all atoms and from the query without
    changing y − Xc. With c = 1/n + w and X̄ = X − x̄1ᵀ the problem becomes min ‖(y − x̄) − X̄w‖² + λ‖w‖², 1ᵀw = 0, and
    the constraint is met automatically because X̄1 = 0. So the affine code is 1/n plus the *free* code of the centred
    query over the centred atoms: as cheap as CRC, and stable for every λ ≥ 0.

    **Weights**: where atom j pays λ_j, c = Dd with D_jj = √(λ/λ_j) and d the code over the atoms XD at one λ. On
    Σc = 1 the mean atom and 1/n become the weighted ones, with shares in proportion to 1/λ_j: then Σc = 1 is again met
    automatically.

    With class blocks in H, or without coordinates, there is no such shortcut, and the whole n × n matrix is factored.
    Classes alone (NSC) have a block-diagonal H: one small operator per class.

    If H is singular, the code of least norm is returned.
    """

    name = "closed_form"
    is_exact = takes_prices = True

    def refuses(self, problem: Problem) -> str | None:
        """It solves problems whose code is an affine function of the query."""
        if problem.has_l1_term:
            return "it has no ℓ1 term"
        return "it is for sets without inequalities" if problem.constraint.has_inequalities else None

    def set_up(self) -> None:
        """Factor what all queries share."""
        through = _ThroughCoordinates if self.problem.dictionary.has_coordinates else _ThroughProducts
        self._codes: _ThroughCoordinates | _ThroughProducts = through(self.problem)

    def solve_block(self, queries: Queries, history: bool = False) -> Solution:
        """Code a block of queries."""
        codes, xp = self._codes(queries), self.problem.dictionary.xp
        if queries.prices is not None:
            codes -= xp.astype(0.5 * queries.prices @ self._inverse, codes.dtype, copy=False)
        if self.problem.constraint.sums_to_one:  # large weights of opposite sign cost digits of the sum
            codes += ((1.0 - row_sums(codes)) / codes.shape[1])[:, None]
        once = xp.ones_like(codes[:, 0], dtype=xp.int64)
        # A product of the longest query and the largest entry tells whether a code can overflow: few blocks are summed.
        stays = queries.prices is None and self._codes.stays_finite(queries)
        finite = once == 1 if stays else xp.isfinite(row_sums(codes))
        return Solution(codes, once, finite, self.problem, queries)

    def objection_to(self, terms: Terms | None) -> str | None:
        """Without inequalities nothing but a ridge stops a code from growing along a price."""
        needs_ridge = terms is not None and terms.prices is not None and not self.problem.quadratic.ridge
        return "prices on a set without inequalities need alpha > 0" if needs_ridge else None

    @cached_property
    def _inverse(self) -> Array:
        """H⁻¹, or that on Σ = 0: what a price per unit does to a code."""
        quadratic, on_plane = self.problem.quadratic, self.problem.constraint.sums_to_one
        matrix = quadratic.matrix(self.problem.dictionary.in_double)
        return psd_inverse_on_plane(matrix, quadratic.ridge)[0] if on_plane else psd_inverse(matrix, quadratic.ridge)


class _ThroughCoordinates:
    """c = offset + (y − centre)·operator."""

    def __init__(self, problem: Problem) -> None:
        self._affine = problem.constraint.sums_to_one
        # The origin is moved below, where the offset is known.
        self._work = replace(problem, fixed_origin=True).standard_form.problem
        dictionary = self._work.dictionary.located
        quadratic, atoms, xp = self._work.quadratic, dictionary.coordinates, dictionary.xp
        self._centre, self._offset = xp.zeros_like(atoms[0, :]), xp.zeros_like(atoms[:, 0])
        if quadratic.blocks and (self._affine or quadratic.gram):
            self._prepare_dense()
        elif quadratic.blocks:
            # H is block-diagonal: each class has its own small ridge problem.
            alone = replace(quadratic, gram=quadratic.blocks, blocks=0.0)
            blocks = [block for block in dictionary.blocks if block.stop > block.start]
            operators = [ridge_operator(atoms[block, :], alone.of_atoms(block)) for block in blocks]
            self._operator = xp.concat(operators, axis=1)
        elif self._affine:
            self._prepare_affine()
        else:
            # The dictionary holds this product, and extends it when it grows.
            narrow = dictionary.n_features < dictionary.n_atoms
            held = dictionary.scatter if narrow else None if dictionary.is_single else dictionary.gram
            self._operator = ridge_operator(atoms, quadratic, held if quadratic.surcharges is None else None)
        self._largest = float(xp.max(xp.abs(self._operator)))

    def _prepare_affine(self) -> None:
        """Operator, centre and offset through the smaller of n and d."""
        dictionary = self._work.dictionary.located
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

    def _prepare_dense(self) -> None:
        """Operator and offset from the whole n × n matrix H."""
        quadratic, dictionary = self._work.quadratic, self._work.dictionary
        double = dictionary.in_double  # rounding of a single-precision H exceeds many a ridge
        matrix, right = quadratic.matrix(double), quadratic.target * double.coordinates
        if self._affine:
            solve, offset = psd_solver_on_plane(matrix, quadratic.ridge)
            self._offset, operator = dictionary.xp.astype(offset, dictionary.dtype), solve(right)
        else:
            operator = psd_solver(matrix, quadratic.ridge)(right)
        self._operator = row_major(operator.T, dictionary.dtype)

    def __call__(self, queries: Queries) -> Array:
        self._check_distance(queries.rows)
        codes = (queries.seen_by(self._work.dictionary).rows - self._centre) @ self._operator
        codes += self._offset
        return codes

    def stays_finite(self, queries: Queries) -> bool:
        """Whether no code of a block can overflow."""
        xp, rows = namespace(queries.rows), queries.rows
        if not rows.shape[0]:
            return True
        longest = float(xp.max(xp.abs(rows))) * self._work.dictionary.units * rows.shape[1]
        return longest * max(self._largest, 1.0) < 0.01 * float(xp.finfo(self._operator.dtype).max)

    def _check_distance(self, rows: Array) -> None:
        """On a cone codes shrink with their query; on Σc = 1 the squares of far queries would overflow."""
        xp = namespace(rows)
        if self._affine and rows.shape[0] and float(xp.max(xp.abs(rows))) * self._work.dictionary.units > 1e150:
            raise ValueError("queries must be at most 1e150 times as long as the atoms; rescale them")


class _ThroughProducts:
    """c = offset + target·k·H⁻¹ in a space without coordinates, block by block where H is block-diagonal."""

    def __init__(self, problem: Problem) -> None:
        dictionary, quadratic = problem.dictionary, problem.quadratic
        double, xp, offset = dictionary.in_double, dictionary.xp, 0.0 * dictionary.squares
        self._blocks = [slice(0, dictionary.n_atoms)]
        if problem.constraint.sums_to_one:
            inverse, offset = psd_inverse_on_plane(quadratic.matrix(double), quadratic.ridge)
            inverses = [inverse]
        elif quadratic.gram:
            inverses = [psd_inverse(quadratic.matrix(double), quadratic.ridge)]
        else:
            # A class may be known by name alone, and has no matrix then.
            self._blocks = [block for block in dictionary.blocks if block.stop > block.start]
            grams = [gram for gram in double.block_grams if gram.shape[0]]
            parts = zip(grams, map(quadratic.of_atoms, self._blocks), strict=True)
            shifted = [add_to_diagonal(quadratic.blocks * gram, part.prices_like(gram)) for gram, part in parts]
            inverses = [psd_inverse(matrix, quadratic.ridge) for matrix in shifted]
        # In the precision of the atoms, but for sums, which come from double precision.
        self._offset = xp.astype(offset, dictionary.dtype)
        self._operators = [row_major(quadratic.target * inverse, dictionary.dtype) for inverse in inverses]
        sums = (quadratic.target * xp.sum(inverse, axis=0) for inverse in inverses)
        self._sums = [xp.astype(each, dictionary.dtype) for each in sums]

    def stays_finite(self, queries: Queries) -> bool:
        """Whether no code of a block can overflow: not known without coordinates."""
        return False

    def __call__(self, queries: Queries) -> Array:
        triples = zip(self._blocks, self._operators, self._sums, strict=True)
        codes = concat_columns([_part(queries.cross[:, block], *own) for block, *own in triples])
        codes += self._offset
        return codes


def _part(cross: Array, operator: Array, sums: Array) -> Array:
    """Entries of the atoms of one block.

    What all inner products have in common nearly cancels in the product: its part is known exactly.
    """
    common = namespace(cross).mean(cross, axis=1, keepdims=True)
    part = (cross - common) @ operator
    part += common * sums
    return part


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
        side = scatter_of(double if d < n else double.T)
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
