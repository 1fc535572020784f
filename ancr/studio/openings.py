"""What a studio works on: samples as vectors, the labels that some of them have, and what they look like."""

import hashlib
import os
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ancr._core.column_scales import share_one_range
from ancr.datasets import load_digits
from ancr.datasets.splits import per_class_split
from ancr.features.images import UnreadableImageError
from ancr.samples.folders import IMAGE_SUFFIXES
from ancr.samples.model_file import Model, ModelFileError
from ancr.samples.tables import TARGET_NAMES, check_finite, load_table, open_table
from ancr.samples.user_data import image_vectors

POOL_FOLDERS = ("unlabelled", "unlabeled")
_DIGITS_PER_CLASS = 10
_MOST_IMAGES = 200_000
_BETTER = {
    "pixels": "hog is usually better for photos, and the features of a network (ancr[features]) are better still",
    "hog": "the features of a network are usually better: pip install 'ancr[features]', then --features resnet18",
}


@dataclass
class Source:
    """Samples of a studio.

    Attributes
    ----------
    name : str
        Title of the page.
    samples : ndarray of shape (n_samples, n_features)
        Vectors.
    labels : list of str or None
        Label of each sample; None for those in the pool.
    names : list of str
        Unique name of each sample, by which the journal knows it.
    state : Path
        Folder of the journal.
    fingerprint : str
        Identifies the data in the journal.
    truth : list of str or None
        Labels of held-out samples, for the views Try and Compare; they are never trained on.
    features : str
        ``"table"``, ``"pixels"``, ``"hog"`` or the name of a network, as in a model file.
    columns : tuple of str
        Names of the columns of a table.
    image_shape : tuple of int or None
        Height and width, if vectors are the pixels of images.
    paths : list of Path or None
        Image of each sample, if they are images.
    standardize : bool
        Whether columns are scaled, because they have units.
    draws : bool
        Whether a query can be drawn: light strokes on dark, centred as the data is.
    settings : dict
        Settings to start with.
    notes : list of str
        What the page says about the data.
    """

    name: str
    samples: np.ndarray
    labels: list
    names: list
    state: Path
    fingerprint: str
    truth: list | None = None
    features: str = "table"
    columns: tuple = ()
    image_shape: tuple | None = None
    paths: list | None = None
    standardize: bool = False
    draws: bool = False
    settings: dict = field(default_factory=dict)
    notes: list = field(default_factory=list)

    @property
    def is_held_out(self):
        """Which samples have a true label and are neither trained on nor in the pool."""
        if self.truth is None:
            return np.zeros(len(self.names), bool)
        return np.array([label is not None for label in self.truth])


def open_source(path=None, label=None, images=None, features="hog", home=None):
    """Load what a person named on the command line.

    Parameters
    ----------
    path : path-like or None
        A table, a folder of images, a model, or the name of a data set of digits; None means scikit-learn's digits.
    label : str or None
        Column or array of the labels.
    images : path-like or None
        A folder of images: of those that a table lists in a column ``path`` or ``image_names``, or the data itself.
    features : str
        For a folder of images: ``"hog"``, ``"pixels"`` or the name of a network.
    home : path-like or None
        Where the journal of data that is not a file is kept; None means the platform's folder for data.
    """
    if path is None and images is None:
        return _digits(home)
    if path is None:
        return _folder(Path(images).expanduser(), features)
    if str(path) == "usps" and not Path(path).exists():
        return _usps(home)
    path = Path(path).expanduser()
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if path.is_dir():
        if label is not None:
            raise ValueError(f"--label {label!r}, but {path} holds images; their labels are their folders' names")
        return _folder(path, features)
    source = _model(path) or _table(path, label)
    if images is not None:
        source.paths = _listed_images(source.names, Path(images).expanduser())
    return source


def _home(home, name):
    if home is None:
        from platformdirs import user_data_path

        home = user_data_path("ancr") / "studio"
    return Path(home) / name


def _fingerprint(samples, names):
    digest = hashlib.blake2b(np.ascontiguousarray(samples).data, digest_size=12)
    digest.update("\n".join(names).encode(errors="surrogateescape"))
    return f"{len(names)} samples {digest.hexdigest()}"


def _digits(home):
    bunch = load_digits()
    return _pixel_digits("Digits", bunch, bunch.target, None, _home(home, "digits"))


def _usps(home):
    from ancr.datasets import load_usps

    bunch = load_usps()
    return _pixel_digits("USPS digits", bunch, bunch.target, bunch.test_indices, _home(home, "usps"))


