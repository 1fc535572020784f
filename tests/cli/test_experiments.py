"""``ancr reproduce`` and ``ancr compare``, as a user calls them."""

import json
import os
import shlex
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

from ancr.cli.options import readable_errors
from tests.command_line import invoke
from tests.datasets import trees


def ancr(*arguments):
    return invoke(arguments)


def cells(folder):
    return [json.loads(line) for line in (folder / "cells.jsonl").read_text().splitlines()]


@pytest.fixture(scope="session")
def wine(tmp_path_factory):
    path = tmp_path_factory.mktemp("wine") / "wine.csv"
    load_wine(as_frame=True).frame.to_csv(path, index=False)
    return path


def test_reproduce_says_first_where_the_report_will_be(tmp_path):
    result = ancr("reproduce", "digits", "--draws", 1, "--methods", "CRC,ANCR", "--no-figures", "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert result.output.startswith(f"The report will be written to {tmp_path / 'report.html'}")
    assert (tmp_path / "report.html").is_file()
    assert {path.suffix for path in (tmp_path / "tables").iterdir()} == {".md", ".csv", ".tex"}
    found = cells(tmp_path)
    assert {(cell["method"], cell["protocol"]) for cell in found} == {
        ("CRC", "paper"), ("ANCR", "paper"), ("ANCR", "exact")
    }  # fmt: skip
    assert {cell["setting"] for cell in found} == {"N=10", "N=20", "N=50", "N=100"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mnist"], "'mnist' is not one of the data sets digits, ar, usps, stanford40, cub200, aircraft, cars"),
        (["digits", "--methods", "CRC,XYZ"], "--methods XYZ: no such method here; choose from "),
        (["digits", "--protocol", "oracle"], "--protocol 'oracle' is unknown; choose from paper, exact, cv"),
        (["digits", "--draws", "0"], "--draws"),
        (["aircraft", "--data-home", "/nowhere"], "features='efficientnet_lite0' of FGVC-Aircraft not found"),
        (["ar", "--data-home", "/nowhere"], "ar/AR_DAT.mat not found"),
    ],
)
def test_reproduce_bad_input_is_one_line(tmp_path, arguments, message):
    result = ancr("reproduce", *arguments, "-o", tmp_path / "results")
    assert result.exit_code != 0
    assert message in result.output
    assert not (tmp_path / "results" / "cells.jsonl").exists()


