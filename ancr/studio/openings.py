"""What a studio works on: samples, where its journal is, and what the page says about the data."""

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ancr._core.messages import one_line
from ancr.classifiers.base import BaseRepresentationClassifier
from ancr.datasets import load_digits
from ancr.datasets.bunches import per_class_split
from ancr.samples.column_plan import ColumnPlan, share_one_range
from ancr.samples.doubts import doubts
from ancr.samples.image_folders import is_image
from ancr.samples.image_vectors import Advance
from ancr.samples.model_file import Model, ModelFileError
from ancr.samples.readers import read_samples
from ancr.samples.sample_set import DataWarning, Samples, of_images
from ancr.studio.identities import contents, digest, encoded
from ancr.studio.state import first_classifier

# Labels that the digits come with: enough that a clean drawing is recognised, and that this can be promised.
DIGITS_PER_CLASS = 50
_NO_LABEL = (
    "No column has a usual name for labels (target, label, class …), so no row has a label: choose it in Open, or "
    "start with --label COLUMN."
)
_BETTER = {
    "pixels": "hog is usually better for photos, and the features of a network are better still",
    "hog": "the features of a network are usually better: pip install torch torchvision timm, then --features resnet18",
}


@dataclass
class Source:
    """Samples of a studio.

    Attributes
    ----------
    data : Samples
        The samples; ``is_train`` marks those that are not held out, and names are unique.
    state : Path
        Folder of the journal.
    plan : ColumnPlan
        How columns are prepared.
    draws : bool
        Whether a query can be drawn: light strokes on dark, centred as the data is.
    classifier : BaseRepresentationClassifier
        What to answer with at first, not fitted.
    is_model : bool
        Whether the data is that of a trained model, whose probabilities are kept while nothing changes.
    notes : list of str
        What the page says about the data.
    is_copy : bool
        Whether the data is a copy that a page brought, which never changes: a row is known by its number.
    asked : dict
        Arguments of `open_source` that open it again, as plain data.
    asks_label : bool
        Whether a table has no column of labels by a usual name and nobody said that it has none.
    """

    data: Samples
    state: Path
    plan: ColumnPlan
    draws: bool = False
    classifier: BaseRepresentationClassifier = field(default_factory=first_classifier)
    is_model: bool = False
    notes: list[str] = field(default_factory=list)
    is_copy: bool = False
    asked: dict[str, Any] = field(default_factory=dict)
    asks_label: bool = False

    @property
    def names(self) -> list[str]:
        """Name of each sample, for people."""
        return self.data.names.tolist()

    @cached_property
    def contents(self) -> list[str]:
        """Digest of the content of each sample."""
        return contents(self.data)

    @property
    def shows_content(self) -> bool:
        """Whether the picture of a sample is its content, so that it never changes."""
        return not self.data.image_paths or of_images(self.data.features)

    @property
    def is_held_out(self) -> np.ndarray:
        """Which samples have a true label and are neither trained on nor in the pool."""
        if self.data.is_train is None:
            return np.zeros(len(self.data), bool)
        return ~self.data.is_train & (self.data.target >= 0)

    @property
    def labels(self) -> list[str | None]:
        """Label of each sample; None for those held out or in the pool."""
        return [None if out else label for label, out in zip(self.data.labels, self.is_held_out, strict=True)]


