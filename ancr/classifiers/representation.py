"""What every classifier of the family does: build the dictionary, code queries in blocks, apply the rule."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_n_features,
    _get_feature_names,
    check_is_fitted,
    check_X_y,
    validate_data,
)

from ancr._core.arrays import (
    Array,
    blas_threads_for,
    check_same_kind,
    concat,
    is_non_numpy,
    is_single,
    like,
    namespace,
    to_numpy,
)
from ancr._core.checks import check_rows, hinting_at_tables
from ancr._core.column_scales import warn_of_dominant_column
from ancr._core.messages import plain
from ancr.axes.problem import Problem
from ancr.axes.quadratics import Quadratic
from ancr.axes.rules import RULES, Rule, named_rule
from ancr.axes.sets import Set, asks_for_unit_sum, named_set
from ancr.axes.spaces import SPACE_CONSTRAINTS, Space, SpaceLike, asks_for_inner_products, named_space
from ancr.certificate.solution import Solution
from ancr.classifiers.estimator_base import BaseEstimator, ClassifierMixin
from ancr.classifiers.probabilities import TemperatureLike, Temperatures
from ancr.classifiers.sample_weights import weights_of_samples
from ancr.classifiers.settings import chosen
from ancr.classifiers.sparse_samples import SparseSamples, check_rotated
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.products import Queries
from ancr.solvers import PARAMETER_CONSTRAINTS, Solver, make_solver
from ancr.solvers.choice import find_solver, named_solver

_DTYPES = [np.float64, np.float32]

# What turns the name of an axis into an object, so that `set_params` can reach into it.
NAMED: dict[str, Callable[[Any], Any]] = {
    "space": named_space, "solver": named_solver, "constraint": named_set, "rule": named_rule
}  # fmt: skip


def check_two_classes(classes: Array) -> None:
    """Raise if there is only one class."""
    if classes.shape[0] < 2:
        raise ValueError(f"y must hold at least two classes, got one class: {plain(classes[0])}")


def chosen_classifier(estimator: Any) -> CodingClassifier:
    """The fitted classifier of the family that an estimator is, or that it chose if it is a search or holds one."""
    found = chosen(getattr(estimator, "estimator_", estimator))
    if not isinstance(found, CodingClassifier):
        raise ValueError(f"estimator must be a fitted classifier of ancr, got {type(estimator).__name__}")
    check_is_fitted(found)
    return found


def _of_some_weight(space: Space, X: Array, weights: np.ndarray | None) -> Array:
    """The samples that are used."""
    if weights is None or weights.all():
        return X
    used = np.flatnonzero(weights)
    return space.part(X, used, used)


def _can_grow(classifier: CodingClassifier) -> bool:
    """Inner products with the samples before are not in those of a batch."""
    if not classifier.make_space().is_pairwise:
        return True
    raise AttributeError("partial_fit: space='precomputed' has no inner products of new samples with those before")


def _check_squares(queries: Array) -> None:
    """Raise if squares of queries exceed their precision: every class would be infinitely far away."""
    xp = namespace(queries)
    largest = float(xp.max(xp.abs(queries)))
    if not largest < (1e15 if is_single(queries.dtype) else 1e150):
        kind = str(queries.dtype).rpartition(".")[2]
        raise ValueError(
            f"X: squares of the queries exceed {kind}; rescale them as the samples, or use a space with normalize=True"
        )


def _warn_of_idle_weights(problem: Problem) -> None:
    if problem.dictionary.weights is not None and not (problem.quadratic.ridge or problem.quadratic.absolute):
        message = "sample_weight has no effect when alpha=0, except that samples of weight 0 are left out"
        warnings.warn(message, UserWarning, stacklevel=3)


class FixedAxes:
    """The settings that every classifier of the family has, as parameters or, where a method fixes them, like this."""

    quadratic: str | Callable[..., Quadratic] = "ridge"
    constraint: str | Set = "free"
    alpha: float = 0.0
    beta: float = 0.0
    relaxation: float | None = None
    solver: str | Solver = "exact"
    rule: str | Rule = "res"
    tol: float | None = None
    code: str | None = None
    # What `fit` makes; after `partial_fit`, the call that makes it.
    _coder: _Coder | partial[_Coder]
    dictionary_: BaseDictionary


class Features(NamedTuple):
    """How many features samples have, their names if all are texts, and their coordinates if samples are sparse."""

    number: int
    names: np.ndarray | None = None
    coordinates: SparseSamples | None = None

    @property
    def is_rotated(self) -> bool:
        """Whether the samples that a space sees are not the features themselves."""
        return self.coordinates is not None and self.coordinates.is_rotated


class _Coder(NamedTuple):
    """What `fit` makes of a dictionary: codes come from the solver, scores of the classes from the rule."""

    solver: Solver
    rule: Rule
    rule_dictionary: BaseDictionary


class Written(FixedAxes, BaseEstimator):
    """What pickle and skops write of a fitted classifier."""

    _fitted_with: dict[str, Any]
    _to_rows: Callable[[Array], Array] | None
    space_: Space

    def __getstate__(self) -> dict[str, Any]:
        """Settings, space and atoms: neither factors, which are larger, nor cycles, which skops cannot write."""
        state = super().__getstate__()
        if not hasattr(self, "dictionary_"):
            return state
        kept = {name: value for name, value in state.items() if name not in ("_coder", "_to_rows")}
        return {**kept, "dictionary_": self.dictionary_.bare}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """The next query makes again what `fit` made."""
        super().__setstate__(state)
        if hasattr(self, "dictionary_"):
            settings = type(self)(**self._fitted_with)
            self._to_rows, self._coder = self.space_.to_rows, partial(settings._prepare, self.space_, self.dictionary_)

    def _prepare(self, space: Space, dictionary: BaseDictionary) -> _Coder:
        raise NotImplementedError


@dataclass(kw_only=True, eq=False, repr=False)
class CodingClassifier(ClassifierMixin, Written):
    """The way from samples to labels: build the dictionary, code queries in blocks, apply the rule.

    A subclass is a dataclass: its fields are the parameters that a user may choose, in addition to those of this
    class, and its other class attributes fix what the method fixes. So a parameter is declared once.
    """

    space: SpaceLike = "linear"
    class_weight: Any = None
    temperature: TemperatureLike = 0.1

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **PARAMETER_CONSTRAINTS,
        "space": SPACE_CONSTRAINTS,
        "rule": [StrOptions(set(RULES)), Rule],
        "weight": [Interval(Real, 0, 1, closed="both")],
        "subspace_alpha": [Interval(Real, 0, None, closed="left")],
        "temperature": [Interval(Real, 0, None, closed="neither"), Temperatures],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def set_params(self, **params: Any) -> Any:
        """Set parameters, as in scikit-learn; ``space__gamma`` and the like reach into an axis, also one given by name.

        Parameters
        ----------
        **params : dict
            Parameters by name.

        Returns
        -------
        self

        Examples
        --------
        >>> from ancr import ANCRClassifier
        >>> ANCRClassifier(space="rbf").set_params(space__gamma=0.5)
        ANCRClassifier(space=Space(kernel='rbf', gamma=0.5))
        """
        for name in {key.partition("__")[0] for key in params if "__" in key} & set(NAMED):
            given = params.get(name, getattr(self, name))
            found = NAMED[name](given)
            params[name] = copy(found) if isinstance(given, str) else found  # all share what a name stands for
        return super().set_params(**params)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Build the dictionary and compute the factorisation that all queries share.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training samples, the atoms of the dictionary. Arrays of other libraries (PyTorch, CuPy and all that
            follow the array API) keep their library and device, and so do all results. Sparse samples with more
            features than samples, at most 4,096 of them, are never made dense.
        y : array-like of shape (n_samples,)
            Their labels: numbers or strings, at least two classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights ≥ 0, from 1e-50 to 1e50 where above 0: a sample of weight w pays λ/w in place of λ for its part of a
            code, so that more weight is more trust. One of weight 0 is not used, as if it had not been given. Weight 2
            is two copies, but for rules and problems that count atoms; see ``docs/background/labels.md``.

        Returns
        -------
        self

        Warns
        -----
        UserWarning
            If one column is so much larger than the others that it dominates, or if weights have no effect because
            there is no ridge.
        """
        space = self.make_space()
        X, y, features = self.checked(X, y)
        if features.is_rotated:
            check_rotated(space)
        check_classification_targets(to_numpy(y))
        weights = weights_of_samples(sample_weight, self.class_weight, y, X.shape[0])
        space = space.prepare(_of_some_weight(space, X, weights))
        self.learn(space, space.dictionary(X, y, weights=weights), features)
        if not features.is_rotated:
            warn_of_dominant_column(X, self)
        _warn_of_idle_weights(self.solver_.problem)
        return self

    def checked(self, X: Any, y: Any) -> tuple[Array, Any, Features]:
        """Validated samples and labels, in the library that each has, and the features that `learn` keeps."""
        names, coordinates = _get_feature_names(X), None
        if is_non_numpy(X):
            X = check_rows(X, dtype=None)
        else:
            with hinting_at_tables():
                X, y = check_X_y(X, to_numpy(y), accept_sparse="csr", dtype=_DTYPES, estimator=self)
        number = X.shape[1]
        if sparse.issparse(X):
            coordinates = SparseSamples(X)
            X = coordinates.rows(X)
        return X, y, Features(number, names, coordinates)

    def _more(self, X: Any, y: Any = None) -> Any:
        """Samples with labels, or queries, validated as those of the features that `fit` saw."""
        if is_non_numpy(X):
            X = check_rows(X, dtype=self.dictionary_.dtype)
            _check_n_features(self, X, reset=False)
            return X if y is None else (X, y)
        labels = {} if y is None else {"y": to_numpy(y)}
        accepted = "csr" if self._coordinates is not None else False
        found = validate_data(self, X, **labels, accept_sparse=accepted, dtype=_DTYPES, reset=False)
        return found if self._coordinates is None else self._coordinates.rows(found)

    @available_if(_can_grow)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Append samples to the dictionary, and any new classes in y.

        The result is that of `fit` on all samples together, in the order they came. Only the first call factorises;
        later ones leave that to the next query, which extends the previous products by those of the samples added
        since. So ten calls in a row cost one factorisation. What the space learns from samples, the length
        by which a lift is measured, the width of ``gamma="scale"`` and landmarks, it learns from those of the first
        call.

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
        space, first = self.make_space(), not hasattr(self, "dictionary_")
        if sparse.issparse(X) or getattr(self, "_coordinates", None) is not None:
            raise TypeError("partial_fit: samples must be dense, since sparse ones decide the coordinates")
        if not first:
            check_same_kind(X, self.dictionary_.atoms, "samples passed to partial_fit()", "those before")
        X, y, features = self.checked(X, y) if first else (*self._more(X, y), None)
        with warnings.catch_warnings():  # a batch of one sample per class is no sign of regression
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(to_numpy(y))
        weights = weights_of_samples(sample_weight, None, y, X.shape[0])
        if features is not None:
            space = space.prepare(_of_some_weight(space, X, weights))
            return self.learn(space, space.dictionary(X, y, classes=classes, weights=weights), features)
        grown = self.space_.extend(self.dictionary_, X, y, classes, weights)
        find_solver(self.solver, self.problem(grown), **self.solver_options)  # settings that no solver accepts
        # A clone keeps the settings of this call even if `set_params` changes them before the next query.
        coder = partial(clone(self)._prepare, self.space_, grown)
        self.dictionary_, self.classes_, self._coder = grown, grown.classes, coder
        self._fitted_with = self.get_params(deep=False)
        return self

    @property
    def solver_(self) -> Solver:
        """The solver; after `partial_fit`, the next query makes it."""
        return self._made.solver

    @property
    def _made(self) -> _Coder:
        if isinstance(self._coder, partial):
            self._coder = self._coder()
            self.dictionary_.growth = None  # what was not needed is not kept
        return self._coder

    def learn(self, space: Space, dictionary: BaseDictionary, features: Features) -> Any:
        """As `fit`, for a space that is prepared, the dictionary of its samples, and their features."""
        check_two_classes(dictionary.classes)
        # Nothing is assigned before everything is computed: a fit that fails leaves the previous one intact.
        coder = self._prepare(space, dictionary)
        self.space_, self.dictionary_, self.classes_, self._coder = space, dictionary, dictionary.classes, coder
        self._coordinates = features.coordinates
        self.n_features_in_, self._fitted_with = features.number, self.get_params(deep=False)
        if features.names is not None:
            self.feature_names_in_ = features.names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        # Queries must be changed as the atoms were, even if a parameter changes later.
        self._to_rows, self._is_pairwise = space.to_rows, space.is_pairwise
        # Fitting is one factorisation; iterations happen when a query is coded, see `ancr.solve`.
        self.n_iter_ = 1
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "dictionary_")

    def _prepare(self, space: Space, dictionary: BaseDictionary) -> _Coder:
        """What `fit` makes of a dictionary."""
        n, d = dictionary.n_atoms, dictionary.dimension
        problem = self.problem(dictionary)
        seen = problem.rule_dictionary(space.normalize)
        with blas_threads_for(2 * n * d * min(n, d)):
            rule = self.make_rule().prepare(seen)
            return _Coder(make_solver(self.solver, problem, **self.solver_options), rule, seen)

    def problem(self, dictionary: BaseDictionary) -> Problem:
        """The problem of a query over a dictionary."""
        given = {"alpha": self.alpha, "beta": self.beta}
        return Problem.of(dictionary, self.quadratic, self.constraint, relaxation=self.relaxation, **given)

    def make_space(self) -> Space:
        """The space that ``space`` names, after checking all parameters."""
        self._validate_params()
        return named_space(self.space)

    @property
    def solver_options(self) -> dict[str, Any]:
        """The options of solvers that are parameters of the classifier; a solver by name takes those that it has."""
        return {"tol": self.tol, "code": self.code}

    def make_rule(self) -> Rule:
        """The rule that ``rule`` names."""
        return named_rule(self.rule)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = tags.input_tags.sparse = True
        fitted = isinstance(getattr(self, "_coder", None), _Coder)
        tags.input_tags.pairwise = self._is_pairwise if fitted else asks_for_inner_products(self.space)
        # Without Σc = 1 a code cannot represent an offset: on the two-feature blobs of scikit-learn's checks CRC scores
        # 0.72 and NRC 0.7 with any settings.
        tags.classifier_tags.poor_score = not (
            self.solver_.problem.constraint.sums_to_one if fitted else asks_for_unit_sum(self.constraint)
        )
        return tags

    def map_solutions(self, method: str, X: Any, then: Callable[[Solution], Any]) -> list[Any]:
        """Results of ``then(solution)`` on each block of queries, for a public method."""
        check_is_fitted(self)
        caller = f"Inputs passed to {type(self).__name__}.{method}()"
        check_same_kind(X, self.dictionary_.atoms, caller, "those passed to fit()")
        X = self._more(X)
        if not is_non_numpy(X):
            X = X.astype(self.dictionary_.dtype, order="C", copy=False)
        return self.solver_.map(X, then, self._to_rows)

    def winners(self, solution: Solution) -> Array:
        """Index of the winning class, for each query of a block."""
        return self._made.rule.winner(self.seen_by_rule(solution.queries), solution.sorted_codes)

    def seen_by_rule(self, queries: Queries) -> Queries:
        """Queries as the rule compares them with atoms: about the mean atom where nothing fixes an origin."""
        seen = queries.seen_by(self._made.rule_dictionary)
        if self._made.rule_dictionary.has_coordinates and not self.space_.normalize:
            _check_squares(seen.rows)
        return seen

    def decide(self, solution: Solution) -> Array:
        """Decision values of coded queries, one per class."""
        return self.scores_of_codes(solution.queries, solution.sorted_codes)

    @property
    def used_rule(self) -> Rule:
        """The rule, prepared for the dictionary."""
        check_is_fitted(self)
        return self._made.rule

    def scores_of_codes(self, queries: Queries, codes: Any) -> Array:
        """Decision values of queries whose codes are known already.

        Parameters
        ----------
        queries : Queries
            Of ``dictionary_``.
        codes : array or CSR array of shape (n_queries, n_atoms)
            Columns in the dictionary's order.

        Returns
        -------
        array of shape (n_queries, n_classes)
        """
        return self._made.rule.scores_of_present(self.seen_by_rule(queries), codes)

    def _decisions(self, method: str, X: Any) -> Array:
        return concat(self.map_solutions(method, X, self.decide))

    def predict(self, X: Any) -> Any:
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

    def labels(self, winners: Array) -> Any:
        """Labels of classes given by their numbers, where the queries live."""
        labels = self.classes_[like(winners, self.classes_)]
        words = isinstance(labels, np.ndarray) and labels.dtype.kind not in "biuf"
        return labels if words else like(labels, winners)
