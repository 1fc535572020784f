"""What decides a classifier, as plain data and back: the one home of names, limits, defaults and words of settings.

An estimator is its class and the parameters of its constructor; so is an object on an axis (a set, a rule, a space …).
`to_data` writes both down as values that JSON can hold, `from_data` makes the same estimator again:

    {"class": "ancr:ANCRClassifier", "params": {"alpha": 0.01, "rule": "res", …}}

Everything else follows from that: `to_python`, `to_options` and `parse_settings` for the command line, and what a page
shows (`ancr.classifiers.controls`). What a preset fixes is read from its class.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from inspect import Parameter, isroutine, signature
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

import ancr
from ancr._core.axis import AxisObject
from ancr._core.messages import one_line, shown
from ancr.axes.spaces import Space

# A value that JSON can hold.
Plain = Any


class SettingsError(ValueError):
    """Settings that cannot be written down, or that make no estimator; the message is one line."""


# --- plain data


def to_data(estimator: BaseEstimator) -> dict[str, Plain]:
    """An estimator as plain data: its class by name, and all parameters.

    Numbers, texts, lists, tuples, arrays and dictionaries are kept as they are, objects and functions of a user by the
    name under which they can be imported, with their own parameters.

    Parameters
    ----------
    estimator : estimator
        Fitted or not; what `fit` learned is not part of the settings. See `chosen` for a search.

    Returns
    -------
    dict
        ``{"class": "module:name", "params": {…}}``, for `json.dumps`.

    Raises
    ------
    SettingsError
        If a parameter has no name: a lambda, a function inside another, a random generator.

    Examples
    --------
    >>> from ancr import CRCClassifier
    >>> from ancr.classifiers.settings import from_data, to_data
    >>> data = to_data(CRCClassifier(alpha=0.1))
    >>> data["class"], data["params"]["alpha"]
    ('ancr:CRCClassifier', 0.1)
    >>> from_data(data)
    CRCClassifier(alpha=0.1)
    """
    return _to_data(estimator, "")


def _to_data(value: Any, where: str) -> Plain:
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, list):
        return [_to_data(one, where) for one in value]
    if isinstance(value, tuple):
        return {"tuple": _to_data(list(value), where)}
    if isinstance(value, dict):
        return {"dict": [[_to_data(one, where) for one in pair] for pair in value.items()]}
    if isinstance(value, np.ndarray):
        return {"array": _to_data(value.tolist(), where), "dtype": str(value.dtype)}
    if isroutine(value) or isinstance(value, type):
        return {"name": _name(value, where)}
    params = {name: _to_data(one, _inside(where, name)) for name, one in _params(value, where).items()}
    return {"class": _name(type(value), where), "params": params}


def plain(value: Any) -> Plain:
    """A value for a table or a page: itself where it is plain, and the representation of an object."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)


def _inside(where: str, name: str) -> str:
    return f"{where}__{name}" if where else name


def _params(thing: Any, where: str) -> dict[str, Any]:
    """The constructor's parameters, which an estimator or an object on an axis keeps under their own names."""
    if hasattr(thing, "get_params"):
        return thing.get_params(deep=False)
    try:
        found = {name: getattr(thing, name) for name in signature(type(thing)).parameters}
    except (AttributeError, TypeError, ValueError):
        raise _nameless(thing, where) from None
    if any(getattr(value, "__self__", None) is thing for value in found.values()):  # methods, not parameters
        raise _nameless(thing, where)
    return found


def _name(thing: Any, where: str) -> str:
    """``module:name`` of a class or function, in the outermost package that has it."""
    parts, name = str(getattr(thing, "__module__", "")).split("."), getattr(thing, "__qualname__", "")
    for end in range(1, len(parts) + 1):
        module = ".".join(parts[:end])
        if module != "__main__" and _member(sys.modules.get(module), name) is thing:
            return f"{module}:{name}"
    raise _nameless(thing, where)