def open_source(
    path: str | Path | None = None,
    label: str | None = None,
    images: str | Path | None = None,
    features: str = "hog",
    home: str | Path | None = None,
    kinds: Mapping[str, str] | None = None,
    advance: Advance | None = None,
) -> Source:
    """Load what a person named on the command line, or brought to a page.

    Parameters
    ----------
    path : path-like or None
        A table, a folder of images, a model, or the name of a data set of digits; None means scikit-learn's digits.
    label : str or None
        Column or array of the labels; None for one of a usual name, and an empty name for none.
    images : path-like or None
        A folder of images: of those that a table lists in a column ``path`` or ``image_names``, or the data itself.
    features : str
        For a folder of images: ``"hog"``, ``"pixels"`` or the name of a network.
    home : path-like or None
        Where the journal of data that is not a file is kept; None means the platform's folder for data.
    kinds : mapping or None
        What the user wants some columns of a table to be.
    advance : callable or None
        ``advance(done, total)`` is called now and then while images are read.
    """
    if path is None and images is None:
        return _digits(load_digits(), state_home("digits", home))
    if str(path) == "usps" and not Path("usps").exists():
        from ancr.datasets import load_usps

        return replace(_digits(load_usps(), state_home("usps", home)), asked={"path": "usps"})
    if path is None:
        path, images = images, None
    path = Path(str(path)).expanduser()
    source = _model(path) or _read(path, label, images, features, kinds, advance)
    asked = {"label": label, "images": images and str(Path(images).expanduser().absolute()), "features": features}
    source.asked = {"path": str(path.absolute()), **asked, "kinds": dict(kinds or {})}
    return source


def _read(
    path: Path,
    label: str | None,
    images: str | Path | None,
    features: str,
    kinds: Mapping[str, str] | None,
    advance: Advance | None,
) -> Source:
    """A table, arrays or images."""
    if features == "eigenfaces":  # their axes would not be in a saved model
        raise ValueError(
            "--features eigenfaces are computed once: run `ancr extract FOLDER --features eigenfaces -o faces.npz`, "
            "then `ancr studio faces.npz --images FOLDER`"
        )
    is_copy = path.absolute().is_relative_to(copies_home())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        lists = images is None and not is_copy  # the images that a copy lists are not beside it
        samples = read_samples(path, label, features, pool=True, images=lists, kinds=kinds, advance=advance)
    notes = [f"{one_line(warning.message)}." for warning in caught if issubclass(warning.category, DataWarning)]
    if images is not None:
        samples = replace(samples, image_paths=_listed_images(samples.names.tolist(), Path(images).expanduser()))
    source = _images(path, samples) if samples.image_paths and images is None else _table(path, samples, kinds)
    source.data, source.is_copy = _printable(source.data), is_copy
    source.notes = [*notes, *(f"{doubt}." for doubt in doubts(source.data, source.plan)), *source.notes]
    if label is None and len(source.plan.columns) > 1 and not len(samples.class_names):
        source.asks_label = True
        source.notes.insert(0, _NO_LABEL)
    if is_copy:  # a person knows it by its name
        source.notes = [note.replace(f"{path.parent}{os.sep}", "") for note in source.notes]
    if is_copy and label:  # the labels of another question are others
        source.state = path.with_name(f"{path.name}.{digest(encoded(label))[:8]}.ancr-studio")
    return source


def copies_home() -> Path:
    """The folder for copies of data that pages brought."""
    return state_home("opened")


def state_home(name: str, home: str | Path | None = None) -> Path:
    """The folder for the journal of data that has no place of its own."""
    if home is None:
        from platformdirs import user_data_path

        home = user_data_path("ancr") / "studio"
    return Path(home) / name


