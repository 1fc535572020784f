"""`RepresentationClassifier`: any quadratic, set, solver and rule."""

import warnings
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.preprocessing import normalize as unit_rows
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ancr._parallel import blas_threads_for
from ancr.classifiers.explanation import explain_block
from ancr.dictionary import Dictionary
from ancr.quadratics import QUADRATICS
from ancr.rules import RULES, class_residuals
from ancr.sets import SETS
from ancr.solvers import PARAMETER_CONSTRAINTS, Problem, make_solver, solve_blocks


class BaseRepresentationClassifier(ClassifierMixin, BaseEstimator):
    """What all classifiers of the family share: build the dictionary, code queries in chunks, apply the rule.

    A subclass has ``quadratic`` and ``constraint`` as parameters or as class attributes, and whichever of the
    other settings it lets a user choose.
    """

    _parameter_constraints: ClassVar[dict] = {
        **PARAMETER_CONSTRAINTS,
        "rule": [StrOptions(set(RULES))],
        "normalize": ["boolean"],
        "temperature": [Interval(Real, 0, None, closed="neither")],
    }

    def fit(self, X, y):
        """Build the dictionary and factor what every query shares.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples, the atoms of the dictionary.
        y : array-like of shape (n_samples,)
            Their labels: numbers or strings, at least two classes.

        Returns
        -------
        self
        """
        self._validate_own_parameters()
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        return self._learn(Dictionary.build(X, y, normalize=self.normalize))

    def partial_fit(self, X, y, classes=None):
        """Append samples to the dictionary, and classes where y brings new ones.

        The result is that of `fit` on all samples together, in the order they came. Gram matrix and scatters are
        extended by what involves the new samples, and only the smaller side is factored again.

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
        self._validate_own_parameters()
        first = not hasattr(self, "dictionary_")
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], reset=first)
        with warnings.catch_warnings():  # a batch of one sample a class is no sign of regression
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(y)
        grow = Dictionary.build if first else self.dictionary_.extend
        return self._learn(grow(X, y, normalize=self.normalize, classes=classes))

    def _learn(self, dictionary):
        if dictionary.n_classes < 2:
            raise ValueError(f"y must hold at least two classes, got one class: {dictionary.classes[0]!r}")
        self.dictionary_, self.classes_ = dictionary, dictionary.classes
        self._prepare()
        dictionary.settle()
        return self

    def _validate_own_parameters(self):
        # Presets fix some axes as class attributes; scikit-learn validates exactly the constructor's names.
        own = self.get_params(deep=False)
        constraints = {key: value for key, value in self._parameter_constraints.items() if key in own}
        validate_parameter_constraints(constraints, own, caller_name=type(self).__name__)

    def _prepare(self):
        quadratic = QUADRATICS[self.quadratic](getattr(self, "alpha", 0.0))
        problem = Problem(self.dictionary_, quadratic, SETS[self.constraint])
        options = {name: getattr(self, name) for name in ("rho", "max_iter", "tol", "code") if hasattr(self, name)}
        n, d = self.dictionary_.atoms.shape
        with blas_threads_for(2 * n * d * min(n, d)):
            self.solver_ = make_solver(self.solver, problem, **options)
        # Fitting is one factorisation; iterations happen when a query is coded, see `ancr.solve`.
        self.n_iter_ = 1

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Without Σc = 1 a code knows no offset: on the two-feature blobs of scikit-learn's checks CRC scores 0.72 and
        # NRC 0.7, whatever their settings.
        tags.classifier_tags.poor_score = self.constraint in ("free", "nonnegative")
        return tags

    def _map_solutions(self, X, then):
        """Results of ``then(queries, solution)`` on every block of queries."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        X = X.astype(self.dictionary_.dtype, order="C", copy=False)
        return solve_blocks(self.solver_, unit_rows(X) if self.normalize else X, then)

    def _per_class(self, X, rule):
        return np.concatenate(
            self._map_solutions(X, lambda queries, solution: rule(self.dictionary_, queries, solution.sorted_codes))
        )

    def _decide(self, dictionary, queries, codes):
        values = RULES[self.rule](dictionary, queries, codes)
        values[:, np.diff(dictionary.bounds) == 0] = -np.inf  # classes that are known but have no sample yet
        return values

    def predict(self, X):
        """Label of the class that represents each query best.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        ndarray of shape (n_queries,)
        """
        best = np.argmax(self._per_class(X, self._decide), axis=1)
        return self.classes_[best]

    def decision_function(self, X):
        """Decision values of the rule; larger is better.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        ndarray of shape (n_queries,) for two classes, else (n_queries, n_classes)
            For two classes the value of ``classes_[1]`` less that of ``classes_[0]``.
        """
        values = self._per_class(X, self._decide)
        return values[:, 1] - values[:, 0] if len(self.classes_) == 2 else values

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
        ndarray of shape (n_queries, n_classes)
        """
        return softmax(self._per_class(X, self._decide) / self.temperature, axis=1)

    def residuals(self, X):
        """Class residuals r_i = ‖y − X_i c_i‖, whatever the rule.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries; with ``normalize=True`` y is the query at unit norm.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Columns as ``classes_``.
        """
        return self._per_class(X, class_residuals)

    def codes(self, X):
        """Codes of the queries.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        ndarray or CSR array of shape (n_queries, n_train)
            Columns in the order of the samples given to `fit`; CSR where the set makes codes sparse.
        """
        parts = self._map_solutions(X, lambda queries, solution: solution.codes)
        return (sparse.vstack if sparse.issparse(parts[0]) else np.concatenate)(parts)

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
            best = np.argmax(self._decide(self.dictionary_, queries, solution.sorted_codes), axis=1)
            return explain_block(self.dictionary_, queries, solution.sorted_codes, self.classes_[best], top)

        return [explanation for part in self._map_solutions(X, block) for explanation in part]


class RepresentationClassifier(BaseRepresentationClassifier):
    """Classifier with all four axes open.

    A query y is coded by

        c = argmin cᵀHc − 2bᵀc   over a set,

    where the quadratic gives H and b, and the rule turns c into one decision value a class. The named
    classifiers are presets of this one; combinations that have no name are made here.

    Parameters
    ----------
    quadratic : {"ridge", "least_squares", "l1"}, default="ridge"
        ``"ridge"``: ‖y − Xc‖² + λ‖c‖²; ``"least_squares"``: ‖y − Xc‖²; ``"l1"``: ‖y − Xc‖² + λ‖c‖₁.
    constraint : {"free", "affine", "nonnegative", "simplex"}, default="free"
        Where c may live: anywhere; Σc = 1; c ≥ 0; both.
    alpha : float, default=1e-3
        The paper's λ ≥ 0. Not used by ``"least_squares"``.
    solver : {"exact", "closed_form", "admm"}, default="exact"
        ``"exact"``: the optimum, on every set; ``"admm"``: the paper's Algorithm 1, for the non-negative and simplex
        sets; ``"closed_form"``: what ``"exact"`` uses on the free and affine sets.
    rule : {"res", "reg", "pro"}, default="res"
        Class residual ‖y − X_i c_i‖; that squared over ‖c_i‖²; or ‖Xc − X_i c_i‖².
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
    code : {"z", "c"}, default="z"
        ADMM's iterate to classify with: z lies in the set, c (what the paper used) only near it.
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
        solver="exact",
        rule="res",
        rho=1.0,
        max_iter=None,
        tol=None,
        code="z",
        normalize=True,
        temperature=0.1,
    ):
        self.quadratic = quadratic
        self.constraint = constraint
        self.alpha = alpha
        self.solver = solver
        self.rule = rule
        self.rho = rho
        self.max_iter = max_iter
        self.tol = tol
        self.code = code
        self.normalize = normalize
        self.temperature = temperature