def _member(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def _nameless(thing: Any, where: str) -> SettingsError:
    found = f"{where}={shown(repr(thing))[1:-1]}" if where else type(thing).__name__
    return SettingsError(f"{found} cannot be saved: it has no name to import it by; define it at the top of a module")


def from_data(data: Plain, allow: Sequence[str] = ()) -> Any:
    """The estimator that `to_data` wrote down, not fitted.

    Nothing is imported but this package and the packages that ``allow`` names, so data from elsewhere runs no code.

    Parameters
    ----------
    data : dict
        From `to_data`, or read from JSON.
    allow : sequence of str
        Packages or modules to import objects and functions from, besides this one.

    Raises
    ------
    SettingsError
        In one line, if the data makes no estimator.
    """
    try:
        made = _from_data(data, "", tuple(allow))
    except RecursionError:
        raise SettingsError("settings: too deep") from None
    if not isinstance(made, BaseEstimator):
        raise SettingsError(f"settings: {shown(str(data))} is not a classifier")
    return made


def _from_data(data: Plain, where: str, allow: tuple[str, ...]) -> Any:
    if isinstance(data, list):
        return [_from_data(one, where, allow) for one in data]
    if not isinstance(data, dict):
        return data
    kind = next((kind for kind in _KINDS if kind in data), None)
    try:
        if kind is not None:
            return _KINDS[kind](data, where, allow)
    except SettingsError:
        raise
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise SettingsError(f"{where or 'settings'}: {one_line(error)}") from error
    raise SettingsError(f"{where or 'settings'}: {shown(str(data))} is not a setting")


def _pairs(data: Plain, where: str, allow: tuple[str, ...]) -> dict[Any, Any]:
    return {_from_data(key, where, allow): _from_data(value, where, allow) for key, value in data["dict"]}


def _array(data: Plain, where: str, allow: tuple[str, ...]) -> np.ndarray:
    return np.array(_from_data(data["array"], where, allow), dtype=np.dtype(str(data["dtype"])))


def _made(data: Plain, where: str, allow: tuple[str, ...]) -> Any:
    kind = _found(data["class"], where, allow)
    if not isinstance(kind, type):
        raise SettingsError(f"{data['class']} is not a class")
    given = data.get("params", {})
    if not isinstance(given, dict):
        raise SettingsError(f"'params' is {shown(str(given))}, but expected names with values")
    params = {str(name): _from_data(value, _inside(where, name), allow) for name, value in given.items()}
    check_names(kind, params)
    return kind(**params)


def _found(name: str, where: str, allow: tuple[str, ...]) -> Any:
    """What a name stands for; names of this package stand for estimators, objects on an axis and quadratics alone."""
    module, _, member = str(name).partition(":")
    own = _is_in(module, "ancr")
    if not own and not any(_is_in(module, package) for package in allow):
        text = f"{where}: {name}" if where else str(name)
        raise SettingsError(
            f"{text} is not part of ancr; load it with allow=[{module.partition('.')[0]!r}] if you trust it"
        )
    try:
        found = _member(import_module(module), member)
    except ImportError as error:
        raise SettingsError(f"{name} cannot be imported: {one_line(error)}") from error
    if found is None or (own and not _is_of_an_axis(found)):
        raise SettingsError(f"{name} is neither a classifier nor an object on an axis")
    return found


def _is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _is_of_an_axis(found: Any) -> bool:
    if isinstance(found, type):
        return issubclass(found, BaseEstimator | AxisObject) and _is_in(found.__module__, "ancr")
    return isroutine(found) and _is_in(str(found.__module__), "ancr.axes")


# What a dictionary in the data stands for, by a key that it has.
_KINDS: dict[str, Callable[[Plain, str, tuple[str, ...]], Any]] = {
    "class": _made,
    "name": lambda data, where, allow: _found(data["name"], where, allow),
    "tuple": lambda data, where, allow: tuple(_from_data(data["tuple"], where, allow)),
    "dict": _pairs,
    "array": _array,
    "float": lambda data, where, allow: float(data["float"]),
}


def check_names(kind: type, params: Iterable[str]) -> None:
    """Raise if a class has no such parameters."""
    known = signature(kind).parameters
    open_ended = any(one.kind is Parameter.VAR_KEYWORD for one in known.values())
    unknown = sorted(name for name in set(params) - set(known) if name.partition("__")[0] not in known)
    if unknown and not open_ended:
        raise SettingsError(f"{title(kind)} has no parameter {unknown[0]!r}; it has {', '.join(sorted(known))}")


# --- methods and what was chosen


def title(kind: type) -> str:
    """The name of a method as the paper prints it, from its class: ``"ANCR"``, ``"SA-CRC"``, ``"ANCR-CV"``."""
    name = kind.__name__.replace("ClassifierCV", "-CV").removesuffix("Classifier")
    return getattr(kind, "printed_as", name)


def methods() -> dict[str, type[BaseEstimator]]:
    """``{title: class}`` of the classifiers of this package, by the names that the paper prints."""
    public = [getattr(ancr, name) for name in ancr.__all__]
    kinds = [kind for kind in public if isinstance(kind, type) and issubclass(kind, ClassifierMixin)]
    return {title(kind): kind for kind in sorted(kinds, key=title)}


def make(method: str, params: Mapping[str, Any]) -> Any:
    """An estimator of this package by the name of its method, such as ``"ANCR"`` or ``"ANCR-CV"``.

    Examples
    --------
    >>> from ancr.classifiers.settings import make
    >>> make("SA-CRC", {"n_nonzero": 10})
    SACRCClassifier(n_nonzero=10)
    """
    if method not in methods():
        raise SettingsError(f"method {method!r} is unknown; choose from {', '.join(methods())}")
    check_names(methods()[method], params)
    return changed(methods()[method](), params)


def changed(estimator: Any, params: Mapping[str, Any]) -> Any:
    """A copy with other parameters, not fitted; names with ``__`` reach into objects on an axis."""
    check_names(type(estimator), params)
    try:
        return clone(estimator).set_params(**params)
    except AttributeError:  # a name with ``__`` that reaches into a number or a text
        inner = [name.partition("__") for name in params if "__" in name]
        outer, _, own = next(part for part in inner if not hasattr(getattr(estimator, part[0]), "set_params"))
        found = f"{outer}={plain(getattr(estimator, outer))!r}"
        raise SettingsError(f"{outer}__{own}: {found} has no parameters of its own") from None


def chosen(fitted: Any) -> Any:
    """What a fitted search chose, as the classifier that answers; any other estimator is returned unchanged."""
    return getattr(fitted, "best_estimator_", fitted)


def is_same(one: Any, other: Any) -> bool:
    """Whether two estimators have the same class and the same settings."""
    return to_data(one) == to_data(other)


def key(estimator: Any) -> str:
    """A text that tells an estimator from those with other settings."""
    return json.dumps(to_data(estimator))


def reproducible(estimator: Any) -> Any:
    """A copy whose random choices are the same in every fit: a seed that was left open is 0."""
    made = clone(estimator)
    return made.set_params(**{name: _seeded(value) for name, value in made.get_params(deep=False).items()})


def _seeded(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_seeded, value))
    return value.reproducible() if hasattr(value, "reproducible") else value