def _digits(bunch: Bunch, state: Path) -> Source:
    """Some labelled samples per class, a held-out part, and all others as the pool."""
    everything, test = np.arange(len(bunch.target)), bunch.test_indices
    if test is None:
        _, test = per_class_split(bunch.target, len(bunch.target) // 14, seed=1)
    train, _ = per_class_split(bunch.target, DIGITS_PER_CLASS, seed=0, pool=np.setdiff1d(everything, test))
    samples = Samples(
        bunch.data.astype(np.float32),
        np.where(np.isin(everything, np.union1d(train, test)), bunch.target, -1),
        bunch.target_names.astype(str),
        np.array([f"digit {i + 1}" for i in everything]),
        "USPS digits" if bunch.name == "usps" else "Digits",
        is_train=~np.isin(everything, test),
        image_shape=bunch.image_shape,
    )
    note = f"{len(train)} digits came with a label, {len(test)} are held out; the others wait for yours."
    return Source(samples, state, ColumnPlan(), draws=True, notes=[note])


def _table(path: Path, samples: Samples, kinds: Mapping[str, str] | None) -> Source:
    plan = samples.plan(asked=kinds)
    shape = None if plan.prepares else _square(samples.vectors)
    notes = [f"Columns: {plan.reason}."] if plan.columns else []
    first = first_classifier(not plan.standardize)
    return _file(path, replace(samples, image_shape=shape), plan, classifier=first, notes=notes)


def _file(path: Path, samples: Samples, plan: ColumnPlan, **more: Any) -> Source:
    """The source of a file: its journal lies beside it."""
    samples = replace(samples, names=np.array(_unique(samples.names.tolist()), dtype=str), name=path.name)
    return Source(samples, path.with_name(f"{path.name}.ancr-studio"), plan, **more)


def _printable(samples: Samples) -> Samples:
    """Samples whose names can be written: a byte of a file's name that is not UTF-8 is written as its number."""
    texts = [*samples.names.tolist(), *samples.class_names.tolist(), *samples.columns, samples.name]
    if all(text.isascii() or text.isprintable() for text in texts):
        return samples
    return replace(
        samples,
        names=np.array(_unique([_written(name) for name in samples.names.tolist()]), dtype=str),
        class_names=np.array(_unique([_written(name) for name in samples.class_names.tolist()]), dtype=str),
        columns=tuple(map(_written, samples.columns)),
        name=_written(samples.name),
    )


def _written(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _square(vectors: np.ndarray) -> tuple[int, int] | None:
    """The shape of images, if vectors look like square ones: a side from 8 to 64 and values of one range from 0."""
    if vectors.dtype.kind != "f":
        return None
    side = round(vectors.shape[1] ** 0.5)
    looks = side * side == vectors.shape[1] and 8 <= side <= 64 and vectors.min() >= 0
    return (side, side) if looks and share_one_range(vectors) else None


def _unique(names: list[str]) -> list[str]:
    """Names with a number where one comes twice."""
    seen: set[str] = set()
    unique = []
    for name in names:
        count, given = 1, name
        while name in seen:
            count += 1
            name = f"{given} ({count})"
        seen.add(name)
        unique.append(name)
    return unique


def _model(path: Path) -> Source | None:
    """A trained model as data: its training samples with their labels; None if the file is something else."""
    if path.suffix.lower() != ".npz":
        return None
    try:
        model = Model.load(path)
    except ModelFileError as error:
        if str(error).endswith("is not an ancr model"):
            return None
        raise
    if not model.explains:
        raise ValueError(
            f"{path} is a model of {model.method}, which names no training samples: the studio cannot show why it "
            "answers; open a model of ancr's own methods, or the data itself"
        )
    if not isinstance(model.classifier, BaseRepresentationClassifier):
        model = model.settled(model.build())  # a search: what it chooses
    samples = Samples.of(
        model.samples,
        model.labels.tolist(),
        model.names,
        features=model.features,
        columns=tuple(model.plan.kinds),
        image_shape=_square(model.samples),
    )
    note = f"A model of {model.method} on {len(samples)} samples."
    return _file(path, samples, model.plan.of_used(), classifier=model.classifier, is_model=True, notes=[note])


def _images(path: Path, samples: Samples) -> Source:
    """Images: their names are paths within the folder."""
    root = path if path.is_dir() else path.parent
    names = [Path(os.path.relpath(image, root)).as_posix() for image in samples.names]
    samples = replace(samples, names=np.array(names, dtype=str), name=path.resolve().name)
    state = root / ".ancr-studio" if path.is_dir() else path.with_name(f"{path.name}.ancr-studio")
    note = f"Images are compared by {samples.features}; {_BETTER.get(samples.features, 'features of a network')}."
    return Source(samples, state, samples.plan(), notes=[note])


def _listed_images(names: list[str], folder: Path) -> tuple[Path | None, ...]:
    """The images of a table's rows, found by their names in a folder; none outside of it."""
    real, found = Path(os.path.realpath(folder)), [Path(os.path.realpath(folder / name)) for name in names]
    paths = [path if path.is_relative_to(real) and is_image(path) and path.is_file() else None for path in found]
    if not any(paths):
        raise ValueError(f"--images {folder} holds none of the images that the table names, such as {names[0]!r}")
    return tuple(paths)
