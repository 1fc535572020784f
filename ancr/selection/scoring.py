"""How settings are scored without test labels: candidates, their outcomes on held-out samples, and the choice."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from ancr._core.arrays import Array, concat, in_double, is_non_numpy, like, namespace, row_major, to_numpy
from ancr.axes.problem import Problem
from ancr.axes.rules import Rule, named_rule
from ancr.axes.sets import Set
from ancr.axes.spaces import Space
from ancr.certificate.solution import Solution
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.products import Queries
from ancr.selection.calibration import brier_losses
from ancr.selection.temperature import fit_temperature
from ancr.solvers import Solver
from ancr.solvers.choice import accepts, find_solver
from ancr.solvers.leave_one_out import LeaveOneOut

# Codes that only have to decide a class need not be exact to the last digit.
_TOL = 1e-4
# Rules that differ by more than this share of the samples, each coded over all others, do not see the same data.
_APART = 0.1


@dataclass(frozen=True)
class Candidate:
    """One setting of everything but the rule, which needs no solve of its own."""

    quadratic: str | Callable
    constraint: str | Set
    beta: float
    alpha: float
    relaxation: float | None
    space: Space

    @property
    def settings(self) -> dict[str, Any]:
        """What tells it from the other candidates, as parameters of a classifier."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def _weights(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "space"}

    def problem(self, dictionary: BaseDictionary) -> Problem:
        """The problem over a dictionary."""
        return Problem.of(dictionary, **self._weights)


@dataclass(eq=False)
class Outcome:
    """Decision values of the held-out training samples under one candidate and rule, and how good they are.

    ``stage`` and ``note`` say when and on what it was tried, for the reader of a table.
    """

    candidate: Candidate
    rule: str | Rule
    decisions: Any
    atoms_used: float
    labels: np.ndarray
    near: float | None = None  # the temperature of a similar setting
    one_out: bool = False  # whether each sample was coded over all others
    stage: str = "grid"
    note: str = ""
    right: np.ndarray = field(init=False)
    losses: dict[str, np.ndarray] = field(init=False)
    temperature: float = field(init=False)

    def __post_init__(self) -> None:
        decisions = in_double(self.decisions)
        xp = namespace(decisions)
        self.right = to_numpy(xp.argmax(decisions, axis=1)) == self.labels
        self.temperature, log_losses = fit_temperature(decisions, self.labels, self.near)
        squares = brier_losses(decisions, self.labels, self.temperature)
        self.losses = {"brier": to_numpy(squares), "log_loss": to_numpy(log_losses)}
        self.decisions = xp.astype(decisions, xp.float32)

    def score(self, scoring: str) -> np.ndarray:
        """Score of each sample, larger is better: a share of right answers, or a loss with its sign changed."""
        return self.right.astype(float) if scoring == "accuracy" else -self.losses[scoring]

    def forget(self) -> None:
        """Keep the scores alone: decision values of many settings would not fit in memory."""
        self.decisions = None

    def remember(self, again: Iterable["Outcome"]) -> None:
        """Take back decision values that were forgotten, from outcomes of the same candidate."""
        self.decisions = next(one for one in again if one.rule is self.rule).decisions

    @property
    def settings(self) -> dict[str, Any]:
        """What tells this setting from the others, as parameters of a classifier."""
        return {**self.candidate.settings, "rule": self.rule}


def candidates(
    dictionary: BaseDictionary,
    solver: str | Solver,
    quadratics: Sequence[str | Callable],
    constraints: Sequence[str | Set],
    betas: Sequence[float],
    alphas: Sequence[float],
    relaxations: Sequence[float | None],
    space: Space,
) -> list[Candidate]:
    """Every meaningful combination in a space, in the order in which warm starts help most.

    A relaxation that the solver does not accept is dropped; of settings that give the same problem only one is kept.
    """
    found: dict[tuple[Any, ...], Candidate] = {}
    path = sorted({np.inf if value is None else value for value in relaxations}, reverse=True)
    grid = product(quadratics, enumerate(constraints), betas, sorted(alphas), path)
    for quadratic, (place, constraint), beta, alpha, relaxation in grid:
        problem = Problem.of(dictionary, quadratic, constraint, alpha=alpha, beta=beta, relaxation=relaxation)
        relaxation = problem.relaxation if accepts(solver, problem) else None
        without = Problem.of(dictionary, quadratic, constraint, alpha=0.0, beta=beta).quadratic
        alpha = 0.0 if without == problem.quadratic else alpha  # least squares has no alpha
        one = Candidate(quadratic, constraint, beta, alpha, relaxation, space)
        found.setdefault((problem.quadratic, place, relaxation), one)
    return list(found.values())


