"""Trained models on disk: an ``.npz`` of plain arrays with a JSON header. Loading runs no code from the file.

A model consists of its training samples and the settings of its classifier; fitting is one factorisation, which is
repeated when the model is loaded. ``docs/model-format.md`` describes every entry.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

import ancr
from ancr._core.files import atomic_path
from ancr._core.messages import one_line
from ancr.classifiers.settings import SettingsError, chosen, from_data, reproducible, title, to_data
from ancr.samples.array_files import check_finite, numeric_matrix, read_npz
from ancr.samples.column_kinds import Column
from ancr.samples.column_plan import ColumnPlan
from ancr.samples.image_vectors import with_weights
from ancr.samples.other_classifiers import OtherClassifier
from ancr.samples.sample_set import Samples, of_images
from ancr.selection.folds import groups_for

FORMAT = "ancr-model"
# A newer minor version may add entries, which an older reader ignores; another major version is refused.
VERSION = (2, 3)
_ARRAYS = ("samples", "labels", "names")
# What the entries of the header must be, in the words of an error message.
_KINDS = {
    "version": ("two whole numbers", lambda v: _is_list_of(v, int) and len(v) == 2),
    "classifier": ("names with values", lambda v: isinstance(v, dict)),
    "features": ("a text", lambda v: isinstance(v, str)),
    "columns": ("a list of columns", lambda v: _is_list_of(v, dict) and all(map(Column.is_written, v))),
    "standardize": ("true or false", lambda v: isinstance(v, bool)),
}


class ModelFileError(ValueError):
    """A file that is not a model, or a model that this release cannot read."""


@dataclass
class Model:
    """Training samples, settings, and the features that turn samples into vectors.

    Random choices of its classifier are the same every time: a seed that was left open is 0.

    Attributes
    ----------
    classifier : estimator
        The classifier, not fitted: any of this package, with all parameters that `to_data` can write down.
    samples : ndarray of shape (n_samples, n_features)
        Training samples before any preparation: vectors, or the used columns of a table.
    labels : ndarray of str
        Their classes.
    names : ndarray of str
        Their names in explanations.
    features : str
        ``"table"``, ``"array"``, ``"pixels"``, ``"hog"`` or the name of a network, with options as in an address.
    plan : ColumnPlan
        The table's columns, those left out included, and how they are prepared first.
    label : str
        The column of the labels, if the user named it.
    trained_as : str
        The method that the user named, such as ``"CRC-CV"``: a search leaves only what it chose.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from ancr import ANCRClassifier
    >>> from ancr.samples.model_file import Model
    >>> X, y = load_iris(return_X_y=True)
    >>> names = [f"row {i}" for i in range(len(X))]
    >>> path = Path(tempfile.mkdtemp()) / "model.npz"
    >>> Model(ANCRClassifier(alpha=1e-2), X, y.astype(str), names).save(path)
    >>> Model.load(path).build().predict(X[::50]).tolist()
    ['0', '1', '2']
    """

    classifier: BaseEstimator
    samples: np.ndarray
    labels: np.ndarray
    names: np.ndarray
    features: str = "table"
    plan: ColumnPlan = field(default=ColumnPlan())
    label: str = ""
    version: tuple[int, int] = field(default=VERSION)
    trained_as: str = ""

    def __post_init__(self) -> None:
        self.classifier = reproducible(self.classifier)

    @classmethod
    def of(cls, classifier: BaseEstimator, samples: Samples, plan: ColumnPlan, trained_as: str = "") -> "Model":
        """The model of samples that all have a label."""
        vectors = samples.vectors[:, plan.used] if plan.columns else samples.vectors
        if vectors.dtype.kind == "O" and set(plan.kinds.values()) == {"number"}:
            vectors = vectors.astype(np.float64)
        labels = samples.class_names[samples.target]
        made = cls(classifier, vectors, labels, samples.names, samples.features, plan, samples.label)
        return replace(made, trained_as=trained_as)

    @property
    def method(self) -> str:
        """The name of the classifier's method, such as ``"ANCR"`` or ``"ANCR-CV"``."""
        return self.trained_as or getattr(self.classifier, "method", "") or title(type(self.classifier))

    @property
    def explains(self) -> bool:
        """Whether the classifier names the training samples that decided."""
        return not isinstance(self.classifier, OtherClassifier)

    def with_weights(self, weights: str | None) -> "Model":
        """The model whose network takes its weights from elsewhere; itself without any."""
        if weights is None:
            return self
        if not of_images(self.features):
            raise ValueError(f"--weights {weights}: the model was not trained on images")
        return replace(self, features=with_weights(self.features, weights))

    def build(self, groups: np.ndarray | None = None) -> Pipeline:
        """The fitted pipeline: preparation of the columns, if there is any, and the classifier.

        Parameters
        ----------
        groups : ndarray or None
            Groups of the samples, which a search keeps together in its folds.
        """
        pipeline = self.plan.of_used().pipeline(clone(self.classifier))
        name, last = pipeline.steps[-1]
        try:
            given = {f"{name}__{key}": value for key, value in groups_for(last, groups).items()}
            return pipeline.fit(self.samples, self.labels, **given)
        except (TypeError, ArithmeticError) as error:  # values that no check of the parameters foresees
            raise ModelFileError(f"{self.classifier!r} cannot be fitted: {one_line(error)}") from error

    def settled(self, fitted: Pipeline) -> "Model":
        """The model with what its fitted pipeline chose in place of a search, so that loading it is quick."""
        return replace(self, classifier=chosen(fitted[-1]), trained_as=self.method)

    def save(self, path: str | Path) -> None:
        """Write the model; a custom object or function is kept by the name under which it can be imported."""
        settings, learned = _apart(self.classifier)
        header = {
            "format": FORMAT,
            "version": list(VERSION),
            "ancr": ancr.__version__,
            "classifier": to_data(settings),
            "features": self.features,
            "label": self.label,
            "method": self.method,
            **self.plan.to_data(),
        }
        samples, words = _without_words(self.samples)
        texts = {"words": np.frombuffer(json.dumps(words).encode(), np.uint8)} if words else {}
        arrays: dict[str, Any] = {"samples": samples, "labels": self.labels, "names": self.names, **texts, **learned}
        with atomic_path(path) as draft, draft.open("wb") as file:
            np.savez(file, header=np.array(json.dumps(header)), **arrays)

    @classmethod
    def load(cls, path: str | Path, allow: Sequence[str] = ()) -> "Model":
        """Read a model; other files, entries of the wrong kind and other major versions are errors.

        Parameters
        ----------
        path : path-like
            The ``.npz`` file.
        allow : sequence of str
            Packages to import custom sets, rules, kernels … from; without them only this package is used.
        """
        header, arrays = _read(Path(path))
        try:
            classifier = from_data(header["classifier"], allow)
        except SettingsError as error:
            raise ModelFileError(f"{path}: {error}") from error
        learned = arrays.pop("skops", None)
        if learned is not None and isinstance(classifier, OtherClassifier):
            classifier.set_params(saved=learned.tobytes())
        plan = ColumnPlan.from_data(header)
        try:
            arrays["samples"] = _with_words(arrays["samples"], arrays.pop("words", None), plan)
        except ValueError as error:
            raise ModelFileError(f"{path} is not an ancr model: {error}") from error
        texts = {"label": str(header.get("label", "")), "trained_as": str(header.get("method", ""))}
        given = {**arrays, **texts, "features": header["features"], "plan": plan}
        return cls(classifier, version=tuple(header["version"]), **given)


