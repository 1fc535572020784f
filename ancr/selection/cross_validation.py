"""Settings chosen on the training set alone, by leave-one-out or in folds."""

import warnings
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from itertools import count
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.model_selection import LeaveOneOut as LeaveOneOutSplitter
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import column_or_1d, indexable
from sklearn.utils._param_validation import Interval, StrOptions, make_constraint
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ancr._core.arrays import concat, is_non_numpy, is_single, like, to_numpy
from ancr._core.budgets import LARGEST_H_ON_HOST
from ancr._core.checks import check_labels
from ancr._core.column_scales import warn_of_dominant_column
from ancr._core.messages import naming
from ancr._core.progress import progress_bar
from ancr.axes.rules import named_rule
from ancr.axes.sets import asks_for_unit_sum
from ancr.axes.spaces import asks_for_inner_products, named_space, usual_spaces
from ancr.classifiers.representation import BaseRepresentationClassifier, check_two_classes
from ancr.classifiers.sample_weights import weights_of_samples
from ancr.selection.calibration import Trust, concentration
from ancr.selection.scoring import candidates, choose, results_table
from ancr.selection.search import SCREENED_SAMPLES, SCREENING_ALPHAS, HeldOut, Search
from ancr.solvers import Solver, make_solver
from ancr.solvers.choice import SOLVERS, find_solver
from ancr.solvers.leave_one_out import LeaveOneOut

# The lists of the grid, and the parameter of the classifier whose values each holds.
_LISTS = {
    "spaces": "space",
    "quadratics": "quadratic",
    "constraints": "constraint",
    "betas": "beta",
    "alphas": "alpha",
    "relaxations": "relaxation",
    "rules": "rule",
}
# More samples than this are not needed to choose settings.
MOST_SAMPLES = 6000


_NOTHING_HELD_OUT = (
    "every class in y has one sample, so that no sample can be held out and recognised: the settings rest on nothing. "
    "Give at least two samples of a class, or use ANCRClassifier with settings of your own."
)


