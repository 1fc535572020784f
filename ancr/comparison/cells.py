"""Results on disk: one line of JSON per cell, appended as soon as the cell is finished and never rewritten."""

import json
import math
import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

# The fields that identify an experiment.
KEY = ("dataset", "features", "setting", "method", "protocol", "draw")


@dataclass(frozen=True)
class Cell:
    """One method on one split. Accuracy is in percent, times in seconds on one thread.

    Attributes
    ----------
    params : dict
        Parameters of the classifier.
    data : str
        Digest of a user's own samples, labels and split; empty for the data sets of the registry.
    origin : str
        Path of a user's own data; empty for the data sets of the registry.
    chosen : dict
        Parameters that the classifier chose itself on the training set.
    before : str
        Preprocessing of the samples; empty if there is none.
    certified : float or None
        Share of the test queries whose code is feasible with a duality gap within tolerance; None for methods
        without a certificate.
    versions : dict
        Versions of Python and of the libraries used.
    platform : str
        Operating system and machine.
    """

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
    n_train: int = 0
    before: str = ""
    data: str = ""
    origin: str = ""
    chosen: dict = field(default_factory=dict, hash=False)
    certified: float | None = None
    versions: dict = field(default_factory=dict, hash=False)
    platform: str = ""

    @property
    def key(self):
        """The fields that identify the experiment, whatever its result."""
        return tuple(getattr(self, name) for name in KEY)


class CellFile:
    """An append-only ``cells.jsonl``.

    Each line is written and flushed at once, so a run that is killed loses at most the cells that were running; an
    incomplete last line is removed when the file is opened again.

    Parameters
    ----------
    path : path-like
        The file; it and its folder are created if they do not exist.
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
        """All cells in the file, in the order in which they finished."""
        if not self.path.exists():
            return []
        lines = self.path.read_bytes().splitlines()
        return [self._parse(number, line) for number, line in enumerate(lines, start=1)]

    def _parse(self, number, line):
        try:
            values = json.loads(line)
            # A later release may add fields; unknown fields are ignored.
            known = [each for each in fields(Cell) if each.name in values]
            for each in known:
                _check_field(each, values[each.name])
            return Cell(**{each.name: values[each.name] for each in known})
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            reason = str(error).replace("Cell.__init__() ", "")
            raise ValueError(
                f"{self.path}, line {number} is not a cell: {reason}. Remove that line and run again"
            ) from None

    def append(self, cell):
        """Append one cell as one line."""
        line = (json.dumps(asdict(cell), sort_keys=True) + "\n").encode()
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            while line:  # the system may write less than asked for
                line = line[os.write(descriptor, line) :]
            os.fsync(descriptor)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(self.path)) from error
        finally:
            os.close(descriptor)


def _check_field(each, value):
    """Raise a ValueError if a value is not of the type of its field; a number must be finite."""
    number = isinstance(value, float | int) and not isinstance(value, bool)
    if number and not math.isfinite(value):
        raise ValueError(f"{each.name} is {value}")
    if not (isinstance(value, each.type) or (number and isinstance(float(value), each.type))):
        expected = getattr(each.type, "__name__", "a number")
        raise ValueError(f"{each.name} is {str(value)[:40]!r}, but expected {expected}")


def refuse_other_data(sources, output):
    """Raise a ValueError if a folder holds results on other data, whose report would be replaced."""
    path = output / "cells.jsonl"
    cells = CellFile(path).read() if path.exists() else []
    own = any(each.digest for each in sources)
    # The paper's data sets may share a folder: `reproduce` shows those that it is asked for and keeps all cells.
    foreign = {
        cell.dataset: cell.origin
        for cell in cells
        if (own or cell.data) and not any(_is_of(cell, each) for each in sources)
    }
    if foreign:
        names = ", ".join(f"{name} ({origin})" if origin else name for name, origin in sorted(foreign.items()))
        raise ValueError(
            f"{output} holds results on {names}, and their report would be replaced; choose another folder "
            "with --output"
        )


def _is_of(cell, source):
    """Whether a cell is on the data of a source: the same file, even if changed, or the same content elsewhere."""
    if cell.dataset != source.name or bool(cell.data) != bool(source.digest):
        return False
    return cell.data == source.digest or cell.origin in ("", source.origin)