def leave_one_out(
    dictionary: BaseDictionary, candidates: Sequence[Candidate], rules: Sequence[str | Rule], code: str | None
) -> Iterator[Outcome]:
    """Outcomes of all candidates with each sample coded over all others; rows in the dictionary's order.

    In single precision if the samples differ enough: this gives the same decisions in half the time.
    """
    single, tol = _coarse(dictionary)
    loo = LeaveOneOut(single, tol=tol)
    alone = np.diff(single.bounds)[single.labels] == 1
    _ = single.gram, single.block_grams  # computed here, with all BLAS threads, not in each of our threads
    temperatures: list[float | None] = [None] * len(rules)
    prepared = _PreparedRules(rules)
    for candidate in candidates:
        problem = candidate.problem(single)
        own_rules = prepared.of(problem.rule_dictionary(candidate.space.normalize))

        def decide(rows: slice, c: Array, z: Array, own_rules: "_RulesOfOne" = own_rules) -> tuple[Any, ...]:
            # Without its only sample a class comes last.
            left = np.eye(single.n_classes, dtype=bool)[single.labels[rows]] & alone[rows][:, None]
            return own_rules.decide(Queries.of_atoms(single, rows), z if code == "z" else c, z, left)

        *decisions, used = zip(*loo.map(problem, decide), strict=True)
        for place, (rule, parts) in enumerate(zip(rules, decisions, strict=True)):
            outcome = Outcome(
                candidate,
                rule,
                concat(parts),
                sum(used) / single.n_atoms,
                single.labels,
                temperatures[place],
                one_out=True,
            )
            temperatures[place] = outcome.temperature
            yield outcome


class _PreparedRules:
    """Rules, prepared for the last two dictionaries: of one dictionary, problems with an origin and those without."""

    def __init__(self, rules: Sequence[str | Rule]) -> None:
        self._rules = [named_rule(rule) for rule in rules]
        self._known: list[_RulesOfOne] = []

    def of(self, dictionary: BaseDictionary) -> "_RulesOfOne":
        """The rules, prepared for a dictionary."""
        for known in self._known:
            if known.dictionary is dictionary:
                return known
        prepared = [rule.prepare(dictionary) for rule in self._rules]
        self._known = [*self._known[-1:], _RulesOfOne(dictionary, prepared)]
        return self._known[-1]


@dataclass(frozen=True)
class _RulesOfOne:
    """Rules, prepared for one dictionary."""

    dictionary: BaseDictionary
    rules: list[Rule]

    def decide(self, queries: Queries, codes: Array, members: Array, last: np.ndarray) -> tuple[Any, ...]:
        """Decision values for each rule, then the number of entries of the codes in the set.

        ``last`` is a NumPy mask of queries and classes that come last.
        """
        seen = queries.seen_by(self.dictionary)
        values = [_put_last(rule.scores(seen, codes), last) for rule in self.rules]
        return *values, _entries(members)


def _coarse(dictionary: BaseDictionary) -> tuple[BaseDictionary, float]:
    """The dictionary and tolerance to score settings with.

    Gaps and rounding errors are relative to ‖y‖². Samples with a large common offset differ by a small share of it:
    the tolerance falls with that share, and below a hundredth single precision is not enough. Nor is it for numbers
    whose squares it cannot represent.
    """
    square = float(dictionary.xp.mean(dictionary.squares))
    spread = 1.0 - dictionary.squared_mean / square if square else 1.0
    tol = max(_TOL * min(spread, 1.0), 1e-8)
    if spread < 1e-2 or not 1e-15 < dictionary.longest < 1e15 or dictionary.is_single:
        return dictionary, max(tol, 1e-6) if dictionary.is_single else tol
    return dictionary.in_single, max(tol, 1e-6)


