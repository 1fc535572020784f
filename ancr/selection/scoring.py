"""How settings are scored without test labels: candidates, their outcomes on held-out samples, and the choice."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from itertools import product

import numpy as np
from scipy import sparse
from scipy.stats import rankdata

from ancr.problem import Problem
from ancr.rules import Rule, named_rule
from ancr.selection.calibration import concentration, fit_temperature
from ancr.selection.leave_one_out import LeaveOneOut
from ancr.sets import Set
from ancr.solvers import Solver
from ancr.solvers.choice import accepts, find_solver
from ancr.spaces import Space

# Codes that only have to decide a class need not be exact to the last digit.
_TOL = 1e-4


@dataclass(frozen=True)
class Candidate:
    """One setting of everything but the rule, which needs no solve of its own."""

    quadratic: str | Callable
    constraint: str | Set
    beta: float
    alpha: float
    relaxation: float | None

    @property
    def settings(self):
        """As parameters of a classifier."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def problem(self, dictionary):
        """The problem over a dictionary."""
        return Problem.of(dictionary, **self.settings)


@dataclass
class Outcome:
    """Decision values of the held-out training samples under one candidate and rule."""

    candidate: Candidate
    rule: str | Rule
    decisions: np.ndarray
    concentrations: np.ndarray
    atoms_used: float
    labels: np.ndarray
    near: float | None = None  # the temperature of a similar setting
    right: np.ndarray = field(init=False)
    losses: np.ndarray = field(init=False)
    temperature: float = field(init=False)

    def __post_init__(self):
        self.right = self.decisions.argmax(axis=1) == self.labels
        self.temperature, self.losses = fit_temperature(self.decisions, self.labels, self.near)
        self.decisions = self.decisions.astype(np.float32)  # many outcomes are kept

    def score(self, scoring):
        """Score of each sample, larger is better."""
        return self.right.astype(float) if scoring == "accuracy" else -self.losses

    @property
    def settings(self):
        """Parameters of the `RepresentationClassifier` with this setting."""
        return {**self.candidate.settings, "rule": self.rule}


def candidates(dictionary, solver, quadratics, constraints, betas, alphas, relaxations):
    """Every meaningful combination, in the order in which warm starts help most.

    A relaxation that the solver does not accept is dropped; of settings that give the same problem only one is kept.
    """
    found, path = {}, sorted({np.inf if value is None else value for value in relaxations}, reverse=True)
    grid = product(quadratics, enumerate(constraints), betas, sorted(alphas), path)
    for quadratic, (place, constraint), beta, alpha, relaxation in grid:
        problem = Problem.of(dictionary, quadratic, constraint, alpha=alpha, beta=beta, relaxation=relaxation)
        relaxation = problem.relaxation if accepts(solver, problem) else None
        without = Problem.of(dictionary, quadratic, constraint, alpha=0.0, beta=beta).quadratic
        alpha = 0.0 if without == problem.quadratic else alpha  # least squares has no alpha
        one = Candidate(quadratic, constraint, beta, alpha, relaxation)
        found.setdefault((problem.quadratic, place, relaxation), one)
    return list(found.values())


def leave_one_out(dictionary, candidates, rules, code):
    """Outcomes of all candidates with each sample coded over all others; rows in the dictionary's order.

    In single precision if the samples differ enough: this gives the same decisions in half the time.
    """
    single, tol = _coarse(dictionary)
    loo = LeaveOneOut(single, tol=tol)
    alone = np.diff(single.bounds)[single.labels] == 1
    _ = single.gram, single.block_grams  # computed here, with all BLAS threads, not in each of our threads
    temperatures, prepared = [None] * len(rules), [named_rule(rule).prepare(single) for rule in rules]
    for candidate in candidates:

        def decide(rows, c, z):
            codes, queries = (z if code == "z" else c), single.own_queries(rows)
            knowing = single.knowing_cross(queries, single.gram[rows], single.squares[rows])
            values = [rule.scores(knowing, queries, codes) for rule in prepared]
            left = np.flatnonzero(alone[rows])
            for decisions in values:  # without its only sample a class comes last
                decisions[left, single.labels[rows][left]] = decisions[left].min(axis=1)
            return *values, concentration(single, z), _entries(z)

        *decisions, concentrations, used = zip(*loo.map(candidate.problem(single), decide), strict=True)
        for place, (rule, parts) in enumerate(zip(rules, decisions, strict=True)):
            outcome = Outcome(
                candidate,
                rule,
                np.concatenate(parts).astype(float),
                np.concatenate(concentrations),
                sum(used) / single.n_atoms,
                single.labels,
                temperatures[place],
            )
            temperatures[place] = outcome.temperature
            yield outcome


