"""What leaves a studio, and comes back from Label Studio: labels in several forms, sorted images, the model, code."""

import csv
import io
import json
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ancr._core.spreadsheet import harmless
from ancr.classifiers.settings import changed, to_python
from ancr.samples.model_file import Model
from ancr.studio.actions import ActionError
from ancr.studio.openings import Source
from ancr.studio.recogniser import Recogniser
from ancr.studio.state import State
from ancr.studio.uploads import component
from ancr.studio.views import Views

_UNLABELLED = "unlabelled"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]], raw: bool = False) -> str:
    """A CSV; text that a spreadsheet would run as a formula gets an apostrophe in front, unless ``raw``."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for row in (head, *rows):
        texts = ["" if cell is None else str(cell) for cell in row]
        writer.writerow(texts if raw else [harmless(text) for text in texts])
    return file.getvalue()


def labels_csv(state: State, raw: bool = False) -> str:
    """All samples with a label or a decision: name, label, where it came from, whether it is used, and its identity."""
    kept = [(i, status) for i in range(len(state.ids)) if (status := state.status(i))]
    rows = [[state.names[i], state.labels[i], state.given[i], status, state.ids[i]] for i, status in kept]
    return _table(["sample", "label", "given", "status", "id"], rows, raw)


def labels_jsonl(state: State) -> str:
    """The same, one JSON object a line."""
    lines = [
        dict(id=state.ids[i], sample=state.names[i], label=state.labels[i], given=state.given[i], status=status)
        for i in range(len(state.ids))
        if (status := state.status(i))
    ]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def whole_table(source: Source, state: State) -> str:
    """Every sample with its columns and its label; excluded samples are left out."""
    data = source.data
    columns = list(data.columns) or [f"feature {j + 1}" for j in range(data.vectors.shape[1])]
    name = "label" if "label" not in columns else "label (ancr)"
    rows = (
        [state.names[i], *map(_as_read, data.vectors[i].tolist()), state.labels[i]]
        for i in range(len(state.ids))
        if i not in state.marks["excluded"]
    )
    return _table(["sample", *columns, name], rows)


def _as_read(value: Any) -> Any:
    """A cell as a table had it: a gap is empty, a whole number has no decimals."""
    if value != value:
        return ""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def suspicious_csv(views: Views) -> str:
    """The labels that the last audit doubts."""
    found = views.audit()
    if found is None:
        raise ActionError("Audit the labels first; then there is a table of suspicious ones.")
    rows = [
        [one["sample"]["name"], one["label"], one["suggested"], f"{one['probability']:.6g}", one["decided"] or ""]
        for one in found["suspicious"]
    ]
    return _table(["sample", "label", "suggested", "probability of the label", "decided"], rows)


def label_studio(views: Views) -> str:
    """Tasks of Label Studio: labels as annotations, guesses as predictions."""
    state, tasks = views.state, []
    for i in range(len(state.ids)):
        label, guess = state.labels[i], views.jobs.guesses.get(i)
        about = {"image": state.names[i]} if views.pictures.has_pictures else dict(views.row(i))
        task: dict[str, Any] = {"id": i + 1, "data": {**about, "sample": state.names[i], "ancr_id": state.ids[i]}}
        if label is not None and i not in state.marks["excluded"]:
            task["annotations"] = [{"result": [_choice(label, views.pictures.has_pictures)]}]
        elif guess is not None and label is None:
            result = [_choice(guess[0], views.pictures.has_pictures)]
            task["predictions"] = [{"model_version": "ancr", "score": views.checked(guess[1]), "result": result}]
        tasks.append(task)
    return json.dumps(tasks, ensure_ascii=False, indent=1)


def _choice(label: str, is_image: bool) -> dict[str, Any]:
    value, to = {"choices": [label]}, "image" if is_image else "text"
    return {"from_name": "label", "to_name": to, "type": "choices", "value": value}


def from_label_studio(content: bytes, state: State) -> list[list[str]]:
    """``[identity, label]`` of the annotated tasks of a file of Label Studio, found by identity, then by name."""
    try:
        tasks = json.loads(content)
    except (ValueError, RecursionError):
        raise ActionError("This file is not JSON.") from None
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise ActionError("This file is not a list of tasks, as Label Studio exports them (JSON).")
    by_name = dict(zip(state.names, state.ids, strict=True))
    files = Counter(Path(name).name for name in state.names)  # one that several folders have says nothing
    by_file = {file: id for name, id in by_name.items() if files[file := Path(name).name] == 1}
    pairs = []
    for task in tasks:
        data = task.get("data") if isinstance(task.get("data"), dict) else {}
        texts = _texts_of(data)
        known = [data.get("ancr_id"), *map(by_name.get, texts), *(by_file.get(Path(text).name) for text in texts)]
        id = next((one for one in known if isinstance(one, str) and state.place(one) is not None), None)
        label = _annotated(task)
        if label is not None:
            pairs.append([id or str(data.get("sample", data.get("image", "?"))), label])
    if not pairs:
        raise ActionError("No task in this file has an annotation with a choice.")
    return pairs


def _texts_of(data: dict[str, Any]) -> list[str]:
    """The texts of a task that may be the name of a sample: that which the studio wrote, or else any."""
    texts = [data["sample"]] if "sample" in data else data.values()
    return [text for text in texts if isinstance(text, str)]


def _annotated(task: dict[str, Any]) -> str | None:
    """The choice of the last annotation that was not cancelled."""
    for annotation in reversed(_dicts(task.get("annotations"))):
        for result in [] if annotation.get("was_cancelled") else _dicts(annotation.get("result")):
            value = result.get("value")
            choices = value.get("choices") if isinstance(value, dict) else None
            if isinstance(choices, list) and choices and isinstance(choices[0], str):
                return choices[0]
    return None


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def sorted_images(views: Views, path: Path) -> None:
    """A ZIP file with the images in folders by class; those without a label are in ``unlabelled``.

    An image that is gone, or in whose place there is another file now, is left out: the label is not of that file.
    """
    source, state = views.source, views.state
    if not source.data.image_paths:
        raise ActionError("Only images can be sorted into folders; this data has none.")
    folders, taken = _folders(state.classes), set[str]()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for i, image in enumerate(source.data.image_paths):
            label = state.labels[i]
            if image is None or i in state.marks["excluded"] or (content := views.pictures.file(i)) is None:
                continue
            folder = _UNLABELLED if label is None else folders[label]
            name = f"{folder}/{component(image.name)}"
            name = name if _same(name) not in taken else f"{folder}/{state.ids[i]}{image.suffix}"
            taken.add(_same(name))
            file.writestr(name, content)


def _folders(labels: Iterable[str]) -> dict[str, str]:
    """Each class as the name of a folder of its own, on any system, also where names may not differ in case alone."""
    found, taken = {}, {_UNLABELLED}
    for label in labels:
        name = first = component(label.replace("/", "_")).strip(". ") or "_"
        count = 1
        while _same(name) in taken:
            count += 1
            name = f"{first} ({count})"
        taken.add(_same(name))
        found[label] = name
    return found


def _same(name: str) -> str:
    """What is equal for names that some file system takes for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def model(recogniser: Recogniser) -> Model:
    """The model of the labels of this moment, for ``ancr predict``."""
    data, snapshot = recogniser.source.data, recogniser.snapshot()
    if snapshot.n_classes < 2:
        raise ActionError("Label samples of at least two classes first; then there is a model.")
    temperature = recogniser.temperature(snapshot.classifier)
    labelled = data.take(snapshot.members).with_labels(snapshot.labels)
    return Model.of(changed(snapshot.classifier, {"temperature": temperature}), labelled, recogniser.source.plan)


