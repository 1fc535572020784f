"""What leaves the studio: labels as CSV, and the model for ``ancr predict``."""

import csv
import io
from typing import TYPE_CHECKING

import numpy as np

from ancr._core.spreadsheet import harmless
from ancr.classifiers.settings import changed
from ancr.samples.model_file import Model

if TYPE_CHECKING:
    from ancr.studio.workbench import Studio


def labels_csv(studio: "Studio", raw: bool = False) -> str:
    """All samples with a label or a decision: name, label, where it came from, whether it is used.

    Text that a spreadsheet would run as a formula gets an apostrophe in front, unless ``raw``.
    """
    state, file = studio.state, io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["sample", "label", "given", "status"])
    for index, name in enumerate(state.names):
        label, given = state.labels[index], state.given[index]
        status: str | None
        if index in state.excluded:
            status = "excluded"
        elif label is None:
            status = "skipped" if index in state.skipped else None
        else:
            status = "given" if label == given else "labelled" if given is None else "corrected"
        if status is not None:
            row = [name, label or "", given or "", status]
            writer.writerow(row if raw else [harmless(text) for text in row])
    return file.getvalue()


def trained_model(studio: "Studio") -> Model:
    """The model of the labels of this moment, as `ancr.samples.model_file.Model`."""
    source, snapshot = studio.source, studio.recogniser.snapshot()
    if snapshot.n_classes < 2:
        raise ValueError("Label samples of at least two classes first; then there is a model.")
    return Model(
        changed(snapshot.classifier, {"temperature": studio.recogniser.temperature(snapshot.classifier)}),
        snapshot.vectors_as_given(),
        np.asarray(snapshot.labels, dtype=str),
        source.data.names[snapshot.members],
        features=source.data.features,
        plan=source.plan,
    )
