"""Plots after scikit-learn's Display convention: ``from_estimator`` computes and draws, ``plot`` draws again.

All of them take the estimator, the queries X and, where they are known, their true labels y; all else is named. They
need matplotlib: ``pip install matplotlib``. Learning and calibration curves are scikit-learn's own
``LearningCurveDisplay`` and ``CalibrationDisplay``, which take these classifiers as they are.
"""

import math
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from ancr._core.arrays import dense
from ancr._core.messages import plain
from ancr.classifiers.explanation import Explanation


def axes_of_own(ax: Any, count: int = 1, rows: int = 1, **options: Any) -> tuple[Any, Any]:
    """The figure and axes to draw on: those given, or new ones of pyplot, which notebooks and galleries show."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    if ax is not None:
        return ax.figure, ax
    return plt.subplots(rows, count, layout="constrained", **options)


def _one_query(X: ArrayLike, y: ArrayLike | None) -> tuple[np.ndarray, Any]:
    """The query as a matrix of one row, and its true label or None."""
    row, truth = np.atleast_2d(X), None if y is None else np.atleast_1d(y)
    if row.shape[0] != 1:
        raise ValueError(f"X must be one query, got {row.shape[0]}")
    if truth is not None and truth.shape != (1,):
        raise ValueError(f"y must be the true label of the query, got shape {truth.shape}")
    return row, None if truth is None else truth[0]


def _with_truth(title: str, truth: Any) -> str:
    return title if truth is None else f"{title} (truth: {truth})"


def _check_estimator(estimator: Any, method: str) -> None:
    if isinstance(estimator, type) or not callable(getattr(estimator, method, None)):
        raise ValueError(f"estimator must be a classifier of ancr, got {estimator!r:.80}")


def _check_image_shape(shape: Any, n_values: int) -> None:
    """Raise unless so many values fill an image of this shape, grey or in colour."""
    sides = shape if isinstance(shape, (tuple, list, np.ndarray)) else ()
    whole = [int(side) for side in sides if isinstance(side, Integral) and int(side) > 0]
    if len(whole) != len(sides) or len(sides) not in (2, 3) or math.prod(whole) != n_values:
        raise ValueError(f"image_shape must be the height and width of an image of {n_values} values, got {shape!r}")


class ExplanationDisplay:
    """The query beside the training samples that decided, as images or as bars of weights.

    Parameters
    ----------
    explanation : Explanation
        What `explain` returned for the query.
    query : ndarray of shape (n_features,)
        The query.
    samples : ndarray of shape (n_train, n_features) or None
        The samples given to `fit`; needed for images.
    image_shape : tuple of int or None
        Height and width, if samples are images.
    truth : object or None
        The true label, for the title.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of Axes, or Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import ANCRClassifier, ExplanationDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = ANCRClassifier().fit(X[:500], y[:500])
    >>> display = ExplanationDisplay.from_estimator(clf, X[600], samples=X[:500], image_shape=(8, 8))
    >>> len(display.axes_)
    6
    """

    def __init__(
        self,
        explanation: Explanation,
        query: np.ndarray,
        samples: np.ndarray | None = None,
        image_shape: tuple[int, ...] | None = None,
        truth: Any = None,
    ) -> None:
        self.explanation, self.query, self.samples, self.image_shape = explanation, query, samples, image_shape
        self.truth = truth

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        samples: ArrayLike | None = None,
        image_shape: tuple[int, ...] | None = None,
        top: int = 5,
        ax: Any = None,
    ) -> Self:
        """Explain one query with a fitted classifier, and draw it.

        Parameters
        ----------
        estimator : classifier of `ancr`
            Fitted.
        X : array-like of shape (n_features,) or (1, n_features)
            The query.
        y : object, array-like of shape (1,) or None
            Its true label.
        samples : array-like of shape (n_train, n_features) or None
            The samples given to `fit`; needed for images.
        image_shape : tuple of int or None
            Height and width; None draws weights as bars.
        top : int
            Samples to show.
        ax : matplotlib Axes or None
            Where to draw bars; images have axes of their own.

        Returns
        -------
        ExplanationDisplay
        """
        _check_estimator(estimator, "explain")
        row, truth = _one_query(X, y)
        explanation = estimator.explain(row, top=top)[0]
        return cls(explanation, row[0], None if samples is None else np.asarray(samples), image_shape, truth).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the explanation."""
        self._draw_bars(ax) if self.image_shape is None else self._draw_images()
        return self

    def _checked_samples(self) -> np.ndarray:
        """The training samples that decided; raises before anything is drawn if they cannot be shown as images."""
        if self.samples is None:
            raise ValueError("samples is None, but images of the training samples need the samples given to fit")
        n_values, wanted = len(self.query), max(self.explanation.indices, default=-1)
        _check_image_shape(self.image_shape, n_values)
        found = np.shape(self.samples)
        if len(found) != 2 or found[0] <= wanted or found[1] != n_values:
            raise ValueError(
                f"samples must be those given to fit, among them number {wanted}, of {n_values} values each, got shape "
                f"{found}"
            )
        return self.samples[self.explanation.indices]

    def _draw_images(self) -> None:
        chosen, found = self._checked_samples(), self.explanation
        self.figure_, self.axes_ = axes_of_own(None, len(chosen) + 1, figsize=(1.5 * (len(chosen) + 1), 1.9))
        titles = [_with_truth(f"query: {found.label}", self.truth)]
        titles += [f"{label}: {weight:+.2f}" for label, weight in zip(found.labels, found.weights, strict=True)]
        for axis, image, title in zip(self.axes_, [self.query, *chosen], titles, strict=True):
            axis.imshow(np.reshape(image, self.image_shape or ()), cmap="gray_r")
            axis.set_title(title, fontsize=10)
            axis.set_axis_off()

    def _draw_bars(self, ax: Any) -> None:
        found = self.explanation
        self.figure_, self.axes_ = axes_of_own(ax)
        places = np.arange(len(found.indices))[::-1]
        own = found.labels == found.label
        self.axes_.barh(places[own], found.weights[own], label=f"class {found.label}")
        self.axes_.barh(places[~own], found.weights[~own], color="0.6", label="other classes")
        names = [f"{index} ({label})" for index, label in zip(found.indices, found.labels, strict=True)]
        title = _with_truth(f"classified as {found.label}", self.truth)
        self.axes_.set(yticks=places, yticklabels=names, xlabel="weight", title=title)
        self.axes_.set_ylabel("training sample (class)")
        if not own.all():
            self.axes_.legend()