def _entries(codes: Array) -> int:
    """Number of entries that codes use."""
    if is_non_numpy(codes):
        return int(namespace(codes).count_nonzero(codes))
    return codes.nnz if sparse.issparse(codes) else codes.size


def _put_last(decisions: Array, where: np.ndarray) -> Array:
    """Decision values with those at ``where``, a NumPy mask, lowered to the least of their row."""
    if not where.any():
        return decisions
    xp = namespace(decisions)
    return xp.where(like(where, decisions), xp.min(decisions, axis=1, keepdims=True), decisions)


@dataclass(frozen=True)
class Folds:
    """Settings scored on the test part of each fold, coded over its training part.

    Attributes
    ----------
    candidates : list of Candidate
        The settings.
    rules : list
        Rules, by name or as objects.
    solver : str or Solver
        How codes are found.
    code : str or None
        Which code of a relaxed problem to classify with.
    space : Space
        Where samples live.
    """

    candidates: Sequence[Candidate]
    rules: Sequence[str | Rule]
    solver: str | Solver
    code: str | None
    space: Space

    def outcomes(
        self,
        X: Array,
        y: np.ndarray,
        classes: np.ndarray,
        folds: Sequence[tuple[np.ndarray, np.ndarray]],
        weights: np.ndarray | None = None,
    ) -> Iterator[Outcome]:
        """Outcomes of all candidates; rows in the order of the folds."""
        part = self.space.part
        parts = []
        for train, test in folds:
            own = None if weights is None else weights[train]
            parts.append(self._one_fold(part(X, train, train), y[train], part(X, test, train), classes, own))
        return _join_folds(self, parts, y, classes, folds)

    def _one_fold(
        self, X: Array, y: np.ndarray, queries: Array, classes: np.ndarray, weights: np.ndarray | None
    ) -> list[tuple[Any, ...]]:
        """Decision values for each rule and atoms used, of each candidate.

        One Gram matrix serves all candidates without a relaxation, one eigendecomposition those with one.
        """
        space = self.space.prepare(X)
        dictionary = space.dictionary(X, y, classes=classes, weights=weights)
        queries = row_major(queries, dictionary.dtype)
        empty = np.diff(dictionary.bounds)[None, :] == 0
        rules, results = _PreparedRules(self.rules), []
        for candidate, solver in zip(self.candidates, self._solvers(dictionary), strict=True):
            own_rules = rules.of(candidate.problem(dictionary).rule_dictionary(space.normalize))

            def decide(solution: Solution, own_rules: _RulesOfOne = own_rules) -> tuple[Any, ...]:
                # A class missing from the training part comes last.
                return own_rules.decide(solution.queries, solution.sorted_codes, solution.sorted_members, empty)

            *values, used = zip(*solver.map(queries, decide, space.to_rows), strict=True)
            decisions = [row_major(concat(part), dictionary.xp.float32) for part in values]
            results.append((*decisions, sum(used) / queries.shape[0]))
        return results

    def _solvers(self, dictionary: BaseDictionary) -> Iterator[Solver]:
        """One prepared solver per candidate; those of a kind share what they have in common."""
        tol = _coarse(dictionary)[1]
        kinds: dict[type, Any] = {}
        for candidate in self.candidates:
            problem = candidate.problem(dictionary)
            solver = find_solver(self.solver, problem, tol=tol, code=self.code)
            if type(solver) not in kinds:
                kinds[type(solver)] = solver.along_path(dictionary)
            yield kinds[type(solver)].prepare(problem)


def _join_folds(
    settings: Folds,
    parts: list[list[tuple[Any, ...]]],
    y: np.ndarray,
    classes: np.ndarray,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
) -> Iterator[Outcome]:
    """Outcomes over all folds."""
    candidates, rules = settings.candidates, settings.rules
    labels = np.searchsorted(classes, np.concatenate([y[test] for _, test in folds]))
    counts = np.array([len(test) for _, test in folds])
    for number, candidate in enumerate(candidates):
        *decisions, used = zip(*(part[number] for part in parts), strict=True)
        for rule, values in zip(rules, decisions, strict=True):
            mean_used = np.average(used, weights=counts)
            yield Outcome(candidate, rule, concat(values), mean_used, labels)


