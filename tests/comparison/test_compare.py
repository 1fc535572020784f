"""``ancr.compare``: your own methods, significance, time limit, resuming, and what the report says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.metrics import balanced_accuracy_score, f1_score, log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

import ancr
from ancr.comparison import verdict
from ancr.comparison.cells import CellFile
from ancr.comparison.charts import FIRST, GREY, interval_chart
from ancr.comparison.own_methods import load_method
from ancr.comparison.protocols import rivals
from ancr.comparison.significance import WIDENING, best_set, judge, outcome, paired_gap
from ancr.comparison.split_sources import UserSource
from ancr.comparison.verdict import confusion, missed_by_all
from ancr.samples.column_plan import SPACES_OF_COLUMNS
from ancr.samples.model_file import Model
from ancr.samples.readers import read_samples
from tests.command_line import invoke

OWN = """
from sklearn.neighbors import NearestCentroid

class Mine(NearestCentroid):
    pass

def make():
    return Mine()

def kind():
    return Mine

broken = 3
"""


class Shy(ClassifierMixin, BaseEstimator):
    """A classifier with nothing but fit and predict."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def compared(iris):
    methods = ["ANCR", "kNN", GaussianNB(), DummyClassifier, Shy()]
    return ancr.compare(*iris, methods=methods, name="iris", jobs=1)


def test_names_objects_and_classes_take_part(compared):
    assert {result.name for result in compared.results} == {"ANCR", "kNN", "GaussianNB", "DummyClassifier", "Shy"}
    assert all(len(result.cells) == 5 for result in compared.results)
    accuracy = {result.name: result.mean for result in compared.results}
    assert accuracy["Shy"] == pytest.approx(100 / 3)
    assert accuracy["GaussianNB"] > 90


def test_the_table_says_what_is_worse_and_by_which_test(compared):
    frame = compared.to_frame()
    assert list(frame.accuracy) == sorted(frame.accuracy, reverse=True)
    assert frame.mark[0] == "best"
    assert set(frame.mark[frame.method.isin(["Shy", "DummyClassifier"])]) == {"worse"}
    assert compared.test == "McNemar's test on the answers of all folds"
    assert frame.behind_at_most[frame.mark == "worse"].gt(50).all()
    assert frame.fit_s.gt(0).all()


def test_the_answer_is_above_everything_else(compared):
    page = compared.to_html()
    for text in (compared.answer.which, "How sure", "How long", "What next"):
        assert 0 < page.index(text.replace("'", "&#39;")) < page.index("<table")
    assert "ADMM" not in page
    assert "paper" not in page.split("<body>")[1].replace("--paper", "")


def test_confusion_counts_every_test_sample(compared, iris):
    counts = confusion(compared)
    np.testing.assert_array_equal(counts.sum(axis=1), np.bincount(iris[1]))
    right = np.trace(counts) / counts.sum()
    assert 100 * right == pytest.approx(compared.best.mean, abs=0.1)
    missed = missed_by_all(compared)
    assert set(missed) <= set(range(150))
    sentence = next(step for step in compared.answer.next_steps if "by every method" in step)
    assert f": row {missed[0] + 1}" in sentence


def test_an_array_is_scaled_like_a_frame():
    X, y = load_wine(return_X_y=True)
    frame = pytest.importorskip("pandas").DataFrame(X)
    options = {"methods": ["kNN"], "learning_curve": False, "jobs": 1}
    array, table = (ancr.compare(each, y, **options) for each in (X, frame))
    assert array.best.accuracies.tolist() == table.best.accuracies.tolist()
    for text in (repr(array), array.to_html()):
        assert "13 numbers; columns are standardized (nearest neighbours are right for 9" in text
    digits = ancr.compare(*load_digits(return_X_y=True), **options)
    assert "64 numbers; values are used as they are (nearest neighbours are right for 9" in repr(digits)
    wide = np.hstack([X, np.random.default_rng(0).random((len(X), 100))])
    assert "113 numbers; values are used as they are (nearest neighbours are right for" in repr(
        ancr.compare(wide, y, **options)
    )


