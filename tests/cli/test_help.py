"""The example in every command's help runs, as printed."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from ancr.cli import main
from tests.datasets import trees


def example(command):
    """Command lines under ``Example`` in a help text."""
    text = command.get_help(click.Context(command, info_name=command.name))
    return re.findall(r"^ {4}((?:ancr|python) .*)$", text.partition("Example")[2], flags=re.MULTILINE)


def run(line, folder):
    """A line of an example, by this interpreter's own ``ancr`` and ``python``."""
    words = shlex.split(line)
    words = [sys.executable, *(["-m", "ancr"] if words[0] == "ancr" else []), *words[1:]]
    # A data home of its own: an example must not depend on what lies on this machine.
    environment = {**os.environ, "ANCR_CACHE": str(folder / "cache")}
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("name", [None, *main.commands])
def test_every_command_has_an_example(name):
    assert example(main.commands[name] if name else main)


@pytest.mark.parametrize("name", [None, *sorted(set(main.commands) - {"fetch", "extract", "studio"})])
def test_example_runs(name, tmp_path):
    for line in example(main.commands[name] if name else main):
        result = run(line, tmp_path)
        assert result.returncode == 0, result.stderr
        assert not re.search("Traceback|Warning", result.stderr)


def test_example_of_fetch_says_what_it_could_not_reach_or_fetches(tmp_path):
    """It needs the network: with it the files are there afterwards, without it the error is one line."""
    (line,) = example(main.commands["fetch"])
    result = run(f"{line}", tmp_path)
    if result.returncode:
        assert result.stderr.startswith("Error: ")
        assert "Traceback" not in result.stderr
    else:
        assert (tmp_path / "data" / "usps" / "zip.train.gz").is_file()


@pytest.mark.all
def test_example_of_extract_runs_with_a_random_network(tmp_path):
    from tests.components import component

    component("timm")
    for seed, name in enumerate(["cat/1.jpg", "cat/2.jpg", "dog/1.jpg"]):
        trees.write_image(Path(tmp_path) / "photos" / name, seed)
    (line,) = example(main.commands["extract"])
    result = run(f"{line} --weights none", tmp_path)  # the published weights would need the network
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "photos.npz").is_file()