def python_code(source: Source, state: State) -> str:
    """A program that trains on the exported table what the studio answers with."""
    imports, _, classifier = to_python(state.classifier).partition("\n\n")
    columns = list(source.data.columns)
    label = "label" if "label" not in columns else "label (ancr)"
    prepares = source.plan.prepares
    options = f"kinds={source.plan.asked!r}, standardize={source.plan.standardize!r}"
    made = f"table_pipeline({classifier}, {options})" if prepares else classifier
    more = "\nfrom ancr import table_pipeline\n" if prepares else "\n"
    values = f'table.drop(columns=["sample", "{label}"])' + ("" if prepares else ".to_numpy()")
    return (
        '"""What the studio answers with, trained on table.csv (Export, Table with labels)."""\n\n'
        f"import pandas as pd\n{more}{imports}\n\n"
        "# An empty cell is a gap; NA and None are names, as of a class.\n"
        f'table = pd.read_csv("table.csv", dtype={{"{label}": str}}, keep_default_na=False, na_values=[""])\n'
        f'table = table.dropna(subset=["{label}"])\n'
        f'X, y = {values}, table["{label}"].to_numpy(dtype=str)\n'
        f"classifier = {made}\n"
        "classifier.fit(X, y)\n"
        'print(f"{classifier.score(X, y):.1%} of the training samples")\n'
    )