def test_one_warning_for_all_cells():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(UserWarning, match=r"column 12 dominates.*scale them with standardize=True") as caught:
        comparison = ancr.compare(X, y, ["CRC"], standardize=False, learning_curve=False, jobs=1)
    assert len(caught) == 1
    assert str(caught[0].message) in comparison.notes


def test_equal_methods_share_the_first_place(iris):
    methods = [KNeighborsClassifier(3), KNeighborsClassifier(3), KNeighborsClassifier(3)]
    comparison = ancr.compare(*iris, methods, learning_curve=False, jobs=1)
    names = "KNeighborsClassifier, KNeighborsClassifier 2 and KNeighborsClassifier 3"
    assert comparison.answer.which == f"{names} share the highest accuracy: {comparison.best.mean:.1f} %."
    assert [record["mark"] for record in comparison.records()] == ["best"] * 3
    assert comparison.answer.repeat == ""


def test_repeats_are_advised_only_where_samples_cannot_tell(iris):
    methods = ["kNN", GaussianNB()]
    once, again = (ancr.compare(*iris, methods, learning_curve=False, jobs=1, repeats=n) for n in (1, 2))
    assert [result.mark for result in once.results] == ["best", "cannot tell"]
    assert "≈" not in once.table().lines[1][2]
    assert "150 samples are too few to tell whether" in once.answer.which
    assert "repeats=5" in once.answer.lines()[-1]
    assert again.answer.repeat == ""


@pytest.mark.parametrize(
    ("gains", "text"),
    [
        ([1.0, 1.2, 0.8, 1.1, 0.9], "should help"),
        ([3.0, 0.0, 2.0, -1.0, 1.0], "may be chance"),
        ([0.1, 0.2, 0.1, 0.1, 0.2], "will bring little"),
    ],
)
def test_more_samples_are_advised_beyond_noise(compared, monkeypatch, gains, text):
    before = np.full(5, 90.0)
    monkeypatch.setattr(verdict, "learning_means", lambda *_: [(70.0, before), (100.0, before + gains)])
    assert any(text in step for step in verdict.make_verdict(compared).next_steps)


def test_names_of_methods_have_room_in_the_figure():
    rows = [("Gradient boosting", 90.0, 88.0, 92.0, FIRST, "best"), ("A" * 60, 80.0, 78.0, 82.0, GREY, "worse")]
    short, long = (interval_chart("Accuracy", "", part).parts[0].content for part in (rows[:1], rows))
    places = [float(re.search(r'<text x="([\d.]+)"[^>]*>Gradient', part).group(1)) for part in (short, long)]
    assert places[0] >= 8 * len("Gradient boosting")
    assert places[1] > places[0]
    assert "A" * 25 + "…<" in long


def test_one_test_set_is_judged_by_mcnemar(tmp_path):
    X, y = load_digits(return_X_y=True)
    np.savez(tmp_path / "d.npz", X=X[:400], y=y[:400], is_train=np.arange(400) < 150)
    result = invoke(["compare", tmp_path / "d.npz", "--methods", "kNN,sklearn.dummy:DummyClassifier", "--no-figures",
                     "-o", tmp_path / "out"])  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "McNemar's test; all pairs of methods" in result.stdout


def test_the_paired_test_is_mcnemars_with_an_imaginary_sample_for_each():
    for first, second in ((6, 0), (12, 2), (15, 5), (40, 20)):
        right = np.repeat([[1, 0], [0, 1], [1, 1]], [first, second, 300], axis=0).T
        gap, error = paired_gap(*right)
        assert gap / error == pytest.approx((first - second) / (first + second + 2) ** 0.5)
        # Between the exact test, which is too strict, and the one of 1947, which is too lax.
        exact, lax = (
            stats.binomtest(first, first + second).pvalue,
            stats.chi2.sf((first - second) ** 2 / (first + second), 1),
        )
        assert lax < 2 * stats.norm.sf(gap / error) < 1.1 * exact
    twice = paired_gap(*np.hstack([right, right]), n_samples=right.shape[1])
    assert twice == pytest.approx((gap, error)), "a sample that is tested twice is one sample"


