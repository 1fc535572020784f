"""A set: the simplex with a cap on every entry, so that no sample decides alone."""

import numpy as np

from ancr.backends.arrays import dense, row_dots
from ancr.sets import Set


class CappedSimplex(Set):
    """0 ≤ c ≤ cap and Σc = 1."""

    name = "capped simplex"
    sums_to_one = nonnegative = True

    def __init__(self, cap=0.2):
        self.cap = cap

    def project(self, points):
        """clip(v − θ, 0, cap) with θ found by bisection: the sum falls from n·cap to 0 as θ grows."""
        if self.cap * points.shape[1] < 1.0:
            raise ValueError(f"cap must be at least 1/{points.shape[1]}, got {self.cap}")
        low, high = points.min(axis=1) - self.cap, points.max(axis=1)
        for _ in range(60):
            middle = (low + high) / 2.0
            enough = np.clip(points - middle[:, None], 0.0, self.cap).sum(axis=1) >= 1.0
            low, high = np.where(enough, middle, low), np.where(enough, high, middle)
        return np.clip(points - low[:, None], 0.0, self.cap)

    def violation(self, codes):
        """The simplex's, and how far the largest entry exceeds the cap."""
        return np.maximum(super().violation(codes), dense(codes).max(axis=1) - self.cap)

    def support(self, pull):
        """max pᵀv: as much as the cap allows on the largest entries. The certificate follows from it."""
        largest_first = -np.sort(-pull, axis=1)
        weights = np.clip(1.0 - self.cap * np.arange(pull.shape[1]), 0.0, self.cap)
        return row_dots(largest_first, np.broadcast_to(weights, pull.shape))
