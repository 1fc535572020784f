"""Every bad input is answered by one line that says what is wrong, and leaves nothing behind."""

import os
import shlex
from functools import cache

import numpy as np
import pytest

from tests.campaign.bad_calls import BAD_CALLS
from tests.campaign.bad_inputs import BAD_INPUTS, GOOD, NEW, model, npz, png
from tests.command_line import invoke

made = cache(lambda make: make())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with good data, an old answer in ``out.csv``, and a model."""
    from PIL import Image

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANCR_DATA", str(tmp_path / "no-data"))
    monkeypatch.setenv("ANCR_CACHE", str(tmp_path / "no-cache"))
    (tmp_path / "good.csv").write_text(GOOD)
    (tmp_path / "new.csv").write_text(NEW)
    (tmp_path / "good.npz").write_bytes(npz(X=np.eye(4), y=np.arange(4) % 2))
    (tmp_path / "model.npz").write_bytes(model())
    (tmp_path / "bomb.png").write_bytes(png(50_000, 50_000))
    for label in "xy":
        (tmp_path / "photos" / label).mkdir(parents=True)
        Image.new("L", (8, 8), ord(label)).save(tmp_path / "photos" / label / "0.png")
    return tmp_path


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = made(content) if callable(content) else content
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def contents(folder):
    files = [os.path.join(root, name) for root, _, names in os.walk(folder) for name in names]
    return {file: (os.path.getsize(file), os.stat(file).st_mtime_ns) for file in files}


@pytest.mark.parametrize("bad", BAD_INPUTS, ids=lambda bad: bad.name)
def test_one_line_and_nothing_else(bad, folder):
    write(folder, bad.files)
    before = contents(folder)
    result = invoke(shlex.split(bad.command, posix="{" not in bad.command))
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == bad.exit_code
    assert bad.answer in result.stderr
    lines = [line for line in result.stderr.splitlines() if not line.startswith("warning: ")]
    if bad.exit_code == 2:
        assert lines[0].startswith("Usage: ")
    else:
        assert len(lines) == 1, lines
        assert lines[0].startswith("Error: ")
        assert len(lines[0]) < 1000
    assert result.stdout == ""
    assert contents(folder) == before


@pytest.mark.parametrize("bad", BAD_CALLS, ids=lambda bad: bad.name)
def test_one_exception_that_names_the_argument(bad):
    with pytest.raises(bad.error) as raised:
        bad.call()
    first, *others = str(raised.value).splitlines()
    assert bad.answer in first
    assert bad.by_sklearn or not others


def test_names_are_unique_and_many():
    assert len({bad.name for bad in BAD_INPUTS}) == len(BAD_INPUTS) >= 150
    assert len({bad.name for bad in BAD_CALLS}) == len(BAD_CALLS) >= 60