def test_eighty_percent_is_worse_than_ninety_nine_among_nineteen_methods():
    """Penguins: 68 errors beside 2 of 342, the other methods between them."""
    rng, right = np.random.default_rng(0), np.ones((19, 342), bool)
    for method, errors in enumerate([2, *range(3, 20), 68]):
        right[method, rng.choice(342, errors, replace=False)] = False
    p_values, behind = judge(lambda i, j: paired_gap(right[i], right[j], 342, WIDENING), 19)
    words = [outcome(*each) for each in zip(p_values, behind, strict=True)]
    assert words[-1] == "worse"
    assert words[1] == "cannot tell"
    assert p_values[0] == max(p_values)


def test_three_outcomes():
    rng = np.random.default_rng(0)
    right = rng.random(4000) < 0.95
    near, far = right.copy(), right.copy()
    near[:4] = ~near[:4]
    far[:200] = False
    other = rng.permutation(right)  # as often right, on other samples
    other[:20] = False
    all_right = np.array([right, near, other, far])
    p_values, behind = judge(lambda i, j: paired_gap(all_right[i], all_right[j]), 4)
    words = [outcome(*each) for each in zip(p_values, behind, strict=True)]
    assert words == ["as good", "as good", "cannot tell", "worse"]


def test_methods_as_good_as_the_best_are_seldom_called_worse():
    """Eight equal methods whose errors are alike, of which the best is chosen by looking."""
    rng, false = np.random.default_rng(0), 0
    for _ in range(300):
        right = rng.normal(size=(1, 300)) + 0.5 * rng.normal(size=(8, 300)) < 1.8
        false += min(judge(lambda i, j, r=right: paired_gap(r[i], r[j]), 8)[0]) < 0.05
    assert false / 300 <= 0.05


def test_the_set_of_the_best_shrinks_step_by_step():
    behind = np.array([[0, -2.3, -9.0], [2.3, 0, -8.0], [9.0, 8.0, 0]])
    p_values = best_set(behind)
    assert p_values[1] == pytest.approx(2 * stats.norm.sf(2.3)), "the third has left: two methods remain"
    assert p_values[2] < 1e-9
    assert p_values[0] == 1.0


def test_every_rival_has_a_short_grid():
    for spaces in (None, [space.changed_params() for space in SPACES_OF_COLUMNS]):
        for name, method in rivals(spaces).items():
            assert np.prod([len(values) for values in method.params.values()]) <= 12, name
            assert method.build().cv.get_n_splits(y=np.repeat([0, 1], [3, 50])) == 3


@pytest.mark.filterwarnings("error")
def test_neighbours_in_parts_that_have_few_samples():
    """Inner folds of six samples have three: no more than these are neighbours, and scikit-learn reports no failure."""
    X, y = np.arange(12.0).reshape(6, 2) + 1.0, np.repeat([0, 1], 3)
    search = rivals(None)["kNN"].build().fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(X).shape == (6,)


def test_a_class_in_a_file_takes_part(tmp_path, monkeypatch, iris):
    (tmp_path / "mymethod.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for path in ("mymethod:Mine", "mymethod:make", "mymethod.py:Mine"):
        name, method = load_method(path)
        assert name == path.partition(":")[2]
        assert method.build().fit(*iris).score(*iris) > 0.9
        assert method.params["estimator"] == path


class Answering(Shy):
    """A classifier whose predictions are what a function makes of their number."""

    def __init__(self, answer):
        self.answer = answer

    def predict(self, X):
        return self.answer(len(X))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: [0], "shape (1,), expected (75,)"),
        (lambda n: np.zeros((n, 1), int), "shape (75, 1), expected (75,)"),
        (lambda n: None, "None, expected (75,)"),
        (lambda n: np.full(n, 7), "7, which is not a class of the training labels"),
        (lambda n: np.full(n, 0.5), "0.5, which is not a class of the training labels"),
        (lambda n: np.full(n, np.nan), "nan, which is not a class of the training labels"),
        (lambda n: np.full(n, "0"), "'0', which is not a class of the training labels"),
        (lambda n: np.full(n, None), "None, which is not a class of the training labels"),
    ],
)
def test_answers_that_are_no_classes_are_a_failed_cell(tmp_path, iris, answer, message):
    methods = ["kNN", Answering(answer)]
    result = ancr.compare(*iris, methods=methods, folds=2, output=tmp_path, jobs=1, learning_curve=False)
    assert f"Answering (own) on data 2 folds, draw 0: predict returned {message}" in result.failed
    assert [each.name for each in result.results] == ["kNN"]
    assert {cell.key.method for cell in CellFile(tmp_path / "cells.jsonl").cells} == {"kNN"}
    assert len(list((tmp_path / "answers").iterdir())) == 2
    assert (tmp_path / "report.html").is_file()


