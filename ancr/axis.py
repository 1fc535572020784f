"""What objects on an axis have in common: sets, rules and solvers, the package's own and a user's."""

from inspect import signature


class AxisObject:
    """An object made from its constructor's parameters alone, which it keeps under their names and shows.

    So scikit-learn can clone it, pickle can store it, and a classifier's repr says what it is.
    """

    def __repr__(self):
        kept = vars(self)
        shown = [f"{name}={kept[name]!r}" for name in signature(type(self)).parameters if name in kept]
        return f"{type(self).__name__}({', '.join(shown)})"
