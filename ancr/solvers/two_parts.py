"""Codes before their last product is made: who only asks for the nearest class can do with an estimate of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ancr.dictionary import Dictionary
from ancr.solvers.estimate import Estimate


@dataclass(frozen=True)
class TwoParts:
    """Codes c = Xᵀu + r of a block of queries.

    Attributes
    ----------
    dictionary : Dictionary
        The atoms.
    estimate : Estimate or None
        Products with them in single precision, where those pay.
    vectors : ndarray of shape (n_queries, n_features)
        u of every query.
    rest : ndarray of shape (n_queries, n_atoms)
        r of every query.
    """

    dictionary: Dictionary
    estimate: Estimate | None
    vectors: np.ndarray
    rest: np.ndarray

    def whole(self) -> np.ndarray:
        """The codes."""
        codes = self.vectors @ self.dictionary.atoms.T
        codes += self.rest
        return codes

    def roughly(self) -> tuple[np.ndarray, np.ndarray]:
        """The codes in single precision's accuracy, and by how much an entry of each can be off."""
        if self.estimate is None:
            return self.whole(), np.zeros(len(self.vectors))
        products, scale, error = self.estimate(self.vectors)
        codes = scale[:, None] * products
        codes += self.rest
        return codes, self.dictionary.longest * error
