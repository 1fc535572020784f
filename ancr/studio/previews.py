"""What data would be if it were opened: its columns and what is made of them, its classes, what is left out and why."""

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ancr._core.messages import one_line
from ancr.samples.image_folders import folder_images, lists_images, warn_of_doubts
from ancr.samples.readers import USUAL_NAMES
from ancr.samples.sample_set import DataWarning, shown_cell
from ancr.samples.table_files import TABLES, open_table
from ancr.studio.openings import Source

# Values of a column, letters of a value and classes that a page shows.
_SHOWN_VALUES, _SHOWN_LETTERS, _SHOWN_CLASSES = 3, 40, 30
_NETWORK = "resnet18"
_ROLES = {"name": "name", "image_names": "name", "path": "name", "is_train": "split"}


def options_of(path: Path, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `open_source` for data that a page chose, from what the page wants.

    Parameters
    ----------
    path : Path
        The data.
    wanted : mapping
        ``"label"``, the column of the labels, empty for none and absent where nothing was chosen yet; ``"kinds"`` of
        some columns; ``"features"`` of images.
    """
    if path.is_dir():
        return {"path": path, "features": str(wanted.get("features") or "hog")}
    label, kinds = wanted.get("label"), wanted.get("kinds")
    if label is None and path.suffix.lower() in TABLES:
        label = likely_label(open_table(path).columns)
    kinds = kinds if isinstance(kinds, Mapping) else {}
    known = {str(name): str(kind) for name, kind in kinds.items() if kind and name != label}
    return {"path": path, "label": None if label is None else str(label), "kinds": known}


def likely_label(columns: Sequence[str]) -> str:
    """The only column of a table that is called as labels usually are, in any case; empty if there is no such one.

    Examples
    --------
    >>> from ancr.studio.previews import likely_label
    >>> likely_label(["height", "Class"]), likely_label(["label", "target"])
    ('Class', '')
    """
    usual = {name.casefold() for name in USUAL_NAMES["label"]}
    found = [name for name in columns if name.casefold() in usual]
    return found[0] if len(found) == 1 else ""


def folder_preview(path: Path, features: str) -> dict[str, Any]:
    """What a folder of images is, before any image is read."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        found, ignored = folder_images(path, follow_links=False)
        warn_of_doubts(found, ignored)
    notes = [f"{one_line(warning.message)}." for warning in caught if issubclass(warning.category, DataWarning)]
    choices = ["hog", "pixels", *([_NETWORK] if find_spec("torch") and find_spec("timm") else [])]
    return {"what": "images", "features": features, "choices": choices, **_counts(found.labels), "notes": notes}


def source_preview(source: Source, label: str | None) -> dict[str, Any]:
    """What a table, arrays or a model are."""
    what = "model" if source.is_model else "arrays" if source.data.features == "array" else "table"
    columns = _columns(source, label or "") if what == "table" else []
    notes = [note for note in source.notes if not note.startswith("Columns: ")]
    return {"what": what, "label": label or "", **_counts(source.data.labels), "columns": columns, "notes": notes}


def failed_preview(options: Mapping[str, Any], problem: str) -> dict[str, Any] | None:
    """What can be shown of a table that cannot be read as it is: its columns, of which one can be left out; or None."""
    asked = options.get("kinds", {})
    if options["path"].suffix.lower() not in TABLES:
        return None
    try:
        table = open_table(options["path"])
    except (ValueError, OSError, ImportError):
        return None
    names = dict.fromkeys(table.columns)
    if lists_images(table):
        problem = f"{problem} If it lists images, bring their folder, or run `ancr studio` on it where it lies."
    columns = [{"name": name, "kind": asked.get(name, ""), "why": "", "gaps": 0, "values": []} for name in names]
    shown = {"what": "table", "label": options.get("label") or "", **_counts([]), "columns": columns, "notes": []}
    return {**shown, "problem": problem}


def _counts(labels: list[str | None]) -> dict[str, Any]:
    known = Counter(label for label in labels if label is not None)
    classes = [{"label": label, "count": count} for label, count in sorted(known.items())[:_SHOWN_CLASSES]]
    return {"samples": len(labels), "labelled": known.total(), "classes": classes, "n_classes": len(known)}


def _columns(source: Source, label: str) -> list[dict[str, Any]]:
    """Every column of the file in its order: what it is, or serves for, why it is left out, and some of its values."""
    data, places = source.data, {name: place for place, name in enumerate(source.data.columns)}
    found = []
    for name in dict.fromkeys(open_table(Path(data.origin)).columns):
        if name in places:
            column = source.plan.columns[places[name]]
            cells = data.vectors[:, places[name]]
            kind = source.asked["kinds"].get(name, column.asked)
            gaps, values = _values(cells)
            found.append({"name": name, "kind": kind, "why": column.why, "gaps": gaps, "values": values})
        else:
            role = "label" if name == label else _ROLES.get(name, "row number")
            values = data.names[:_SHOWN_VALUES].tolist() if role == "name" else []
            values = data.class_names[:_SHOWN_VALUES].tolist() if role == "label" else values
            gaps = data.n_unlabelled if role == "label" else 0
            found.append({"name": name, "kind": role, "why": "", "gaps": gaps, "values": [_cut(v) for v in values]})
    return found


def _values(cells: np.ndarray) -> tuple[int, list[str]]:
    """How many cells are missing, and the first different values of the others."""
    is_number = cells.dtype.kind == "f"
    missing = np.isnan(cells) if is_number else np.array([c is None or c != c for c in cells], bool)
    texts = (_cut(shown_cell(cell)) for cell in cells[~missing][:1000].tolist())
    return int(missing.sum()), list(dict.fromkeys(texts))[:_SHOWN_VALUES]


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}…"