# --- code and options


def to_python(estimator: BaseEstimator) -> str:
    """An estimator as Python code: the imports, an empty line, and an expression with what is not a default.

    Examples
    --------
    >>> from ancr import ANCRClassifier
    >>> from ancr.classifiers.settings import to_python
    >>> print(to_python(ANCRClassifier(alpha=0.01)))
    from ancr import ANCRClassifier
    <BLANKLINE>
    ANCRClassifier(alpha=0.01)
    """
    names: set[str] = set()
    code = _code(estimator, "", names)
    imports = ["from {} import {}".format(*name.split(":")) for name in sorted(names)]
    return "\n".join([*imports, "", code])


def _code(value: Any, where: str, names: set[str]) -> str:
    data = _to_data(value, where)
    if isinstance(value, list | tuple):
        inner = ", ".join(_code(one, where, names) for one in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_code(k, where, names)}: {_code(v, where, names)}' for k, v in value.items())}}}"
    if not isinstance(data, dict):
        return repr(data)
    if "float" in data:
        return f"float({data['float']!r})"
    if "array" in data:
        names.add("numpy:array")
        return f"array({value.tolist()!r}, dtype={data['dtype']!r})"
    name = data["name"] if "name" in data else data["class"]
    module, _, member = name.partition(":")
    names.add(f"{module}:{member.partition('.')[0]}")
    if "name" in data:
        return member
    given = [f"{key}={_code(one, _inside(where, key), names)}" for key, one in not_defaults(value).items()]
    return f"{member}({', '.join(given)})"