def test_reproduce_without_a_name_takes_what_is_there(tmp_path, monkeypatch):
    monkeypatch.setenv("ANCR_DATA", str(tmp_path))
    result = ancr("reproduce", "--data-home", tmp_path, "--methods", "CRC", "--no-figures", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "usps: not found, skipped; `ancr fetch usps` downloads it" in result.output
    assert {cell["dataset"] for cell in cells(tmp_path / "out")} == {"digits"}


def test_compare_wine(tmp_path, wine):
    result = ancr("compare", wine, "--label", "target", "--methods", "CRC,ANCR", "-o", tmp_path)
    assert result.exit_code == 0, result.output
    found = [
        cell
        for cell in cells(tmp_path)
        if (cell["method"], cell["protocol"], cell["setting"]) == ("ANCR", "cv", "5 folds")
    ]
    assert len(found) == 5
    assert np.mean([cell["accuracy"] for cell in found]) > 90  # standardized, since its columns have units
    assert sum(cell["n_test"] for cell in found) == 178
    page = (tmp_path / "report.html").read_text()
    assert "Comparison on wine" in page
    assert page.count("<figure ") == 4
    assert page.index("How sure") < page.index("How long") < page.index("What next") < page.index("<table")
    assert {path.name for path in (tmp_path / "figures").iterdir()} >= {"accuracy.svg", "learning.csv"}


def test_compare_leaves_out_the_row_numbers_that_pandas_writes(tmp_path):
    path = tmp_path / "wine.csv"
    load_wine(as_frame=True).frame.to_csv(path)  # sorted by class: the index would give the label away
    result = ancr("compare", path, "--methods", "CRC", "--no-standardize", "--no-figures", "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert "taken as row numbers and left out" in result.output


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """Two classes that pixels can tell apart: random images of their own brightness."""
    from PIL import Image

    root, rng = tmp_path_factory.mktemp("images") / "photos", np.random.default_rng(0)
    for label, offset in (("dark", 0), ("striped", 120)):
        for number in range(8):
            pixels = rng.integers(0, 100, (40, 30, 3)).astype(np.uint8)
            pixels[::4] += np.uint8(offset)
            path = root / label / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path)
    return root


def test_compare_image_folder(tmp_path, photos):
    result = ancr("compare", photos, "--folds", 4, "--methods", "CRC,ANCR", "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert {cell["features"] for cell in cells(tmp_path)} == {"hog"}
    assert {cell["setting"] for cell in cells(tmp_path)} >= {"4 folds", "4 folds, 20% of the training part"}


@pytest.mark.parametrize(("data", "options"), [("wine", ["--no-standardize"]), ("photos", ["--features", "pixels"])])
def test_the_training_that_a_comparison_proposes_is_of_what_was_measured(data, options, request, tmp_path):
    path = request.getfixturevalue(data)
    result = ancr("compare", path, *options, "--methods", "CRC", "--folds", 3, "--no-figures", "-o", tmp_path)
    command = shlex.split(result.output[result.output.index("ancr train") :].splitlines()[0])
    assert " ".join(options) in " ".join(command)
    trained = ancr(*command[1:-1], tmp_path / "model.npz")
    assert trained.exit_code == 0, trained.output


def test_compare_takes_the_split_of_a_file(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 20)
    path = tmp_path / "own.npz"
    np.savez(path, X=rng.standard_normal((40, 5)) + labels[:, None], y=labels, is_train=np.arange(40) % 2 == 0)
    result = ancr("compare", path, "--methods", "CRC", "--no-figures", "-o", tmp_path)
    assert result.exit_code == 0, result.output
    (cell,) = cells(tmp_path)
    assert (cell["setting"], cell["n_train"], cell["n_test"]) == ("given split", 20, 20)


BAD = {
    "empty.csv": ("", "empty.csv is empty"),
    "header.csv": ("a,b,target\n", "header.csv has a header but no rows"),
    "one.csv": ("a,b,target\n1,2,x\n3,4,x\n", "holds 1 class: 'x', but at least two are needed"),
    "prose.csv": ("Once upon a time.\nThere was, they say,\na king, a queen, and more,\n", "prose.csv"),
    "words.csv": ("a,target\n1,x\nblue,y\n", "row 2 (line 3), column 'a': 'blue' is not a number"),
    "prose.txt": ("Once upon a time", "prose.txt has no label by a usual name"),
    "prose.doc": ("Once upon a time", "ends in '.doc', but expected"),
    "holes.csv": ("a,target\n,x\n,x\n,y\n,y\n", "has no column to learn from; left out: a (empty)"),
    "few.csv": ("a,b,target\n1,2,x\n3,4,x\n5,6,y\n", "class 'y' has only 1 sample, which cannot be trained on and"),
    "bytes.npz": ("not an archive", "bytes.npz"),
}


@pytest.mark.parametrize("name", BAD)
def test_compare_bad_file_is_one_clear_line(tmp_path, name):
    content, message = BAD[name]
    (tmp_path / name).write_text(content)
    result = ancr("compare", tmp_path / name, "-o", tmp_path / "out")
    assert result.exit_code == 1
    errors = [line for line in result.output.splitlines() if line]
    assert len(errors) == 1
    assert errors[0].startswith("Error: ")
    assert message in errors[0]


def test_compare_wrong_label_column_names_those_there_are(tmp_path, wine):
    result = ancr("compare", wine, "--label", "grape", "-o", tmp_path)
    assert result.exit_code == 1
    assert result.output.startswith("Error: label 'grape' is not in wine.csv, which has alcohol, ")
    missing = ancr("compare", Path("nowhere.csv"), "-o", tmp_path)
    assert missing.output == "Error: nowhere.csv does not exist\n"


def test_compare_folder_with_one_class(tmp_path):
    trees.write_image(tmp_path / "photos" / "cat" / "1.jpg")
    result = ancr("compare", tmp_path / "photos", "-o", tmp_path / "out")
    assert result.exit_code == 1
    assert "holds 1 class: 'cat'" in result.output


def test_a_changed_file_of_the_same_name_is_computed_again(tmp_path):
    frame = load_wine(as_frame=True).frame
    path, options = tmp_path / "mine.csv", ("--methods", "CRC", "--no-figures", "-o", tmp_path / "out")
    frame.to_csv(path, index=False)
    assert ancr("compare", path, "--label", "target", *options).exit_code == 0
    frame["target"] = frame["target"].sample(frac=1, random_state=0).to_numpy()
    frame.to_csv(path, index=False)
    assert ancr("compare", path, "--label", "target", *options).exit_code == 0
    found = cells(tmp_path / "out")
    first, second = ([cell["accuracy"] for cell in found if cell["data"] == each] for each in _digests(found))
    assert len(first) == len(second) == 5
    assert sum(first) > sum(second) + 100
    assert ancr("compare", path, "--label", "target", *options).exit_code == 0
    assert len(cells(tmp_path / "out")) == 10


def _digests(found):
    return list(dict.fromkeys(cell["data"] for cell in found))


def test_compare_can_choose_settings_on_the_training_folds(wine, tmp_path):
    result = ancr("compare", wine, "--protocol", "cv", "--methods", "ANCR", "--no-figures", "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert {cell["protocol"] for cell in cells(tmp_path)} == {"cv"}
    assert all("alpha" in cell["chosen"] for cell in cells(tmp_path))


def test_compare_has_a_folder_per_data_set_and_never_replaces_another(tmp_path, wine, monkeypatch):
    monkeypatch.chdir(tmp_path)
    other = tmp_path / "other" / "wine.csv"
    other.parent.mkdir()
    load_wine(as_frame=True).frame.iloc[::2].to_csv(other, index=False)
    options = ("--methods", "CRC", "--no-figures")
    assert ancr("compare", wine, *options).exit_code == 0
    page = tmp_path / "results" / "wine" / "report.html"
    first = page.read_bytes()
    refused = ancr("compare", other, *options)
    assert refused.exit_code == 1
    assert refused.stderr == (
        f"Error: results/wine holds results on wine ({wine}), and their report would be replaced; "
        "choose another folder with --output\n"
    )
    assert page.read_bytes() == first
    assert ancr("compare", other, *options, "-o", "results/other").exit_code == 0
    # The same data at another place is the same data.
    copy = tmp_path / "copy" / "wine.csv"
    copy.parent.mkdir()
    copy.write_bytes(wine.read_bytes())
    assert ancr("compare", copy, *options).exit_code == 0
    assert len(cells(page.parent)) == 5


def test_cells_that_a_report_leaves_out_are_counted(tmp_path, wine):
    assert ancr("compare", wine, "--methods", "CRC,NSC", "--no-figures", "-o", tmp_path).exit_code == 0
    result = ancr("compare", wine, "--methods", "CRC", "--no-figures", "-o", tmp_path)
    assert "5 further cells in cells.jsonl, of other methods or settings, are not shown." in result.stderr


def test_a_failing_figure_is_shown_as_failed(tmp_path, wine, monkeypatch):
    from ancr.comparison import comparison_page

    def fail(comparison):
        raise ZeroDivisionError("<b>by\nnothing</b>")

    monkeypatch.setattr(comparison_page, "confusion_chart", fail)
    result = ancr("compare", wine, "--methods", "CRC,kNN", "-o", tmp_path)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "report.html").read_text()
    assert "The figure &#39;confusion&#39; failed: ZeroDivisionError: &lt;b&gt;by nothing&lt;/b&gt;." in page
    assert page.count("<figure ") == 3
    assert list((tmp_path / "tables").glob("*.md"))


def test_a_failing_cell_keeps_the_report_of_the_others(tmp_path, wine, monkeypatch):
    from ancr.comparison.runner import Plan

    run = Plan.run

    def fail_once(plan):
        if (plan.method, plan.draw) == ("CRC", 3):
            raise TypeError("no\nluck")
        return run(plan)

    monkeypatch.setattr(Plan, "run", fail_once)
    result = ancr("compare", wine, "--methods", "CRC,NSC", "--no-figures", "-o", tmp_path)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == (
        f"Error: 1 of 10 cells failed: CRC (cv) on wine 5 folds, draw 3: no luck; the traceback is in "
        f"{tmp_path / 'errors.txt'}; the others are in {tmp_path / 'report.html'}"
    )
    assert result.stderr.count("no luck") == 1
    assert "1 of 10 cells failed" in (tmp_path / "report.html").read_text()
    assert len(cells(tmp_path)) == 9
    monkeypatch.setattr(Plan, "run", run)
    assert ancr("compare", wine, "--methods", "CRC,NSC", "--no-figures", "-o", tmp_path).exit_code == 0


def test_terminals_without_unicode(tmp_path, wine):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    command = [sys.executable, "-m", "ancr", "compare", wine, "--methods", "CRC", "--no-figures", "-o", tmp_path]
    run = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert run.returncode == 0, run.stderr
    assert b" +- " in run.stdout
    assert "±" in (tmp_path / "tables" / "wine.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("finished", [False, True])
def test_ctrl_c_names_only_a_file_that_is_there(tmp_path, monkeypatch, finished):
    def interrupted(*arguments):
        if finished:
            (tmp_path / "cells.jsonl").write_text("{}\n")
        raise KeyboardInterrupt

    def leave(code):
        raise SystemExit(code)

    monkeypatch.setattr("ancr.paper.paper_sources.paper_source", interrupted)
    monkeypatch.setattr("os._exit", leave)
    result = ancr("reproduce", "digits", "-o", tmp_path)
    assert result.exit_code == 130
    assert ("cells.jsonl" in result.stderr) == finished
    assert ("No cell was finished." in result.stderr) != finished


def test_a_warning_is_said_once_and_that_of_threads_of_forests_never(capsys):
    with readable_errors():
        for text in ("a cell is empty", "a cell is empty", "`sklearn.utils.parallel.delayed` should be used with `P`"):
            warnings.warn(text, UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: a cell is empty\n"
