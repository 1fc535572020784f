"""What leaves a studio: labels and the model."""

import csv
import io

from ancr._core.spreadsheet import harmless
from ancr.classifiers.settings import changed
from ancr.samples.model_file import Model
from ancr.studio.actions import ActionError
from ancr.studio.recogniser import Recogniser
from ancr.studio.state import State


def labels_csv(state: State, raw: bool = False) -> str:
    """All samples with a label or a decision: name, label, where it came from, whether it is used, and its identity.

    Text that a spreadsheet would run as a formula gets an apostrophe in front, unless ``raw``.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["sample", "label", "given", "status", "id"])
    for index, name in enumerate(state.names):
        if status := state.status(index):
            row = [name, state.labels[index] or "", state.given[index] or "", status, state.ids[index]]
            writer.writerow(row if raw else [harmless(text) for text in row])
    return file.getvalue()


def model(recogniser: Recogniser) -> Model:
    """The model of the labels of this moment, for ``ancr predict``."""
    data, snapshot = recogniser.source.data, recogniser.snapshot()
    if snapshot.n_classes < 2:
        raise ActionError("Label samples of at least two classes first; then there is a model.")
    temperature = recogniser.temperature(snapshot.classifier)
    labelled = data.take(snapshot.members).with_labels(snapshot.labels)
    return Model.of(changed(snapshot.classifier, {"temperature": temperature}), labelled, recogniser.source.plan)
