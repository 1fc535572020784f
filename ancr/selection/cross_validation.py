"""Settings chosen on the training set alone, by leave-one-out or in folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from itertools import count
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.model_selection import LeaveOneOut as LeaveOneOutSplitter
from sklearn.utils import column_or_1d, indexable
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets

from ancr._core.arrays import is_single, to_numpy
from ancr._core.budgets import LARGEST_H_ON_HOST
from ancr._core.checks import check_labels
from ancr._core.column_scales import warn_of_dominant_column
from ancr._core.progress import progress_bar
from ancr.axes.sets import asks_for_unit_sum
from ancr.axes.spaces import SpaceLike, asks_for_inner_products
from ancr.classifiers import RepresentationClassifier
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.classifiers.representation import check_two_classes
from ancr.classifiers.sample_weights import weights_of_samples
from ancr.selection import search as searching
from ancr.selection.best_of_search import BestOfSearch
from ancr.selection.folds import CLUSTERS, Splits
from ancr.selection.grid import LISTS, Grid
from ancr.selection.scoring import Candidate, Outcome, choose, results_table
from ancr.selection.search import HeldOut, Run, Search, named_search
from ancr.selection.temperature import likely_temperatures

_NOTHING_HELD_OUT = (
    "every class in y has one sample, so that no sample can be held out and recognised: settings cannot be "
    "cross-validated. Give at least two samples of a class, or use ANCRClassifier with settings of your own."
)


@dataclass(eq=False, repr=False)
class _SearchCV(BestOfSearch, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """The parameters that the searches share, and how they choose."""

    estimator: Any = None
    _: KW_ONLY
    spaces: Sequence[SpaceLike] | None = None
    constraints: Sequence[Any] = ("free", "simplex")
    alphas: Sequence[float] = (1e-3, 1e-2, 1e-1, 1.0)
    relaxations: Sequence[float | None] = (0.1, 0.3, 1.0, None)
    rules: Sequence[Any] = ("res", "label")
    search: str | Search = "screened"
    scoring: str = "brier"
    cv: Any = None
    verbose: bool | int | Callable[[int, int], Any] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: ["array-like"] for name in LISTS},
        "spaces": ["array-like", None],
        "estimator": [BaseRepresentationClassifier, None],
        "search": [StrOptions({"screened", "full"}), Search],
        "cv": ["cv_object", StrOptions({CLUSTERS})],
        "scoring": [StrOptions({"brier", "log_loss", "accuracy"})],
        "verbose": ["verbose", callable],
    }

    def set_params(self, **params: Any) -> Any:
        """Set parameters, as in scikit-learn; ``search__how`` and the like reach into a search given by name.

        Parameters
        ----------
        **params : dict
            Parameters by name.

        Returns
        -------
        self
        """
        if any(name.startswith("search__") for name in params):
            params["search"] = named_search(params.get("search", self.search))
        return super().set_params(**params)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Any:
        """Choose the settings, then fit the classifier that has them on all samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights ≥ 0 of the samples as atoms, see `RepresentationClassifier.fit`. One of weight 0 is neither used nor
            held out; the others count alike where settings are scored.
        groups : array-like of shape (n_samples,) or None
            Groups for a splitter that keeps them together.

        Returns
        -------
        self
        """
        self._validate_params()
        template = RepresentationClassifier() if self.estimator is None else self.estimator
        grid, chosen = Grid.of(self, template), RepresentationClassifier()
        X, given, features = chosen.checked(X, y)  # labels in the library that `classes_` keeps
        grid = grid.rotated(self.spaces is None) if features.is_rotated else grid
        y = column_or_1d(to_numpy(given))
        check_classification_targets(y)
        groups = None if groups is None else check_labels(groups, "groups")
        indexable(range(X.shape[0]), y, groups)
        weights = weights_of_samples(sample_weight, template.class_weight, y, X.shape[0])
        used = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
        classes, counts = np.unique(y[used], return_counts=True)
        check_two_classes(classes)
        if counts.max() == 1:
            warnings.warn(_NOTHING_HELD_OUT, stacklevel=2)

        some = grid.spaces[0].part(X, used, used) if len(used) < len(y) else X
        own = None if weights is None else weights[used]
        samples = HeldOut(some, y[used], grid.rules, Splits(self.cv, X, y, groups, used), np.arange(len(used)), own)
        tried, running, best = self._searched(grid, samples)
        space = best.candidate.space.within_budget(len(used), 4 if is_single(X.dtype) else 8)
        params = {**best.settings, "space": space}
        chosen.set_params(**params, solver=grid.solver, code=grid.code, tol=template.tol)
        temperature = likely_temperatures(best.decisions, best.labels)
        chosen.set_params(class_weight=template.class_weight, temperature=temperature)
        prepared = space.prepare(some)
        self.best_estimator_ = chosen.learn(prepared, prepared.dictionary(X, given, weights=weights), features)
        self.best_params_, self.best_index_ = params, tried.index(best)
        self.best_score_, self.held_out_ = float(best.right.mean()), best
        self.cv_results_ = results_table(tried, self.scoring, [one in running for one in tried])
        if not features.is_rotated:
            warn_of_dominant_column(X, self)
        return self

    def _searched(self, grid: Grid, samples: HeldOut) -> tuple[list[Outcome], list[Outcome], Outcome]:
        """Outcomes of all settings tried, of those that could be chosen, and of the one that is."""
        X, y, search = samples.X, samples.y, named_search(self.search)
        settings, screeners = grid.candidates(X, y), grid.screeners(X, y)
        held_out = self._held_out(grid, samples, settings)
        half = few = held_out
        if self._own_folds:
            fewest, coarse = searching.SCREENED_SAMPLES, int(searching.COARSE_SHARE * len(held_out.y))
            few = held_out.stratified(fewest, grid.spaces[0])
            half = few if coarse <= fewest else held_out.stratified(coarse, grid.spaces[0])
        run = Run(settings, screeners, held_out, half, few, grid.solver, grid.code, self.scoring, search)
        with self._progress(run.n_steps) as step:
            tried, running = run.outcomes(step)
        best = running[choose(running, self.scoring, search.one_standard_error)]
        if best.decisions is None:  # forgotten when another setting was ahead
            space, alone = best.candidate.space, [best.candidate]
            held_out = self._held_out(grid, samples, {space: alone})
            best.remember(held_out.outcomes(space, alone, grid.solver, grid.code))
        return tried, running, best

    def _held_out(self, grid: Grid, samples: HeldOut, settings: dict[Any, list[Candidate]]) -> HeldOut:
        """The samples to choose on, and how they are held out."""
        X, y, grouped = samples.X, samples.y, samples.splits is not None and samples.splits.groups is not None
        one_out = isinstance(self.cv, LeaveOneOutSplitter) or (self.cv is None and not grouped)
        fits = self.cv is None or 4 * len(y) ** 2 <= LARGEST_H_ON_HOST
        if one_out and fits and grid.needs_no_refit(settings, X, y):
            samples = samples.one_by_one()
        return samples.stratified(searching.MOST_SAMPLES, grid.spaces[0]) if self._own_folds else samples

    @property
    def _own_folds(self) -> bool:
        """Whether samples are held out in a way that any part of them can be, not in folds that a user drew."""
        return self.cv is None or isinstance(self.cv, str)

    @contextmanager
    def _progress(self, total: int) -> Iterator[Callable[[], Any]]:
        """A function to call after each of so many steps of a search."""
        report = self.verbose
        if callable(report):
            steps = count(1)
            yield lambda: report(next(steps), total)
        else:
            with progress_bar("Choosing settings", total, enabled=bool(report)) as advance:
                yield advance

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.array_api_support = tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = not any(map(asks_for_unit_sum, _entries(self.constraints)))
        tags.input_tags.pairwise = any(map(asks_for_inner_products, _entries(self.spaces)))
        return tags


def _entries(values: Any) -> Iterable[Any]:
    """The values of a list of the grid; none where it is not a list, which `fit` reports."""
    return values if isinstance(values, Iterable) else ()


@dataclass(kw_only=True, eq=False, repr=False)
class RepresentationClassifierCV(_SearchCV):
    """`RepresentationClassifier` with its settings chosen on the training set.

    Combinations of space (kernel, κ, power, lift), quadratic, set, β, λ, relaxation and rule are scored on held-out
    training samples: each is coded over all others (leave-one-out, the default, which needs no refit) or over the
    training part of its fold. The same decision values calibrate `predict_proba`, and
    `ancr.model_selection.RejectOption`.

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
    estimator : classifier of ancr or None, default=None
        What is not searched: its solver with all options, ``code``, ``tol`` and ``class_weight``; None means
        `RepresentationClassifier`. A method or parameter that the lists below do not hold, and that the search would
        ignore, is an error. Solvers other than ``"exact"`` are scored in folds.
    spaces : sequence of str, callable or Space, or None, default=None
        As ``space`` of `RepresentationClassifier`; None means the linear space and the RBF kernel with κ = 0.5, 1 and
        2, each at power 1 and at power ½, and each at lift 0, 1 and 2. ``"precomputed"`` must be the only one.
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
    search : {"screened", "full"} or Search, default="screened"
        Whether every combination is tried, or those in the most promising spaces; see `ancr.model_selection.Search`,
        which can also prefer sparse codes.
    scoring : {"brier", "log_loss", "accuracy"}, default="brier"
        The criterion. Brier score and log loss, at the best temperature of each setting and rule, distinguish settings
        that get the same samples right. The Brier score is not decided by a few samples that are certain and wrong, so
        it also compares rules; see ``docs/background/choosing.md``.
    cv : None, "clusters", int, splitter or iterable, default=None
        None: leave-one-out; five stratified folds if a setting cannot leave one sample out without a refit; with
        ``groups``, five folds, or as many as there are groups, that keep them together. Of more than 6,000 samples a
        stratified part of 6,000 is used to choose; the classifier is fitted on all of them, and if the Gram matrix of a
        kernel would exceed 2 GiB, with 2,000 landmarks. ``"clusters"``: three folds, each of
        which holds out a third of every class, neighbours together; it asks for an answer where no near-copy of a
        sample is in the dictionary, see ``docs/background/choosing.md``. Otherwise as in scikit-learn, on all samples.
    verbose : bool, int or callable, default=False
        Show the progress of the search on stderr, if that is a terminal. A callable is called as
        ``verbose(done, total)`` after each step; `sklearn.base.clone` copies it, so a function is the safest choice.

    Attributes
    ----------
    best_estimator_ : RepresentationClassifier
        The classifier with the settings chosen, fitted on all samples; its ``temperature`` holds those that the
        held-out samples leave likely, see `ancr.selection.temperature.likely_temperatures`. All answers are its own.
    best_params_ : dict
        What was chosen from the lists, as parameters of a `RepresentationClassifier`.
    best_score_ : float
        Accuracy of the chosen setting on held-out training samples.
    best_index_ : int
        Its position in ``cv_results_``.
    held_out_ : Outcome
        ``decisions`` and ``labels`` of the held-out samples under the chosen setting, see `RejectOption`.
    cv_results_ : dict of arrays
        One entry per setting and rule that was tried: ``params``, every parameter searched as ``param_…``,
        ``mean_test_score`` (by ``scoring``, larger is better) with ``standard_error``, ``mean_over_rules`` (of the
        setting), ``rules_apart`` (the largest difference between accuracies of its rules) and ``rank_test_score``;
        ``accuracy``, ``brier``, ``log_loss``, ``temperature``, ``atoms_used`` (per code, on average) and ``n_samples``
        held out; ``stage`` (``"screening"``, ``"coarse"``, ``"fine"``, or ``"grid"`` for a full search) and, for the
        screening, a ``note`` with the rank of the space. Ranks follow the choice: first ``mean_over_rules``, then
        ``mean_test_score``; what could not be chosen comes last.
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

    quadratics: Sequence[Any] = ("ridge",)
    betas: Sequence[float] = (1e-3,)


