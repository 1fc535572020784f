"""The engine: the same numbers however it is run, and nothing run twice."""

import io
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_info

import ancr
from ancr._core.progress import LineProgress
from ancr.comparison import runner
from ancr.comparison.cells import CellFile
from ancr.comparison.protocols import InnerFolds, Method, methods_for
from ancr.comparison.runner import FailedCellsError, Plan, Schedule, make_plans, run_missing
from ancr.paper.paper_sources import Digits, paper_source
from ancr.samples.other_classifiers import Boosting
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


def test_the_time_left_counts_each_method_by_its_own_cells(monkeypatch):
    """9 min are silent no more: an estimate comes with the first finished cell, and grows with one that goes on."""
    now = [0.0]
    monkeypatch.setattr(runner.time, "monotonic", lambda: now[0])
    plans = [SimpleNamespace(method=method) for _ in range(3) for method in ("quick", "slow")]
    schedule = Schedule(plans, jobs=2, deadline=None)
    quick, slow = schedule.take(), schedule.take()
    now[0] = 4.0
    assert schedule.left() is None
    schedule.finished(quick, 4.0)
    assert schedule.left() == (2 * 4 + 2 * 8 + 4) / 2, "a slow one runs for 4 s and counts as 8 s"
    now[0] = 50.0
    assert schedule.left() == (2 * 4 + 2 * 100 + 50) / 2
    schedule.finished(slow, 60.0)
    assert schedule.left() == (2 * 4 + 2 * 60) / 2
    third = schedule.take()
    now[0] = 51.0
    assert schedule.left() == (3 + 4 + 2 * 60) / 2
    schedule.finished(third, 4.0)


def test_what_is_usually_quick_comes_first(tmp_path):
    """A limit that the first slow method uses up shows nothing otherwise."""
    ran, plan = [], make_plans(Blobs())[0]

    class Recorded(ancr.CRCClassifier):
        def fit(self, X, y):
            ran.append(self.name)
            return super().fit(X, y)

    def recorded(name):
        one = Recorded()
        one.name = name
        return one

    names = ["CRC", "Random forest", "kNN", "Softmax"]
    recipes = {name: Method(lambda name=name: recorded(name)) for name in names}
    plans = [replace(plan, method=name, draw=draw, recipe=recipes[name]) for draw in (0, 1) for name in names]
    cells = run_missing(plans, CellFile(tmp_path / "cells.jsonl"), jobs=1)
    assert ran == ["kNN", "Softmax", "CRC", "Random forest", *names]
    assert [(each.key.draw, each.key.method) for each in cells] == [(each.draw, each.method) for each in plans]


def test_the_table_grows_in_lines_where_there_is_no_terminal():
    now, out = [0.0], io.StringIO()
    lines = LineProgress(3, "cells", left=lambda: 65.0 if now[0] > 20.0 else None, clock=lambda: now[0], stream=out)
    for seconds, steps, remark in ((9.0, 0, ""), (11.0, 0, ""), (30.0, 1, "CRC 90.0 %"), (45.0, 0, "CRC 90.0 %")):
        now[0] = seconds
        lines.advance(steps, remark)
    assert out.getvalue().splitlines() == ["cells: 0 of 3", "cells: 1 of 3, about 1 min 5 s left; CRC 90.0 %"]


def test_what_takes_longer_than_estimated_says_so():
    now, out = [0.0], io.StringIO()
    lines = LineProgress(3, "cells", left=lambda: 50.0 - now[0], clock=lambda: now[0], stream=out)
    for now[0] in (40.0, 80.0):
        lines.advance()
    assert out.getvalue().splitlines() == ["cells: 1 of 3, about 10 s left", "cells: 2 of 3, longer than estimated"]


def test_inner_folds_of_a_large_part_hold_out_enough_samples_and_no_more():
    y = np.repeat(np.arange(4), 1000)
    folds = list(InnerFolds().split(y[:, None], y))
    assert len(folds) == InnerFolds().get_n_splits(None, y) == 2
    held_out = np.concatenate([test for _, test in folds])
    assert len(np.unique(held_out)) == len(held_out) == 1600
    assert all(not set(train) & set(test) and len(train) + len(test) == len(y) for train, test in folds)
    assert set(np.bincount(y[held_out])) == {400}, "as many of each class"
    assert len(np.unique(held_out[y[held_out] == 0] // 100)) == 10, "from anywhere in the file"
    small = y[::3]
    ours, whole = InnerFolds().split(small[:, None], small), StratifiedKFold(5).split(small[:, None], small)
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(next(ours), next(whole), strict=True))
    assert len(list(ours)) == 4, "all five where they hold out fewer"


def test_boosting_on_many_columns_draws_some_for_each_split():
    rng = np.random.default_rng(0)
    y = np.arange(160) % 2
    X = rng.normal(size=(160, 300)) + y[:, None]
    few, many = Boosting(7).fit(X[:, :256], y), Boosting(7).fit(X, y)
    assert (few.boosting_.max_features, few.boosting_.max_bins) == (1.0, 255)
    assert (round(many.boosting_.max_features * 300), many.boosting_.max_bins) == (100, 31)
    alone = HistGradientBoostingClassifier(max_iter=100, max_leaf_nodes=7, random_state=0).fit(X[:, :256], y)
    np.testing.assert_array_equal(few.predict_proba(X[:, :256]), alone.predict_proba(X[:, :256]))


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
