"""The fifth axis: how a code becomes one score per class. Larger is better.

With c_i the entries of c on class i, a class wins by the smallest

    res   ‖y − X_i c_i‖
    reg   ‖y − X_i c_i‖² / ‖c_i‖²
    pro   ‖Xc − X_i c_i‖²

or by the largest

    label   Σ c_i, the sum of the class's entries

A new rule is a subclass of `Rule`, passed as an object wherever ``rule`` takes a name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import ClassVar, TypeVar

import numpy as np

from ancr._core.arrays import Array, like, namespace
from ancr._core.axis import AxisObject
from ancr.dictionary.atoms import BaseDictionary
from ancr.dictionary.products import Queries

_Rule = TypeVar("_Rule", bound="Rule")


class Rule(AxisObject, ABC):
    """How a code becomes class scores, and the winner among the classes.

    Attributes
    ----------
    name : str
        Name used in messages.
    learns : bool
        Whether `set_up` learns from the samples. Such a rule must be prepared again without the samples left out,
        so cross-validation uses folds for it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ancr import ANCRClassifier
    >>> from ancr.axes.rules import Rule
    >>> class Energy(Rule):
    ...     name = "energy"
    ...     def scores(self, queries, codes):
    ...         return queries.dictionary.class_norms(codes)
    >>> X, y = load_iris(return_X_y=True)
    >>> ANCRClassifier(rule=Energy()).fit(X[::2], y[::2]).predict(X[1::50])
    array([0, 1, 2])
    """

    name: ClassVar[str] = "a rule"
    learns: ClassVar[bool] = False

    def prepare(self: _Rule, dictionary: BaseDictionary) -> _Rule:
        """A copy of this rule that is ready for the queries of a dictionary."""
        prepared = copy(self)
        prepared.set_up(dictionary)
        return prepared

    def set_up(self, dictionary: BaseDictionary) -> None:
        """Compute what all queries share; most rules have nothing to compute."""

    @abstractmethod
    def scores(self, queries: Queries, codes: Array) -> Array:
        """One score per class for each query, larger is better: (n_queries, n_classes).

        Parameters
        ----------
        queries : Queries
            The queries y, with their products; ``queries.dictionary`` has the atoms and their classes.
        codes : array or CSR array of shape (n_queries, n_atoms)
            Their codes c, columns sorted by class.
        """

    def winner(self, queries: Queries, codes: Array) -> Array:
        """Index of the class with the largest score, for each query; override it only with a cheaper way there."""
        scores = self.scores_of_present(queries, codes)
        return namespace(scores).argmax(scores, axis=1)

    def scores_of_present(self, queries: Queries, codes: Array) -> Array:
        """Scores; −∞ for classes that are known by name but have no samples yet."""
        scores, wanted = self.scores(queries, codes), (len(queries), queries.dictionary.n_classes)
        if tuple(scores.shape) != wanted:
            raise ValueError(f"{self!r}.scores must return one score per query and class, {wanted}, got {scores.shape}")
        empty = np.diff(queries.dictionary.bounds) == 0
        if empty.any():
            xp = namespace(scores)
            scores = xp.where(like(empty, scores), xp.full_like(scores, -float("inf")), scores)
        return scores


class Residual(Rule):
    """−‖y − X_i c_i‖: the paper's Algorithm 2."""

    name = "res"

    def scores(self, queries: Queries, codes: Array) -> Array:
        """−‖y − X_i c_i‖."""
        return -class_residuals(queries, codes)


class RegularisedResidual(Rule):
    """−log of ‖y − X_i c_i‖² / ‖c_i‖², which spans many orders of magnitude. A class without code comes last."""

    name = "reg"

    def scores(self, queries: Queries, codes: Array) -> Array:
        """log ‖c_i‖² − log ‖y − X_i c_i‖²."""
        return log_ratio(queries.dictionary.class_norms(codes), queries.class_misfits(codes))


class Probabilistic(Rule):
    """−‖Xc − X_i c_i‖²: how far class i alone falls short of what all classes represent together (ProCRC)."""

    name = "pro"

    def scores(self, queries: Queries, codes: Array) -> Array:
        """−‖Xc − X_i c_i‖²."""
        return -queries.dictionary.class_shortfalls(codes)


class LabelScore(Rule):
    """Σ c_i: the weight that the code gives a class (SA-CRC)."""

    name = "label"

    def scores(self, queries: Queries, codes: Array) -> Array:
        """Σ c_i."""
        return queries.dictionary.class_sums(codes)


RULES: dict[str, Rule] = {
    rule.name: rule for rule in (Residual(), RegularisedResidual(), Probabilistic(), LabelScore())
}


def named_rule(rule: str | Rule) -> Rule:
    """The rule with this name; a rule is returned unchanged."""
    return RULES[rule] if isinstance(rule, str) else rule


def class_residuals(queries: Queries, codes: Array) -> Array:
    """‖y − X_i c_i‖ for each query and class: (n_queries, n_classes)."""
    squares = queries.class_misfits(codes)
    return namespace(squares).sqrt(squares)


def log_ratio(norms: Array, squares: Array) -> Array:
    """log(norms / squares), finite where either is zero."""
    xp = namespace(squares)
    # A code this small counts as none in either precision: the score of its class must not depend on rounding.
    norms = xp.clip(norms, 1e-14, None)
    return xp.log(norms) - xp.log(xp.clip(squares, float(xp.finfo(squares.dtype).eps) ** 2, None))
