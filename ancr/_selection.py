"""How settings are scored without test labels: candidates, their outcomes on samples left out, and a choice."""

from dataclasses import asdict, dataclass, field, replace

import numpy as np
from scipy.stats import rankdata
from sklearn.preprocessing import normalize as unit_rows

from ancr.calibration import concentration, fit_temperature
from ancr.dictionary import Dictionary
from ancr.quadratics import QUADRATICS
from ancr.rules import RULES
from ancr.sets import SETS
from ancr.solvers import Problem, Relaxed, finite, make_solver, solve_blocks
from ancr.solvers.leave_one_out import LeaveOneOut
from ancr.solvers.relaxed import shift
from ancr.whitening import Spectrum

# Codes that only have to decide a class need not be exact to the last digit.
_TOL = 1e-4


@dataclass(frozen=True)
class Candidate:
    """One setting of everything but the rule, which costs no solve of its own."""

    quadratic: str
    constraint: str
    gamma: float
    alpha: float
    relaxation: float | None

    def problem(self, dictionary):
        """The problem over a dictionary."""
        quadratic = QUADRATICS[self.quadratic](self.alpha, self.gamma, dictionary.n_classes)
        return Problem(dictionary, quadratic, SETS[self.constraint], self.relaxation)


@dataclass
class Outcome:
    """Decision values of every training sample, coded without itself, under one candidate and rule."""

    candidate: Candidate
    rule: str
    decisions: np.ndarray
    concentrations: np.ndarray
    atoms_used: float
    labels: np.ndarray
    near: float | None = None  # the temperature of a setting like this one
    right: np.ndarray = field(init=False)
    losses: np.ndarray = field(init=False)
    temperature: float = field(init=False)

    def __post_init__(self):
        self.right = self.decisions.argmax(axis=1) == self.labels
        self.temperature, self.losses = fit_temperature(self.decisions, self.labels, self.near)
        self.decisions = self.decisions.astype(np.float32)  # one of many that are kept

    def score(self, scoring):
        """Score of every sample, larger is better."""
        return self.right.astype(float) if scoring == "accuracy" else -self.losses

    @property
    def settings(self):
        """What a `RepresentationClassifier` needs to be like this."""
        return {**asdict(self.candidate), "rule": self.rule}


def candidates(quadratics, constraints, gammas, alphas, relaxations):
    """Every combination that means something, in the order in which warm starts help most.

    A relaxation needs an inequality to bend and a quadratic without class terms; least squares has no α.
    """
    found = {}
    for quadratic in quadratics:
        for constraint in constraints:
            bends = constraint in Relaxed.accepts and quadratic in ("ridge", "least_squares")
            path = sorted({finite(value) or np.inf for value in relaxations}, reverse=True) if bends else [np.inf]
            for gamma in gammas if quadratic in ("probabilistic", "competitive") else gammas[:1]:
                for alpha in [0.0] if quadratic == "least_squares" else sorted(alphas):
                    for relaxation in path:
                        one = Candidate(quadratic, constraint, gamma, alpha, finite(relaxation))
                        found[one] = None
    return list(found)


def leave_one_out(dictionary, candidates, rules, code):
    """Outcomes of all candidates with every sample coded over all others; rows as the dictionary sorts them.

    In single precision where the samples differ enough for it: that decides the same classes in half the time.
    """
    single, tol = _coarse(dictionary)
    loo = LeaveOneOut(single, tol=tol)
    alone = np.diff(single.bounds)[single.labels] == 1
    _ = single.gram, single.block_grams  # made here, by all threads of BLAS, and not by every thread of ours
    temperatures = dict.fromkeys(rules)
    for candidate in candidates:

        def decide(rows, c, z):
            codes, queries, linear = (z if code == "z" else c), single.atoms[rows], single.gram[rows]
            values = [RULES[rule](single, queries, codes, linear=linear) for rule in rules]
            left = np.flatnonzero(alone[rows])
            for decisions in values:  # without its only sample a class comes last
                decisions[left, single.labels[rows][left]] = decisions[left].min(axis=1)
            return *values, concentration(z, single.bounds), z.nnz if hasattr(z, "nnz") else z.size

        *decisions, concentrations, used = zip(*loo.map(candidate.problem(single), decide), strict=True)
        for rule, parts in zip(rules, decisions, strict=True):
            outcome = Outcome(
                candidate,
                rule,
                np.concatenate(parts).astype(float),
                np.concatenate(concentrations),
                sum(used) / single.n_atoms,
                single.labels,
                temperatures[rule],
            )
            temperatures[rule] = outcome.temperature
            yield outcome