@dataclass(frozen=True)
class Setting:
    """The outcomes of one candidate, one for each rule, as they are judged together.

    Attributes
    ----------
    places : list of int
        Places of the outcomes.
    scores : ndarray
        Score of each sample, averaged over the rules.
    mean : float
        Mean of the scores.
    apart : float
        Largest difference between the shares of samples that two rules get right.
    leaks : bool
        Whether that is more than rules that see no label can differ by.
    """

    places: list[int]
    scores: np.ndarray
    mean: float
    apart: float
    leaks: bool


def settings_of(outcomes: Sequence[Outcome], scoring: str) -> list[Setting]:
    """Outcomes grouped by their settings."""
    places: dict[tuple[Candidate, int], list[int]] = {}
    for place, outcome in enumerate(outcomes):
        places.setdefault((outcome.candidate, len(outcome.labels)), []).append(place)
    return [_setting([outcomes[place] for place in own], own, scoring) for own in places.values()]


def _setting(outcomes: list[Outcome], places: list[int], scoring: str) -> Setting:
    scores = np.mean([one.score(scoring) for one in outcomes], axis=0)
    shares = [float(one.right.mean()) for one in outcomes]
    apart = max(shares) - min(shares)
    return Setting(places, scores, float(scores.mean()), apart, outcomes[0].one_out and apart > _APART)


def best_setting(outcomes: Sequence[Outcome], scoring: str, one_standard_error: bool = False) -> Setting:
    """The setting with the best mean over its rules, or the sparsest that is not clearly worse.

    Leaving a sample out makes its own class the smallest. Where codes are spread over all atoms, residuals prefer a
    class with fewer atoms, and sums of entries avoid it: at such a setting the rules err in opposite directions. Their
    mean evens that out; where they differ by more than a tenth of the samples, the setting is left aside.
    """
    settings = settings_of(outcomes, scoring)
    settings = [one for one in settings if not one.leaks] or settings
    best = max(settings, key=lambda one: one.mean)
    if one_standard_error:
        least = best.mean - best.scores.std(ddof=1) / np.sqrt(len(best.scores))
        close = [one for one in settings if one.mean >= least]
        best = min(close, key=lambda one: (outcomes[one.places[0]].atoms_used, -one.mean))
    return best


def choose(outcomes: Sequence[Outcome], scoring: str, one_standard_error: bool) -> int:
    """Index of the best outcome: the best setting over all rules, then the best rule there."""
    best = best_setting(outcomes, scoring, one_standard_error)
    return max(best.places, key=lambda place: outcomes[place].score(scoring).mean())


def results_table(outcomes: Sequence[Outcome], scoring: str, running: Sequence[bool]) -> dict[str, Any]:
    """``cv_results_``; ``running`` says which outcomes could be chosen, and the others have the last ranks."""
    scores = [outcome.score(scoring) for outcome in outcomes]
    means = np.array([score.mean() for score in scores])
    over_rules, apart, aside = np.empty_like(means), np.empty_like(means), ~np.asarray(running)
    for setting in settings_of(outcomes, scoring):
        over_rules[setting.places], apart[setting.places] = setting.mean, setting.apart
        aside[setting.places] |= setting.leaks
    order = np.lexsort((-means, -over_rules, aside))
    table = {
        "params": [outcome.settings for outcome in outcomes],
        "mean_test_score": means,
        "mean_over_rules": over_rules,
        "standard_error": np.array([score.std(ddof=1) / np.sqrt(len(score)) for score in scores]),
        "rank_test_score": np.argsort(order) + 1,
        "rules_apart": apart,
        "accuracy": np.array([outcome.right.mean() for outcome in outcomes]),
        "brier": np.array([outcome.losses["brier"].mean() for outcome in outcomes]),
        "log_loss": np.array([outcome.losses["log_loss"].mean() for outcome in outcomes]),
        "temperature": np.array([outcome.temperature for outcome in outcomes]),
        "atoms_used": np.array([outcome.atoms_used for outcome in outcomes]),
        "n_samples": np.array([len(outcome.labels) for outcome in outcomes]),
        "stage": np.array([outcome.stage for outcome in outcomes], dtype=object),
        "note": np.array([outcome.note for outcome in outcomes], dtype=object),
    }
    for name in outcomes[0].settings:
        table[f"param_{name}"] = np.array([outcome.settings[name] for outcome in outcomes] + [None], dtype=object)[:-1]
    return table