def _coarse(dictionary):
    """The dictionary and tolerance to score settings with.

    Gaps and rounding errors are relative to ‖y‖². Samples with a large common offset differ by a small share of it:
    the tolerance falls with that share, and below a hundredth single precision is not enough. Nor is it for numbers
    whose squares it cannot represent.
    """
    square = float(dictionary.squares.mean())
    spread = 1.0 - dictionary.squared_mean / square if square else 1.0
    tol = max(_TOL * min(spread, 1.0), 1e-8)
    if spread < 1e-2 or not 1e-15 < dictionary.longest < 1e15 or dictionary.dtype == np.float32:
        return dictionary, max(tol, 1e-6) if dictionary.dtype == np.float32 else tol
    return dictionary.in_single, max(tol, 1e-6)


def _entries(codes):
    """Number of entries that codes store."""
    return codes.nnz if sparse.issparse(codes) else codes.size


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

    candidates: list
    rules: list
    solver: str | Solver
    code: str | None
    space: Space

    def outcomes(self, X, y, classes, folds):
        """Outcomes of all candidates; rows in the order of the folds."""
        parts = [self._one_fold(X[train], y[train], X[test], classes) for train, test in folds]
        return _join_folds(self, parts, y, classes, folds)

    def _one_fold(self, X, y, queries, classes):
        """Decision values for each rule, concentrations and atoms used, of each candidate.

        One Gram matrix serves all candidates without a relaxation, one eigendecomposition those with one.
        """
        space = self.space.prepare(X)
        dictionary = space.dictionary(X, y, classes=classes)
        queries = queries.astype(dictionary.dtype, order="C", copy=False)
        empty = np.diff(dictionary.bounds) == 0
        rules = [named_rule(rule).prepare(dictionary) for rule in self.rules]

        def decide(rows, solution):
            codes, z = solution.sorted_codes, solution.sorted_members
            values = [rule.scores(dictionary, rows, codes) for rule in rules]
            for decisions in values:  # a class missing from the training part comes last
                decisions[:, empty] = decisions.min(axis=1, keepdims=True)
            return *values, concentration(dictionary, z), _entries(z)

        results = []
        for solver in self._solvers(dictionary):
            *values, concentrations, used = zip(*solver.map(queries, decide, space.to_rows), strict=True)
            decisions = [np.concatenate(part).astype(np.float32) for part in values]
            results.append((*decisions, np.concatenate(concentrations), sum(used) / len(queries)))
        return results

    def _solvers(self, dictionary):
        """One prepared solver per candidate; those of a kind share what they have in common."""
        tol, kinds = _coarse(dictionary)[1], {}
        for candidate in self.candidates:
            problem = candidate.problem(dictionary)
            solver = find_solver(self.solver, problem, tol=tol, code=self.code)
            if type(solver) not in kinds:
                kinds[type(solver)] = solver.along_path(dictionary)
            yield kinds[type(solver)].prepare(problem)


def _join_folds(settings, parts, y, classes, folds):
    """Outcomes over all folds."""
    candidates, rules = settings.candidates, settings.rules
    labels = np.searchsorted(classes, np.concatenate([y[test] for _, test in folds]))
    counts = np.array([len(test) for _, test in folds])
    for number, candidate in enumerate(candidates):
        *decisions, concentrations, used = zip(*(part[number] for part in parts), strict=True)
        for rule, values in zip(rules, decisions, strict=True):
            values = np.concatenate(values).astype(float)
            yield Outcome(
                candidate, rule, values, np.concatenate(concentrations), np.average(used, weights=counts), labels
            )


def choose(outcomes, scoring, one_standard_error):
    """Index of the best outcome or, with the one-standard-error rule, of the sparsest that is not clearly worse."""
    scores = [outcome.score(scoring) for outcome in outcomes]
    means = np.array([score.mean() for score in scores])
    best = int(np.argmax(means))
    if not one_standard_error:
        return best
    error = scores[best].std(ddof=1) / np.sqrt(len(scores[best]))
    close = np.flatnonzero(means >= means[best] - error)
    return int(min(close, key=lambda number: (outcomes[number].atoms_used, -means[number])))


def results_table(outcomes, scoring):
    """``cv_results_``."""
    scores = [outcome.score(scoring) for outcome in outcomes]
    means = np.array([score.mean() for score in scores])
    table = {
        "params": [outcome.settings for outcome in outcomes],
        "mean_test_score": means,
        "standard_error": np.array([score.std(ddof=1) / np.sqrt(len(score)) for score in scores]),
        "rank_test_score": rankdata(-means, method="min").astype(int),
        "accuracy": np.array([outcome.right.mean() for outcome in outcomes]),
        "log_loss": np.array([outcome.losses.mean() for outcome in outcomes]),
        "temperature": np.array([outcome.temperature for outcome in outcomes]),
        "atoms_used": np.array([outcome.atoms_used for outcome in outcomes]),
    }
    for name in outcomes[0].settings:
        table[f"param_{name}"] = np.array([outcome.settings[name] for outcome in outcomes], dtype=object)
    return table
