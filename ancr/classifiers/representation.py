"""`RepresentationClassifier`: any quadratic, set, solver and rule."""

import warnings
from functools import cached_property, partial
from itertools import chain
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils import column_or_1d, compute_class_weight
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_n_features, _check_sample_weight, check_is_fitted, validate_data

from ancr._core.arrays import (
    blas_threads_for,
    check_same_kind,
    concat,
    is_non_numpy,
    is_single,
    like,
    log_softmax,
    namespace,
    softmax,
    to_numpy,
)
from ancr._core.checks import check_rows
from ancr._core.column_scales import warn_of_dominant_column
from ancr._core.messages import naming, plain
from ancr.axes import spaces
from ancr.axes.problem import Problem
from ancr.axes.rules import RULES, Rule, class_residuals, named_rule
from ancr.axes.sets import asks_for_unit_sum
from ancr.axes.spaces import Space
from ancr.classifiers.explanation import explain_block
from ancr.solvers import PARAMETER_CONSTRAINTS, make_solver

# Weights beyond this, or below its inverse, are refused: as a factor of λ they would leave the range of numbers.
LARGEST_WEIGHT = 1e50


def check_two_classes(classes):
    """Raise if there is only one class."""
    if classes.shape[0] < 2:
        raise ValueError(f"y must hold at least two classes, got one class: {plain(classes[0])}")


def weights_of_samples(sample_weight, class_weight, y, n_samples):
    """Weights ≥ 0 of all samples, in double precision; None where all are one.

    A class weight multiplies the weights of its samples; ``"balanced"`` is n/(K·n_k) for a class with n_k of the n
    samples that have some weight, of K classes.

    Examples
    --------
    >>> from ancr.classifiers.representation import weights_of_samples
    >>> weights_of_samples(None, "balanced", ["a", "a", "a", "b"], 4).round(2).tolist()
    [0.67, 0.67, 0.67, 2.0]
    """
    if sample_weight is None and class_weight is None:
        return None
    given = None if sample_weight is None else to_numpy(sample_weight)
    with naming("sample_weight"):
        weights = _check_sample_weight(given, np.empty((n_samples, 1)), dtype=np.float64, ensure_non_negative=True)
    if class_weight is not None:
        weights = weights * _factors_of_classes(class_weight, column_or_1d(to_numpy(y)), weights > 0.0)
    _check_range(weights, "class_weight" if sample_weight is None else "sample_weight")
    return None if (weights == 1.0).all() else weights


def _factors_of_classes(class_weight, labels, used):
    """What a class weight multiplies the weight of each sample by."""
    if isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            if not isinstance(weight, Real) or not 0.0 <= weight < np.inf:
                text = f"the weight of class {plain(label)} must be finite and ≥ 0, got {plain(weight)}"
                raise ValueError(f"class_weight: {text}")
    factors, classes = np.zeros(len(labels)), np.unique(labels[used])
    each = compute_class_weight(class_weight, classes=classes, y=labels[used])
    factors[used] = each[np.searchsorted(classes, labels[used])]
    return factors


def _check_range(weights, name):
    """Raise if all weights are zero, or if λ/w of one could leave the range of double precision."""
    used = weights[weights > 0.0]
    if not len(used):
        raise ValueError(f"{name} must be above 0 for samples of at least two classes, all are 0")
    low, high = used.min(), used.max()
    if low < 1.0 / LARGEST_WEIGHT or high > LARGEST_WEIGHT:
        limits = f"0 or between {1.0 / LARGEST_WEIGHT:g} and {LARGEST_WEIGHT:g}"
        raise ValueError(f"{name}: weights must be {limits}, got {low:g} to {high:g}")


def _of_some_weight(space, X, weights):
    """The samples that are used."""
    used = np.flatnonzero(weights)
    return X if len(used) == X.shape[0] else space.part(X, used, used)


def _can_grow(classifier):
    """Inner products with the samples before are not in those of a batch."""
    if not classifier._make_space().is_pairwise:
        return True
    raise AttributeError("partial_fit: kernel='precomputed' has no inner products of new samples with those before")


