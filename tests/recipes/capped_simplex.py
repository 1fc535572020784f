"""A set: the simplex with a cap on every entry, so that no sample decides alone."""

from ancr._core.arrays import namespace, row_dots
from ancr.axes.sets import Set


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
        xp = namespace(points)
        low, high = xp.min(points, axis=1, keepdims=True) - self.cap, xp.max(points, axis=1, keepdims=True)
        for _ in range(60):
            middle = (low + high) / 2.0
            enough = xp.sum(xp.clip(points - middle, 0.0, self.cap), axis=1, keepdims=True) >= 1.0
            low, high = xp.where(enough, middle, low), xp.where(enough, high, middle)
        return xp.clip(points - low, 0.0, self.cap)

    def support(self, pull):
        """max pᵀv: as much as the cap allows on the largest entries. The certificate follows from it."""
        xp = namespace(pull)
        before = self.cap * xp.cumulative_sum(xp.ones_like(pull), axis=1) - self.cap  # used up by larger entries
        weights = xp.clip(1.0 - before, 0.0, self.cap)
        return row_dots(xp.sort(pull, axis=1, descending=True), weights)
