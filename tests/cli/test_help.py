"""The example in every command's help runs, as printed."""

import os
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from ancr.cli import main
from ancr.cli.options import readable_errors
from tests.command_line import invoke
from tests.datasets import trees


def example(command):
    """Command lines under ``Example`` in a help text."""
    text = command.get_help(click.Context(command, info_name=command.name))
    return re.findall(r"^ {4}((?:ancr|python) .*)$", text.partition("Example")[2], flags=re.MULTILINE)


def run(line, folder):
    """A line of an example in a process of its own, by this interpreter's own ``ancr`` and ``python``."""
    words = shlex.split(line)
    words = [sys.executable, *(["-m", "ancr"] if words[0] == "ancr" else []), *words[1:]]
    # A data home of its own: an example must not depend on what lies on this machine.
    environment = {**os.environ, "ANCR_CACHE": str(folder / "cache")}
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize("name", [None, *main.commands])
def test_every_command_has_an_example(name):
    assert example(main.commands[name] if name else main)


def run_here(line):
    """A line of an example inside this process: what it prints and warns of, as `run` gives them."""
    words = shlex.split(line)
    if words[:2] == ["python", "-c"]:
        exec(words[2], {})
        return SimpleNamespace(returncode=0, stderr="")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for hidden in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", hidden)  # as a process hides them
        result = invoke(words[1:])
    told = "".join(f"{warning.category.__name__}: {warning.message}\n" for warning in seen)
    return SimpleNamespace(returncode=result.exit_code, stderr=result.stderr + told)


def test_the_first_example_runs(tmp_path):
    for line in example(main):
        result = run(line, tmp_path)
        assert result.returncode == 0, result.stderr
        assert not re.search("Traceback|Warning", result.stderr)


@pytest.mark.parametrize("name", sorted(set(main.commands) - {"fetch", "extract", "studio", "serve"}))
def test_example_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANCR_CACHE", str(tmp_path / "cache"))
    for line in example(main.commands[name]):
        result = run_here(line)
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


@pytest.mark.parametrize(
    ("warning", "said"),
    [
        ("[Errno 30] Read-only file system.  joblib will operate in serial mode", ""),
        ("2 files\nare damaged", "warning: 2 files are damaged\n"),
    ],
)
def test_warnings_are_lines_and_those_of_processes_that_are_not_used_are_none(warning, said, capsys):
    with readable_errors():
        warnings.warn(warning, UserWarning, stacklevel=1)
    assert capsys.readouterr().err == said
