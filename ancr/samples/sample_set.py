"""What a user brings: samples as vectors, the labels that some of them have, their names, and what they look like."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from ancr._core.messages import counted
from ancr.samples.column_kinds import Column
from ancr.samples.column_plan import ColumnPlan, share_one_range
from ancr.samples.table_files import cell_text, label_text

# More columns without names are taken for features of a network, whose columns have one unit but not one range.
_MANY_COLUMNS = 100


class DataWarning(UserWarning):
    """The data is probably not as the user intended."""


@dataclass(frozen=True)
class Samples:
    """Samples of a table, a folder of images or arrays.

    Attributes
    ----------
    vectors : ndarray of shape (n_samples, n_features)
        One row per sample, before any preparation: numbers; in a table with other columns, numbers and texts as
        objects. NaN and None are gaps.
    target : ndarray of int
        Class of each sample as an index into ``class_names``; −1 for a sample without a label.
    class_names : ndarray of str
        Names of the classes: numbers by value, texts by letters, or in the order of the file.
    names : ndarray of str
        Name of each sample: a row, a file, or what the data calls it.
    name : str
        Name of the whole.
    features : str
        ``"table"``, ``"array"``, ``"pixels"``, ``"hog"`` or the name of a network, with options as in an address.
    columns : tuple of str
        Names of the columns of a table, or of an array whose columns may have units; empty for other sources.
    is_train : ndarray of bool or None
        The split that came with the data: which samples are for training.
    image_paths : tuple of Path or None
        Image of each sample, None where it has none; empty where no sample has one.
    image_shape : tuple of int or None
        Height and width, if vectors are the pixels of images.
    origin : str
        Absolute path of the data; empty for data in memory.
    label : str
        The column of the labels, if the user named it.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.samples.sample_set import Samples
    >>> samples = Samples.of(np.eye(3), ["cat", None, "ant"])
    >>> samples.labels, samples.n_unlabelled, samples.labelled().names.tolist()
    (['cat', None, 'ant'], 1, ['row 1', 'row 3'])
    """

    vectors: np.ndarray
    target: np.ndarray
    class_names: np.ndarray
    names: np.ndarray
    name: str = "data"
    features: str = "table"
    columns: tuple[str, ...] = ()
    is_train: np.ndarray | None = None
    image_paths: tuple[Path | None, ...] = ()
    image_shape: tuple[int, int] | None = None
    origin: str = ""
    label: str = ""

    @classmethod
    def of(
        cls,
        vectors: np.ndarray,
        labels: Sequence[str | None] | None = None,
        names: Sequence[str] | np.ndarray | None = None,
        first: int = 1,
        where: str = "y",
        **more: object,
    ) -> "Samples":
        """Samples from vectors and their labels as text.

        Parameters
        ----------
        vectors : ndarray of shape (n_samples, n_features)
            Samples.
        labels : sequence of str or None
            Their labels, None where one is absent; None if there are none at all.
        names : sequence of str or None
            Their names; None counts the rows.
        first : int
            Number of the first row.
        where : str
            What messages call the labels.
        **more
            Further attributes.
        """
        class_names, target = encoded([None] * len(vectors) if labels is None else labels, where)
        if names is None:
            names = [f"row {number}" for number in range(first, first + len(vectors))]
        return cls(vectors, target, class_names, np.asarray(names, dtype=str), **more)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def labels(self) -> list[str | None]:
        """Label of each sample; None where it is absent."""
        words = self.class_names.tolist()
        return [words[k] if k >= 0 else None for k in self.target.tolist()]

    @property
    def n_unlabelled(self) -> int:
        """How many samples have no label."""
        return int(np.count_nonzero(self.target < 0))

    @property
    def left_out(self) -> str:
        """What is said of samples without a label by those who learn from labels; empty if all have one."""
        if not self.n_unlabelled:
            return ""
        verb = "has no label and is" if self.n_unlabelled == 1 else "have no label and are"
        return f"{self.n_unlabelled} of {counted(len(self), 'sample')} {verb} left out"

    def take(self, rows: np.ndarray) -> "Samples":
        """Some of the samples, by number or by a mask."""
        numbers = np.arange(len(self))[rows]
        return replace(
            self,
            vectors=self.vectors[numbers],
            target=self.target[numbers],
            names=self.names[numbers],
            is_train=None if self.is_train is None else self.is_train[numbers],
            image_paths=tuple(self.image_paths[i] for i in numbers) if self.image_paths else (),
        )

    def with_labels(self, labels: np.ndarray) -> "Samples":
        """The same samples with other labels, one for each."""
        class_names, target = encoded(labels.tolist())
        return replace(self, target=target, class_names=class_names)

    def labelled(self) -> "Samples":
        """The samples that have a label; fewer than two classes are an error."""
        kept = self.take(self.target >= 0) if self.n_unlabelled else self
        present = np.unique(kept.target)
        if len(present) < 2:
            only = f": {str(self.class_names[present[0]])!r}" if len(present) else ""
            where = Path(self.origin).name or "y"
            many = counted(len(present), "class", "classes")
            expected = ", one sub-folder of images for each" if self.image_paths else ""
            raise ValueError(f"{where} holds {many}{only}, but at least two are needed{expected}")
        return kept

    def plan(
        self, standardize: bool | None = None, asked: Mapping[str, str] | None = None, settle: bool = True
    ) -> ColumnPlan:
        """How columns are prepared.

        Parameters
        ----------
        standardize : bool or None
            What the user asked for; None asks the labelled samples.
        asked : mapping or None
            What the user wants some columns to be.
        settle : bool
            Whether these samples decide what is open; otherwise each training part does.
        """
        if self.features == "array":  # nothing says what its columns are, so none is left out
            likely = len(self.columns) <= _MANY_COLUMNS and not share_one_range(self.vectors)
            plan = ColumnPlan(tuple(map(Column, self.columns)), standardize, likely)
        else:
            plan = ColumnPlan.of(self.vectors, self.columns, standardize, asked)
        if self.columns and not plan.used:
            where = Path(self.origin).name or "X"
            raise ValueError(f"{where} has no column to learn from; {plan.left_out}")
        if not settle:
            return replace(plan, reason=plan.described())
        options = ("--standardize", "--no-standardize") if self.origin else ("standardize=True", "standardize=False")
        known = self.target >= 0
        return plan.settled(self.vectors[known], self.target[known] if known.any() else None, options)

    def groups(self, asked: Mapping[str, str] | None) -> np.ndarray | None:
        """Group of each sample, which folds keep together, if a column was asked to be ``"group"``; None otherwise."""
        named = next((name for name, kind in (asked or {}).items() if kind == "group"), None)
        if named is None:
            return None
        cells = self.vectors[:, self.columns.index(named)]
        return checked_groups(f"column {named!r}", [cell_text(cell) for cell in cells])

    def cells(self, row: int) -> list[tuple[str, str]]:
        """Columns and values of a sample of a table as texts, for people; empty for other sources."""
        if self.features != "table":
            return []
        return [(name, shown_cell(value)) for name, value in zip(self.columns, self.vectors[row], strict=False)]

    def bunch(self) -> Bunch:
        """The samples as scikit-learn's data sets are."""
        return Bunch(
            data=self.vectors,
            target=self.target,
            target_names=self.class_names,
            train_indices=None if self.is_train is None else np.flatnonzero(self.is_train),
            test_indices=None if self.is_train is None else np.flatnonzero(~self.is_train),
            image_shape=self.image_shape,
            feature_names=self.columns,
            name=self.name,
            licence="the user's own",
            citation="",
            DESCR=f"{len(self)} samples of {counted(len(self.class_names), 'class', 'classes')} from {self.origin}",
        )


