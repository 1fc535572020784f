"""Trained models on disk: an ``.npz`` of plain arrays with a JSON header. Loading runs no code from the file.

A model consists of its training samples and the settings of its classifier; fitting is one factorisation, which is
repeated when the model is loaded. ``docs/model-format.md`` describes every entry.
"""

import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import ancr
from ancr.atomic import atomic_path

FORMAT = "ancr-model"
# A newer minor version may add entries, which an older reader ignores; a newer major version is refused.
VERSION = (1, 0)
_ARRAYS = ("samples", "labels", "names")
_SETTINGS = ("method", "params", "features", "standardize")


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
        ``"table"``, ``"pixels"`` or the name of a network.
    columns : tuple of str
        Names of the table's columns.
    standardize : bool
        Whether each column is scaled to zero mean and unit variance first.
    """

    method: str
    params: dict
    samples: np.ndarray
    labels: np.ndarray
    names: np.ndarray
    features: str = "table"
    columns: tuple = ()
    standardize: bool = False
    version: tuple = field(default=VERSION)

    def build(self):
        """The fitted pipeline: scaling, if requested, and the classifier."""
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        steps = [StandardScaler()] if self.standardize else []
        return make_pipeline(*steps, make_classifier(self.method, self.params)).fit(self.samples, self.labels)

    def save(self, path):
        """Write the model."""
        header = {
            "format": FORMAT,
            "version": list(self.version),
            "ancr": ancr.__version__,
            "columns": list(self.columns),
            **{name: getattr(self, name) for name in _SETTINGS},
        }
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        with atomic_path(path) as draft, draft.open("wb") as file:
            np.savez(file, header=np.array(json.dumps(header)), **arrays)

    @classmethod
    def load(cls, path):
        """Read a model; other files and newer major versions are errors."""
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
            columns=tuple(header["columns"]),
            version=(major, minor),
        )
        make_classifier(model.method, model.params)  # raises if a name or setting does not exist
        return model


def _read(path):
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist")
    try:
        with np.load(path, allow_pickle=False) as content:
            header = json.loads(str(content["header"]))
            if header["format"] != FORMAT or not {"version", "columns", *_SETTINGS} <= set(header):
                raise KeyError("header")
            return header, {name: content[name] for name in _ARRAYS}
    except (ValueError, KeyError, OSError, EOFError, AttributeError, TypeError, zipfile.BadZipFile) as error:
        raise ModelFileError(f"{path} is not an ancr model") from error


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
    unknown = sorted(set(params) - set(kind().get_params()))
    if unknown:
        raise ModelFileError(
            f"{method} has no parameter {unknown[0]!r}; it has {', '.join(sorted(kind().get_params()))}"
        )
    return kind(**params)