def _apart(classifier: BaseEstimator) -> tuple[BaseEstimator, dict[str, np.ndarray]]:
    """A classifier as its settings, and what it learned if loading must not fit it again, as bytes of skops."""
    saved = getattr(classifier, "saved", None)
    if saved is None:
        return classifier, {}
    return clone(classifier).set_params(saved=None), {"skops": np.frombuffer(saved, np.uint8)}


def _without_words(samples: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Samples as numbers alone: of a column of texts, their places in the list of all different ones."""
    if samples.dtype.kind != "O":
        return samples, []
    places: dict[str, int] = {}
    numbers = np.full(samples.shape, np.nan)
    for at, cell in np.ndenumerate(samples):
        if cell is not None:
            numbers[at] = places.setdefault(cell, len(places)) if isinstance(cell, str) else cell
    return numbers, list(places)


def _with_words(samples: np.ndarray, words: np.ndarray | None, plan: ColumnPlan) -> np.ndarray:
    """The reverse of `_without_words`."""
    textual = [place for place, kind in enumerate(plan.kinds.values()) if kind != "number"]
    if not textual:
        return samples
    known = [] if words is None else json.loads(words.tobytes())
    if not _is_list_of(known, str):
        raise ValueError("'words' is not a list of texts")
    codes = samples[:, textual]
    if not (np.isnan(codes) | ((codes >= 0) & (codes < len(known)) & (codes == np.rint(codes)))).all():
        raise ValueError(f"'samples' names words that are not among the {len(known)} of the file")
    rows = samples.astype(object)
    for place in textual:
        rows[:, place] = [None if np.isnan(code) else known[int(code)] for code in samples[:, place]]
    return rows


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if not path.is_file():
        raise ModelFileError(f"{path} is not an ancr model: it is not a regular file")
    try:
        arrays = read_npz(path, ("header", "words", "skops", *_ARRAYS))
        header = json.loads(str(arrays.pop("header")))
        if header["format"] != FORMAT:
            raise KeyError("format")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFileError(f"{path} is not an ancr model") from error
    _check_version(path, header.get("version"))
    try:
        _check_entries(header, arrays)
    except ValueError as error:
        raise ModelFileError(f"{path} is not an ancr model: {error}") from error
    return header, arrays


def _check_version(path: Path, version: Any) -> None:
    """Raise if another major version wrote the file."""
    major, minor = version if _is_list_of(version, int) and len(version) == 2 else VERSION
    if major != VERSION[0]:
        does = f"{path} has model format {major}.{minor}, but ancr {ancr.__version__} reads {VERSION[0]}.x"
        raise ModelFileError(f"{does}; {'a newer release can read it' if major > VERSION[0] else 'train it again'}")


def _check_entries(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    missing = [name for name in _KINDS if name not in header] + [name for name in _ARRAYS if name not in arrays]
    if missing:
        raise ValueError(f"{missing[0]!r} is missing")
    for name, (expected, fits) in _KINDS.items():
        if not fits(header[name]):
            raise ValueError(f"{name!r} is {str(header[name])[:40]!r}, but expected {expected}")
    samples = numeric_matrix("'samples'", arrays["samples"])
    if not len(samples):
        raise ValueError("'samples' is empty")
    # A table may have gaps.
    check_finite("'samples'", np.where(np.isnan(samples), 0.0, samples) if header["columns"] else samples)
    for name in ("labels", "names"):
        if arrays[name].dtype.kind != "U" or arrays[name].shape != (len(samples),):
            found = f"shape {arrays[name].shape} and type {arrays[name].dtype}"
            raise ValueError(f"{name!r} has {found}, but expected {len(samples)} texts")
    used = [column for column in header["columns"] if column.get("kind") != "left out"]
    if header["columns"] and len(used) != samples.shape[1]:
        raise ValueError(f"'columns' has {len(used)} that are used, but the samples have {samples.shape[1]}")


def _is_list_of(value: Any, kind: type) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) and not isinstance(item, bool) for item in value)
