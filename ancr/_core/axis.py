"""What objects on an axis have in common: sets, rules and solvers, the package's own and a user's; and functions."""

from collections.abc import Callable
from inspect import signature
from typing import Any, Self

# Parameters and defaults by class, read once: a search compares spaces by the thousand.
_DEFAULTS: dict[type, dict[str, Any]] = {}


def _defaults(thing: Any) -> dict[str, Any]:
    """The constructor's parameters with their defaults."""
    kind = type(thing)
    if kind not in _DEFAULTS:
        _DEFAULTS[kind] = {name: parameter.default for name, parameter in signature(kind).parameters.items()}
    return _DEFAULTS[kind]


class AxisObject:
    """An object made from its constructor's parameters alone, which it keeps under their own names.

    So scikit-learn can clone it and set its parameters (``constraint__cap`` in a grid), pickle can store it, and a
    classifier's repr says what it is.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters, as in scikit-learn."""
        return {name: getattr(self, name) for name in _defaults(self)}

    def set_params(self, **params: Any) -> Self:
        """Change some of them, as in scikit-learn."""
        if unknown := sorted(set(params) - set(self.get_params())):
            raise ValueError(f"{self!r} has no parameter {unknown[0]!r}")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def changed_params(self) -> dict[str, Any]:
        """The parameters that differ from their defaults."""
        known = _defaults(self)
        return {name: value for name, value in self.get_params().items() if repr(value) != repr(known[name])}

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.changed_params().items())
        return f"{type(self).__name__}({shown})"


def check_takes(function: Callable[..., Any], argument: str, *names: str) -> None:
    """Raise a TypeError that names ``argument`` if a user's function cannot be called with so many arguments."""
    try:
        signature(function).bind(*names)
    except TypeError as error:
        wanted = ", ".join(names)
        raise TypeError(f"{argument} must be callable as {argument}({wanted}), but the one given: {error}") from None
    except ValueError:  # a function of an extension module, without a signature
        pass
