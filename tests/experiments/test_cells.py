"""The file of results: append, read, repair."""

import json

import pytest

from ancr.experiments.cells import CellFile
from tests.experiments.stand_ins import cell


def test_cells_come_back_as_written(tmp_path):
    file = CellFile(tmp_path / "deep" / "cells.jsonl")
    cells = [cell(), cell("SA-CRC", certified=0.5, versions={"numpy": "2"}, platform="Linux")]
    for each in cells:
        file.append(each)
    assert CellFile(file.path).read() == cells


def test_incomplete_last_line_is_removed(tmp_path):
    file = CellFile(tmp_path / "cells.jsonl")
    file.append(cell("CRC"))
    file.append(cell("NRC"))
    content = file.path.read_bytes()
    file.path.write_bytes(content[:-7])
    assert [each.method for each in CellFile(file.path).read()] == ["CRC"]
    assert file.path.read_bytes() == content[: content.index(b"\n") + 1]


def test_lines_of_an_older_and_of_a_newer_release_are_read(tmp_path):
    path = tmp_path / "cells.jsonl"
    CellFile(path).append(cell())
    line = json.loads(path.read_text())
    for later in ("n_train", "before", "certified", "versions", "platform"):
        del line[later]
    path.write_text(json.dumps({**line, "colour": "green"}) + "\n")
    assert CellFile(path).read() == [cell()]


def test_a_line_that_is_not_a_cell_is_named(tmp_path):
    path = tmp_path / "cells.jsonl"
    path.write_text('{"dataset": "usps"}\n')
    with pytest.raises(ValueError, match=r"cells\.jsonl, line 1 is not a cell"):
        CellFile(path).read()
