"""The plot of an audit, after scikit-learn's Display convention."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ancr.classifiers.displays import axes_of_own

if TYPE_CHECKING:
    from ancr.labels.audit import LabelAudit


class AuditDisplay:
    """The most suspicious samples of an audit: their images beside those that speak against them, or probabilities.

    Parameters
    ----------
    audit : LabelAudit
        What `audit_labels` found.
    images : array-like of shape (n_samples, height, width) or (n_samples, height, width, 3), or None
        An image of each sample.
    top : int, default=10
        Samples to draw.

    Attributes
    ----------
    figure_ : matplotlib Figure
    axes_ : ndarray of Axes, or Axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from ancr import ANCRClassifier, audit_labels
    >>> X, y = load_digits(return_X_y=True)
    >>> audit = audit_labels(X[:200], y[:200], estimator=ANCRClassifier(alpha=0.1))
    >>> audit.plot(images=X[:200].reshape(-1, 8, 8), top=3).axes_.shape
    (3, 6)
    """

    def __init__(self, audit: "LabelAudit", images: Any = None, top: int = 10) -> None:
        self.audit, self.images, self.top = audit, images, top

    def plot(self, ax: Any = None) -> Self:
        """Draw it."""
        if self.images is None:
            self._draw_probabilities(ax)
        else:
            self._draw_images()
        return self

    def _draw_probabilities(self, ax: Any) -> None:
        ranked = self.audit.probability[self.audit.ranking]
        self.figure_, self.axes_ = axes_of_own(ax, figsize=(6, 3))
        self.axes_.plot(np.arange(1, len(ranked) + 1), ranked)
        self.axes_.set(xlabel="samples, the most suspicious first", ylabel="probability of the label")

    def _draw_images(self) -> None:
        audit, count = self.audit, len(self.audit.labels)
        if len(self.images) != count:
            raise ValueError(f"images must hold one image per sample, {count}, got {len(self.images)}")
        chosen = audit.ranking[: self.top]
        width = 1 + audit.speaks_against.indices.shape[1]
        size = (1.2 * width, 1.4 * max(len(chosen), 1))
        self.figure_, self.axes_ = axes_of_own(None, width, rows=max(len(chosen), 1), figsize=size, squeeze=False)
        for axis in self.axes_.ravel():
            axis.set_axis_off()
        for row, sample in zip(self.axes_, chosen, strict=False):
            against = [index for index, _ in audit.speaks_against.of(int(sample))]
            for axis, index in zip(row, [int(sample), *against], strict=False):
                given = f"{audit.labels[index]}"
                title = given if axis is not row[0] else f"{given} → {audit.suggested[index]}"
                axis.imshow(self.images[index], cmap="gray")
                axis.set_title(title.replace("$", r"\$"), fontsize=9)
