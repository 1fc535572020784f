"""Which settings are scored, on which samples and in which order: all of them, or spaces screened and settings refined.

A grid over spaces has hundreds of settings, and most of them belong to spaces that a cheap member of the family rules
out. So a search goes in three steps:

    screening   ridge regression on the free set (CRC), whose codes are known in closed form, in every space; of spaces
                that differ in their lift alone in the one of the smallest, then, for the best of them, in the others
    coarse      every quadratic, set and relaxation in the best spaces, at one λ, on half of the samples of large sets
    fine        the neighbours of the best of these, in λ and in the relaxation, on all samples
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions, validate_parameter_constraints

from ancr._core.axis import AxisObject
from ancr.axes.sets import named_set
from ancr.axes.spaces import Space
from ancr.selection.folds import Splits
from ancr.selection.scoring import Candidate, Folds, Outcome, Setting, best_setting, choose, leave_one_out

# Spaces that the screening keeps, and the most samples that it looks at.
KEPT_SPACES, SCREENED_SAMPLES = 3, 1500
# The share of the samples that the coarse step looks at; it is never less than the screening looks at.
COARSE_SHARE = 0.5
# Spaces whose other lifts are screened, too, after the smallest.
LIFTED_SPACES = 2
# More samples than this are not needed to choose settings.
MOST_SAMPLES = 6000


class Search(AxisObject):
    """How a grid is searched, and what counts as best.

    Parameters
    ----------
    how : {"screened", "full"}, default="screened"
        ``"full"`` tries every combination. ``"screened"`` tries ridge regression on the free set at λ = 1e-3 … 1 in
        every space, on about 1,500 samples if there are more (of spaces that differ in their lift alone in the one of
        the smallest lift; the others of the two best at the λ that did best there); in the three best spaces every
        quadratic, set and relaxation at the middle λ, on half of the samples, but no fewer than 1,500; then, on all
        samples, the neighbours of the best of these in λ and in the relaxation. A grid of one space is tried in full.
    one_standard_error : bool, default=False
        Take the setting with the sparsest codes among those within one standard error of the best: fewer samples to
        show and faster answers, for a loss that the training set cannot show but that is there on average. (Atoms are
        counted in z, the code in the set; codes on the free and affine sets use every atom.)

    Examples
    --------
    >>> from ancr import ANCRClassifierCV
    >>> from ancr.model_selection import Search
    >>> ANCRClassifierCV(search=Search("full", one_standard_error=True))
    ANCRClassifierCV(search=Search(how='full', one_standard_error=True))
    """

    def __init__(self, how: str = "screened", one_standard_error: bool = False) -> None:
        self.how, self.one_standard_error = how, one_standard_error


def named_search(search: str | Search) -> Search:
    """The search with this name; an object is returned unchanged, after checking it."""
    found = search if isinstance(search, Search) else Search(search)
    constraints = {"how": [StrOptions({"screened", "full"})], "one_standard_error": ["boolean"]}
    validate_parameter_constraints(constraints, found.get_params(), caller_name="Search")
    return found


@dataclass(frozen=True)
class HeldOut:
    """Labelled samples, and how each is held out: alone, or with its fold.

    Attributes
    ----------
    X, y : array
        Samples, of any library, and labels.
    rules : sequence
        Rules, by name or as objects; each candidate is scored with all of them.
    splits : Splits or None
        Gives the folds ``[(train, test), …]`` of the samples with these row numbers; None leaves single samples out.
    rows : ndarray
        Row numbers of X among all training samples.
    weights : ndarray or None
        Weights of the samples.
    """

    X: Any
    y: np.ndarray
    rules: Sequence[Any]
    splits: Splits | None
    rows: np.ndarray
    weights: np.ndarray | None = None

    def outcomes(self, space: Space, candidates: list[Candidate], solver: Any, code: str | None) -> list[Outcome]:
        """Outcomes of candidates in one space; they share its Gram matrix and, along a path, their supports."""
        if not candidates:
            return []
        if self.splits is None:
            dictionary = space.prepare(self.X).dictionary(self.X, self.y, weights=self.weights)
            return list(leave_one_out(dictionary, candidates, self.rules, code))
        folds = Folds(candidates, self.rules, solver, code, space)
        return list(folds.outcomes(self.X, self.y, np.unique(self.y), self.splits(self.rows), self.weights))

    def one_by_one(self) -> HeldOut:
        """The same samples, each held out alone."""
        return replace(self, splits=None)

    def stratified(self, size: int, space: Space) -> HeldOut:
        """About ``size`` of the samples, as many of each class as its share, and two where there are two.

        They are always the same ones, so that a search can be repeated.
        """
        if len(self.y) <= size:
            return self
        random, chosen = np.random.default_rng(0), []
        for label in np.unique(self.y):
            own = np.flatnonzero(self.y == label)
            number = max(2, round(size * len(own) / len(self.y)))
            chosen.append(random.permutation(own)[:number])
        rows = np.sort(np.concatenate(chosen))
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, X=space.part(self.X, rows, rows), y=self.y[rows], rows=self.rows[rows], weights=weights)


@dataclass(frozen=True)
class Run:
    """A search that is under way.

    Attributes
    ----------
    grid : dict
        The candidates of each space.
    screeners : dict
        Ridge regression on the free set in each space.
    held_out, half, few : HeldOut
        All samples, those of the coarse step, and those to screen with.
    solver, code : object
        How codes are found, and which of a relaxed problem's codes is classified with.
    scoring : str
        As for `choose`.
    search : Search
        How the grid is searched.
    """

    grid: dict[Space, list[Candidate]]
    screeners: dict[Space, list[Candidate]]
    held_out: HeldOut
    half: HeldOut
    few: HeldOut
    solver: Any
    code: str | None
    scoring: str
    search: Search

    def outcomes(self, step: Callable[[], Any]) -> tuple[list[Outcome], list[Outcome]]:
        """All outcomes, and those among which to choose; ``step()`` is called after each of `n_steps` steps."""
        return self._full(step) if self._is_full else self._screened(step)

    @property
    def _is_full(self) -> bool:
        return self.search.how == "full" or len(self.grid) == 1

    @property
    def n_steps(self) -> int:
        """Number of spaces that the search goes through, one for each stage in which it does."""
        if self._is_full:
            return len(self.grid)
        return len(self._families) + min(KEPT_SPACES, len(self.grid)) + 1

    @property
    def _families(self) -> list[list[Space]]:
        """Spaces that differ in their lift alone, the smallest lift first."""
        found: dict[Space, list[Space]] = {}
        for space in sorted(self.grid, key=lambda one: one.lift):
            found.setdefault(space.without_lift, []).append(space)
        return list(found.values())

    def _full(self, step: Callable[[], Any]) -> tuple[list[Outcome], list[Outcome]]:
        running: list[Outcome] = []
        for space, candidates in self.grid.items():
            self._add(running, self.held_out, space, candidates, "grid")
            step()
        return running, running

    def _screened(self, step: Callable[[], Any]) -> tuple[list[Outcome], list[Outcome]]:
        """Those among which to choose are the ones in the grid, in a space kept, on all samples."""
        screening, ranked = self._screen(step)
        kept = ranked[:KEPT_SPACES]
        wanted = {candidate for space in kept for candidate in self.grid[space]}
        tried = [one for one in screening if one.candidate in wanted] if self.few is self.half else []
        for space in kept:
            self._add(tried, self.half, space, self._coarse(space, screening), "coarse")
            step()
        best = tried[self._best(tried)].candidate
        running = tried if self.half is self.held_out else []
        near = [one for one in self.grid[best.space] if self._near(one, best)]
        self._add(running, self.held_out, best.space, near, "fine")
        step()
        before = [*(one for one in screening if one not in tried), *(one for one in tried if one not in running)]
        return [*before, *running], running

    def _best(self, outcomes: list[Outcome]) -> int:
        return choose(outcomes, self.scoring, self.search.one_standard_error)

    def _add(
        self, running: list[Outcome], samples: HeldOut, space: Space, candidates: list[Candidate], stage: str
    ) -> None:
        """Score those candidates that are not known yet; of all outcomes the best alone keeps its decision values."""
        known = {one.candidate for one in running}
        new = [one for one in candidates if one not in known]
        running += self._staged(samples.outcomes(space, new, self.solver, self.code), stage)
        if running:
            best = running[self._best(running)]
            for one in running:
                if one is not best:
                    one.forget()

    def _staged(self, outcomes: list[Outcome], stage: str) -> list[Outcome]:
        for one in outcomes:
            one.stage = stage
        return outcomes

    def _screen(self, step: Callable[[], None]) -> tuple[list[Outcome], list[Space]]:
        """What ridge regression scores in the spaces screened, and these from the best to the worst."""
        outcomes: list[Outcome] = []
        best: dict[Space, Setting] = {}

        def rank(space: Space) -> tuple[bool, float]:
            return best[space].leaks, -best[space].mean

        for space, *_ in self._families:
            outcomes += self._ridge(space, self.screeners[space], best)
            step()
        for space, *lifted in sorted(self._families, key=lambda own: rank(own[0]))[:LIFTED_SPACES]:
            alpha = self._best_alpha(space, outcomes)
            for other in lifted:
                outcomes += self._ridge(other, [one for one in self.screeners[other] if one.alpha == alpha], best)
        ranked = sorted(best, key=rank)
        places = {space: place for place, space in enumerate(ranked)}
        for one in outcomes:
            place = places[one.candidate.space]
            ending = "" if place < KEPT_SPACES else f"; the best {KEPT_SPACES} were searched further"
            one.note = f"space {place + 1} of {len(ranked)} for ridge regression{ending}"
        return outcomes, ranked

    def _ridge(self, space: Space, candidates: list[Candidate], best: dict[Space, Setting]) -> list[Outcome]:
        """Ridge regression in a space; ``best`` learns its best setting."""
        found = self._staged(self.few.outcomes(space, candidates, "exact", None), "screening")
        best[space] = best_setting(found, self.scoring)
        for one in found:
            one.forget()
        return found

    def _best_alpha(self, space: Space, screening: list[Outcome]) -> float:
        own = [one for one in screening if one.candidate.space is space]
        return own[best_setting(own, self.scoring).places[0]].candidate.alpha

    def _coarse(self, space: Space, screening: list[Outcome]) -> list[Candidate]:
        """Sets with inequalities at the middle λ; the others, which are cheap to screen, at the λ that did best."""
        screened = self._best_alpha(space, screening)
        middle = self._alphas[(len(self._alphas) - 1) // 2]
        return [
            one
            for one in self.grid[space]
            if not one.alpha or one.alpha == _nearest(self._alphas, middle if _has_inequalities(one) else screened)
        ]

    @property
    def _alphas(self) -> list[float]:
        return sorted({one.alpha for candidates in self.grid.values() for one in candidates if one.alpha} or {0.0})

    def _near(self, one: Candidate, best: Candidate) -> bool:
        """Whether two candidates of a space differ by at most a step in λ and a step in the relaxation."""
        alphas = [0.0, *self._alphas]
        prices = sorted({_price(each) for each in self.grid[best.space]})
        steps = abs(alphas.index(one.alpha) - alphas.index(best.alpha))
        jump = abs(prices.index(_price(one)) - prices.index(_price(best)))
        return steps <= 1 and jump <= 1 and (one.quadratic, one.beta) == (best.quadratic, best.beta)


def _has_inequalities(candidate: Candidate) -> bool:
    return bool(named_set(candidate.constraint).has_inequalities)


def _price(candidate: Candidate) -> float:
    """γ of the relaxation: ∞ for the hard constraint, and 0 for a set without inequalities, the limit γ → 0."""
    if not _has_inequalities(candidate):
        return 0.0
    return np.inf if candidate.relaxation is None else candidate.relaxation


def _nearest(values: list[float], wanted: float) -> float:
    """The value that is nearest on a logarithmic scale."""
    return min(values, key=lambda value: abs(np.log(max(value, 1e-300) / max(wanted, 1e-300))))
