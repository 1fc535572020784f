"""The engine: the same numbers however it is run, and nothing run twice."""

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_info

import ancr
from ancr.comparison import runner
from ancr.comparison.cells import CellFile
from ancr.comparison.protocols import Method, methods_for
from ancr.comparison.runner import FailedCellsError, Plan, Schedule, make_plans, run_missing
from ancr.paper.paper_sources import Digits, paper_source
from tests.comparison.stand_ins import Blobs


def outcome(cells):
    return [(each.key, each.measured.accuracy, each.measured.certified) for each in cells]


@pytest.fixture
def plans():
    return make_plans(Blobs())


def test_results_do_not_depend_on_the_parallelism(tmp_path, plans):
    runs = [run_missing(plans, CellFile(tmp_path / f"{jobs}.jsonl"), jobs) for jobs in (1, 3)]
    assert outcome(runs[0]) == outcome(runs[1])
    assert {each.measured.accuracy for each in runs[0]} != {100.0}


def test_every_plan_is_run_once(tmp_path, plans):
    file = CellFile(tmp_path / "cells.jsonl")
    first = run_missing(plans[::2], file)
    everything = run_missing(plans, CellFile(file.path))
    assert [each.key for each in everything] == [plan.key for plan in plans]
    lines = CellFile(file.path).cells
    assert len(lines) == len({each.key for each in lines}) == len(plans)
    assert lines[: len(first)] == sorted(first, key=lines.index)


@pytest.mark.parametrize("change", [{"params": {"alpha": 0.5}}, {"before": (PCA(2),)}])
def test_a_cell_of_other_settings_does_not_count(tmp_path, change):
    plan = make_plans(Blobs())[0]
    plan = replace(plan, recipe=Method(ancr.CRCClassifier, {"alpha": 1e-3}))
    other = replace(plan, recipe=replace(plan.recipe, **change))
    file = CellFile(tmp_path / "cells.jsonl")
    before, after = run_missing([plan], file)[0], run_missing([other], file)[0]
    assert before.given != after.given
    assert len(file.cells) == 2


def test_preparation_reads_the_same_in_every_process():
    method = Method(ancr.CRCClassifier, {}, before=(FunctionTransformer(np.sqrt), FunctionTransformer(outcome)))
    text = runner.preparation(method.build())
    assert "outcome" in text
    assert "0x" not in text


def test_cells_never_use_more_than_one_thread(tmp_path, plans, monkeypatch):
    seen = []
    run = runner.Plan.run
    monkeypatch.setattr(runner.Plan, "run", lambda plan: seen.append(_blas_threads()) or run(plan))
    run_missing(plans[:4], CellFile(tmp_path / "cells.jsonl"), jobs=2)
    assert seen == [1] * 4


def _blas_threads():
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


def test_a_failing_cell_does_not_stop_the_others(tmp_path, plans):
    broken = replace(plans[0], recipe=Method(ancr.CRCClassifier, {"alpha": -1.0}))
    file = CellFile(tmp_path / "cells.jsonl")
    with pytest.raises(FailedCellsError, match=r"1 of 3 cells failed: .*blobs N=50, draw 0: .*alpha"):
        run_missing([broken, *plans[1:3]], file)
    assert [each.key for each in sorted(file.cells, key=lambda each: each.key.method)] == sorted(
        (plan.key for plan in plans[1:3]), key=lambda key: key[3]
    )


def test_the_slowest_method_is_left_out_first_where_time_is_short():
    plans = [SimpleNamespace(method=method) for _ in range(5) for method in ("slow", "quick", "medium")]
    schedule = Schedule(plans, jobs=1, deadline=time.monotonic() + 100.0)
    for seconds in (90.0, 1.0, 20.0):
        schedule.finished(schedule.take(), seconds)
    taken = [schedule.take().method for _ in range(8)]
    assert taken == ["quick", "medium"] * 4, "84 s of the others fit into the 100 s"
    assert (schedule.n_dropped, schedule.left_out) == (4, "slow (1 min 30 s each)")
    with pytest.raises(IndexError):
        schedule.take()


