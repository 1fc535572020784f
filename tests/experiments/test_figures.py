"""Figures: drawn for what is there, left out for what is not."""

import numpy as np
import pytest

from ancr.experiments.experiment import Experiment
from ancr.experiments.figures import FIGURES, draw_all
from ancr.experiments.figures.code_comparison import find_case
from ancr.experiments.figures.iterations import STOPS, stopped_early
from ancr.experiments.runner import make_plans
from ancr.experiments.sources import Digits, Usps
from tests.experiments.stand_ins import Blobs

SVG, PNG = b"<?xml", b"\x89PNG"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """All figures of two sets, and the names in the order they were done."""
    names = []
    return draw_all([Digits(), Blobs()], tmp_path_factory.mktemp("figures"), names.append), names


def test_every_figure_is_written_twice_or_has_nothing_to_show(drawn):
    drawings, names = drawn
    assert names == list(FIGURES)
    assert {drawing.svg.stem for drawing in drawings} == set(FIGURES) - {"codes"}
    for drawing in drawings:
        assert drawing.svg.read_bytes().startswith(SVG)
        assert drawing.png.read_bytes().startswith(PNG)
        assert drawing.caption.endswith(".")


def test_no_text_of_a_figure_overlaps_another(drawn):
    for drawing in drawn[0]:
        renderer = drawing.figure.canvas.get_renderer()
        for axis in (axis for axis in drawing.figure.findobj(lambda item: hasattr(item, "get_xticklabels"))):
            texts = [axis.title, axis.xaxis.label, axis.yaxis.label]
            boxes = [text.get_window_extent(renderer) for text in texts if text.get_visible() and text.get_text()]
            for i, box in enumerate(boxes):
                assert not any(box.overlaps(other) for other in boxes[i + 1 :]), drawing.title


def test_early_stopping_approaches_the_optimum():
    accuracies, distances, best = stopped_early(Digits())
    assert len(accuracies) == len(distances) == len(STOPS)
    assert (np.diff(distances) < 0).all()
    assert accuracies[0] < best


def test_a_real_image_that_nrc_misses_and_ancr_does_not(usps):
    source = Usps()
    case = find_case(source)
    query = source.bunch.data[case.row][None]
    assert source.bunch.target[case.row] == 8
    assert case.classifiers["ANCR"].predict(query)[0] == 8
    assert case.classifiers["NRC"].predict(query)[0] != 8
    np.testing.assert_array_equal(usps.data[usps.test_indices[case.position]], query[0])


def test_missing_matplotlib_is_one_line(monkeypatch):
    import sys

    from ancr.experiments.figures.drawing import new_figure

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'ancr\[plot\]'"):
        new_figure(1, 1)


def test_a_figure_that_fails_costs_neither_tables_nor_the_report(tmp_path, monkeypatch):
    def fail(sources):
        raise ValueError("no\nluck")

    monkeypatch.setattr("ancr.experiments.figures.sweeps.accuracy_by_alpha", fail)
    source = Blobs()
    plans = [plan for plan in make_plans(source) if plan.method == "CRC"]
    report = Experiment("Blobs", [source], plans, tmp_path, "a test").run()
    assert [drawing.failure for drawing in report.drawings if drawing.failure] == ["ValueError: no luck"]
    assert "The figure 'lambda' failed: ValueError: no luck." in report.notes
    assert sum(drawing.svg is not None for drawing in report.drawings) >= 3
    assert "This figure failed: ValueError: no luck" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert list((tmp_path / "tables").iterdir())


def test_no_folder_for_figures_costs_neither_tables_nor_the_report(tmp_path):
    (tmp_path / "figures").write_text("in the way")
    source = Blobs()
    plans = [plan for plan in make_plans(source) if plan.method == "CRC"]
    report = Experiment("Blobs", [source], plans, tmp_path, "a test").run()
    assert any(note.startswith("No figures: ") for note in report.notes)
    assert list((tmp_path / "tables").iterdir())