def test_measures_are_those_of_scikit_learn(iris):
    X, y = iris
    keep = np.flatnonzero((y != 2) | (np.arange(len(y)) % 3 == 0))  # uneven classes
    options = {"standardize": False, "jobs": 1, "learning_curve": False}
    found = ancr.compare(X[keep], y[keep], methods=[GaussianNB()], **options).records()[0]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    chances = cross_val_predict(GaussianNB(), X[keep], y[keep], cv=folds, method="predict_proba")
    predicted = chances.argmax(axis=1)
    assert found["balanced_accuracy"] == pytest.approx(100 * balanced_accuracy_score(y[keep], predicted))
    assert found["f1"] == pytest.approx(100 * f1_score(y[keep], predicted, average="macro"))
    assert found["log_loss"] == pytest.approx(log_loss(y[keep], chances))
    assert 0.0 <= found["calibration_error"] < 20.0


def test_one_line_where_every_cell_fails(tmp_path):
    np.savez(tmp_path / "d.npz", X=np.random.default_rng(0).random((40, 3)), y=np.arange(40) % 2)
    options = ["--methods", "sklearn.linear_model:LinearRegression", "--no-figures", "-o", tmp_path / "out"]
    result = invoke(["compare", tmp_path / "d.npz", *options])
    assert result.exit_code == 1
    said = result.stderr.splitlines()[-1]
    assert said.startswith("Error: 5 of 5 cells failed: LinearRegression (own) on d 5 folds")
    assert said.count("LinearRegression") == 1, "one reason is said once"
    assert said.endswith(
        f"(and 4 more cells for the same reason); the traceback is in {tmp_path / 'out' / 'errors.txt'}"
    )
    assert "Traceback (most recent call last)" in (tmp_path / "out" / "errors.txt").read_text()


