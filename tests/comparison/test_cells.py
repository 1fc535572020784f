"""The file of results: append, read, repair."""

import errno
import json
import os

import pytest

from ancr.comparison.cells import CellFile
from tests.comparison.stand_ins import cell


def test_cells_come_back_as_written(tmp_path):
    file = CellFile(tmp_path / "deep" / "cells.jsonl")
    cells = [cell(), cell("SA-CRC", certified=0.5, versions={"numpy": "2"}, platform="Linux")]
    for each in cells:
        file.append(each)
    assert CellFile(file.path).cells == cells


def test_incomplete_last_line_is_removed(tmp_path):
    file = CellFile(tmp_path / "cells.jsonl")
    file.append(cell("CRC"))
    file.append(cell("NRC"))
    content = file.path.read_bytes()
    file.path.write_bytes(content[:-7])
    assert [each.key.method for each in CellFile(file.path).cells] == ["CRC"]
    assert file.path.read_bytes() == content[: content.index(b"\n") + 1]


def test_lines_of_an_older_and_of_a_newer_release_are_read(tmp_path):
    path = tmp_path / "cells.jsonl"
    CellFile(path).append(cell())
    line = json.loads(path.read_text())
    for later in ("n_train", "before", "certified", "versions", "platform"):
        del line[later]
    path.write_text(json.dumps({**line, "colour": "green"}) + "\n")
    assert CellFile(path).cells == [cell()]


def test_a_line_that_is_not_a_cell_is_named(tmp_path):
    path = tmp_path / "cells.jsonl"
    path.write_text('{"dataset": "usps"}\n')
    with pytest.raises(ValueError, match=r"cells\.jsonl, line 1 is not a cell"):
        CellFile(path)


def test_short_writes_are_finished(tmp_path, monkeypatch):
    file, write = CellFile(tmp_path / "cells.jsonl"), os.write
    monkeypatch.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:10]))
    file.append(cell())
    assert CellFile(file.path).cells == [cell()]


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def full(descriptor, line):
        raise OSError(errno.ENOSPC, "No space left on device")

    file = CellFile(tmp_path / "cells.jsonl")
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*cells\.jsonl'"):
        file.append(cell())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("accuracy", "high", "accuracy is 'high', but expected float"),
        ("accuracy", float("nan"), "accuracy is nan"),
        ("draw", 1.5, "draw is '1.5', but expected int"),
        ("certified", [], r"certified is '\[\]', but expected"),
    ],
)
def test_values_of_the_wrong_kind_are_named_by_line(tmp_path, name, value, message):
    path = tmp_path / "cells.jsonl"
    CellFile(path).append(cell())
    line = json.loads(path.read_text())
    with path.open("a") as file:
        file.write(json.dumps({**line, name: value}) + "\n")
    with pytest.raises(ValueError, match=rf"line 2 is not a cell: {message}.*Remove that line"):
        CellFile(path)


def test_whole_numbers_are_numbers(tmp_path):
    path = tmp_path / "cells.jsonl"
    CellFile(path).append(cell(accuracy=90, certified=1))
    assert CellFile(path).cells[0].measured.accuracy == 90
