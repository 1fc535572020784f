"""A method of a comparison: an estimator with its parameters and preprocessing."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import make_pipeline


@dataclass(frozen=True)
class Method:
    """An estimator class, its parameters, and the preprocessing of the features.

    Attributes
    ----------
    estimator : callable
        A classifier class, or a function that makes a classifier from the parameters.
    params : dict
        Its parameters, as they are recorded in a cell.
    before : tuple
        Unfitted transformers that preprocess the samples.
    """

    estimator: Callable[..., Any]
    params: dict[str, Any] = field(default_factory=dict)
    before: tuple[Any, ...] = ()

    def build(self) -> Any:
        """Make a new, unfitted estimator."""
        classifier = self.estimator(**self.params)
        return make_pipeline(*map(clone, self.before), classifier) if self.before else classifier