def _pixel_digits(name, bunch, target, test, state):
    """Ten labelled samples per class, a held-out part, and all others as the pool."""
    words, everything = bunch.target_names[target], np.arange(len(target))
    if test is None:
        _, test = per_class_split(target, len(target) // 14, seed=1)
    train, _ = per_class_split(target, _DIGITS_PER_CLASS, seed=0, pool=np.setdiff1d(everything, test))
    known, held_out = np.isin(everything, train), np.isin(everything, test)
    samples, names = bunch.data.astype(np.float32), [f"digit {i + 1}" for i in everything]
    return Source(
        name,
        samples,
        [str(word) if here else None for word, here in zip(words, known, strict=True)],
        names,
        state,
        _fingerprint(samples, names),
        truth=[str(word) if here else None for word, here in zip(words, held_out, strict=True)],
        features="table",
        image_shape=bunch.image_shape,
        draws=True,
        notes=[f"{known.sum()} digits came with a label, {held_out.sum()} are held out; the others wait for yours."],
    )


def _table(path, label):
    samples, labels, extra = _read_gaps(path, label)
    check_finite(path, samples)
    names = extra.get("names") or [f"row {number}" for number in range(1, len(samples) + 1)]
    names = _unique(names)
    truth = None
    if extra.get("is_train") is not None:
        train = extra["is_train"]
        truth = [None if keep else text for text, keep in zip(labels, train, strict=True)]
        labels = [text if keep else None for text, keep in zip(labels, train, strict=True)]
    columns = extra.get("columns", ())
    units = bool(columns) and not share_one_range(samples)
    state = path.with_name(f"{path.name}.ancr-studio")
    fingerprint = _fingerprint(samples, names)
    return Source(
        path.name,
        samples,
        labels,
        names,
        state,
        fingerprint,
        truth=truth,
        columns=columns,
        standardize=units,
        image_shape=_square(samples) if not units else None,
        settings={"normalize": not units},
    )


def _square(samples):
    """The shape of images, if vectors look like square ones: a side from 8 to 64 and values of one range from 0."""
    side = round(samples.shape[1] ** 0.5)
    looks = side * side == samples.shape[1] and 8 <= side <= 64 and samples.min() >= 0
    return (side, side) if looks and share_one_range(samples) else None


def _read_gaps(path, label):
    """Vectors, labels with None where one is missing, and what else the file says."""
    if path.suffix.lower() in (".csv", ".parquet"):
        return _read_table(path, label)
    if path.suffix.lower() == ".npz":
        try:
            return _read_arrays(path, label)
        except KeyError:
            pass
    bunch = load_table(path, target=label)
    labels = bunch.target_names[bunch.target].tolist()
    return bunch.data, labels, _extra(bunch)


def _read_arrays(path, label):
    """Arrays in which an empty text or a negative number is a missing label, or that have no labels at all."""
    from ancr.samples.array_files import read_npz

    arrays = read_npz(path)
    found = [name for name in ("data", "features", "X", "x", "fea") if name in arrays]
    given = label or next((name for name in TARGET_NAMES if name in arrays), None)
    if not found or (label is not None and label not in arrays):
        raise KeyError(path)  # the reader of tables says what is missing
    samples = np.asarray(arrays[found[0]])
    if samples.ndim != 2 or samples.dtype.kind not in "biuf":
        raise KeyError(path)
    samples = samples.astype(np.float32 if samples.dtype.itemsize <= 4 else np.float64)
    labels = [None] * len(samples) if given is None else _words(arrays[given], arrays.get("class_names"), path)
    if len(labels) != len(samples):
        raise KeyError(path)
    extra = {"is_train": arrays["is_train"].astype(bool).tolist() if "is_train" in arrays else None}
    if "image_names" in arrays:
        extra["names"] = arrays["image_names"].astype(str).tolist()
    return samples, labels, extra


def _words(labels, class_names, path):
    labels = np.ravel(labels)
    if labels.dtype.kind == "U":
        return [text.strip() or None for text in labels.tolist()]
    if labels.dtype.kind not in "iu":
        raise KeyError(path)
    if class_names is None:
        return [str(number) if number >= 0 else None for number in labels.tolist()]
    names = np.ravel(class_names).astype(str).tolist()
    if labels.max(initial=-1) >= len(names):
        raise ValueError(f"{path}: a label is {labels.max()}, but there are {len(names)} class_names")
    return [names[number] if number >= 0 else None for number in labels.tolist()]


def _read_table(path, label):
    table = open_table(path)
    usual = [name for name in TARGET_NAMES if name in table.columns]
    if label is not None and label not in table.columns:
        raise ValueError(f"--label {label!r} is not in {path.name}, which has {', '.join(table.columns[:20])}")
    if label is None and len(usual) > 1:
        raise ValueError(f"--label is missing, and {path.name} has several candidates: {', '.join(usual)}; name one")
    column = label or (usual[0] if usual else None)
    others = [name for name in ("is_train", "image_names", "path", "name") if name in table.columns]
    aside = [*others, *([column] if column else [])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        columns = table.vector_columns(*aside)
    if not columns:
        raise ValueError(f"{path} has no column of numbers")
    table.check_columns([*columns, *aside])
    vectors, labels, flags, names = [], [], [], []
    for chunk in table.chunks(4096):
        vectors.append(chunk.numbers(columns))
        labels += [_text(text) for text in chunk.texts(column)] if column else [None] * len(vectors[-1])
        flags += chunk.flags("is_train") if "is_train" in others else []
        for name in ("name", "image_names", "path"):
            if name in others:
                names += chunk.texts(name)
                break
    return np.concatenate(vectors), labels, {"is_train": flags or None, "names": names, "columns": tuple(columns)}


def _text(text):
    return None if not text or text.lower() in ("nan", "none", "null", "na", "n/a", "?") else text


def _extra(bunch):
    extra = {"columns": tuple(bunch.feature_names)}
    if bunch.filenames is not None:
        extra["names"] = [str(name) for name in bunch.filenames]
    if bunch.train_indices is not None:
        extra["is_train"] = np.isin(np.arange(len(bunch.target)), bunch.train_indices).tolist()
    return extra


def _unique(names):
    """Names as text, with a number where one comes twice."""
    seen, unique = set(), []
    for name in map(str, names):
        count, given = 1, name
        while name in seen:
            count += 1
            name = f"{given} ({count})"
        seen.add(name)
        unique.append(name)
    return unique


def _model(path):
    """A trained model as data: its training samples with their labels; None if the file is something else."""
    if path.suffix.lower() != ".npz":
        return None
    try:
        model = Model.load(path)
    except ModelFileError as error:
        if str(error).endswith("is not an ancr model"):
            return None
        raise
    known = ("alpha", "relaxation", "kernel", "gamma", "power", "rule", "normalize", "constraint")
    given = {name.removeprefix("space__"): value for name, value in model.params.items()}
    lists = {"alphas": "alpha", "relaxations": "relaxation", "rules": "rule", "constraints": "constraint"}
    given |= {one: given[many][0] for many, one in lists.items() if len(given.get(many, ())) == 1}
    given |= given["spaces"][0] if len(given.get("spaces", ())) == 1 else {}
    settings = {name: given[name] for name in known if name in given}
    names = _unique(model.names)
    return Source(
        path.name,
        model.samples,
        model.labels.tolist(),
        names,
        path.with_name(f"{path.name}.ancr-studio"),
        _fingerprint(model.samples, names),
        features=model.features,
        columns=model.columns,
        standardize=model.standardize,
        image_shape=_square(model.samples),
        settings=settings,
        notes=[f"A model of {model.method} on {len(names)} samples."],
    )


def _folder(root, features):
    """Images: sub-folders are classes; ``unlabelled/`` and loose files are the pool."""
    if not root.is_dir():
        raise FileNotFoundError(f"{root} is not a folder")
    if features == "eigenfaces":  # their axes would not be in a saved model
        raise ValueError(
            "--features eigenfaces are computed once: run `ancr extract FOLDER --features eigenfaces -o faces.npz`, "
            "then `ancr studio faces.npz --images FOLDER`"
        )
    real, found, outside = Path(os.path.realpath(root)), [], []
    for entry in sorted(root.rglob("*")):
        parts = entry.relative_to(root).parts
        if any(part.startswith(".") for part in parts) or entry.suffix.lower() not in IMAGE_SUFFIXES:
            continue
        if not entry.is_file():
            continue
        # A link may lead out of the folder: what it shows is not the data that was given.
        if not Path(os.path.realpath(entry)).is_relative_to(real):
            outside.append(entry)
            continue
        pool = len(parts) == 1 or parts[0].lower() in POOL_FOLDERS
        found.append((entry, None if pool else parts[0]))
        if len(found) > _MOST_IMAGES:
            raise ValueError(
                f"{root} holds more than {_MOST_IMAGES} images; extract features with `ancr extract` first"
            )
    if not found:
        raise ValueError(f"{root} holds no image ({', '.join(sorted(IMAGE_SUFFIXES))})")
    notes = [f"{len(outside)} links lead out of the folder and were left out."] if outside else []
    readable, vectors, broken = _vectors(found, features)
    if broken:
        notes.append(f"{broken} files could not be read as images and were left out.")
    if not readable:
        raise ValueError(f"{root}: none of the {len(found)} images can be read")
    paths = [path for path, _ in readable]
    notes.append(f"Images are compared by {features}; {_BETTER.get(features, 'features of a network')}.")
    return Source(
        root.resolve().name,
        vectors,
        [label for _, label in readable],
        [path.relative_to(root).as_posix() for path in paths],
        root / ".ancr-studio",
        "a folder of images",
        features=features,
        paths=paths,
        image_shape=(32, 32) if features == "pixels" else None,
        notes=notes,
    )


def _vectors(found, features):
    """The images that can be read, their vectors, and how many cannot be read."""
    try:
        return found, image_vectors([str(path) for path, _ in found], features).astype(np.float32), 0
    except UnreadableImageError:
        pass
    readable, vectors = [], []
    for path, label in found:
        try:
            vectors.append(image_vectors([str(path)], features)[0])
            readable.append((path, label))
        except UnreadableImageError:
            continue
    return readable, np.asarray(vectors, np.float32), len(found) - len(readable)


def _listed_images(names, folder):
    """The images of a table's rows, found by their names in a folder; none outside of it."""
    real, paths = Path(os.path.realpath(folder)), []
    for name in names:
        path = Path(os.path.realpath(folder / name))
        inside = path.is_relative_to(real) and path.suffix.lower() in IMAGE_SUFFIXES and path.is_file()
        paths.append(path if inside else None)
    if not any(paths):
        raise ValueError(f"--images {folder} holds none of the images that the table names, such as {names[0]!r}")
    return paths
