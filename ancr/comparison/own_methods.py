"""A researcher's own classifier as a method of a comparison: by import path, or as an object."""

import hashlib
import importlib
import importlib.util
import inspect
import json
import sys
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn.base import clone

from ancr._core.messages import one_line
from ancr.comparison.protocols import Method


def is_import_path(text: str) -> bool:
    """Whether the name of a method is an import path such as ``package.module:Classifier``."""
    return ":" in text


def load_method(text: str) -> tuple[str, Method]:
    """``(name, Method)`` of ``package.module:Name`` or ``folder/file.py:Name``.

    The name may be a class, a function without arguments that makes a classifier, or a classifier. The current folder
    is searched as well, as ``python`` does.

    Raises
    ------
    ValueError
        In one line, if there is no such module or name, or if it makes no classifier.
    """
    where, _, name = text.partition(":")
    if not where:
        raise ValueError(f"methods {text}: no module or file before the colon")
    module = _load_file(Path(where), text) if where.endswith(".py") else _load_module(where, text)
    if not name or not hasattr(module, name):
        known = ", ".join(key for key in dir(module) if _could_be_meant(getattr(module, key), module))
        lacking = f"{where} has no {name!r}; it has" if name else f"no name after the colon; {where} has"
        raise ValueError(f"methods {text}: {lacking} {known or 'none'}")
    return name, own_method(getattr(module, name), text)


def own_method(made_from: Any, text: str | None = None) -> Method:
    """The `Method` of a class, a function that makes a classifier, or a classifier.

    Its parameters include a digest of the source code, so that a cell of another version is computed again.
    """
    text = text or _name(made_from)
    build = made_from if _makes(made_from) else partial(clone, made_from, safe=False)
    try:
        classifier = build()
    except (Exception, SystemExit) as error:
        raise ValueError(f"methods {text}: cannot be made without arguments: {_reason(error)}") from error
    if isinstance(classifier, type):
        raise ValueError(f"methods {text}: makes the class {classifier.__name__}, but expected an object of it")
    missing = [name for name in ("fit", "predict") if not callable(getattr(classifier, name, None))]
    if missing:
        raise ValueError(f"methods {text}: {type(classifier).__name__} has no method {' and no '.join(missing)}")
    # The parameters only identify the method.
    return Method(lambda **identity: build(), {"estimator": text, "code": _digest(made_from, classifier)})


def method_name(made_from: Any) -> str:
    """The name in tables: that of the class or function, or of a classifier's class."""
    return _name(made_from).rpartition(":")[2]


def _makes(made_from: Any) -> bool:
    return isinstance(made_from, type) or inspect.isfunction(made_from)


def _name(made_from: Any) -> str:
    named = made_from if _makes(made_from) else type(made_from)
    return f"{named.__module__}:{named.__qualname__}"


def _load_module(where: str, text: str) -> ModuleType:
    if str(Path.cwd()) not in sys.path:  # the command `ancr` does not search the current folder
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(where)
    except ImportError as error:
        raise ValueError(f"methods {text}: {one_line(error)}") from error
    except (Exception, SystemExit) as error:
        raise ValueError(f"methods {text}: importing {where} failed: {_reason(error)}") from error


def _load_file(path: Path, text: str) -> ModuleType:
    if not path.is_file():
        raise ValueError(f"methods {text}: {path} does not exist")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None  # the name ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)  # its objects can then be pickled
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(f"methods {text}: running {path} failed: {_reason(error)}") from error
    return module


def _reason(error: BaseException) -> str:
    return f"it calls sys.exit({error.code!r})" if isinstance(error, SystemExit) else one_line(error)


def _could_be_meant(value: Any, module: ModuleType) -> bool:
    return isinstance(value, type) and value.__module__ == module.__name__ and hasattr(value, "predict")


def _digest(made_from: Any, classifier: Any) -> str:
    """Digest of the source file and of the parameters: what a result depends on besides the data."""
    parts = [_source(made_from), _source(type(classifier))]
    if hasattr(classifier, "get_params"):
        parts.append(json.dumps({name: repr(value) for name, value in sorted(classifier.get_params().items())}))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _source(made_from: Any) -> str:
    try:
        module = inspect.getmodule(made_from if hasattr(made_from, "__module__") else type(made_from))
        return inspect.getsource(module) if module else ""
    except (OSError, TypeError):  # defined in a notebook or in C
        return ""
