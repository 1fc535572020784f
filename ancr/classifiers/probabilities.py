"""How decision values become probabilities: the softmax at a temperature, or its mean over several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from ancr._core.arrays import Array, log_softmax, namespace
from ancr._core.axis import AxisObject


class Temperatures(AxisObject):
    """Several temperatures with weights: p = Σ_j w_j·softmax(d/T_j).

    What a search learns from held-out samples is not one temperature but how likely each is, and so is the probability
    of a class: the mean over them. T = ∞ gives every class the same probability, and its weight is a floor that no
    decision value falls below.

    Parameters
    ----------
    values : sequence of float
        T_j > 0; infinity is allowed.
    weights : sequence of float
        w_j > 0; they are divided by their sum.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.classifiers.probabilities import Temperatures
    >>> Temperatures([0.1, np.inf], [0.9, 0.1]).probabilities(np.array([[9.0, 0.0]]))
    array([[0.95, 0.05]])
    """

    def __init__(self, values: Sequence[float], weights: Sequence[float]) -> None:
        self.values, self.weights = values, weights

    def log_probabilities(self, decisions: Array) -> Array:
        """Logarithm of `probabilities`, finite where those are too small for their precision."""
        xp = namespace(decisions)
        shares = np.log(self._checked() / np.sum(self.weights)).tolist()
        terms = [log_softmax(decisions / value) + share for value, share in zip(self.values, shares, strict=True)]
        if len(terms) == 1:
            return terms[0]
        stacked = xp.stack(terms)
        highest = xp.max(stacked, axis=0)
        return highest + xp.log(xp.sum(xp.exp(stacked - highest), axis=0))

    def probabilities(self, decisions: Array) -> Array:
        """Probabilities of the classes from decision values, both of shape (n_queries, n_classes)."""
        return namespace(decisions).exp(self.log_probabilities(decisions))

    def _checked(self) -> np.ndarray:
        """The weights; raises if there is not one for each temperature or if one is not positive."""
        values, weights = np.asarray(self.values, float), np.asarray(self.weights, float)
        alike = values.ndim == 1 and 0 < len(values) and values.shape == weights.shape
        if not alike or not (values > 0.0).all() or not (weights > 0.0).all():
            raise ValueError(f"temperature must have positive values with as many positive weights, got {self!r}")
        return weights


TemperatureLike: TypeAlias = float | Temperatures


def named_temperatures(temperature: TemperatureLike) -> Temperatures:
    """One temperature as `Temperatures`; those are returned unchanged."""
    return temperature if isinstance(temperature, Temperatures) else Temperatures((temperature,), (1.0,))
