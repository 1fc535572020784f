"""What in a user's data is probably not as intended, one line each, for whoever learns from it or compares methods."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ancr._core.messages import counted
from ancr.samples.column_kinds import FEW_ROWS, Column, numbers_samples
from ancr.samples.column_plan import ColumnPlan
from ancr.samples.sample_set import Samples, of_images
from ancr.samples.telling_columns import error_alone, is_sorted, right_alone

# A column that makes at most this share of the errors of the largest class alone tells the label ...
_TELLS = 0.02
# ... and is suspicious if its values are as few as classes, or if no other column comes near: easy data has several.
_NEAR = 2 * _TELLS
_SORTED_TELLS = 0.1
# Share of samples that may be copies of others: measurements of few digits coincide now and then.
_COPIES = 0.02
_ENOUGH_COLUMNS = 100  # to see whether rows can coincide
_MOST_COLUMNS = 5000  # of arrays wider than that, whose columns nobody reads one by one, only the rows are checked


def doubts(samples: Samples, plan: ColumnPlan) -> list[str]:
    """Warnings about data: what is wrong, where, and what to do.

    Identifiers and sorted columns that predict the label, columns that are made from the label, and copies of samples,
    which are trained on and tested at the same time.

    Parameters
    ----------
    samples : Samples
        As read, in the order of the file.
    plan : ColumnPlan
        What is done with their columns; those that are left out give nothing away.

    Examples
    --------
    >>> import numpy as np
    >>> from ancr.samples.doubts import doubts
    >>> from ancr.samples.sample_set import Samples
    >>> lengths = np.random.default_rng(0).random(40)
    >>> table = np.column_stack([3 * np.arange(40), lengths])
    >>> samples = Samples.of(table, ["a"] * 20 + ["b"] * 20, columns=("vial", "length"))
    >>> doubts(samples, samples.plan())[0].partition(":")[0]
    "column 'vial' numbers the samples and by itself predicts 98 % of held-out labels"
    """
    told = _as_codes(samples, plan, texts=False)  # most texts differ, and their order says nothing
    samples = _as_codes(samples, plan)
    is_labelled = samples.target >= 0
    if np.count_nonzero(is_labelled) < FEW_ROWS:
        return []
    has_columns = not (samples.image_paths or samples.image_shape or of_images(samples.features))
    columns = _of_columns(told, told.take(is_labelled)) if has_columns else ()
    return [*columns, *_of_copies(samples.take(is_labelled))]


def _as_codes(samples: Samples, plan: ColumnPlan, texts: bool = True) -> Samples:
    """The samples with the columns that are used, dates and words as numbers; with or without their texts."""
    used = plan.used if plan.columns else list(range(samples.vectors.shape[1]))
    used = [place for place in used if texts or not plan.columns or plan.columns[place].kind != "text"]
    columns = [samples.vectors[:, place] for place in used]
    if samples.vectors.dtype.kind != "f":
        columns = [_codes(plan.columns[place], cells) for place, cells in zip(used, columns, strict=True)]
    vectors = np.column_stack(columns) if columns else np.empty((len(samples), 0))
    names = tuple(plan.names[place] for place in used) if plan.columns else samples.columns
    return replace(samples, vectors=vectors, columns=names)


def _codes(column: Column, cells: np.ndarray) -> np.ndarray:
    if column.kind not in ("category", "text"):
        return column.numbers(cells)
    return np.unique([str(cell) for cell in cells], return_inverse=True)[1].astype(float)


def _of_columns(samples: Samples, labelled: Samples) -> Iterator[str]:
    count = samples.vectors.shape[1]
    classes = len(np.unique(labelled.target))
    if count > _MOST_COLUMNS or not 2 <= classes <= len(labelled) / 5:  # a class of few samples lies in one interval
        return
    errors = np.array([error_alone(values, labelled.target) for values in labelled.vectors.T])
    # Of a column that says when or where a sample was taken, it is no news that it tells the label.
    measured = np.array([not (numbers_samples(values) or is_sorted(values)) for values in samples.vectors.T])
    for place in range(count):
        name = samples.columns[place] if samples.columns else str(place)
        others = errors[measured & (np.arange(count) != place)]
        yield from _of_column(samples.vectors[:, place], labelled, place, name, float(errors[place]), others)


def _of_column(
    values: np.ndarray, labelled: Samples, place: int, name: str, error: float, others: np.ndarray
) -> Iterator[str]:
    """At most one line about a column that makes some error by itself, and others theirs."""
    known_values = labelled.vectors[:, place]

    def right() -> str:
        return f"{100 * right_alone(known_values, labelled.target):.0f} % of held-out labels"

    if numbers_samples(values):
        tells = f" and by itself predicts {right()}" if error <= _SORTED_TELLS else ""
        yield f"column {name!r} numbers the samples{tells}: remove it, for it cannot classify new ones"
    elif is_sorted(values) and error <= _SORTED_TELLS:
        what = "runs in order through the file and by itself predicts"
        why = "if it says when or where a sample was taken, remove it, for it cannot classify new ones"
        yield f"column {name!r} {what} {right()}: {why}"
    elif _stands_out(known_values, labelled, error, others):
        why = "if it is made from the label, or known only after it, remove it"
        yield f"column {name!r} by itself predicts {right()}: {why}"
    else:
        known = _class_told(known_values, labelled)
        if known is not None:
            why = "if it is made from the label, remove it"
            yield f"column {name!r} by itself tells class {known!r} from all others: {why}"


def _stands_out(values: np.ndarray, labelled: Samples, error: float, others: np.ndarray) -> bool:
    """Whether a column tells the label as no measurement does: a code for each class, or far better than the others."""
    if error > _TELLS:
        return False
    is_code = len(np.unique(values)) <= 2 * len(np.unique(labelled.target))
    return bool(is_code or (len(others) and others.min() > _NEAR))


def _class_told(values: np.ndarray, labelled: Samples) -> str | None:
    """The class of which a column with two values says whether a sample belongs to it; None if there is none."""
    kinds, place = np.unique(values, return_inverse=True)
    classes = np.unique(labelled.target)
    if len(kinds) != 2 or len(classes) < 3:
        return None
    for label in classes:
        is_member = labelled.target == label
        wrong = np.count_nonzero((place == 1) != is_member)
        if min(wrong, len(place) - wrong) <= _TELLS * is_member.sum():
            return str(labelled.class_names[label])
    return None


def _of_copies(labelled: Samples) -> Iterator[str]:
    """A line about samples whose copies are on the other side of a split, if there are more than chance makes."""
    is_train = labelled.is_train
    original = _originals(labelled.vectors, np.zeros(len(labelled), bool) if is_train is None else is_train)
    is_copy, total, of = original != np.arange(len(original)), len(labelled), "sample"
    if is_train is not None:
        is_copy, total, of = is_copy & ~is_train & is_train[original], int(np.count_nonzero(~is_train)), "test sample"
    copies = np.flatnonzero(is_copy)
    if len(copies) <= _COPIES * total or not _can_coincide_rarely(labelled.vectors):
        return
    example = f"{labelled.names[copies[0]]}, which equals {labelled.names[original[copies[0]]]}"
    other = np.count_nonzero(labelled.target[copies] != labelled.target[original[copies]])
    labels = f", {other} of them with another label" if other else ""
    many = f"{len(copies)} of {counted(total, of)} are copies of {'others' if is_train is None else 'training samples'}"
    yield f"{many}{labels}, such as {example}: copies make tests too easy; keep one of each"


def _originals(vectors: np.ndarray, comes_first: np.ndarray) -> np.ndarray:
    """For each row the first one with the same values, itself if it is the first; some rows come before all others."""
    order = np.argsort(~comes_first, kind="stable")
    rows = vectors + 0.0  # adding zero turns −0 into 0: equal rows have equal bytes
    first: dict[bytes, int] = {}
    original = np.empty(len(rows), int)
    for i in order.tolist():
        original[i] = first.setdefault(rows[i].tobytes(), i)
    return original


def _can_coincide_rarely(vectors: np.ndarray) -> bool:
    """Whether columns have so many values that equal rows are no coincidence, unlike those of yes and no."""
    kinds = [len(np.unique(values)) for values in vectors.T[:_ENOUGH_COLUMNS]]
    return float(np.log(kinds).sum()) > np.log(1000.0 * len(vectors))