def _coarse(dictionary):
    """The dictionary and tolerance to score settings with.

    A gap is relative to ‖y‖², and so is rounding. Samples that share a large offset differ by little of that: the
    tolerance goes down with the share, and below a hundredth single precision will not do. Nor does it for numbers that
    it could not square.
    """
    largest = float(np.abs(dictionary.atoms).max())
    mean = dictionary.atoms.mean(axis=0, dtype=float)
    square = float(np.mean(dictionary.atoms.astype(float) ** 2)) * dictionary.n_features
    spread = 1.0 - float(mean @ mean) / square if square else 1.0
    tol = max(_TOL * min(spread, 1.0), 1e-8)
    if spread < 1e-2 or not 1e-15 < largest < 1e15 or dictionary.dtype == np.float32:
        return dictionary, max(tol, 1e-6) if dictionary.dtype == np.float32 else tol
    return replace(dictionary, atoms=dictionary.atoms.astype(np.float32)), max(tol, 1e-6)


def in_folds(X, y, classes, folds, candidates, rules, code, normalize):
    """Outcomes of all candidates on the test parts of folds, each over the training part; rows as the folds list them.

    One Gram matrix a fold serves all candidates without a relaxation, one eigendecomposition those with one.
    """
    parts = [
        _one_fold(X[train], y[train], X[test], classes, candidates, rules, code, normalize) for train, test in folds
    ]
    labels = np.searchsorted(classes, np.concatenate([y[test] for _, test in folds]))
    counts = np.array([len(test) for _, test in folds])
    for number, candidate in enumerate(candidates):
        *decisions, concentrations, used = zip(*(part[number] for part in parts), strict=True)
        for rule, values in zip(rules, decisions, strict=True):
            values = np.concatenate(values).astype(float)
            yield Outcome(
                candidate, rule, values, np.concatenate(concentrations), np.average(used, weights=counts), labels
            )


def _one_fold(X, y, queries, classes, candidates, rules, code, normalize):
    """Decision values for every rule, concentrations and atoms used, of every candidate."""
    dictionary = Dictionary.build(X, y, normalize=normalize, classes=classes)
    queries = unit_rows(queries) if normalize else queries
    queries = queries.astype(dictionary.dtype, order="C", copy=False)
    empty = np.diff(dictionary.bounds) == 0
    tol = _coarse(dictionary)[1]
    spectrum = Spectrum(dictionary) if any(one.relaxation is not None for one in candidates) else None

    def decide(rows, solution):
        codes, z = solution.sorted_codes, solution.sorted_members
        values = [RULES[rule](dictionary, rows, codes) for rule in rules]
        for decisions in values:  # a class that the fold left out comes last
            decisions[:, empty] = decisions.min(axis=1, keepdims=True)
        return *values, concentration(z, dictionary.bounds), z.nnz if hasattr(z, "nnz") else z.size

    results = []
    for candidate in candidates:
        problem = candidate.problem(dictionary)
        if candidate.relaxation is None:
            solver = make_solver("exact", problem, tol=tol)
        else:
            solver = Relaxed(problem, tol=tol, code=code, whitening=spectrum.at(shift(problem)))
        *values, concentrations, used = zip(*solve_blocks(solver, queries, decide), strict=True)
        decisions = [np.concatenate(part).astype(np.float32) for part in values]
        results.append((*decisions, np.concatenate(concentrations), sum(used) / len(queries)))
    return results


def choose(outcomes, scoring, one_standard_error):
    """Number of the best outcome; with the one-standard-error rule, of the sparsest that is not clearly worse."""
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
