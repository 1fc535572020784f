"""Settings chosen on the training set alone, by leave-one-out or in folds."""

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.model_selection import LeaveOneOut as LeaveOneOutSplitter
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import indexable
from sklearn.utils._param_validation import Interval, StrOptions, make_constraint
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ancr.backends.arrays import needs_numpy
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.rules import named_rule
from ancr.selection.calibration import Trust, concentration
from ancr.selection.leave_one_out import LeaveOneOut
from ancr.selection.scoring import Folds, candidates, choose, leave_one_out, results_table
from ancr.sets import asks_for_unit_sum
from ancr.solvers import Solver, make_solver
from ancr.solvers.choice import SOLVERS, find_solver
from ancr.solvers.working_set.host import GRAM_BUDGET


class RepresentationClassifierCV(BaseRepresentationClassifier):
    """`RepresentationClassifier` with its settings chosen on the training set.

    Every combination of quadratic, set, β, λ, relaxation and rule is scored on held-out training samples: each is coded
    over all others (leave-one-out, the default, which needs no refit) or over the training part of its fold. The same
    decision values calibrate `predict_proba` and the reject option.

    Cross-validation cannot detect a shift between training and test data. If samples come in groups that the queries
    will not share (the same session, the same patient), pass ``groups`` to `fit` and use a splitter that keeps groups
    together.

    Parameters
    ----------
    quadratics : sequence of str or callable, default=("ridge",)
        As ``quadratic`` of `RepresentationClassifier`.
    constraints : sequence of str or Set, default=("free", "simplex")
        As ``constraint``.
    alphas : sequence of float
        Values of λ.
    betas : sequence of float, default=(1e-3,)
        Values of β for the quadratics with class terms.
    relaxations : sequence of float or None
        Values of the relaxation of the non-negative and simplex sets; None is the hard constraint.
    rules : sequence of str or Rule, default=("res",)
        As ``rule``.
    solver : {"exact", "closed_form", "admm", "interior_point"} or Solver, default="exact"
        As ``solver``; pass an object to set a solver's own options. Solvers other than ``"exact"`` are scored in
        folds.
    code : {"c", "z"} or None, default=None
        Which code of a relaxed problem to classify with; None means c.
    cv : None, int, splitter or iterable, default=None
        None: leave-one-out; five stratified folds if a Gram matrix of the samples would exceed 1 GiB or a setting
        cannot leave one sample out without a refit; with ``groups``, five folds that keep groups together. Otherwise
        as in scikit-learn.
    scoring : {"log_loss", "accuracy"}, default="log_loss"
        The criterion. Log loss (at the best temperature of each setting) distinguishes settings that get the same
        samples right.
    one_standard_error : bool, default=True
        Take the setting with the sparsest codes among those within one standard error of the best: fewer samples to
        show, faster answers, and no loss that the training set could show. False takes the best itself. (Atoms are
        counted in z, the code in the set; codes on the free and affine sets use every atom.)
    precision : float, default=0.99
        Share of accepted answers that should be right, for ``predict(X, reject=True)``.
    reject_label : number, str or None, default=None
        What ``predict(X, reject=True)`` returns in place of a label; None means −1 for numbers, or one less than the
        smallest label where that is negative, and ``"rejected"`` for strings.
    tol : float or None, default=None
        Relative gap of the final solver.
    normalize : bool, default=True
        Scale training samples and queries to unit ℓ2 norm.

    Attributes
    ----------
    alpha_, relaxation_, rule_, quadratic_, constraint_, beta_ : float, None or str
        The settings chosen.
    best_params_ : dict
        The same, as parameters of a `RepresentationClassifier`.
    best_score_ : float
        Accuracy of the chosen setting on held-out training samples.
    best_index_ : int
        Its position in ``cv_results_``.
    cv_results_ : dict of arrays
        One entry per setting: ``params``, every parameter as ``param_…``, ``mean_test_score`` (by ``scoring``, larger
        is better) with ``standard_error`` and ``rank_test_score``, ``accuracy``, ``log_loss``, ``temperature`` and
        ``atoms_used`` (per code, on average).
    temperature_ : float
        Divides the decision values in `predict_proba`; chosen to minimise the log loss.
    reject_label_ : number or str
        The label that stands for no answer.
    trust_ : Trust
        What `confidence` and the reject option learned: ``trust_.threshold`` and ``trust_.coverage``.
    classes_, dictionary_, solver_, n_features_in_, feature_names_in_
        As for `RepresentationClassifier`.
    """

    _parameter_constraints: ClassVar[dict] = {
        "quadratics": ["array-like"],
        "constraints": ["array-like"],
        "alphas": ["array-like"],
        "betas": ["array-like"],
        "relaxations": ["array-like"],
        "rules": ["array-like"],
        "solver": [StrOptions(set(SOLVERS)), Solver],
        "code": [StrOptions({"c", "z"}), None],
        "cv": ["cv_object"],
        "scoring": [StrOptions({"log_loss", "accuracy"})],
        "one_standard_error": ["boolean"],
        "precision": [Interval(Real, 0, 1, closed="right")],
        "reject_label": [Integral, Real, str, None],
        "tol": [Interval(Real, 0, None, closed="neither"), None],
        "normalize": ["boolean"],
    }

    def __init__(
        self,
        *,
        quadratics=("ridge",),
        constraints=("free", "simplex"),
        alphas=(1e-4, 1e-3, 1e-2, 1e-1, 1.0),
        betas=(1e-3,),
        relaxations=(0.1, 1.0, 10.0, None),
        rules=("res",),
        solver="exact",
        code=None,
        cv=None,
        scoring="log_loss",
        one_standard_error=True,
        precision=0.99,
        reject_label=None,
        tol=None,
        normalize=True,
    ):
        self.quadratics = quadratics
        self.constraints = constraints
        self.alphas = alphas
        self.betas = betas
        self.relaxations = relaxations
        self.rules = rules
        self.solver = solver
        self.code = code
        self.cv = cv
        self.scoring = scoring
        self.one_standard_error = one_standard_error
        self.precision = precision
        self.reject_label = reject_label
        self.tol = tol
        self.normalize = normalize

    def fit(self, X, y, groups=None):
        """Choose the settings, then build the dictionary from all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Their labels.
        groups : array-like of shape (n_samples,) or None
            Groups for a splitter that keeps them together.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_grid()
        needs_numpy(X, type(self).__name__)
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        indexable(X, y, groups)

        def prepare(dictionary):
            outcomes = list(self._outcomes(dictionary, X, y, groups, self._candidates(dictionary)))
            return self._learned(dictionary, outcomes)

        space = self._make_space().prepare(X)
        return self._learn(space, space.dictionary(X, y), prepare)

    def _problem(self, dictionary):
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
        lists = {
            "quadratics": ("quadratic", self.quadratics),
            "constraints": ("constraint", self.constraints),
            "betas": ("beta", self.betas),
            "alphas": ("alpha", self.alphas),
            "relaxations": ("relaxation", self.relaxations),
            "rules": ("rule", self.rules),
        }
        for name, (single, values) in lists.items():
            allowed = BaseRepresentationClassifier._parameter_constraints[single]
            if not len(values):
                raise ValueError(f"{name} must hold at least one value")
            for value in values:
                _check_entry(name, value, allowed)

    def _candidates(self, dictionary):
        """The grid, after checking that every setting can be solved."""
        lists = (self.quadratics, self.constraints, self.betas, self.alphas, self.relaxations)
        grid = candidates(dictionary, self.solver, *lists)
        for one in grid:
            find_solver(self.solver, one.problem(dictionary))
        return grid

    def _outcomes(self, dictionary, X, y, groups, grid):
        one_out = isinstance(self.cv, LeaveOneOutSplitter) or (self.cv is None and groups is None)
        if one_out and self._needs_no_refit(dictionary, grid):
            return leave_one_out(dictionary, grid, self.rules, self.code)
        splitter = self.cv
        if splitter is None:
            kind = StratifiedKFold if groups is None else StratifiedGroupKFold
            # Five folds, or as many as the largest class has samples.
            most = max(2, int(np.diff(dictionary.bounds).max()))
            splitter = kind(min(5, most), shuffle=True, random_state=0)
        folds = list(check_cv(splitter, y, classifier=True).split(X, y, groups))
        settings = Folds(grid, self.rules, self.solver, self.code, self._make_space())
        return settings.outcomes(X, y, dictionary.classes, folds)

    def _needs_no_refit(self, dictionary, grid):
        """Whether each sample can be coded over the others without a refit."""
        fits = 4 * dictionary.n_atoms**2 <= GRAM_BUDGET
        learning = any(named_rule(rule).learns for rule in self.rules)
        able = all(LeaveOneOut.accepts(one.problem(dictionary)) for one in grid)
        exact = all(find_solver(self.solver, one.problem(dictionary)).is_exact for one in grid)
        return exact and fits and able and not learning

    def _learned(self, dictionary, outcomes):
        index = choose(outcomes, self.scoring, self.one_standard_error)
        best = outcomes[index]
        problem = best.candidate.problem(dictionary)
        return {
            "solver_": make_solver(self.solver, problem, tol=self.tol, code=self.code),
            "_rule": named_rule(best.rule).prepare(dictionary),
            "best_index_": index,
            "best_params_": {**best.settings, "solver": self.solver, "code": self.code, "normalize": self.normalize},
            "best_score_": float(best.right.mean()),
            "cv_results_": results_table(outcomes, self.scoring),
            "temperature_": best.temperature,
            "reject_label_": self._missing_label(dictionary.classes),
            "trust_": Trust.learn(best.decisions, best.concentrations, best.labels, best.temperature, self.precision),
            **{f"{name}_": value for name, value in best.settings.items()},
        }

    def _missing_label(self, classes):
        """The label that stands for no answer."""
        missing = self.reject_label
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
        labels = self.classes_[np.argmax(decisions, axis=1)]
        sure = self.trust_.confidence(decisions, concentrations) >= self.trust_.threshold
        both = np.result_type(labels.dtype, np.asarray(self.reject_label_).dtype)
        # Numbers stay numbers; otherwise labels and the reject label keep their own types.
        labels = labels.astype(both if labels.dtype.kind in "iuf" and both.kind in "if" else object)
        labels[~sure] = self.reject_label_
        return labels

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
            lambda queries, solution: (
                self._rule.scores(self.dictionary_, queries, solution.sorted_codes),
                concentration(self.dictionary_, solution.sorted_members),
            ),
        )
        decisions, concentrations = zip(*parts, strict=True)
        return np.concatenate(decisions), np.concatenate(concentrations)

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
        decisions = self._decisions("predict_proba", X)
        return softmax(decisions / self.temperature_, axis=1)

    def __sklearn_tags__(self):
        tags = super(BaseRepresentationClassifier, self).__sklearn_tags__()
        tags.classifier_tags.poor_score = not any(asks_for_unit_sum(one) for one in self.constraints)
        return tags


class ANCRClassifierCV(RepresentationClassifierCV):
    """ANCR with λ and the relaxation chosen on the training set: the recommended first call.

        c = argmin ‖y − Xc‖² + λ‖c‖² + γ/2·dist²(c, simplex)

    The family ranges from CRC (γ → 0) to ANCR (γ = ∞, here None); the member that does best on held-out training
    samples is chosen. See `RepresentationClassifierCV` for what is chosen and how, and for the attributes.

    Parameters
    ----------
    alphas : sequence of float
        Values of λ.
    relaxations : sequence of float or None
        Values of γ; None is the hard constraint.
    rules, code, cv, scoring, one_standard_error, precision, reject_label, tol, normalize
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

    quadratics, constraints, betas, solver = ("ridge",), ("simplex",), (0.0,), "exact"

    def __init__(
        self,
        *,
        alphas=(1e-4, 1e-3, 3e-3, 1e-2, 1e-1),
        relaxations=(0.1, 1.0, 3.0, 10.0, 100.0, None),
        rules=("res",),
        code=None,
        cv=None,
        scoring="log_loss",
        one_standard_error=True,
        precision=0.99,
        reject_label=None,
        tol=None,
        normalize=True,
    ):
        self.alphas = alphas
        self.relaxations = relaxations
        self.rules = rules
        self.code = code
        self.cv = cv
        self.scoring = scoring
        self.one_standard_error = one_standard_error
        self.precision = precision
        self.reject_label = reject_label
        self.tol = tol
        self.normalize = normalize


def _check_entry(name, value, allowed):
    allowed = [make_constraint(constraint) for constraint in allowed]
    if not any(constraint.is_satisfied_by(value) for constraint in allowed):
        raise ValueError(f"every value of {name} must be {' or '.join(map(str, allowed))}, got {value!r}")
