"""`RepresentationClassifier`: any quadratic, set, solver and rule."""

import warnings
from functools import cached_property, partial
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_n_features, check_is_fitted, validate_data

from ancr._arrays import (
    check_rows,
    check_same_kind,
    concat,
    is_foreign,
    leaves,
    like,
    namespace,
    needs_numpy,
    to_numpy,
)
from ancr._parallel import blas_threads_for
from ancr.classifiers.explanation import explain_block
from ancr.dictionary import Dictionary
from ancr.quadratics import QUADRATICS
from ancr.rules import RULES, class_residuals, classes_can_be_skipped, nearest_class
from ancr.sets import SETS
from ancr.solvers import PARAMETER_CONSTRAINTS, Problem, finite, make_solver, solve_blocks


class BaseRepresentationClassifier(ClassifierMixin, BaseEstimator):
    """What all classifiers of the family share: build the dictionary, code queries in chunks, apply the rule.

    A subclass has ``quadratic`` and ``constraint`` as parameters or as class attributes, and whichever of the
    other settings it lets a user choose.
    """

    _parameter_constraints: ClassVar[dict] = {
        **PARAMETER_CONSTRAINTS,
        "rule": [StrOptions(set(RULES))],
        "normalize": ["boolean"],
        "weight": [Interval(Real, 0, 1, closed="both")],
        "subspace_alpha": [Interval(Real, 0, None, closed="left")],
        "temperature": [Interval(Real, 0, None, closed="neither")],
    }

    def fit(self, X, y):
        """Build the dictionary and factor what every query shares.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples, the atoms of the dictionary. Arrays of other libraries (PyTorch, CuPy and all that
            follow the array API) stay what and where they are, and so do all results.
        y : array-like of shape (n_samples,)
            Their labels: numbers or strings, at least two classes.

        Returns
        -------
        self
        """
        self._validate_params()
        if is_foreign(X):
            X = self._check_foreign(X, reset=True)
            check_classification_targets(to_numpy(y))
        else:
            X, y = validate_data(self, X, to_numpy(y), dtype=[np.float64, np.float32])
            check_classification_targets(y)
        return self._learn(Dictionary.build(X, y, normalize=self.normalize))

    def partial_fit(self, X, y, classes=None):
        """Append samples to the dictionary, and classes where y brings new ones.

        The result is that of `fit` on all samples together, in the order they came. Only the first call factors;
        later ones leave that to the next query, which extends what the last one had by the products of the samples
        that came since. So ten calls in a row cost one factorisation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            More training samples. They take the precision of the first call's.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like or None, default=None
            Classes to know from now on, which must hold every label of y; None takes them as y brings them. A class
            without samples is never predicted. Only a first call whose y has a single class needs it.

        Returns
        -------
        self
        """
        self._validate_params()
        first = "dictionary_" not in vars(self)
        needs_numpy(X, "partial_fit")
        if not first:
            check_same_kind(X, self.dictionary_.atoms, "samples passed to partial_fit()", "those before")
        X, y = validate_data(self, X, to_numpy(y), dtype=[np.float64, np.float32], reset=first)
        with warnings.catch_warnings():  # a batch of one sample a class is no sign of regression
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(y)
        if first:
            return self._learn(Dictionary.build(X, y, normalize=self.normalize, classes=classes))
        self.dictionary_ = self.dictionary_.extend(X, y, normalize=self._unit_norm, classes=classes)
        self.classes_ = self.dictionary_.classes
        # A clone keeps the settings of this call, whatever `set_params` changes before the next query.
        self._prepare_later = partial(clone(self)._prepare, self.dictionary_)
        vars(self).pop("solver_", None)
        return self

    @cached_property
    def solver_(self):
        """The solver, made by the first query after `partial_fit`."""
        if "_prepare_later" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no solver_ before it is fitted")
        learned = self._prepare_later()
        self.dictionary_.settle()
        vars(self).update(learned)
        vars(self).pop("_prepare_later", None)
        return learned["solver_"]

    def _check_foreign(self, X, reset):
        X = check_rows(X, dtype=None if reset else self.dictionary_.dtype)
        if reset:
            vars(self).pop("feature_names_in_", None)
        _check_n_features(self, X, reset=reset)
        return X

    def _learn(self, dictionary, prepare=None):
        if dictionary.n_classes < 2:
            raise ValueError(f"y must hold at least two classes, got one class: {dictionary.classes[0]!r}")
        learned = (prepare or self._prepare)(dictionary)
        # Nothing is assigned before everything is there: a fit that fails leaves the last one standing.
        self.dictionary_, self.classes_ = dictionary, dictionary.classes
        for name, value in learned.items():
            setattr(self, name, value)
        vars(self).pop("_prepare_later", None)  # of a dictionary that is no more
        # Queries must be scaled as the atoms were, whatever becomes of the parameter.
        self._unit_norm = self.normalize
        # Fitting is one factorisation; iterations happen when a query is coded, see `ancr.solve`.
        self.n_iter_ = 1
        return self

    def __sklearn_is_fitted__(self):
        return "dictionary_" in vars(self)

    def _prepare(self, dictionary):
        """What `fit` learns beside the dictionary: ``{attribute: value}``."""
        alpha, gamma = float(getattr(self, "alpha", 0.0)), float(getattr(self, "gamma", 0.0))
        quadratic = QUADRATICS[self.quadratic](alpha, gamma, dictionary.n_classes)
        n, d = dictionary.atoms.shape
        problem = Problem(dictionary, quadratic, SETS[self.constraint], finite(getattr(self, "relaxation", None)))
        with blas_threads_for(2 * n * d * min(n, d)):
            return {"solver_": self._make_solver(problem)}

    def _make_solver(self, problem):
        options = ("rho", "max_iter", "tol", "code")
        return make_solver(self.solver, problem, **{key: getattr(self, key) for key in options if hasattr(self, key)})

    @property
    def _chosen_rule(self):
        """Name of the rule; None for a method with one of its own."""
        return getattr(self, "rule", None)

    def _decide(self, queries, codes):
        """Decision values, larger is better: the rule on the codes."""
        return RULES[self._chosen_rule](self.dictionary_, queries, codes)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Without Σc = 1 a code knows no offset: on the two-feature blobs of scikit-learn's checks CRC scores 0.72 and
        # NRC 0.7, whatever their settings.
        tags.array_api_support = True
        tags.classifier_tags.poor_score = self.constraint in ("free", "nonnegative")
        return tags

    def _map_solutions(self, method, X, then):
        """Results of ``then(queries, solution)`` on every block of queries, for a public method."""
        check_is_fitted(self)
        caller = f"Inputs passed to {type(self).__name__}.{method}()"
        check_same_kind(X, self.dictionary_.atoms, caller, "those passed to fit()")
        if is_foreign(X):
            X = self._check_foreign(X, reset=False)
        else:
            X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
            X = X.astype(self.dictionary_.dtype, order="C", copy=False)
        return solve_blocks(self.solver_, X, then, leaves(X).unit_rows if self._unit_norm else None)

    def _decide_among_present(self, queries, codes):
        values = self._decide(queries, codes)
        empty = np.diff(self.dictionary_.bounds) == 0
        if empty.any():  # classes known by name that have no sample yet
            values[:, like(np.flatnonzero(empty), values)] = -float("inf")
        return values

    def _winners(self, queries, solution):
        """Number of the class with the largest decision value."""
        if self._chosen_rule != "res" or not classes_can_be_skipped(self.dictionary_, solution.held):
            return self._winners_by_value(queries, solution)
        winners = nearest_class(self.dictionary_, queries, solution.held)
        if (tied := winners < 0).any():  # a label must not contradict the decision values
            winners[tied] = self._winners_by_value(queries, solution)[tied]
        return winners

    def _winners_by_value(self, queries, solution):
        return namespace(queries).argmax(self._decide_among_present(queries, solution.sorted_codes), axis=1)

    def _decisions(self, method, X):
        def decide(queries, solution):
            return self._decide_among_present(queries, solution.sorted_codes)

        return concat(self._map_solutions(method, X, decide))

    def predict(self, X):
        """Label of the class that represents each query best.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        array of shape (n_queries,)
            Of the library and on the device of X; strings are NumPy's.
        """
        return self._labels(concat(self._map_solutions("predict", X, self._winners)))

    def _labels(self, winners):
        labels = namespace(self.classes_).take(self.classes_, like(winners, self.classes_), axis=0)
        words = isinstance(labels, np.ndarray) and labels.dtype.kind not in "biuf"
        return labels if words else like(labels, winners)

    def score(self, X, y, sample_weight=None):
        """Share of queries whose label is predicted.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.
        y : array-like of shape (n_queries,)
            Their true labels.
        sample_weight : array-like of shape (n_queries,) or None
            Weights of the queries.

        Returns
        -------
        float
        """
        truth, predicted, weight = (to_numpy(values) for values in (y, self.predict(X), sample_weight))
        return accuracy_score(truth, predicted, sample_weight=weight)

    def decision_function(self, X):
        """Decision values of the rule; larger is better.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        array of shape (n_queries,) for two classes, else (n_queries, n_classes)
            For two classes the value of ``classes_[1]`` less that of ``classes_[0]``.
        """
        values = self._decisions("decision_function", X)
        return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values

    def predict_proba(self, X):
        """Softmax of the decision values over ``temperature``.

        A ranking of the classes scaled to sum to one. It is *not* calibrated: at a given temperature, 0.9 does
        not mean that nine of ten such queries are right.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        array of shape (n_queries, n_classes)
        """
        values = self._decisions("predict_proba", X) / self.temperature
        xp = namespace(values)
        weights = xp.exp(values - xp.max(values, axis=1, keepdims=True))
        return weights / xp.sum(weights, axis=1, keepdims=True)

    def residuals(self, X):
        """Class residuals r_i = ‖y − X_i c_i‖, whatever the rule.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries; with ``normalize=True`` y is the query at unit norm.

        Returns
        -------
        array of shape (n_queries, n_classes)
            Columns as ``classes_``.
        """

        def residuals(queries, solution):
            return class_residuals(self.dictionary_, queries, solution.sorted_codes)

        return concat(self._map_solutions("residuals", X, residuals))

    def codes(self, X):
        """Codes of the queries.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        array or CSR array of shape (n_queries, n_train)
            Columns in the order of the samples given to `fit`; NumPy's are CSR where the set makes codes sparse, those
            of other libraries dense.
        """
        parts = self._map_solutions("codes", X, lambda queries, solution: solution.codes)
        return (sparse.vstack if sparse.issparse(parts[0]) else concat)(parts)

    def explain(self, X, top=5):
        """The training samples that decided each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.
        top : int, default=5
            Samples to show a query; fewer where the code uses fewer.

        Returns
        -------
        list of Explanation
            One a query, with ``indices``, ``weights``, ``labels`` and ``shares`` of its strongest samples.
        """
        if not isinstance(top, Integral) or top < 1:
            raise ValueError(f"top must be a positive integer, got {top!r}")

        def block(queries, solution):
            labels = to_numpy(self._labels(self._winners(queries, solution)))
            return explain_block(self.dictionary_, queries, solution.sorted_codes, labels, top)

        return [explanation for part in self._map_solutions("explain", X, block) for explanation in part]


