"""``ancr warmup``, and the message of the first call on a terminal."""

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import ancr
from ancr._core import array_kernels, compiling
from ancr.classifiers.warmup import warm_up
from tests.command_line import invoke


class Terminal(io.StringIO):
    def isatty(self):
        return True


def compilation(function):
    return SimpleNamespace(data={"dispatcher": SimpleNamespace(py_func=function)})


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()], ids=["terminal", "file"])
def test_a_terminal_is_told_once_that_we_compile(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    announcer = compiling._Announcer()
    announcer.on_start(compilation(test_a_terminal_is_told_once_that_we_compile))  # not ours
    assert stream.getvalue() == ""
    for _ in range(2):
        announcer.on_start(compilation(array_kernels.project_simplex_rows.py_func))
    lines = stream.getvalue().splitlines()
    assert len(lines) == (1 if stream.isatty() else 0)
    assert all("`ancr warmup`" in line for line in lines)


def test_a_second_warm_up_is_quick():
    first, steps = warm_up(), []
    second = warm_up(lambda name, seconds: steps.append(name))
    assert len(steps) == 10
    assert second < max(first, 5.0)


def test_the_command_names_its_steps():
    result = invoke(["warmup"])
    assert result.exit_code == 0, result.output
    assert "the exact solver" in result.stdout
    assert result.stdout.splitlines()[-1].endswith("in all; the next start of Python reads this from the cache")


# Permissions do not bind root. So Numba's own check for a folder that can be written passes only paths with a word.
READ_ONLY = """
import sys
from numba.core import caching
check = caching._CacheLocator.ensure_cache_path
def ensure_cache_path(self):
    if not (sys.argv[1] and sys.argv[1] in self.get_cache_path()):
        raise OSError(30, "Read-only file system")
    check(self)
caching._CacheLocator.ensure_cache_path = ensure_cache_path
import numpy as np
from ancr._core import array_kernels, compiling
from ancr.solvers import sparse_kernels
from ancr.solvers.working_set import host_kernels
kernel = array_kernels._raised
print(kernel(np.array([0.5, 0.75]), 1.0, 0.6), sum(kernel.stats.cache_hits.values()), compiling.is_kept())
"""


@pytest.fixture
def start(tmp_path):
    """Function to start Python on a fresh copy of the package; gives the answer, hits in the cache, if it is kept."""
    shutil.copytree(Path(ancr.__file__).parent, tmp_path / "ancr", ignore=shutil.ignore_patterns("__pycache__"))
    places = {"HOME": tmp_path / "home", "ANCR_CACHE": tmp_path / "home", "TMPDIR": tmp_path, "PYTHONPATH": tmp_path}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}

    def run(may_write="", first=""):
        done = subprocess.run(
            [sys.executable, "-c", f"{first}\n{READ_ONLY}", may_write],
            env=inherited | {name: str(place) for name, place in places.items()},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip(), done.stderr.splitlines()

    return run


def test_nothing_can_be_written(start):
    answer, lines = start()
    assert answer == "(1, -0.25) 0 False"
    (line,) = lines
    assert line.startswith("ancr: compiled code cannot be kept")
    assert "NUMBA_CACHE_DIR" in line
    # An image that was warmed up and is then run read-only reads what is there, and has nothing to say.
    assert start("__pycache__") == ("(1, -0.25) 0 True", [])
    assert start() == ("(1, -0.25) 1 True", [])


@pytest.mark.skipif(sys.platform != "linux", reason="a full disk is made by a limit of Linux")
def test_a_full_disk_keeps_nothing_and_stops_nothing(start):
    # An index fits into 600 bytes, the code does not.
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (600, -1))"
    assert start("__pycache__", full) == ("(1, -0.25) 0 False", [])
    assert start("__pycache__") == ("(1, -0.25) 0 True", [])
    assert start("__pycache__") == ("(1, -0.25) 1 True", [])


@pytest.mark.all
def test_a_temporary_folder_serves_as_a_cache(start):
    assert start("ancr-kernels-") == ("(1, -0.25) 0 True", [])
    assert start("ancr-kernels-") == ("(1, -0.25) 1 True", [])


def test_a_temporary_folder_that_others_can_write_is_not_used(tmp_path, monkeypatch):
    """They may have put code there."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert [folder.parent for folder in compiling._spare_folders()][1:] == [tmp_path]
    (folder,) = tmp_path.iterdir()
    folder.chmod(0o770)
    assert len(list(compiling._spare_folders())) == 1
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    assert len(list(compiling._spare_folders())) == 1
