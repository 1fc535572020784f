"""Figures: drawn for what is there, left out for what is not."""

import csv
from xml.etree import ElementTree

import numpy as np
import pytest

from ancr.comparison.runner import make_plans
from ancr.paper.experiment import Experiment
from ancr.paper.figures import FIGURES, STOPS, by_iterations, draw_all, find_case, sampled_split
from ancr.paper.paper_sources import Digits, Usps
from tests.comparison.stand_ins import Blobs


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """All figures of two sets, and the names in the order they were done."""
    names, folder = [], tmp_path_factory.mktemp("figures")
    return draw_all([Digits(), Blobs()], folder, names.append), names, folder


def test_every_figure_is_written_or_has_nothing_to_show(drawn):
    charts, names, folder = drawn
    assert names == list(FIGURES)
    assert {chart.name for chart in charts} == set(FIGURES) - {"codes"}
    for chart in charts:
        root = ElementTree.parse(folder / f"{chart.name}.svg").getroot()
        assert root.tag.endswith("svg")
        assert len(root.findall(".//{http://www.w3.org/2000/svg}svg")) == len(chart.parts)
        assert chart.caption.endswith(".")
        if chart.table:
            rows = list(csv.reader((folder / f"{chart.name}.csv").open(encoding="utf-8")))
            assert len(rows) == len(chart.table) > 2


def test_every_point_can_be_read_off(drawn):
    for chart in drawn[0]:
        shown = sum(part.content.count("<title>") for part in chart.parts)
        assert shown >= max(len(chart.table) - 1, 1), chart.name


def test_early_stopping_approaches_the_optimum():
    accuracies, distances, best = by_iterations(sampled_split(Digits()))
    assert len(accuracies) == len(distances) == len(STOPS)
    assert (np.diff(distances) < 0).all()
    assert accuracies[0] < best


def test_a_real_image_that_nrc_misses_and_ancr_does_not(usps):
    source = Usps()
    case = find_case(source)
    row = case.split.test[case.position]
    query = source.bunch.data[row][None]
    assert source.bunch.target[row] == 8
    assert case.classifiers["ANCR"].predict(query)[0] == 8
    assert case.classifiers["NRC"].predict(query)[0] != 8
    np.testing.assert_array_equal(usps.data[usps.test_indices[case.position]], query[0])


def test_a_figure_that_fails_costs_neither_tables_nor_the_report(tmp_path, monkeypatch):
    def fail(sources):
        raise ValueError("no\nluck")

    monkeypatch.setitem(FIGURES, "lambda", fail)
    source = Blobs()
    plans = [plan for plan in make_plans(source) if plan.method == "CRC"]
    report = Experiment("Blobs", [source], plans, tmp_path, "a test").run()
    assert [drawing.failure for drawing in report.drawings if drawing.failure] == ["ValueError: no luck"]
    assert "The figure 'lambda' failed: ValueError: no luck." in report.notes
    assert sum(bool(drawing.parts) for drawing in report.drawings) >= 3
    assert "This figure failed: ValueError: no luck" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert list((tmp_path / "tables").iterdir())


def test_no_folder_for_figures_costs_neither_tables_nor_the_report(tmp_path):
    (tmp_path / "figures").write_text("in the way")
    source = Blobs()
    plans = [plan for plan in make_plans(source) if plan.method == "CRC"]
    report = Experiment("Blobs", [source], plans, tmp_path, "a test").run()
    assert any(note.startswith("No figures: ") for note in report.notes)
    assert list((tmp_path / "tables").iterdir())
