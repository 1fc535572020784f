"""Trained models on disk: an ``.npz`` of plain arrays with a JSON header. Loading runs no code from the file.

A model consists of its training samples and the settings of its classifier; fitting is one factorisation, which is
repeated when the model is loaded. ``docs/model-format.md`` describes every entry.
"""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import ancr
from ancr._core.files import atomic_path
from ancr._core.messages import one_line
from ancr.axes.spaces import Space, named_space
from ancr.samples.array_files import check_finite, numeric_matrix, read_npz
from ancr.samples.column_plan import ColumnPlan

FORMAT = "ancr-model"
# A newer minor version may add entries, which an older reader ignores; a newer major version is refused.
VERSION = (1, 0)
_ARRAYS = ("samples", "labels", "names")
_SETTINGS = ("method", "params", "features")
# What the entries of the header must be, in the words of an error message.
_KINDS = {
    "version": ("two whole numbers", lambda v: _is_list_of(v, int) and len(v) == 2),
    "method": ("a text", lambda v: isinstance(v, str)),
    "params": ("names with values", lambda v: isinstance(v, dict)),
    "features": ("a text", lambda v: isinstance(v, str)),
    "columns": ("a list of texts", lambda v: _is_list_of(v, str)),
    "standardize": ("true or false", lambda v: isinstance(v, bool)),
}


class ModelFileError(ValueError):
    """A file that is not a model, or a model that this release cannot read."""


@dataclass(frozen=True)
class Model:
    """Training samples, settings, and the features that turn samples into vectors.

    Attributes
    ----------
    method : str
        Name of a classifier of the package without ``Classifier``, such as ``"ANCR"``.
    params : dict
        Its parameters that were set.
    samples : ndarray of shape (n_samples, n_features)
        Training vectors before scaling.
    labels : ndarray of str
        Their classes.
    names : ndarray of str
        Their names in explanations.
    features : str
        ``"table"``, ``"pixels"``, ``"hog"`` or the name of a network.
    plan : ColumnPlan
        Names of the table's columns, and how they are prepared first.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from ancr.samples.model_file import Model
    >>> X, y = load_iris(return_X_y=True)
    >>> names = [f"row {i}" for i in range(len(X))]
    >>> path = Path(tempfile.mkdtemp()) / "model.npz"
    >>> Model("ANCR", {"alpha": 1e-2}, X, y.astype(str), names).save(path)
    >>> Model.load(path).build().predict(X[::50]).tolist()
    ['0', '1', '2']
    """

    method: str
    params: dict
    samples: np.ndarray
    labels: np.ndarray
    names: np.ndarray
    features: str = "table"
    plan: ColumnPlan = field(default=ColumnPlan())
    version: tuple = field(default=VERSION)

    def build(self):
        """The fitted pipeline: preparation of the columns, if there is any, and the classifier."""
        pipeline = self.plan.pipeline(make_classifier(self.method, self.params))
        try:
            return pipeline.fit(self.samples, self.labels)
        except (TypeError, ArithmeticError) as error:  # values that no check of the parameters foresees
            settings = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
            raise ModelFileError(f"{self.method} cannot be fitted with {settings}: {one_line(error)}") from error

    def settled(self, fitted):
        """The model with what its fitted pipeline chose in place of a search, so that loading it is quick."""
        chosen = {**self.params, **getattr(fitted[-1], "chosen_grid_", {})}
        if "spaces" in chosen:
            chosen["spaces"] = [named_space(space).changed_params() for space in chosen["spaces"]]
        return replace(self, params=chosen)

    def save(self, path):
        """Write the model; parameters must be numbers, texts and lists of them."""
        for name, value in self.params.items():
            if not _is_plain(value):
                raise ModelFileError(f"{name}={value!r} cannot be saved: a model file holds names and numbers, no code")
        header = {
            "format": FORMAT,
            "version": list(self.version),
            "ancr": ancr.__version__,
            **self.plan.to_data(),
            **{name: getattr(self, name) for name in _SETTINGS},
        }
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        with atomic_path(path) as draft, draft.open("wb") as file:
            np.savez(file, header=np.array(json.dumps(header)), **arrays)

    @classmethod
    def load(cls, path):
        """Read a model; other files, entries of the wrong kind and newer major versions are errors."""
        header, arrays = _read(Path(path))
        major, minor = header["version"]
        if major > VERSION[0]:
            raise ModelFileError(
                f"{path} has model format {major}.{minor}, but ancr {ancr.__version__} reads up to {VERSION[0]}.x; "
                "a newer release of ancr can read it"
            )
        model = cls(
            **{name: header[name] for name in _SETTINGS},
            **arrays,
            plan=ColumnPlan.from_data(header),
            version=(major, minor),
        )
        make_classifier(model.method, model.params)  # raises if a name or setting does not exist
        return model


