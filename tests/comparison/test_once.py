"""A comparison asks for everything once: data, results of an earlier run, folds, answers, figures."""

import subprocess
import sys
from collections import Counter

import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold

import ancr
from ancr.comparison import cells, comparison_page, split_sources, verdict
from ancr.comparison.cells import Answers
from tests.command_line import invoke

METHODS, FOLDS = "kNN,sklearn.naive_bayes:GaussianNB", 3


@pytest.fixture
def calls(monkeypatch):
    """How often each function was called; ``calls.watch(owner, name)`` starts to count."""

    class Calls(Counter):
        def watch(self, owner, name):
            original = getattr(owner, name)

            def counted(*arguments, **options):
                self[name] += 1
                return original(*arguments, **options)

            monkeypatch.setattr(owner, name, counted)

    return Calls()


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "iris.csv"
    load_iris(as_frame=True).frame.to_csv(path, index=False)
    return path


def compared(iris, tmp_path):
    options = ["--label", "target", "--folds", FOLDS, "--methods", METHODS, "--jobs", "1", "-o", tmp_path / "out"]
    result = invoke(["compare", iris, *map(str, options)])
    assert result.exit_code == 0, result.output


def test_folds_are_computed_once_for_all_cells(calls):
    calls.watch(StratifiedKFold, "split")
    calls.watch(split_sources.UserSource, "indices")
    comparison = ancr.compare(*load_iris(return_X_y=True), ["CRC"], protocols="paper", folds=FOLDS, repeats=2, jobs=1)
    assert len(comparison.cells) == 2 * FOLDS
    assert len(comparison.learning) == 3 * 2 * FOLDS
    assert calls == {"split": 2, "indices": 4 * 2 * FOLDS}  # a division per repeat, and a look per cell


def test_every_chart_and_the_answer_are_made_once(calls, iris, tmp_path):
    charts = ["accuracy_chart", "confusion_chart", "calibration_chart", "learning_chart"]
    for name in charts:
        calls.watch(comparison_page, name)
    calls.watch(verdict, "make_verdict")
    compared(iris, tmp_path)
    assert calls == dict.fromkeys([*charts, "make_verdict"], 1)
    assert len(list((tmp_path / "out" / "figures").glob("*.svg"))) == len(charts)


def test_earlier_results_and_answers_are_read_once(calls, monkeypatch, iris, tmp_path):
    compared(iris, tmp_path)
    read = Answers.read
    monkeypatch.setattr(Answers, "read", lambda path: calls.update(["read"]) or read(path))
    calls.watch(cells, "open_results")
    calls.watch(cells.CellFile, "__init__")
    compared(iris, tmp_path)
    assert calls == {"open_results": 1, "__init__": 1, "read": 2 * FOLDS}


OPENED = """
import sys
opened = []


def note(event, what):
    if event == "open" and str(what[0]).endswith("iris.csv"):
        opened.append(1)


sys.addaudithook(note)
from ancr.cli import main
try:
    main()
finally:
    print("opened", len(opened), file=sys.stderr)
"""


def test_the_file_is_opened_once(iris, tmp_path):
    options = ["--label", "target", "--folds", "2", "--methods", METHODS, "--no-figures", "-o", str(tmp_path)]
    command = [sys.executable, "-c", OPENED, "compare", str(iris), *options]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stderr.splitlines()[-1] == "opened 1"