def test_numbers_that_equal_classes_are_classes(iris):
    methods = [Answering(lambda n: [1.0] * n)]
    result = ancr.compare(*iris, methods=methods, folds=2, jobs=1, learning_curve=False)
    assert result.best.mean == pytest.approx(100 / 3)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere_at_all:Mine", "methods nowhere_at_all:Mine: No module named 'nowhere_at_all'"),
        ("missing.py:Mine", "methods missing.py:Mine: missing.py does not exist"),
        ("mymethod.py:Other", "methods mymethod.py:Other: mymethod.py has no 'Other'; it has "),
        ("mymethod.py:broken", "methods mymethod.py:broken: int has no method fit and no predict"),
        ("sklearn.pipeline:Pipeline", "methods sklearn.pipeline:Pipeline: cannot be made without arguments"),
        ("syntax.py:Mine", "methods syntax.py:Mine: running syntax.py failed: "),
        ("ends.py:Mine", "methods ends.py:Mine: running ends.py failed: it calls sys.exit(4)"),
        ("ends_python:Mine", "methods ends_python:Mine: importing ends_python failed: it calls sys.exit(None)"),
        ("mymethod.py:kind", "methods mymethod.py:kind: makes the class Mine, but expected an object of it"),
        ("mymethod.py:", "methods mymethod.py:: no name after the colon; mymethod.py has Mine"),
        (":Mine", "methods :Mine: no module or file before the colon"),
    ],
)
def test_a_bad_import_path_is_one_line(tmp_path, monkeypatch, path, message):
    (tmp_path / "mymethod.py").write_text(OWN)
    (tmp_path / "syntax.py").write_text("def :\n")
    (tmp_path / "ends.py").write_text("raise SystemExit(4)\n")
    (tmp_path / "ends_python.py").write_text("import sys\nsys.exit()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match=r".") as caught:
        load_method(path)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_an_interrupted_comparison_goes_on_and_new_code_is_run_again(tmp_path, iris):
    options = {"methods": ["kNN", KNeighborsClassifier(3)], "output": tmp_path, "learning_curve": False, "jobs": 1}
    first = ancr.compare(*iris, **options)
    cells = CellFile(tmp_path / "cells.jsonl").cells
    again = ancr.compare(*iris, **options)
    assert CellFile(tmp_path / "cells.jsonl").cells == cells
    assert [r.mean for r in again.results] == [r.mean for r in first.results]
    options["methods"] = ["kNN", KNeighborsClassifier(7)]
    ancr.compare(*iris, **options)
    assert len(CellFile(tmp_path / "cells.jsonl").cells) == len(cells) + 5
    next((tmp_path / "answers").iterdir()).unlink()  # a cell without its answers is run again
    ancr.compare(*iris, **options)
    assert (tmp_path / "report.html").is_file()


def test_more_repeats_are_more_splits(iris):
    comparison = ancr.compare(*iris, methods=["kNN"], repeats=2, folds=3, learning_curve=False, jobs=1)
    assert len(comparison.best.cells) == 6
    assert comparison.source.typical == "3 folds, 2 times"


SLOW = """
import time
from sklearn.dummy import DummyClassifier

class Slow(DummyClassifier):
    def fit(self, X, y):
        time.sleep(60)
        return super().fit(X, y)
"""


def test_the_time_limit_reports_what_is_done(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    np.savez(tmp_path / "d.npz", X=np.random.default_rng(0).random((40, 3)), y=np.arange(40) % 2)
    command = ["compare", "d.npz", "--methods", "kNN,slow:Slow", "--time", "6s", "--jobs", "2", "-o", "out"]
    run = subprocess.run(
        [sys.executable, "-m", "ancr", *command], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=50,
        env={**os.environ, "PYTHONPATH": str(Path(ancr.__file__).parents[1])},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "cells were not finished within the time limit" in run.stderr
    assert "; none at all of Slow" in run.stderr
    assert "kNN scores" in run.stdout


@pytest.mark.parametrize("time_limit", [1e8, 6e10, float("inf")])
def test_a_limit_beyond_all_waiting_is_none(iris, time_limit):
    options = {"folds": 2, "jobs": 1, "learning_curve": False}
    comparison = ancr.compare(*iris, DummyClassifier(), time_limit=time_limit, **options)
    assert len(comparison.best.cells) == 2


@pytest.mark.parametrize("methods", ["kNN", KNeighborsClassifier(), KNeighborsClassifier])
def test_one_method_needs_no_list(iris, methods):
    comparison = ancr.compare(*iris, methods, folds=2, jobs=1, learning_curve=False)
    assert len(comparison.results) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros((3, 2))}, "expected one row of X per label"),
        ({"X": np.full((150, 2), np.nan)}, "X[0, 0]: the value is nan"),
        ({"y": np.zeros(150)}, "y holds 1 class"),
        ({"y": None}, "y of shape ()"),
        ({"y": np.r_[np.nan, np.ones(149)]}, "y holds 1 class: '1'"),
        ({"y": ["a", None] * 75}, "y holds 1 class: 'a'"),
        ({"methods": ["XYZ"]}, "methods XYZ: no such method here"),
        ({"methods": "XYZ"}, "methods XYZ: no such method here"),
        ({"folds": 51}, "folds 51, but class '0' has only 50 samples"),
        ({"time_limit": float("nan")}, "time_limit must be a number of seconds above 0, got nan"),
        ({"time_limit": "1"}, "time_limit must be a number of seconds above 0, got '1'"),
        ({"image_shape": (3, 3)}, "image_shape=(3, 3), but samples have 4 values"),
    ],
)
def test_bad_arguments_are_named(iris, change, message):
    arguments = {"X": iris[0], "y": iris[1], **change}
    with pytest.raises(ValueError, match=r".") as caught:
        ancr.compare(**arguments)
    assert message in str(caught.value)