class ResidualDisplay:
    """Class residuals ‖y − X_i c_i‖ of queries; the smallest decides under the rule ``res``.

    Parameters
    ----------
    residuals : ndarray of shape (n_queries, n_classes)
        What `residuals` returned.
    classes : ndarray of shape (n_classes,)
        Labels.
    truth : ndarray of shape (n_queries,) or None
        True labels, which are marked.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import ANCRClassifier, ResidualDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> clf = ANCRClassifier().fit(X[:500], y[:500])
    >>> len(ResidualDisplay.from_estimator(clf, X[600:602], y[600:602]).axes_)
    2
    """

    def __init__(self, residuals: np.ndarray, classes: np.ndarray, truth: np.ndarray | None = None) -> None:
        self.residuals, self.classes, self.truth = residuals, classes, truth

    @classmethod
    def from_estimator(cls, estimator: Any, X: ArrayLike, y: ArrayLike | None = None, *, ax: Any = None) -> Self:
        """Compute the residuals of a few queries with a fitted classifier, and draw them.

        Parameters
        ----------
        estimator : classifier of `ancr`
            Fitted.
        X : array-like of shape (n_queries, n_features) or (n_features,)
            A few queries, one panel each.
        y : array-like of shape (n_queries,) or None
            Their true labels.
        ax : matplotlib Axes or None
            Where to draw one query; several have axes of their own.

        Returns
        -------
        ResidualDisplay
        """
        _check_estimator(estimator, "residuals")
        truth = None if y is None else np.atleast_1d(y)
        return cls(estimator.residuals(np.atleast_2d(X)), estimator.classes_, truth).plot(ax)

    def _check_truth(self, truth: np.ndarray) -> None:
        count = len(self.residuals)
        if np.shape(truth) != (count,):
            raise ValueError(f"y must hold the true label of each query, {count}, got shape {np.shape(truth)}")
        unknown = [label for label in truth if label not in self.classes]
        if unknown:
            raise ValueError(
                f"y holds {plain(unknown[0])}, which is not one of the classes that estimator was fitted on"
            )

    def plot(self, ax: Any = None) -> Self:
        """Draw one panel of bars per query."""
        if self.truth is not None:
            self._check_truth(self.truth)
        count = len(self.residuals)
        if ax is not None and count != 1:
            raise ValueError(f"ax has room for one query, and X has {count}; leave ax out")
        self.figure_, axes = axes_of_own(ax, count, figsize=(3.2 * count, 2.6), sharey=True)
        self.axes_ = np.atleast_1d(axes)
        for place, (axis, values) in enumerate(zip(self.axes_, self.residuals, strict=True)):
            bars = axis.bar(np.arange(len(values)), values, color="0.7")
            bars[int(np.argmin(values))].set_color("C1")
            if self.truth is not None:
                bars[int(np.flatnonzero(self.classes == self.truth[place])[0])].set(edgecolor="C0", linewidth=2)
            axis.set(xticks=np.arange(len(values)), xticklabels=self.classes, xlabel="class")
        self.axes_[0].set_ylabel("class residual")
        outlined = "; outlined: true class" if self.truth is not None else ""
        note = f"orange: smallest residual{outlined}"
        self.figure_.suptitle(note, fontsize=10) if ax is None else ax.set_title(note, fontsize=10)
        return self