@pytest.mark.parametrize("limit", [100.0, None])
def test_two_slow_methods_do_not_take_both_threads(limit):
    """Within a limit, what is known to be quick goes on while a slow method is tried; without one, fold after fold."""
    plan = make_plans(Blobs())[0]
    names = ["quick", "forest", "boosting"]
    plans = [replace(plan, method=name, draw=draw) for draw in range(3) for name in names]
    schedule = Schedule(plans, jobs=2, deadline=None if limit is None else time.monotonic() + limit)
    schedule.finished(schedule.take(), 1.0)
    assert schedule.take().method == "forest"  # it goes on for as long as this test
    taken = [schedule.take() for _ in range(3)]
    if limit is None:
        assert [(each.draw, each.method) for each in taken] == [(0, "boosting"), (1, "quick"), (1, "forest")]
    else:
        assert [(each.draw, each.method) for each in taken] == [(1, "quick"), (2, "quick"), (0, "boosting")]
        assert [(each.draw, each.method) for each in (schedule.take(), schedule.take())] == [
            (1, "forest"),
            (1, "boosting"),
        ]


def test_exact_codes_are_certified_and_stopped_ones_are_not(tmp_path):
    recipes = {
        "exact": Method(ancr.ANCRClassifier, {"alpha": 1e-3}),
        "stopped": Method(ancr.ANCRClassifier, {"solver": "admm", "max_iter": 2, "code": "c"}),
        "closed form": Method(ancr.CRCClassifier),
        "pipeline": Method(ancr.ANCRClassifier, {}, before=(PCA(5),)),
    }
    plan = make_plans(Blobs())[0]
    plans = [replace(plan, method=name, recipe=recipe) for name, recipe in recipes.items()]
    cells = run_missing(plans, CellFile(tmp_path / "cells.jsonl"))
    assert [each.measured.certified for each in cells] == [1.0, 0.0, None, 1.0]
    assert cells[-1].given.before == "PCA(n_components=5)"
    assert {"python", "ancr", "numpy"} <= set(cells[0].machine.versions)


def test_draws_differ_and_official_splits_have_one():
    class Official(Blobs):
        random, draws = False, 1

    source = Blobs()
    assert (source.split("N=50", 0).truth != source.split("N=50", 1).truth).any()
    assert {plan.draw for plan in make_plans(source, draws=3)} == {0, 1, 2}
    assert {plan.draw for plan in make_plans(Official(), draws=3)} == {0}


def test_protocol_cv_gives_the_methods_of_the_paper_grids_of_the_same_size():
    in_spaces = {"CRC", "CRC (linear)", "ANCR", "ANCR (linear)", "Kernel ridge"}
    rivals = {"Softmax", "Softmax (power)", "RBF SVM", "kNN", "Random forest", "Gradient boosting"}
    for dataset, size in (("usps", 30), ("cub200", 12)):
        methods = paper_source(dataset).methods("N=50", "cv")
        small = rivals - {"Random forest", "Gradient boosting"} if dataset == "cub200" else rivals
        assert in_spaces | small <= set(methods)
        for name in set(methods) - in_spaces - rivals:
            numbers = [len(values) for values in methods[name].params.values() if isinstance(values, list)]
            assert np.prod(numbers) == size, name


def test_protocol_cv_searches_tables_without_unit_norm():
    from ancr.samples.column_plan import SPACES_OF_COLUMNS

    methods = methods_for("cv", {"spaces": SPACES_OF_COLUMNS})
    assert methods["ANCR"].build().spaces == SPACES_OF_COLUMNS
    assert methods["ANCR (linear)"].params == {"spaces": [{"normalize": False}]}
    assert not any("Normalizer" in repr(methods[name].build()) for name in ("RBF SVM", "Softmax", "kNN"))
    assert "Normalizer" in repr(paper_source("usps").methods("N=50", "cv")["RBF SVM"].build())


def test_protocol_cv_records_what_was_chosen():
    source = Digits()
    for method in ("ANCR", "SVM"):
        recipe = source.methods("N=10", "cv")[method]
        cell = Plan(source, "N=10", method, "cv", 0, recipe).run()
        assert cell.measured.chosen
        assert cell.measured.accuracy > 80
        assert Plan(source, "N=10", method, "cv", 0, recipe).is_answered_by(cell)
