"""Results on disk: one line of JSON a cell, appended as soon as it is known and never rewritten."""

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path

# What makes two cells the same experiment.
KEY = ("dataset", "features", "setting", "method", "protocol", "draw")


@dataclass(frozen=True)
class Cell:
    """One method on one split. Accuracy is in percent, times in seconds."""

    dataset: str
    features: str
    setting: str
    method: str
    protocol: str
    draw: int
    seed: int
    params: dict = field(hash=False)
    accuracy: float
    n_test: int
    fit_s: float
    predict_s: float

    @property
    def key(self):
        """What identifies the experiment, whatever its outcome."""
        return tuple(getattr(self, name) for name in KEY)


class CellFile:
    """An append-only ``cells.jsonl``.

    A line is written and flushed whole, so a run that is killed loses at most the cell in flight; a torn last line
    is cut off when the file is opened again.
    """

    def __init__(self, path):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._repair()

    def _repair(self):
        if not self.path.exists():
            return
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with open(self.path, "r+b") as file:
                file.truncate(len(whole))

    def read(self):
        """All cells in the file, in the order they were found."""
        if not self.path.exists():
            return []
        lines = self.path.read_text(encoding="utf-8").splitlines()
        return [Cell(**json.loads(line)) for line in lines]

    def append(self, cell):
        """Add one cell."""
        line = json.dumps(asdict(cell), sort_keys=True) + "\n"
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