def _read(path):
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if not path.is_file():
        raise ModelFileError(f"{path} is not an ancr model: it is no regular file")
    try:
        arrays = read_npz(path, ("header", *_ARRAYS))
        header = json.loads(str(arrays.pop("header")))
        if header["format"] != FORMAT:
            raise KeyError("format")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFileError(f"{path} is not an ancr model") from error
    try:
        _check_entries(header, arrays)
    except ValueError as error:
        raise ModelFileError(f"{path} is not an ancr model: {error}") from error
    return header, arrays


def _check_entries(header, arrays):
    missing = [name for name in _KINDS if name not in header] + [name for name in _ARRAYS if name not in arrays]
    if missing:
        raise ValueError(f"{missing[0]!r} is missing")
    for name, (expected, fits) in _KINDS.items():
        if not fits(header[name]):
            raise ValueError(f"{name!r} is {str(header[name])[:40]!r}, but expected {expected}")
    samples = numeric_matrix("'samples'", arrays["samples"])
    if not len(samples):
        raise ValueError("'samples' is empty")
    check_finite("'samples'", samples)
    for name in ("labels", "names"):
        if arrays[name].dtype.kind != "U" or arrays[name].shape != (len(samples),):
            found = f"shape {arrays[name].shape} and type {arrays[name].dtype}"
            raise ValueError(f"{name!r} has {found}, but expected {len(samples)} texts")
    if len(header["columns"]) not in (0, samples.shape[1]):
        raise ValueError(f"'columns' has {len(header['columns'])} names, but the samples have {samples.shape[1]}")


def _is_plain(value):
    """Whether JSON can hold a value."""
    try:
        return bool(json.dumps(value))
    except TypeError:
        return False


def _is_list_of(value, kind):
    return isinstance(value, list) and all(isinstance(item, kind) and not isinstance(item, bool) for item in value)


def method_names():
    """Methods that can be saved: those of this package, by the names the paper prints."""
    spelled = {"SACRC": "SA-CRC"}
    classifiers = [name.removesuffix("Classifier") for name in ancr.__all__ if name.endswith("Classifier")]
    return sorted(["ANCR-CV", *(spelled.get(name, name) for name in classifiers if name != "Representation")])


def make_classifier(method, params):
    """Make an unfitted classifier from the name of its method; only classifiers of this package are allowed."""
    if method not in method_names():
        raise ModelFileError(f"method {method!r} is unknown; choose from {', '.join(method_names())}")
    kind = ancr.ANCRClassifierCV if method == "ANCR-CV" else getattr(ancr, method.replace("-", "") + "Classifier")
    unknown = sorted(name for name in params if name.partition("__")[0] not in kind().get_params())
    if unknown:
        raise ModelFileError(
            f"{method} has no parameter {unknown[0]!r}; it has {', '.join(sorted(kind().get_params()))}"
        )
    spaces = [Space(**one) if isinstance(one, dict) else one for one in params.get("spaces", ())]
    return kind().set_params(**({**params, "spaces": spaces} if spaces else params))