@pytest.fixture(scope="module")
def patients(tmp_path_factory):
    """Near-copies of 24 patients whose class has nothing to do with what is measured."""
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("patients") / "patients.csv"
    patient = rng.permutation(np.repeat(np.arange(24), 5))
    rows = rng.normal(size=(24, 4))[patient] + 1e-3 * rng.normal(size=(120, 4))
    labels = np.where(patient % 2, "ill", "well")
    frame = pd.DataFrame(rows, columns=list("abcd")).assign(patient=patient, target=labels)
    frame.to_csv(path, index=False)
    return path, frame


def run(*arguments):
    return invoke([str(each) for each in arguments])


def test_groups_stay_together_in_every_fold(patients, tmp_path):
    """Without groups, near-copies of a patient are in both parts and every answer is right; with them, none can be."""
    path, frame = patients
    options = [path, "--methods", "kNN,ANCR", "--no-figures", "--groups", "patient"]
    result = run("compare", *options, "-o", tmp_path / "apart")
    assert result.exit_code == 0, result.output
    assert "5 folds of groups" in result.stdout
    assert "--groups patient" in result.stdout
    cells = CellFile(tmp_path / "apart" / "cells.jsonl").cells
    assert np.mean([cell.measured.accuracy for cell in cells]) < 80
    source = UserSource(read_samples(path, kinds={"patient": "group"}), kinds={"patient": "group"})
    split = source.split(source.typical, 0)
    assert not set(split.groups) & set(source._groups[split.test])
    X, y, groups = frame[list("abcd")].to_numpy(), frame.target, frame.patient
    plain, apart = (ancr.compare(X, y, ["kNN"], learning_curve=False, groups=one).best.mean for one in (None, groups))
    assert plain > 95
    assert apart < 80
    for known in (split.groups, None):  # the folds in which settings are chosen
        search = rivals(None)["kNN"].build().fit(split.X, split.y, groups=known)
        assert (search.best_score_ > 0.95) == (known is None)


def test_groups_reach_the_search_of_train_and_the_audit(patients, tmp_path):
    path, _ = patients
    samples = read_samples(path, kinds={"patient": "group"})
    plan = samples.plan(asked={"patient": "group"})
    assert plan.names[plan.used[-1]] == "d"
    model = Model.of(plan.suited(ancr.ANCRClassifierCV()), samples, plan)
    assert model.build()[-1].best_score_ > 0.95
    assert model.build(samples.groups({"patient": "group"}))[-1].best_score_ < 0.8
    assert run("train", path, "--groups", "patient", "-o", tmp_path / "model.npz").exit_code == 0
    assert run("predict", tmp_path / "model.npz", path, "-o", tmp_path / "x.csv").exit_code == 0
    found = re.findall(r"about (\d+) ", run("audit", path, "-o", tmp_path / "a").stdout)
    apart = re.findall(r"about (\d+) ", run("audit", path, "--groups", "patient", "-o", tmp_path / "b").stdout)
    assert int(found[0]) == 0 < int(apart[0])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a"] * 150, "all samples are of one group"),
        (["a"] * 149, "groups must have one entry per sample, 150, got 149"),
        ([None] + ["a", "b"] * 74 + ["a"], "row 1 has no group"),
        (["a"] * 50 + ["b"] * 50 + ["c"] * 50, "a class lies in a single group"),
    ],
)
def test_groups_that_cannot_be_kept_together_are_one_line(iris, groups, message):
    with pytest.raises(ValueError, match=message):
        ancr.compare(*iris, ["kNN"], groups=groups)