class RepresentationClassifierCV(BaseRepresentationClassifier):
    """`RepresentationClassifier` with its settings chosen on the training set.

    Combinations of space (kernel, γ, power), quadratic, set, β, λ, relaxation and rule are scored on held-out training
    samples: each is coded over all others (leave-one-out, the default, which needs no refit) or over the training part
    of its fold. The same decision values calibrate `predict_proba` and the reject option.

    A setting is scored by the mean over its rules, and the best rule is taken at the best setting. Leaving a sample out
    makes its own class the smallest, and where codes are spread over all atoms, this alone tells the rules the label:
    ``"res"`` prefers a class with fewer atoms, ``"label"`` avoids it. The mean evens that out, and where rules differ
    by more than a tenth of the samples, the setting is left aside. With three to five samples per class
    ``best_score_`` still is some points too low, since a third to a fifth of the own class is missing.

    Cross-validation cannot detect a shift between training and test data. If samples come in groups that the queries
    will not share (the same session, the same patient), pass ``groups`` to `fit` and use a splitter that keeps groups
    together.

    Parameters
    ----------
    spaces : sequence of str, callable or Space, or None, default=None
        As ``space`` of `RepresentationClassifier`; None means the linear space and the RBF kernel with γ = 0.5, 1 and
        2, each at power 1 and at power ½. ``"precomputed"`` must be the only one.
    quadratics : sequence of str or callable, default=("ridge",)
        As ``quadratic``.
    constraints : sequence of str or Set, default=("free", "simplex")
        As ``constraint``.
    alphas : sequence of float, default=(1e-3, 1e-2, 1e-1, 1.0)
        Values of λ.
    betas : sequence of float, default=(1e-3,)
        Values of β for the quadratics with class terms.
    relaxations : sequence of float or None, default=(0.1, 0.3, 1.0, None)
        Values of the relaxation of the non-negative and simplex sets; None is the hard constraint.
    rules : sequence of str or Rule, default=("res", "label")
        As ``rule``.
    search : {"screened", "full"}, default="screened"
        ``"full"`` tries every combination. ``"screened"`` tries ridge regression on the free set at λ = 1e-3 … 1 in
        every space, on about 1,500 samples if there are more; in the three best spaces every quadratic, set and
        relaxation at the middle λ; then the neighbours of the best of these in λ and in the relaxation. A grid of one
        space is tried in full.
    solver : {"exact", "closed_form", "admm", "interior_point"} or Solver, default="exact"
        As ``solver``; pass an object to set a solver's own options. Solvers other than ``"exact"`` are scored in
        folds.
    code : {"c", "z"} or None, default=None
        Which code of a relaxed problem to classify with; None means c.
    cv : None, int, splitter or iterable, default=None
        None: leave-one-out; five stratified folds if a setting cannot leave one sample out without a refit; with
        ``groups``, five folds, or as many as there are groups, that keep them together. Of more than 6,000 samples a
        stratified part of 6,000 is used to choose; the classifier is fitted on all of them, and if the Gram matrix of a
        kernel would exceed 2 GiB, with 2,000 landmarks. Otherwise as in scikit-learn, on all samples.
    scoring : {"brier", "log_loss", "accuracy"}, default="brier"
        The criterion. Brier score and log loss, at the best temperature of each setting and rule, distinguish settings
        that get the same samples right. The Brier score is not decided by a few samples that are certain and wrong, so
        it also compares rules; see ``docs/choosing.md``.
    one_standard_error : bool, default=False
        Take the setting with the sparsest codes among those within one standard error of the best: fewer samples to
        show and faster answers, for a loss that the training set cannot show but that is there on average. (Atoms are
        counted in z, the code in the set; codes on the free and affine sets use every atom.)
    precision : float, default=0.99
        Share of accepted answers that should be right, for ``predict(X, reject=True)``.
    reject_label : number, str or None, default=None
        What ``predict(X, reject=True)`` returns in place of a label; None means −1 for numbers, or one less than the
        smallest label where that is negative, and ``"rejected"`` for strings.
    tol : float or None, default=None
        Relative gap of the final solver.
    class_weight : {"balanced"}, dict or None, default=None
        As for `RepresentationClassifier`.
    verbose : bool, int or callable, default=False
        Show the progress of the search on stderr, if that is a terminal. A callable is called as
        ``verbose(done, total)`` after each step; `sklearn.base.clone` copies it, so a function is the safest choice.

    Attributes
    ----------
    space_, quadratic_, constraint_, alpha_, beta_, relaxation_, rule_ : float, None or str
        The settings chosen.
    best_params_ : dict
        The same, as parameters of a `RepresentationClassifier`.
    chosen_grid_ : dict
        The same, as parameters of this class: the grid that holds nothing else.
    best_score_ : float
        Accuracy of the chosen setting on held-out training samples.
    best_index_ : int
        Its position in ``cv_results_``.
    cv_results_ : dict of arrays
        One entry per setting and rule that was tried: ``params``, every parameter searched as ``param_…``,
        ``mean_test_score`` (by ``scoring``, larger is better) with ``standard_error``, ``mean_over_rules`` (of the
        setting), ``rules_apart`` (the largest difference between accuracies of its rules) and ``rank_test_score``;
        ``accuracy``, ``brier``, ``log_loss``, ``temperature``, ``atoms_used`` (per code, on average) and ``n_samples``
        held out; ``stage`` (``"screening"``, ``"coarse"``, ``"fine"``, or ``"grid"`` for a full search) and, for the
        screening, a ``note`` with the rank of the space. Ranks follow the choice: first ``mean_over_rules``, then
        ``mean_test_score``; what could not be chosen comes last.
    temperature_ : float
        Divides the decision values in `predict_proba`; chosen to minimise the log loss.
    reject_label_ : number or str
        The label that stands for no answer.
    trust_ : Trust
        What `confidence` and the reject option learned: ``trust_.threshold`` and ``trust_.coverage``.
    classes_, space_, dictionary_, solver_, n_features_in_, feature_names_in_
        As for `RepresentationClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ancr import RepresentationClassifierCV, Space
    >>> X, y = load_iris(return_X_y=True)
    >>> spaces = [Space("rbf", gamma=gamma) for gamma in (0.5, 1.0, 2.0)]
    >>> clf = RepresentationClassifierCV(spaces=spaces, constraints=["affine"]).fit(X, y)
    >>> sorted({space.gamma for space in clf.cv_results_["param_space"]})
    [0.5, 1.0, 2.0]
    """

    _parameter_constraints: ClassVar[dict] = {
        "spaces": ["array-like", None],
        "quadratics": ["array-like"],
        "constraints": ["array-like"],
        "alphas": ["array-like"],
        "betas": ["array-like"],
        "relaxations": ["array-like"],
        "rules": ["array-like"],
        "search": [StrOptions({"screened", "full"})],
        "solver": [StrOptions(set(SOLVERS)), Solver],
        "code": [StrOptions({"c", "z"}), None],
        "cv": ["cv_object"],
        "scoring": [StrOptions({"brier", "log_loss", "accuracy"})],
        "one_standard_error": ["boolean"],
        "precision": [Interval(Real, 0, 1, closed="right")],
        "reject_label": [Integral, Real, str, None],
        "tol": [Interval(Real, 0, None, closed="neither"), None],
        "class_weight": BaseRepresentationClassifier._parameter_constraints["class_weight"],
        "verbose": ["verbose", callable],
    }

    def __init__(
        self,
        *,
        spaces=None,
        quadratics=("ridge",),
        constraints=("free", "simplex"),
        alphas=(1e-3, 1e-2, 1e-1, 1.0),
        betas=(1e-3,),
        relaxations=(0.1, 0.3, 1.0, None),
        rules=("res", "label"),
        search="screened",
        solver="exact",
        code=None,
        cv=None,
        scoring="brier",
        one_standard_error=False,
        precision=0.99,
        reject_label=None,
        tol=None,
        class_weight=None,
        verbose=False,
    ):
        self.spaces = spaces
        self.quadratics = quadratics
        self.constraints = constraints
        self.alphas = alphas
        self.betas = betas
        self.relaxations = relaxations
        self.rules = rules
        self.search = search
        self.solver = solver
        self.code = code
        self.cv = cv
        self.scoring = scoring
        self.one_standard_error = one_standard_error
        self.precision = precision
        self.reject_label = reject_label
        self.tol = tol
        self.class_weight = class_weight
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None, *, groups=None):
        """Choose the settings, then build the dictionary from all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,) or None
            Groups for a splitter that keeps them together.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights ≥ 0 of the samples as atoms, see `RepresentationClassifier.fit`. One of weight 0 is neither used nor
            held out; the others count alike where settings are scored.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_grid()
        given = y  # whose library `classes_` keeps
        if is_non_numpy(X):
            X, y = self._check_non_numpy(X, reset=True), column_or_1d(to_numpy(y))
        else:
            X, given = validate_data(self, X, to_numpy(y), dtype=[np.float64, np.float32])
            y = given
        check_classification_targets(y)
        groups = None if groups is None else check_labels(groups, "groups")
        indexable(range(X.shape[0]), y, groups)
        weights = weights_of_samples(sample_weight, self.class_weight, y, X.shape[0])
        used = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
        own = None if weights is None else weights[used]
        some = self._spaces[0].part(X, used, used) if len(used) < len(y) else X
        splits = self._drawn_once(partial(self._splits, X, y, groups, used))
        data = (some, y[used], groups is not None, own, splits)

        classes, counts = np.unique(y[used], return_counts=True)
        check_two_classes(classes)
        if counts.max() == 1:
            warnings.warn(_NOTHING_HELD_OUT, stacklevel=2)
        tried, running = self._searched(*data)
        best = running[choose(running, self.scoring, self.one_standard_error)]
        if best.decisions is None:  # forgotten when another setting was ahead
            best = self._scored_again(best, *data)
        used_space = best.candidate.space.within_budget(len(used), 4 if is_single(X.dtype) else 8)
        space = used_space.prepare(some)
        dictionary = space.dictionary(X, given, weights=weights)
        self.learn(space, dictionary, partial(self._learned, used_space, best, tried, running, y))
        warn_of_dominant_column(X, self)
        return self

    def problem(self, dictionary):
        """Refused: there are no settings yet."""
        raise ValueError(
            f"{type(self).__name__} has no settings before it chooses them; fit it on a sample first and use "
            "RepresentationClassifier(**best_params_)"
        )

    @property
    def partial_fit(self):
        """Not available: more samples may need other settings. Grow a `RepresentationClassifier(**best_params_)`."""
        raise AttributeError("partial_fit: fit chooses the settings; grow RepresentationClassifier(**best_params_)")

    def _check_grid(self):
        """Check each entry of the grid as the classifier would."""
        for name, single in _LISTS.items():
            allowed, values = BaseRepresentationClassifier._parameter_constraints[single], getattr(self, name)
            if values is None:
                continue
            if not len(values):
                raise ValueError(f"{name} must hold at least one value")
            for value in values:
                _check_entry(name, value, allowed)

    @property
    def _spaces(self):
        return usual_spaces() if self.spaces is None else [named_space(space) for space in self.spaces]

    def _searched(self, X, y, grouped, weights, splits):
        """Outcomes of all settings tried, and of those that could be chosen."""
        spaces = self._spaces
        pairwise = [space.is_pairwise for space in spaces]
        if any(pairwise) and not all(pairwise):
            raise ValueError("spaces: 'precomputed' takes inner products in place of samples, so it must be alone")
        small = {space: _one_of_each_class(space, X, y) for space in spaces}
        grid = {space: self._candidates(space, dictionary) for space, dictionary in small.items()}
        screeners = {space: self._screeners(space, dictionary) for space, dictionary in small.items()}
        held_out = self._held_out(X, y, grouped, weights, splits, small, grid)
        few = held_out if self.cv is not None else held_out.stratified(SCREENED_SAMPLES, spaces[0])
        options = (self.solver, self.code, self.scoring, self.one_standard_error)
        search = Search(grid, screeners, held_out, few, *options)
        with self._progress(search.n_steps(self.search)) as report:
            search = replace(search, report=report)
            return {"screened": search.screened, "full": search.full}[self.search]()

    @contextmanager
    def _progress(self, total):
        """A function to call after each of so many steps of a search."""
        if callable(self.verbose):
            steps = count(1)
            yield lambda: self.verbose(next(steps), total)
        else:
            with progress_bar("Choosing settings", total, enabled=bool(self.verbose)) as advance:
                yield advance

    def _candidates(self, space, dictionary):
        """The grid in a space, after checking that every setting can be solved."""
        lists = (self.quadratics, self.constraints, self.betas, self.alphas, self.relaxations)
        grid = candidates(dictionary, self.solver, *lists, space)
        for one in grid:
            find_solver(self.solver, one.problem(dictionary))
        return grid

    def _screeners(self, space, dictionary):
        """Ridge regression on the free set."""
        return candidates(dictionary, "exact", ("ridge",), ("free",), self.betas[:1], SCREENING_ALPHAS, (None,), space)

    def _held_out(self, X, y, grouped, weights, splits, small, grid):
        """The samples to choose on, and how they are held out."""
        one_out = isinstance(self.cv, LeaveOneOutSplitter) or (self.cv is None and not grouped)
        able = all(self._needs_no_refit(small[space], settings) for space, settings in grid.items())
        fits = self.cv is None or 4 * len(y) ** 2 <= LARGEST_H_ON_HOST
        splits = None if one_out and able and fits else splits
        held_out = HeldOut(X, y, self.rules, splits, np.arange(len(y)), weights)
        return held_out.stratified(MOST_SAMPLES, next(iter(grid))) if self.cv is None else held_out

    def _drawn_once(self, splits):
        """The folds of the user's splitter stay the same for all settings, even if it draws others each time."""
        if self.cv is None:
            return splits
        drawn = cache(partial(splits, None))
        return lambda rows: drawn()

    def _splits(self, X, y, groups, used, rows):
        """Folds of some of the ``used`` samples, those of some weight; a splitter of the user sees all samples."""
        chosen = used[rows] if self.cv is None else np.arange(len(y))
        # A splitter wants samples to count them; those on a device stay there.
        X = chosen[:, None] if is_non_numpy(X) else X[chosen]
        y, groups = y[chosen], None if groups is None else groups[chosen]
        splitter = self.cv
        if splitter is None:
            kind = StratifiedKFold if groups is None else StratifiedGroupKFold
            # Five folds, or as many as the largest class has samples and as there are groups.
            most = int(np.unique(y, return_counts=True)[1].max())
            most = most if groups is None else min(most, len(np.unique(groups)))
            splitter = kind(min(5, max(2, most)), shuffle=True, random_state=0)
        drawn = check_cv(splitter, y, classifier=True).split(X, y, groups)
        if self.cv is None:
            return list(drawn)
        folds = _checked_folds(drawn, len(y))
        if len(used) == len(y):
            return folds
        position = np.full(len(y), -1)
        position[used] = np.arange(len(used))
        return [tuple(position[part][position[part] >= 0] for part in fold) for fold in folds]

    def _needs_no_refit(self, dictionary, grid):
        """Whether each sample can be coded over the others without a refit."""
        learning = any(named_rule(rule).learns for rule in self.rules)
        able = all(LeaveOneOut.accepts(one.problem(dictionary)) for one in grid)
        exact = all(find_solver(self.solver, one.problem(dictionary)).is_exact for one in grid)
        return exact and able and not learning

    def _scored_again(self, best, X, y, grouped, weights, splits):
        candidate = best.candidate
        small = {candidate.space: _one_of_each_class(candidate.space, X, y)}
        held_out = self._held_out(X, y, grouped, weights, splits, small, {candidate.space: [candidate]})
        outcomes = held_out.outcomes(candidate.space, [candidate], self.solver, self.code)
        again = next(one for one in outcomes if one.rule is best.rule)
        best.decisions, best.concentrations = again.decisions, again.concentrations
        return best

    def _learned(self, used, best, tried, running, labels, space, dictionary):
        problem = best.candidate.problem(dictionary)
        seen = problem.rule_dictionary(space.normalize)
        return {
            "solver_": make_solver(self.solver, problem, tol=self.tol, code=self.code),
            "_rule": named_rule(best.rule).prepare(seen),
            "_rule_dictionary": seen,
            "best_index_": tried.index(best),
            "best_params_": {
                **best.params,
                "space": used,
                "solver": self.solver,
                "code": self.code,
                "class_weight": self.class_weight,
            },
            "best_score_": float(best.right.mean()),
            "cv_results_": results_table(tried, self.scoring, [one in running for one in tried]),
            "temperature_": best.temperature,
            "reject_label_": self._missing_label(dictionary.classes),
            "_given_labels": labels,
            "trust_": Trust.learn(best.decisions, best.concentrations, best.labels, best.temperature, self.precision),
            **{f"{name}_": value for name, value in best.settings.items() if name != "space"},
        }

    @property
    def chosen_grid_(self):
        """The grid that holds the chosen setting alone, as parameters: fitting it scores that setting and no other."""
        check_is_fitted(self)
        lists = {name: [self.best_params_[single]] for name, single in _LISTS.items()}
        return {name: value for name, value in lists.items() if name in self.get_params()}

    def _missing_label(self, classes):
        """The label that stands for no answer."""
        missing, classes = self.reject_label, to_numpy(classes)
        if missing is None:
            missing = "rejected" if classes.dtype.kind in "OUS" else min(-1, int(classes.min()) - 1)
        if np.isin(missing, classes):
            raise ValueError(f"reject_label must not be one of the labels in y; {missing!r} is, choose another")
        return missing

    def predict(self, X, reject=False):
        """Label of the class that represents each query best.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.
        reject : bool, default=False
            Withhold answers whose `confidence` is below the threshold that gave ``precision`` on the training samples.

        Returns
        -------
        ndarray of shape (n_queries,)
            With ``reject``, withheld answers are ``reject_label_``.
        """
        if not reject:
            return super().predict(X)
        decisions, concentrations = self._judged("predict", X)
        if np.isinf(self.trust_.threshold):
            warnings.warn(
                f"no threshold gave precision={self.trust_.precision:g} on the training samples: all are rejected",
                UserWarning,
                stacklevel=2,
            )
        winners = to_numpy(self.dictionary_.xp.argmax(decisions, axis=1))
        labels = to_numpy(self.classes_)[winners]
        sure = to_numpy(self.trust_.confidence(decisions, concentrations)) >= self.trust_.threshold
        both = np.result_type(labels.dtype, np.asarray(self.reject_label_).dtype)
        # Numbers stay numbers; otherwise labels and the reject label keep their own types.
        numbers = labels.dtype.kind in "iuf" and both.kind in "if"
        labels = labels.astype(both if numbers else object)
        labels[~sure] = self.reject_label_
        return like(labels, decisions) if numbers else labels

    def confidence(self, X):
        """Probability that `predict` is right, from the margin of the decision values and the code's concentration.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        decisions, concentrations = self._judged("confidence", X)
        return self.trust_.confidence(decisions, concentrations)

    def _judged(self, method, X):
        """Decision values, and the concentration of each code."""
        check_is_fitted(self)
        parts = self.map_solutions(
            method,
            X,
            lambda solution: (self.decide(solution), concentration(self.dictionary_, solution.sorted_members)),
        )
        decisions, concentrations = zip(*parts, strict=True)
        return concat(decisions), concat(concentrations)

    def predict_proba(self, X):
        """Softmax of the decision values over the temperature learned from held-out samples.

        Calibrated to the extent that queries resemble the training samples.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
        """
        return super().predict_proba(X)

    @property
    def _divisor(self):
        return self.temperature_

    def __sklearn_tags__(self):
        tags = super(BaseRepresentationClassifier, self).__sklearn_tags__()
        tags.array_api_support = True
        tags.classifier_tags.poor_score = not any(map(asks_for_unit_sum, _entries(self.constraints)))
        tags.input_tags.pairwise = any(map(asks_for_inner_products, _entries(self.spaces)))
        return tags


class ANCRClassifierCV(RepresentationClassifierCV):
    """ANCR with everything chosen on the training set: the recommended first call.

        c = argmin ‖φ(y) − Φc‖² + λ‖c‖² + γ/2·dist²(c, simplex)

    The family ranges from CRC (γ → 0, the free set) to ANCR (γ = ∞, here None), and φ is the space: a power, unit norm,
    then the linear or an RBF kernel. The member that does best on held-out training samples is chosen. See
    `RepresentationClassifierCV` for what is chosen and how, and for the attributes.

    Parameters
    ----------
    spaces : sequence of str, callable or Space, or None, default=None
        Spaces, see `RepresentationClassifierCV`.
    constraints : sequence of str, default=("free", "simplex")
        ``("simplex",)`` leaves CRC out.
    alphas : sequence of float, default=(1e-3, 1e-2, 1e-1, 1.0)
        Values of λ.
    relaxations : sequence of float or None, default=(0.1, 0.3, 1.0, None)
        Values of the relaxation γ; None is the hard constraint.
    rules, search, code, cv, scoring, one_standard_error, precision, reject_label, tol
        See `RepresentationClassifierCV`.
    class_weight, verbose
        See `RepresentationClassifierCV`.

    References
    ----------
    H. Yin, X. Wu, Z. Feng, J. Kittler: Affine non-negative collaborative representation based pattern
    classification, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import ANCRClassifierCV
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = ANCRClassifierCV().fit(X[:400], y[:400])
    >>> clf.predict(X[400:403])
    array([4, 5, 6])
    >>> bool(clf.best_score_ > 0.9)
    True
    """

    quadratics, betas, solver = ("ridge",), (0.0,), "exact"

    def __init__(
        self,
        *,
        spaces=None,
        constraints=("free", "simplex"),
        alphas=(1e-3, 1e-2, 1e-1, 1.0),
        relaxations=(0.1, 0.3, 1.0, None),
        rules=("res", "label"),
        search="screened",
        code=None,
        cv=None,
        scoring="brier",
        one_standard_error=False,
        precision=0.99,
        reject_label=None,
        tol=None,
        class_weight=None,
        verbose=False,
    ):
        self.spaces = spaces
        self.constraints = constraints
        self.alphas = alphas
        self.relaxations = relaxations
        self.rules = rules
        self.search = search
        self.code = code
        self.cv = cv
        self.scoring = scoring
        self.one_standard_error = one_standard_error
        self.precision = precision
        self.reject_label = reject_label
        self.tol = tol
        self.class_weight = class_weight
        self.verbose = verbose


def _one_of_each_class(space, X, y):
    """A dictionary of one sample per class: enough to ask which settings can be solved."""
    rows = np.unique(y, return_index=True)[1]
    part = space.part(X, rows, rows)
    return space.prepare(part).dictionary(part, y[rows])


def _entries(values):
    """The values of a list of the grid; none where it is no list, which `fit` reports."""
    return values if isinstance(values, Iterable) else ()


def _checked_folds(drawn, n_samples):
    """The folds of a user's ``cv`` as pairs of row numbers."""
    with naming("cv"):
        folds = [(train, test) for train, test in drawn]
    if not folds:
        raise ValueError("cv gives no folds; an iterator is empty once it was used: pass a list")
    return [tuple(_rows_of_part(part, n_samples) for part in fold) for fold in folds]


def _rows_of_part(part, n_samples):
    """One part of a fold, given as row numbers or as one bool for each sample."""
    with naming("cv"):
        rows = np.asarray(to_numpy(part))
    if rows.dtype == bool and rows.shape == (n_samples,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or not rows.size or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n_samples:
        raise ValueError(f"cv: each part of a fold must hold at least one of the rows 0 to {n_samples - 1}")
    return rows


def _check_entry(name, value, allowed):
    allowed = [make_constraint(constraint) for constraint in allowed]
    if not any(constraint.is_satisfied_by(value) for constraint in allowed):
        raise ValueError(f"every value of {name} must be {' or '.join(map(str, allowed))}, got {value!r}")
