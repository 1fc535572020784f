"""A set: no negative entry and none above a bound, whatever their sum: amounts that are limited."""

from ancr._core.arrays import namespace
from ancr.axes.sets import Set


class Box(Set):
    """0 ≤ c ≤ most."""

    name = "box"
    nonnegative = True

    def __init__(self, most=0.2):
        self.most = most

    def project(self, points):
        """Each entry by itself."""
        return namespace(points).clip(points, 0.0, self.most)

    def support(self, pull):
        """max pᵀv: the bound where an atom pulls, zero elsewhere. The certificate follows from it."""
        xp = namespace(pull)
        return self.most * xp.sum(xp.clip(pull, 0.0, None), axis=1)