@dataclass(kw_only=True, eq=False, repr=False)
class ANCRClassifierCV(_SearchCV):
    """ANCR with everything chosen on the training set: the recommended first call.

        c = argmin ‖φ(y) − Φc‖² + λ‖c‖² + γ/2·dist²(c, simplex)

    The family ranges from CRC (γ → 0, the free set) to ANCR (γ = ∞, here None), and φ is the space: a power, a lift,
    unit norm, then the linear or an RBF kernel. The member that does best on held-out training samples is chosen. See
    `RepresentationClassifierCV` for what is chosen and how, and for the attributes.

    Parameters
    ----------
    estimator : classifier of ancr or None, default=None
        What is not searched, see `RepresentationClassifierCV`.
    spaces : sequence of str, callable or Space, or None, default=None
        Spaces, see `RepresentationClassifierCV`.
    constraints : sequence of str, default=("free", "simplex")
        ``("simplex",)`` leaves CRC out.
    alphas : sequence of float, default=(1e-3, 1e-2, 1e-1, 1.0)
        Values of λ.
    relaxations : sequence of float or None, default=(0.1, 0.3, 1.0, None)
        Values of the relaxation γ; None is the hard constraint.
    rules, search, scoring, cv, verbose
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

    quadratics: ClassVar[Sequence[Any]] = ("ridge",)
    betas: ClassVar[Sequence[float]] = (0.0,)