def _check_squares(queries):
    """Raise if squares of queries exceed their precision: every class would be infinitely far away."""
    xp = namespace(queries)
    largest = float(xp.max(xp.abs(queries)))
    if not largest < (1e15 if is_single(queries.dtype) else 1e150):
        kind = str(queries.dtype).rpartition(".")[2]
        raise ValueError(f"X: squares of the queries exceed {kind}; rescale them as the samples, or use normalize=True")


class BaseRepresentationClassifier(ClassifierMixin, BaseEstimator):
    """What all classifiers of the family share: they build the dictionary, code queries in blocks and apply the rule.

    A subclass has ``quadratic`` and ``constraint`` as parameters or as class attributes, and those other settings as
    parameters that a user may choose; all others have the values below.
    """

    alpha, beta, relaxation = 0.0, 0.0, None
    solver, tol, code = "exact", None, None
    rule = "res"
    kernel, gamma, degree, coef0, power, n_landmarks, random_state = "linear", "scale", 3, 0.0, 1.0, None, None
    class_weight = None

    _parameter_constraints: ClassVar[dict] = {
        **PARAMETER_CONSTRAINTS,
        **spaces.PARAMETER_CONSTRAINTS,
        "rule": [StrOptions(set(RULES)), Rule],
        "weight": [Interval(Real, 0, 1, closed="both")],
        "subspace_alpha": [Interval(Real, 0, None, closed="left")],
        "temperature": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def fit(self, X, y, sample_weight=None):
        """Build the dictionary and compute the factorisation that all queries share.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples, the atoms of the dictionary. Arrays of other libraries (PyTorch, CuPy and all that
            follow the array API) keep their library and device, and so do all results.
        y : array-like of shape (n_samples,)
            Their labels: numbers or strings, at least two classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights ≥ 0, from 1e-50 to 1e50 where above 0: a sample of weight w pays λ/w in place of λ for its part of a
            code, so that more weight is more trust. One of weight 0 is not used, as if it had not been given. Weight 2
            is not two copies, which would share a code; see ``docs/labels.md``.

        Returns
        -------
        self

        Warns
        -----
        UserWarning
            If one column is so much larger than the others that it decides nearly alone, or if weights have no effect
            because nothing is paid for a code.
        """
        self._validate_params()
        if is_non_numpy(X):
            X = self._check_non_numpy(X, reset=True)
            check_classification_targets(to_numpy(y))
        else:
            X, y = validate_data(self, X, to_numpy(y), dtype=[np.float64, np.float32])
            check_classification_targets(y)
        weights = weights_of_samples(sample_weight, self.class_weight, y, X.shape[0])
        space = self._make_space()
        space = space.prepare(X if weights is None else _of_some_weight(space, X, weights))
        self._learn(space, space.dictionary(X, y, weights=weights))
        warn_of_dominant_column(X, self)
        self._warn_of_idle_weights()
        return self

    def _warn_of_idle_weights(self):
        problem = self.solver_.problem
        if problem.dictionary.weights is not None and not (problem.quadratic.ridge or problem.quadratic.absolute):
            message = "sample_weight: without a ridge (alpha) nothing is paid for a code, and only weights of 0 matter"
            warnings.warn(message, UserWarning, stacklevel=3)

    @available_if(_can_grow)
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Append samples to the dictionary, and any new classes in y.

        The result is that of `fit` on all samples together, in the order they came. Only the first call factorises;
        later ones leave that to the next query, which extends the previous products by those of the samples added
        since. So ten calls in a row cost one factorisation. What the space learns from samples, the width of
        ``gamma="scale"`` and landmarks, it learns from those of the first call.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            More training samples. They are converted to the precision of the first call.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like or None, default=None
            Classes to know from now on, which must include every label in y; None means the labels in y. A class
            without samples is never predicted. Only a first call whose y has a single class needs it.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights ≥ 0 of these samples, as for `fit`. ``class_weight`` has no effect here: how many samples of each
            class are to come is not known.

        Returns
        -------
        self
        """
        self._validate_params()
        first = "dictionary_" not in vars(self)
        if not first:
            check_same_kind(X, self.dictionary_.atoms, "samples passed to partial_fit()", "those before")
        if is_non_numpy(X):
            X = self._check_non_numpy(X, reset=first)
        else:
            X, y = validate_data(self, X, to_numpy(y), dtype=[np.float64, np.float32], reset=first)
        with warnings.catch_warnings():  # a batch of one sample per class is no sign of regression
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(to_numpy(y))
        weights = weights_of_samples(sample_weight, None, y, X.shape[0])
        if first:
            space = self._make_space()
            space = space.prepare(X if weights is None else _of_some_weight(space, X, weights))
            return self._learn(space, space.dictionary(X, y, classes=classes, weights=weights))
        self.dictionary_ = self.space_.extend(self.dictionary_, X, y, classes, weights)
        self.classes_ = self.dictionary_.classes
        # A clone keeps the settings of this call even if `set_params` changes them before the next query.
        self._prepare_later = partial(clone(self)._prepare, self.dictionary_)
        vars(self).pop("solver_", None)
        return self

    @cached_property
    def solver_(self):
        """The solver; after `partial_fit`, the next query makes it."""
        if "_prepare_later" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no solver_ before it is fitted")
        learned = self._prepare_later()
        self.dictionary_.settle()
        vars(self).update(learned)
        vars(self).pop("_prepare_later", None)
        return learned["solver_"]

    def _check_non_numpy(self, X, reset):
        X = check_rows(X, dtype=None if reset else self.dictionary_.dtype)
        if reset:
            vars(self).pop("feature_names_in_", None)
        _check_n_features(self, X, reset=reset)
        return X

    def _learn(self, space, dictionary, prepare=None):
        check_two_classes(dictionary.classes)
        learned = (prepare or self._prepare)(dictionary)
        # Nothing is assigned before everything is computed: a fit that fails leaves the previous one intact.
        self.space_, self.dictionary_, self.classes_ = space, dictionary, dictionary.classes
        for name, value in learned.items():
            setattr(self, name, value)
        vars(self).pop("_prepare_later", None)  # belongs to the previous dictionary
        # Queries must be changed as the atoms were, even if a parameter changes later.
        self._to_rows = space.to_rows
        # Fitting is one factorisation; iterations happen when a query is coded, see `ancr.solve`.
        self.n_iter_ = 1
        return self

    def __sklearn_is_fitted__(self):
        return "dictionary_" in vars(self)

    def _prepare(self, dictionary):
        """What `fit` learns besides the dictionary: ``{attribute: value}``."""
        n, d = dictionary.n_atoms, dictionary.dimension
        problem = self._problem(dictionary)
        judged = self._make_space().judged(problem)
        with blas_threads_for(2 * n * d * min(n, d)):
            rule = self._make_rule().prepare(judged)
            return {"solver_": self._make_solver(problem), "_rule": rule, "_judged_by": judged}

    def _problem(self, dictionary):
        return Problem.of(
            dictionary,
            self.quadratic,
            self.constraint,
            alpha=self.alpha,
            beta=self.beta,
            relaxation=self.relaxation,
        )

    def _make_space(self):
        return Space(**{name: getattr(self, name) for name in spaces.PARAMETERS})

    def _set_space(self, kernel, gamma, degree, coef0, power, n_landmarks, random_state):
        """Keep the parameters of the space, for constructors."""
        self.kernel, self.gamma, self.degree, self.coef0 = kernel, gamma, degree, coef0
        self.power, self.n_landmarks, self.random_state = power, n_landmarks, random_state

    def _make_solver(self, problem):
        given = self.get_params(deep=False)
        options = {name: given[name] for name in ("rho", "max_iter", "tol", "code") if name in given}
        return make_solver(self.solver, problem, **options)

    def _make_rule(self):
        return named_rule(self.rule)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel in spaces.PAIRWISE
        # Without Σc = 1 a code cannot represent an offset: on the two-feature blobs of scikit-learn's checks CRC scores
        # 0.72 and NRC 0.7 with any settings.
        fitted = "solver_" in vars(self)
        tags.classifier_tags.poor_score = not (
            self.solver_.problem.constraint.sums_to_one if fitted else asks_for_unit_sum(self.constraint)
        )
        return tags

    def map_solutions(self, method, X, then):
        """Results of ``then(queries, solution)`` on each block of queries, for a public method."""
        check_is_fitted(self)
        caller = f"Inputs passed to {type(self).__name__}.{method}()"
        check_same_kind(X, self.dictionary_.atoms, caller, "those passed to fit()")
        if is_non_numpy(X):
            X = self._check_non_numpy(X, reset=False)
        else:
            X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
            X = X.astype(self.dictionary_.dtype, order="C", copy=False)
        return self.solver_.map(X, then, self._to_rows)

    def winners(self, queries, solution):
        """Index of the winning class, for each query."""
        return self._rule.winner(*self._seen_by_rule(queries, solution.knowing), solution.sorted_codes)

    def _seen_by_rule(self, queries, knowing=None):
        """The dictionary and the queries that the rule compares: about the mean atom where nothing fixes an origin.

        ``knowing`` is a dictionary that knows the inner products with these queries already, or None.
        """
        moved = self._judged_by.moved(queries)
        if self._judged_by.has_coordinates and not self.normalize:
            _check_squares(moved)
        return (knowing if knowing is not None and self._judged_by is self.dictionary_ else self._judged_by), moved

    def _decide(self, queries, solution):
        return self._rule.scores_of_present(*self._seen_by_rule(queries, solution.knowing), solution.sorted_codes)

    @property
    def used_rule(self):
        """The rule, prepared for the dictionary."""
        check_is_fitted(self)
        return self._rule

    def scores_of_codes(self, queries, codes, knowing=None):
        """Decision values of rows of the dictionary whose codes are known already.

        Parameters
        ----------
        queries : array of shape (n_queries, n_features)
            Rows as the dictionary has them, after power and unit norm.
        codes : array or CSR array of shape (n_queries, n_atoms)
            Columns in the dictionary's order.
        knowing : BaseDictionary or None
            The dictionary that knows the inner products with these queries already.

        Returns
        -------
        array of shape (n_queries, n_classes)
        """
        return self._rule.scores_of_present(*self._seen_by_rule(queries, knowing), codes)

    def _decisions(self, method, X):
        return concat(self.map_solutions(method, X, self._decide))

    def predict(self, X):
        """Label of the class that represents each query best.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        array of shape (n_queries,)
            In the library and on the device of X; string labels are NumPy arrays.
        """
        return self.labels(concat(self.map_solutions("predict", X, self.winners)))

    def labels(self, winners):
        """Labels of classes given by their numbers, where the queries live."""
        labels = self.classes_[like(winners, self.classes_)]
        words = isinstance(labels, np.ndarray) and labels.dtype.kind not in "biuf"
        return labels if words else like(labels, winners)

    def score(self, X, y, sample_weight=None):
        """Accuracy: the share of queries whose label is predicted correctly.

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
            For two classes, the value of ``classes_[1]`` minus that of ``classes_[0]``.
        """
        values = self._decisions("decision_function", X)
        return values[:, 1] - values[:, 0] if values.shape[1] == 2 else values

    def predict_proba(self, X):
        """Softmax of the decision values over ``temperature``.

        A ranking of the classes scaled to sum to one. It is *not* calibrated: at a given temperature, 0.9 does
        not mean that nine out of ten such queries are right.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        array of shape (n_queries, n_classes)
        """
        return self._probabilities(self._decisions("predict_proba", X))

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`, finite where probabilities are too small for their precision.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        array of shape (n_queries, n_classes)

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from ancr import ANCRClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = ANCRClassifier().fit(X[::2], y[::2])
        >>> bool(np.allclose(np.exp(clf.predict_log_proba(X[:4])), clf.predict_proba(X[:4])))
        True
        """
        return log_softmax(self._decisions("predict_log_proba", X) / self._divisor)

    @property
    def _divisor(self):
        """The temperature that divides decision values."""
        return self.temperature

    def _probabilities(self, decisions):
        return softmax(decisions / self._divisor)

    def residuals(self, X):
        """Class residuals r_i = ‖y − X_i c_i‖, which do not depend on the rule.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries; with ``normalize=True`` y is the query at unit norm. With ``normalize=False`` and Σc = 1 nothing
            fixes an origin: samples and queries are then measured from the mean training sample.

        Returns
        -------
        array of shape (n_queries, n_classes)
            Columns in the order of ``classes_``.
        """

        def residuals(queries, solution):
            return class_residuals(*self._seen_by_rule(queries), solution.sorted_codes) / self._judged_by.units

        return concat(self.map_solutions("residuals", X, residuals))

    def codes(self, X):
        """Codes of the queries.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        array or CSR array of shape (n_queries, n_train)
            Columns in the order of the samples given to `fit`; NumPy codes are CSR where the set makes them sparse,
            codes of other libraries are dense.
        """
        return concat(self.map_solutions("codes", X, lambda queries, solution: solution.codes))

    def explain(self, X, top=5):
        """The training samples that decided each query.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.
        top : int, default=5
            Samples to show for each query; fewer where the code uses fewer.

        Returns
        -------
        list of Explanation
            One per query, with ``indices``, ``weights``, ``labels`` and ``shares`` of its strongest samples.
        """
        return list(chain.from_iterable(self.map_solutions("explain", X, self._explainer(top))))

    def _explainer(self, top):
        if not isinstance(top, Integral) or top < 1:
            raise ValueError(f"top must be a positive integer, got {top!r}")

        def explain(queries, solution):
            labels = to_numpy(self.labels(self.winners(queries, solution)))
            return explain_block(*self._seen_by_rule(queries), solution.sorted_codes, labels, top)

        return explain

    def judge(self, X, top=5):
        """Decision values, probabilities and explanations together, from coding each query once.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features)
            Queries.
        top : int, default=5
            Samples to show for each query, as in `explain`.

        Returns
        -------
        decisions : array of shape (n_queries, n_classes)
            Decision values of the rule, one per class for two classes too.
        probabilities : array of shape (n_queries, n_classes)
            As by `predict_proba`.
        explanations : list of Explanation
            As by `explain`.
        """
        explain = self._explainer(top)

        def both(queries, solution):
            return self._decide(queries, solution), explain(queries, solution)

        decisions, explanations = zip(*self.map_solutions("judge", X, both), strict=True)
        decisions = concat(decisions)
        return decisions, self._probabilities(decisions), list(chain.from_iterable(explanations))


class RepresentationClassifier(BaseRepresentationClassifier):
    """Classifier with all axes open.

    A query y is coded by

        c = argmin cᵀHc − 2bᵀc   over a set,

    where the quadratic gives H and b, and the rule turns c into one score per class. The named classifiers are
    presets of this one; combinations that have no name are made here. Wherever a name is accepted, so is an object of
    your own: a function for the quadratic, a `Set`, a `Solver`, a `Rule` (see ``CONTRIBUTING.md``).

    Parameters
    ----------
    quadratic : {"ridge", "least_squares", "l1", "subspace", "probabilistic", "competitive"} or callable
        ``"ridge"``: ‖y − Xc‖² + λ‖c‖²; ``"least_squares"``: ‖y − Xc‖²; ``"l1"``: ‖y − Xc‖² + λ‖c‖₁;
        ``"subspace"`` (NSC): Σ‖y − X_i c_i‖² + λ‖c‖²; ``"probabilistic"`` (ProCRC): ridge + βΣ‖Xc − X_i c_i‖²;
        ``"competitive"`` (CCRC): ridge + βΣ‖y − X_i c_i‖².
    constraint : {"free", "affine", "nonnegative", "simplex"} or Set, default="free"
        The set that c must lie in: anywhere; Σc = 1; c ≥ 0; both.
    alpha : float, default=1e-3
        The paper's λ ≥ 0. Not used by ``"least_squares"``.
    beta : float, default=1e-3
        Weight β ≥ 0 of the class terms of ``"probabilistic"`` and ``"competitive"``.
    solver : {"exact", "closed_form", "admm", "interior_point"} or Solver, default="exact"
        ``"exact"``: the optimum, on every plain set; ``"admm"``: the paper's Algorithm 1, for sets with inequalities;
        ``"closed_form"``: what ``"exact"`` uses on the free and affine sets; ``"interior_point"``: for ``"l1"``.
    rule : {"res", "reg", "pro", "label"} or Rule, default="res"
        Class residual ‖y − X_i c_i‖; its square over ‖c_i‖²; ‖Xc − X_i c_i‖²; or the sum of the class's entries.
    rho : float, default=1.0
        ADMM's penalty ρ.
    max_iter : int or None, default=None
        ADMM's iterations. If given without ``tol``, exactly ``max_iter`` iterations are run, without a warning. None
        means 10000.
    tol : float or None, default=None
        Exact: the relative gap that a query must reach; None means 1e-8, in float32 1e-6. ADMM: the tolerance on
        max(‖z−c‖, ‖z−z_prev‖, ‖c−c_prev‖). A query that does not meet it within ``max_iter``
        iterations is reported by a `ConvergenceWarning`. None means 1e-5, in float32 1e-4, where
        ``max_iter`` is None too, and no tolerance otherwise.
    relaxation : float or None, default=None
        γ > 0 lets a code leave the non-negative or simplex set, at the price γ/2·dist². The problems form one convex
        family from γ → 0, the free set, to None, which means γ = ∞; `ANCRClassifierCV` chooses from it.
    code : {"c", "z"} or None, default=None
        ADMM and a relaxation give two codes to classify with: z lies in the set, c only near it. None means c with
        a relaxation and z for ADMM (the paper used c).
    kernel : {"linear", "rbf", "poly", "precomputed"} or callable, default="linear"
        Inner product of two samples: ``"linear"``: xᵀy; ``"rbf"``: exp(−γ‖x − y‖²); ``"poly"``:
        (γ·xᵀy + coef0)^degree. A callable takes two matrices of samples and returns the matrix of their inner
        products, as for scikit-learn's ``SVC``. With ``"precomputed"``, `fit` takes the square matrix of the samples'
        inner products and `predict` rows of inner products with the training samples; the square k(y, y) of a query
        is then taken to be the mean of the samples' own.
    gamma : {"scale"} or float, default="scale"
        γ > 0; ``"scale"`` is 1 / (n_features · variance) of the training samples after power and unit norm.
    degree : int, default=3
        Degree of ``"poly"``.
    coef0 : float, default=0.0
        Constant of ``"poly"``.
    power : float, default=1.0
        Samples become sign(x)·abs(x)^power first; ½ often helps features of deep networks and histograms.
    normalize : bool, default=True
        Scale training samples and queries to unit ℓ2 norm (Algorithm 2, step 1), after the power.
    n_landmarks : int or None, default=None
        Approximate the kernel in the span of so many training samples, for more samples than a Gram matrix allows;
        ``space_.error_`` is the share of their squared length that is lost.
    random_state : int, RandomState instance or None, default=None
        Chooses the landmarks.
    class_weight : {"balanced"}, dict or None, default=None
        Weights of the classes, which multiply those of their samples: ``"balanced"`` is n/(K·n_k) for a class of n_k
        among n samples. See ``docs/labels.md``.
    temperature : float, default=0.1
        Divides the decision values in `predict_proba`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    space_ : Space
        Where samples live, with ``gamma_``, ``landmarks_`` and ``error_``.
    dictionary_ : BaseDictionary
        Atoms and class blocks.
    solver_ : object
        The solver, prepared for the dictionary.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if X had string names.
    n_iter_ : int
        Always 1: fitting is one factorisation. Iterations per query are in ``ancr.solve(...).n_iter``.

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
        beta=1e-3,
        solver="exact",
        rule="res",
        rho=1.0,
        max_iter=None,
        tol=None,
        relaxation=None,
        code=None,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=0.0,
        power=1.0,
        normalize=True,
        n_landmarks=None,
        random_state=None,
        class_weight=None,
        temperature=0.1,
    ):
        self.quadratic = quadratic
        self.constraint = constraint
        self.alpha = alpha
        self.beta = beta
        self.solver = solver
        self.rule = rule
        self.rho = rho
        self.max_iter = max_iter
        self.tol = tol
        self.relaxation = relaxation
        self.code = code
        self.normalize = normalize
        self._set_space(kernel, gamma, degree, coef0, power, n_landmarks, random_state)
        self.class_weight = class_weight
        self.temperature = temperature
