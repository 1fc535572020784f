"""Commands killed at random points: earlier results are kept, the next run finishes the work, and nothing is left."""

import os
import random
import shlex
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from tests.campaign.kills import COMMANDS, STUBS, make_folder
from tests.components import component

# Kills of each command; the campaign asks for more.
KILLS = int(os.environ.get("ANCR_KILLS", "2"))


def cases():
    """One command in every run; the others take longer, and `extract` needs torch."""
    for command in COMMANDS:
        yield pytest.param(command, id=command.name, marks=[] if command.name == "predict" else [pytest.mark.all])


@pytest.fixture
def folder(tmp_path):
    make_folder(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    stubs = tmp_path_factory.mktemp("stubs")
    for name, source in STUBS.items():
        (stubs / name).parent.mkdir(exist_ok=True)
        (stubs / name).write_text(textwrap.dedent(source))
    path = os.pathsep.join([str(stubs), *filter(None, sys.path)])
    return {**os.environ, "PYTHONPATH": path, "ANCR_DATA": str(stubs / "no-data"), "ANCR_NUM_THREADS": "1"}


def run(command, folder, environment):
    """Start a command in a session of its own, so that a kill reaches its processes too."""
    arguments = [sys.executable, "-m", "ancr", *shlex.split(command.arguments)]
    return subprocess.Popen(
        arguments,
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finish(command, folder, environment):
    process = run(command, folder, environment)
    errors = process.communicate()[1].decode()
    assert process.returncode == 0, errors


def kill_after(seconds, process):
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def contents(folder):
    """Every file, by its path in the folder."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def drafts(folder):
    return [path for path in folder.rglob("*") if "draft" in path.name or path.name.startswith("tmp")]


def assert_kept(command, before, after):
    """Whatever a kill has interrupted: inputs and finished results are as they were, finished cells are still there."""
    for path, content in before.items():
        if command.resumes and path.name == "cells.jsonl":
            whole = content[: content.rfind(b"\n") + 1]
            assert after[path].startswith(whole), path
        elif not command.resumes and "draft" not in path.name:
            assert after[path] == content, path


@pytest.mark.parametrize("command", list(cases()))
def test_kills(command, folder, environment):
    if command.name == "extract":
        component("torch")
    chance = random.Random(command.name)
    start = time.perf_counter()
    finish(command, folder, environment)
    duration, expected = time.perf_counter() - start, command.result(folder)
    command.forget(folder)
    for _ in range(KILLS):
        before = contents(folder)
        # Mostly in the later part, where files are written; imports take the first.
        kill_after(chance.triangular(0.0, 1.05, 0.9) * duration, run(command, folder, environment))
        assert_kept(command, before, contents(folder))
    finish(command, folder, environment)
    assert command.result(folder) == expected
    assert drafts(folder) == []