def _numbers(values: ArrayLike) -> np.ndarray:
    """Values of a parameter as an array of floats."""
    numbers = np.asarray(values, dtype=object)
    bad = [value for value in numbers.ravel() if not isinstance(value, Real) or not math.isfinite(value)]
    if bad:
        # The hard constraint, None, is the limit of large relaxations.
        raise ValueError(f"values must be finite numbers, which have a place on an axis, got {bad[0]!r}")
    if numbers.ndim != 1 or not len(numbers):
        raise ValueError(f"values must be a list of at least one number, got shape {numbers.shape}")
    return numbers.astype(float)


class CodePathDisplay:
    """The code of one query as a parameter varies: one line per training sample that is ever used.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        Values of the parameter.
    codes : ndarray of shape (n_values, n_train)
        The code at each value.
    labels : ndarray of shape (n_train,)
        Classes of the samples.
    param : str
        Name of the parameter.
    truth : object or None
        The true label, for the title.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import ANCRClassifier, CodePathDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> training = {"samples": X[:200], "labels": y[:200]}
    >>> display = CodePathDisplay.from_estimator(ANCRClassifier(), X[600], y[600], **training, values=[1e-3, 1e-1])
    >>> display.codes.shape
    (2, 200)
    """

    def __init__(
        self, values: np.ndarray, codes: np.ndarray, labels: np.ndarray, param: str = "alpha", truth: Any = None
    ) -> None:
        self.values, self.codes, self.labels, self.param, self.truth = values, codes, labels, param, truth

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        samples: ArrayLike,
        labels: ArrayLike,
        param: str = "alpha",
        values: ArrayLike | None = None,
        ax: Any = None,
    ) -> Self:
        """Fit a copy of a classifier at each value, code one query, and draw the path.

        Parameters
        ----------
        estimator : classifier of `ancr`
            It is copied, not changed.
        X : array-like of shape (n_features,) or (1, n_features)
            The query.
        y : object, array-like of shape (1,) or None
            Its true label.
        samples, labels : array-like
            What the copies are fitted on.
        param : str
            A parameter of the classifier: ``"alpha"``, ``"relaxation"``, ``"space__gamma"``.
        values : array-like or None
            Its values; None means 25 from 1e-4 to 10, evenly spaced on a logarithmic scale.
        ax : matplotlib Axes or None
            Where to draw.

        Returns
        -------
        CodePathDisplay
        """
        _check_estimator(estimator, "codes")
        path = np.geomspace(1e-4, 10, 25) if values is None else _numbers(values)
        row, truth = _one_query(X, y)
        copies = (clone(estimator).set_params(**{param: float(value)}) for value in path)
        codes = [dense(copy.fit(samples, labels).codes(row)) for copy in copies]
        return cls(path, np.concatenate(codes), np.asarray(labels), param, truth).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the path; the classes with the largest weights have colours, the others are grey."""
        if not len(self.values) or np.shape(self.codes) != (len(self.values), len(self.labels)):
            shapes = f"{np.shape(self.values)}, {np.shape(self.codes)} and {np.shape(self.labels)}"
            raise ValueError(f"values, codes and labels must be (n,), (n, n_train) and (n_train,), got {shapes}")
        self.figure_, self.axes_ = axes_of_own(ax)
        classes = np.unique(self.labels)
        weights = [np.abs(self.codes[:, self.labels == label]).sum() for label in classes]
        strongest = classes[np.argsort(weights)[::-1][:3]]
        for place in np.flatnonzero(np.abs(self.codes).max(axis=0) > 1e-6):
            ranks = np.flatnonzero(strongest == self.labels[place])
            paint = f"C{ranks[0]}" if len(ranks) else "0.8"
            self.axes_.plot(self.values, self.codes[:, place], color=paint, linewidth=1, zorder=2 if len(ranks) else 1)
        for rank, label in enumerate(strongest):
            self.axes_.plot([], [], color=f"C{rank}", label=f"class {label}")
        self.axes_.set(xscale="log", xlabel=self.param, ylabel="weight")
        if self.truth is not None:
            self.axes_.set_title(f"truth: {self.truth}")
        self.axes_.legend(loc="upper right")  # the best place is slow to find among so many lines
        return self
