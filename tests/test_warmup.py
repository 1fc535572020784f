"""``ancr warmup``, and the message of the first call on a terminal."""

import io
import sys
from types import SimpleNamespace

import pytest

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
    assert len(steps) == 9
    assert second < max(first, 5.0)


def test_the_command_names_its_steps():
    result = invoke(["warmup"])
    assert result.exit_code == 0, result.output
    assert "the exact solver" in result.stdout
    assert result.stdout.splitlines()[-1].endswith("in all; the next start of Python reads this from the cache")