def of_images(features: str) -> bool:
    """Whether vectors are features of images, so that an image can be turned into one."""
    return features not in ("table", "array")


def shown_cell(value: object) -> str:
    """A cell of a table for people: a number in six digits, a text as it is, nothing for a gap."""
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.6g}"
    return cell_text(value)


def encoded(labels: Sequence[str | None], where: str = "y") -> tuple[np.ndarray, np.ndarray]:
    """Names of the classes in order, and each label as an index into them, −1 where it is absent."""
    names = _in_order(where, sorted({label for label in labels if label is not None}))
    places = {name: place for place, name in enumerate(names)}
    target = np.array([-1 if label is None else places[label] for label in labels], dtype=np.int64)
    return np.array(names, dtype=str), target


def _in_order(where: str, names: list[str]) -> list[str]:
    """Sort names: by value if all are numbers, otherwise by letters. One number spelled in two ways is an error."""
    try:
        values = {name: float(name) for name in names}
    except ValueError:
        return names
    first: dict[float, str] = {}
    for name, value in values.items():
        if first.setdefault(value, name) != name:
            raise ValueError(f"{where}: the labels {first[value]!r} and {name!r} are one number; write them alike")
    return sorted(names, key=values.__getitem__)


def checked_groups(where: object, names: Sequence[str]) -> np.ndarray:
    """Names of groups, at least two; a sample without one is an error."""
    if "" in names:
        raise ValueError(f"{where}: row {list(names).index('') + 1} has no group")
    groups = np.asarray(names, dtype=str)
    if len(np.unique(groups)) < 2:
        raise ValueError(f"{where}: all samples are of one group, but folds need at least two")
    return groups


def label_texts(where: str, labels: object) -> list[str | None]:
    """An array of labels as text; None where one is absent."""
    array = np.ravel(np.asarray(labels))
    if array.dtype.kind not in "biufUSO":
        raise ValueError(f"{where}: the labels are of type {array.dtype}, but expected numbers or text")
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    return [label_text(_uncelled(value)) for value in array]


def without_decimals(labels: list[str | None]) -> list[str | None]:
    """Labels of a text file; ``1.0`` is ``1`` where all are so, as other files have whole numbers beside a gap.

    Examples
    --------
    >>> from ancr.samples.sample_set import without_decimals
    >>> without_decimals(["1.0", None, "-2.0"]), without_decimals(["1.0", "1.5"])
    (['1', None, '-2'], ['1.0', '1.5'])
    """
    known = [label for label in labels if label is not None]
    if not all(label.removeprefix("-").removesuffix(".0").isdecimal() and label.endswith(".0") for label in known):
        return labels
    return [None if label is None else label.removesuffix(".0") for label in labels]


def _uncelled(value: object) -> object:
    """The text in a cell of MATLAB, which is an array."""
    if not isinstance(value, np.ndarray):
        return value
    return str(np.squeeze(value)) if value.size else None
