"""Numbers in README and docs are those that ``benchmarks/results`` hold; what takes seconds is computed again."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

import ancr

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
BACKGROUND = ROOT / "docs" / "background"


def read(path):
    return path.read_text(encoding="utf-8")


def rows_of(text):
    """Rows of all Markdown tables: the name in the first column, and the numbers in the others or None."""
    lines = [line.strip("|\n ").split("|") for line in text.splitlines() if line.startswith("|") and "---" not in line]
    return {cells[0].strip(): [number(cell) for cell in cells[1:]] for cells in lines}


def number(cell):
    found = re.search(r"-?\d+\.\d+", cell)
    return float(found[0]) if found else None


def test_the_table_of_readme_is_the_measured_one():
    assert read(RESULTS / "when_to_use.md") in read(ROOT / "README.md")


def test_the_row_of_wine_is_what_compare_finds():
    X, y = load_wine(return_X_y=True, as_frame=True)
    results = {result.name: result for result in ancr.compare(X, y, ["ANCR", "CRC"], learning_curve=False).results}
    printed = next(row for name, row in rows_of(read(ROOT / "README.md")).items() if name.startswith("wine"))
    assert [results[name].mean for name in ("ANCR", "CRC")] == pytest.approx(printed[:2], abs=0.051)


@pytest.mark.parametrize(
    ("page", "source"),
    [
        ("ANCR-CV, lift 0 alone", "ANCR"),
        ("ANCR-CV, linear, p = 1", "ANCR (linear)"),
        ("CRC, chosen in the same way", "CRC"),
        ("printed in the paper (settings chosen on test labels)", "printed"),
    ],
)
def test_the_page_on_choosing_rounds_what_protocol_cv_gave(page, source):
    """AR and USPS are the first seven columns there."""
    measured = rows_of(read(RESULTS / "cv.md").partition("## Stanford")[0])[source]
    shown = rows_of(read(BACKGROUND / "choosing.md"))[page][:7]
    for value, found in zip(shown, measured, strict=True):
        assert value is found is None or abs(value - found) <= 0.0501


def test_times_on_the_gpu_are_those_of_the_record():
    record = json.loads(read(RESULTS / "gpu_h200.json"))["cars"]
    shown = [row[0] for row in rows_of(read(BACKGROUND / "gpu.md").partition("## Measured")[2]).values() if row[0]]
    times = [record["plain_loop_s"], sum(record["floor_s"].values())]
    times += [
        entry["fit_predict_s"] for entry in record.values() if isinstance(entry, dict) and "fit_predict_s" in entry
    ]
    assert len(shown) >= 4
    for value in shown:
        assert np.min(np.abs(np.array(times) - value)) <= 5.01e-4, value


@pytest.mark.parametrize("study", ["audit", "labelling"])
def test_the_page_on_labels_has_the_tables_of_the_studies(study):
    command = [sys.executable, str(ROOT / "benchmarks" / f"{study}.py"), "--table"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8").stdout
    table = [line for line in printed.splitlines() if line.startswith("|")]
    assert len(table) > 10
    assert "\n".join(table[:10]) in read(BACKGROUND / "labels.md")
    assert set(table) <= set(read(BACKGROUND / "labels.md").splitlines())