class RepresentationClassifier(BaseRepresentationClassifier):
    """Classifier with all four axes open.

    A query y is coded by

        c = argmin cᵀHc − 2bᵀc   over a set,

    where the quadratic gives H and b, and the rule turns c into one decision value a class. The named
    classifiers are presets of this one; combinations that have no name are made here.

    Parameters
    ----------
    quadratic : {"ridge", "least_squares", "l1", "subspace", "probabilistic", "competitive"}, default="ridge"
        ``"ridge"``: ‖y − Xc‖² + λ‖c‖²; ``"least_squares"``: ‖y − Xc‖²; ``"l1"``: ‖y − Xc‖² + λ‖c‖₁;
        ``"subspace"`` (NSC): Σ‖y − X_i c_i‖² + λ‖c‖²; ``"probabilistic"`` (ProCRC): ridge + γΣ‖Xc − X_i c_i‖²;
        ``"competitive"`` (CCRC): ridge + γΣ‖y − X_i c_i‖².
    constraint : {"free", "affine", "nonnegative", "simplex"}, default="free"
        Where c may live: anywhere; Σc = 1; c ≥ 0; both.
    alpha : float, default=1e-3
        The paper's λ ≥ 0. Not used by ``"least_squares"``.
    gamma : float, default=1e-3
        Weight γ ≥ 0 of the class terms of ``"probabilistic"`` and ``"competitive"``.
    solver : {"exact", "closed_form", "admm"}, default="exact"
        ``"exact"``: the optimum, on every set; ``"admm"``: the paper's Algorithm 1, for the non-negative and simplex
        sets; ``"closed_form"``: what ``"exact"`` uses on the free and affine sets.
    rule : {"res", "reg", "pro", "label"}, default="res"
        Class residual ‖y − X_i c_i‖; that squared over ‖c_i‖²; ‖Xc − X_i c_i‖²; or the summed entries of the class.
    rho : float, default=1.0
        ADMM's penalty ρ.
    max_iter : int or None, default=None
        ADMM's iterations. Given without ``tol`` the count is fixed on purpose: exactly ``max_iter`` iterations
        are run and nothing warns. None means 10000.
    tol : float or None, default=None
        Exact: the relative gap that a query must reach; None means 1e-8, in float32 1e-6. ADMM: the tolerance on
        max(‖z−c‖, ‖z−z_prev‖, ‖c−c_prev‖). A query that does not meet it within ``max_iter``
        iterations is reported by a `ConvergenceWarning`. None means 1e-5, in float32 1e-4, where
        ``max_iter`` is None too, and no tolerance otherwise.
    relaxation : float or None, default=None
        γ > 0 lets a code leave the non-negative or simplex set, at the price γ/2·dist². From γ → 0, the free set, to
        None, which is γ = ∞, one convex family; `ANCRClassifierCV` chooses from it.
    code : {"c", "z"} or None, default=None
        ADMM and a relaxation have two codes to classify with: z lies in the set, c only near it. None means c with
        a relaxation and z for ADMM (the paper used c).
    normalize : bool, default=True
        Scale training samples and queries to unit ℓ2 norm (Algorithm 2, step 1).
    temperature : float, default=0.1
        Divides the decision values in `predict_proba`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    dictionary_ : Dictionary
        Atoms and class blocks.
    solver_ : object
        The solver, prepared for the dictionary.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, where X had string names.
    n_iter_ : int
        Always 1: fitting is one factorisation. Iterations a query are in ``ancr.solve(...).n_iter``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ancr import RepresentationClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = RepresentationClassifier(constraint="affine", rule="pro").fit(X[::2], y[::2])
    >>> clf.predict(X[1::50])
    array([0, 1, 2])
    """

    def __init__(
        self,
        *,
        quadratic="ridge",
        constraint="free",
        alpha=1e-3,
        gamma=1e-3,
        solver="exact",
        rule="res",
        rho=1.0,
        max_iter=None,
        tol=None,
        relaxation=None,
        code=None,
        normalize=True,
        temperature=0.1,
    ):
        self.quadratic = quadratic
        self.constraint = constraint
        self.alpha = alpha
        self.gamma = gamma
        self.solver = solver
        self.rule = rule
        self.rho = rho
        self.max_iter = max_iter
        self.tol = tol
        self.relaxation = relaxation
        self.code = code
        self.normalize = normalize
        self.temperature = temperature
