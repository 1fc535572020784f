"""Settings for people: what a page calls each parameter, what it lets a person choose, and what that makes.

Choices and limits come from the constraints of the class, help from its docstring; only names and the part of a range
that a slider reaches are written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from inspect import cleandoc, signature
from itertools import takewhile
from numbers import Integral
from typing import Any

from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

import ancr
from ancr._core.messages import shown
from ancr.axes.quadratics import weights_of
from ancr.axes.sets import named_set
from ancr.axes.spaces import named_space
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.classifiers.settings import (
    Plain,
    SettingsError,
    changed,
    chosen,
    methods,
    not_defaults,
    not_defaults_flat,
    plain,
    title,
)

# Parameters that a page shows, in its order: title, symbol, and for sliders both ends and whether it is logarithmic.
# Those that only say how a code is found stay as they are.
_WORDS: dict[str, tuple[Any, ...]] = {
    "quadratic": ("Quadratic", ""),
    "constraint": ("Set", ""),
    "rule": ("Rule", ""),
    "kernel": ("Kernel", ""),
    "alpha": ("How much the code is spread", "λ", 1e-6, 10.0, True),
    "beta": ("Weight of the class terms", "β", 1e-6, 10.0, True),
    "relaxation": ("Relaxation of the set", "γ", 1e-3, 100.0, True),
    "gamma": ("Width of the kernel", "κ", 1e-3, 100.0, True),
    "degree": ("Degree of the polynomial kernel", "d", 1, 6),
    "power": ("Power of the features", "p", 0.05, 2.0),
    "lift": ("How much the length of a sample counts", "s", 0.0, 4.0),
    "normalize": ("Samples at unit norm", ""),
    "weight": ("Weight of the collaborative code", "w", 0.0, 1.0),
    "subspace_alpha": ("Ridge of the class codes", "λ", 1e-6, 10.0, True),
    "n_nonzero": ("Atoms in the sparse code", "k", 1, 200),
}


@dataclass(frozen=True)
class Control:
    """A parameter as a page shows it.

    Attributes
    ----------
    name : str
        The parameter; ``space__gamma`` is that of the space.
    kind : {"number", "choice", "switch", "fixed"}
        A slider, a list, a check box; an object of a user can only be shown.
    help : str
        What the docstring says.
    value : plain data
        Its value.
    choices : tuple
        Values of a list; words that may stand for a number.
    whole, optional : bool
        Whether it is a whole number, and may be None.
    title, symbol : str
        What it is called, and its letter in formulas.
    low, high, log
        Ends of a slider, and whether it is logarithmic.
    """

    name: str
    kind: str
    help: str
    value: Plain
    choices: tuple[Plain, ...]
    whole: bool
    optional: bool
    title: str
    symbol: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False

    def check(self, value: Plain) -> None:
        """Raise if a page cannot ask for this value."""
        if (value is None and self.optional) or any(type(value) is type(one) and value == one for one in self.choices):
            return
        if self.kind != "number":
            raise SettingsError(f"{self.name} must be one of {', '.join(map(str, self.choices))}.")
        number = isinstance(value, Integral if self.whole else int | float) and not isinstance(value, bool)
        if not number or not self.low <= value <= self.high:
            raise SettingsError(f"{self.name} must be a number from {self.low:g} to {self.high:g}.")

    to_dict = asdict


def controls(estimator: Any) -> list[Control]:
    """The parameters of an estimator that a page lets a person change, without those that have no effect.

    Examples
    --------
    >>> from ancr import ANCRClassifier
    >>> from ancr.classifiers.controls import controls
    >>> found = {control.name: control for control in controls(ANCRClassifier(alpha=0.1))}
    >>> found["alpha"].value, found["alpha"].symbol, found["rule"].choices
    (0.1, 'λ', ('label', 'pro', 'reg', 'res'))
    """
    hidden = idle(estimator)
    return [one for one in _all_controls(estimator) if one.name not in hidden]


def _all_controls(estimator: Any) -> list[Control]:
    owners = [("", estimator), ("space__", named_space(estimator.space))]
    return [
        _control(owner, prefix, name)
        for name in _WORDS
        for prefix, owner in owners
        if name in owner.get_params(deep=False)
    ]


def _control(owner: Any, prefix: str, name: str) -> Control:
    kind, value = type(owner), getattr(owner, name)
    allowed = kind._parameter_constraints[name]
    choices = [word for one in allowed if isinstance(one, StrOptions) for word in sorted(one.options)]
    limits = [one for one in allowed if isinstance(one, Interval)]
    if limits:
        look = "number"
    elif "boolean" in allowed:
        look, choices = "switch", [True, False]
    else:
        look = "choice" if value in choices else "fixed"
    return Control(
        prefix + name,
        look,
        _help(kind, name),
        plain(value),
        tuple(word for word in choices if word != "precomputed"),  # a page has samples
        bool(limits) and limits[0].type is Integral,
        None in allowed,
        *_WORDS[name],
    )


def _help(kind: Any, name: str) -> str:
    """What the docstring of a class, or of the class with all axes open, says about a parameter."""
    for owner in (kind, ancr.RepresentationClassifier):
        lines = cleandoc(owner.__doc__ or "").splitlines()
        for place, line in enumerate(lines):
            if " : " in line and name in line.partition(" : ")[0].split(", "):
                said = takewhile(lambda text: text.startswith(" "), lines[place + 1 :])
                return " ".join(text.strip() for text in said)
    return ""


def idle(estimator: Any) -> set[str]:
    """Parameters that have no effect beside the others: a relaxation of the whole space, the width of no kernel.

    Examples
    --------
    >>> from ancr import RepresentationClassifier
    >>> from ancr.classifiers.controls import idle
    >>> sorted(idle(RepresentationClassifier(constraint="free", space="rbf")))
    ['beta', 'relaxation', 'space__coef0', 'space__degree']
    """
    found = {f"space__{name}" for name in named_space(estimator.space).idle}
    usual = weights_of(estimator.quadratic, 1.0, 1.0, 3)
    same = {
        "alpha": weights_of(estimator.quadratic, 2.0, 1.0, 3) == usual,
        "beta": weights_of(estimator.quadratic, 1.0, 2.0, 3) == usual,
        "relaxation": not named_set(estimator.constraint).has_inequalities,
    }
    return found | {name for name, without_effect in same.items() if without_effect}


def described(fitted: Any) -> dict[str, Plain]:
    """What a fitted search chose, for a table: of the family what is no default and has an effect; otherwise all.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ancr import ANCRClassifierCV
    >>> from ancr.classifiers.controls import described
    >>> grid = {"alphas": [0.1], "constraints": ["simplex"], "relaxations": [None], "rules": ["res"]}
    >>> described(ANCRClassifierCV(spaces=["rbf"], **grid).fit(*load_iris(return_X_y=True)))
    {'alpha': 0.1, 'constraint': 'simplex', 'space__kernel': 'rbf'}
    """
    best, found = chosen(fitted), getattr(fitted, "best_params_", {})
    if found and isinstance(best, BaseRepresentationClassifier):
        aside = {*idle(best), "temperature"}
        found = {name: value for name, value in not_defaults_flat(best).items() if name not in aside}
    return {name: plain(value) for name, value in found.items()}


def flat(estimator: Any) -> dict[str, Plain]:
    """The method and the values of all controls, for a page."""
    return {"method": title(type(estimator)), **{one.name: one.value for one in controls(estimator)}}


def adjusted(estimator: Any, values: Mapping[str, Plain]) -> Any:
    """A copy with the values that a page sends; another ``method`` keeps what was set and what it has, too.

    Raises
    ------
    SettingsError
        In a sentence for the page, if there is no such setting or if a value is out of reach.
    """
    method = values.get("method", title(type(estimator)))
    if method != title(type(estimator)):
        estimator = _as_method(estimator, method)
    known = {"method": None, **{one.name: one for one in _all_controls(estimator)}}
    changes = {}
    for name, value in values.items():
        if name not in known:
            raise SettingsError(f"There is no setting {shown(str(name))}.")
        control = known[name]
        if control is not None and (
            value != control.value or isinstance(value, bool) != isinstance(control.value, bool)
        ):
            control.check(value)
            changes[name] = value
    estimator = changed(estimator, changes)
    # A relaxation that was set for another set would be refused.
    unused = "relaxation" in known and "relaxation" in idle(estimator)
    return estimator.set_params(relaxation=None) if unused else estimator


def _as_method(estimator: Any, method: Plain) -> Any:
    if not isinstance(method, str) or method not in methods():
        raise SettingsError(f"There is no method {shown(str(method))}.")
    kind = methods()[method]
    kept = {name: value for name, value in not_defaults(estimator).items() if name in signature(kind).parameters}
    return clone(kind(**kept))