def not_defaults(thing: Any) -> dict[str, Any]:
    """The parameters of an estimator, or of an object on an axis, that differ from its defaults.

    Examples
    --------
    >>> from ancr import SRCClassifier
    >>> from ancr.classifiers.settings import not_defaults
    >>> not_defaults(SRCClassifier(alpha=0.1, rule="reg"))
    {'alpha': 0.1}
    """
    try:
        defaults = _params(type(thing)(), "")
    except TypeError:  # a constructor that wants arguments
        defaults = {}
    return {
        name: value
        for name, value in _params(thing, "").items()
        if name not in defaults or _to_data(value, name) != _to_data(defaults[name], name)
    }


def to_options(estimator: BaseEstimator) -> list[str]:
    """An estimator of this package as options of ``ancr train``: ``--method``, and ``--set`` for what is not a default.

    Examples
    --------
    >>> from ancr import ANCRClassifier
    >>> from ancr.classifiers.settings import to_options
    >>> to_options(ANCRClassifier(alpha=0.01, rule="label"))
    ['--method', 'ANCR', '--set', 'alpha=0.01', '--set', 'rule=label']
    """
    method = title(type(estimator))
    if methods().get(method) is not type(estimator):
        raise SettingsError(f"{type(estimator).__name__} is not a method of the command line")
    options = ["--method", method]
    for name, value in not_defaults_flat(estimator).items():
        options += ["--set", f"{name}={_option(name, value)}"]
    return options


def not_defaults_flat(thing: Any, where: str = "") -> dict[str, Any]:
    """Parameters that are not defaults, those of a space by their own names with ``__``."""
    found: dict[str, Any] = {}
    for name, value in not_defaults(thing).items():
        inner = _inside(where, name)
        found |= not_defaults_flat(value, inner) if isinstance(value, Space) else {inner: value}
    return found


def _option(name: str, value: Any) -> str:
    """The text that `parse_setting` reads as a value."""
    if isinstance(value, str) and parse_setting(f"{name}={value}")[1] == value:
        return value
    try:
        return json.dumps(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)
    except TypeError:
        raise SettingsError(f"{name}={shown(repr(value))[1:-1]} cannot be written on a command line") from None


def parse_setting(text: str) -> tuple[str, Any]:
    """A pair from ``alpha=0.01``: the value is read as JSON or as a number if possible, and as text otherwise.

    Examples
    --------
    >>> from ancr.classifiers.settings import parse_setting
    >>> parse_setting("alpha=.01"), parse_setting("rule=label"), parse_setting("tol=null")
    (('alpha', 0.01), ('rule', 'label'), ('tol', None))
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise SettingsError(f"--set {text!r}, but expected NAME=VALUE")
    for read in (json.loads, float):  # JSON has no .1
        try:
            return name, read(value)
        except ValueError:
            pass
    return name, value


def parse_settings(texts: Iterable[str], given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """``given`` settings and those of texts such as ``alpha=0.01``; a name that comes twice is an error."""
    settings = dict(given or {})
    for text in texts:
        name, value = parse_setting(text)
        if name in settings:
            raise SettingsError(f"--set {name} is given twice; keep one of the values")
        settings[name] = value
    return settings
