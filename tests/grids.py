"""Spaces to search."""

from ancr import Space


def spaces_with(*gammas, powers=(1.0, 0.5), **kernel):
    """The linear space, and the RBF kernel of each width, at each power."""
    return [
        space
        for power in powers
        for space in (Space(power=power), *(Space("rbf", gamma=gamma, power=power, **kernel) for gamma in gammas))
    ]
