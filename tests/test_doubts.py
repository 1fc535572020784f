"""Warnings about data: columns that give the label away, copies, classes smaller than folds; and no false alarms."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

import ancr
from ancr.comparison.split_sources import UserSource
from ancr.samples import doubts as data_doubts
from ancr.samples.column_kinds import numbers_samples
from ancr.samples.readers import samples_in_memory
from ancr.samples.sample_set import DataWarning, Samples
from ancr.samples.telling_columns import error_alone, is_sorted, right_alone
from tests.command_line import invoke


def doubts(samples):
    return data_doubts.doubts(samples, samples.plan())


RNG = np.random.default_rng(0)
LABELS = np.repeat([0, 1, 2], [152, 68, 123])


def penguins():
    """Bill length and depth, flipper length and body mass of three species, drawn from their means and deviations."""
    means = np.array([[38.8, 18.3, 190, 3700], [48.8, 18.4, 196, 3733], [47.5, 15.0, 217, 5076]])
    sds = np.array([[2.7, 1.2, 6.5, 459], [3.3, 1.1, 7.1, 384], [3.1, 1.0, 6.5, 504]])
    measured = means[LABELS] + sds[LABELS] * np.random.default_rng(1).normal(size=(len(LABELS), 4))
    return np.round(measured, 1), LABELS


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits, penguins, "two of iris"])
def test_no_false_alarm(load):
    options = {} if load in (penguins, "two of iris") else {"return_X_y": True}
    # Two columns of iris tell two of its classes apart without an error: easy data, no leak.
    X, y = (part[:100] for part in load_iris(return_X_y=True)) if load == "two of iris" else load(**options)
    assert doubts(samples_in_memory(X, y)) == []


TELLING = {
    "number": (
        5 * np.arange(len(LABELS)),
        "column 'extra' numbers the samples and by itself predicts 99 % of held-out labels",
    ),
    "shuffled": (RNG.permutation(len(LABELS)), "column 'extra' numbers the samples: remove it"),
    "time": (np.sort(RNG.random(len(LABELS))), "runs in order through the file and by itself predicts 99 % of held"),
    "code": (10.0 * LABELS, "column 'extra' by itself predicts 100 % of held-out labels: if it is made from the label"),
    "with slips": (np.where(RNG.random(len(LABELS)) < 0.005, 0, LABELS), "column 'extra' by itself predicts "),
    "blurred": (LABELS + 0.9 * RNG.random(len(LABELS)), "column 'extra' by itself predicts 100 % of held-out labels"),
    "one class": (LABELS == 1, "column 'extra' by itself tells class '1' from all others"),
}


@pytest.mark.parametrize("extra", TELLING)
def test_a_column_that_gives_the_label_away_is_named(extra):
    column, words = TELLING[extra]
    X, y = penguins()
    table = Samples.of(np.column_stack([X, column]), y.astype(str).tolist(), columns=(*"abcd", "extra"))
    (line,) = doubts(table)
    assert words in line
    assert "remove it" in line
    assert "\n" not in line


def test_what_a_column_predicts_is_held_out():
    """A column of 20 words that says nothing about two classes is right for 60 % of 200 samples in sample."""
    rng = np.random.default_rng(0)
    found = [right_alone(rng.integers(0, 20, 200), rng.integers(0, 2, 200)) for _ in range(40)]
    assert abs(np.mean(found) - 0.5) < 0.03
    values = np.append(np.full(20, np.nan), np.arange(80.0))
    assert right_alone(values, np.repeat([0, 1], [20, 80])) == 1.0  # a gap is a value


def test_a_column_of_noise_in_order_or_not_is_no_doubt():
    X, _ = penguins()
    y = RNG.permutation(LABELS).astype(str).tolist()
    table = np.column_stack([np.sort(X[:, 0]), X[:, 1]])
    assert doubts(Samples.of(table, y, columns=("length", "depth"))) == []


def test_what_numbers_samples():
    numbers = np.arange(50.0)
    assert numbers_samples(1000 - 7 * numbers)
    assert not numbers_samples(np.random.default_rng(0).permutation(9 * numbers))
    assert not numbers_samples(numbers[:10]), "so few are in order by chance"
    assert not numbers_samples(np.append(numbers, 49.0)), "two samples have one number"
    assert not numbers_samples(np.where(numbers == 3, np.nan, numbers))
    assert not is_sorted(numbers // 10)
    assert error_alone(np.zeros(50), numbers % 2) == 1.0


def test_a_leak_is_named_beside_a_column_in_order():
    """A table may have both, and the one is no reason to think that the data are easy."""
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]  # whose columns say little
    table = np.column_stack([X, 1000 + np.cumsum(RNG.exponential(3, 150)), y + 0.01 * RNG.standard_normal(150)])
    first, second = doubts(Samples.of(table, y.astype(str).tolist(), columns=("a", "b", "taken", "code")))
    assert first.startswith("column 'taken' runs in order through the file")
    assert second.startswith("column 'code' by itself predicts 100 % of held-out labels")


def test_words_that_are_the_label_and_gaps():
    X, y = penguins()
    words = np.array(["adelie", "chinstrap", "gentoo"], dtype=object)[y]
    rows = np.column_stack([X.astype(object), words])
    rows[:5, 0] = np.nan
    (line,) = doubts(Samples.of(rows, y.astype(str).tolist(), columns=(*"abcd", "kind")))
    assert line.startswith("column 'kind' by itself predicts 100 % of held-out labels")


def test_copies_are_named_and_counted():
    X, y = load_wine(return_X_y=True)
    doubled = samples_in_memory(np.vstack([X, X[:20]]), np.append(y, [*y[:19], 2]))
    (line,) = doubts(doubled)
    start = "20 of 198 samples are copies of others, 1 of them with another label, such as row 179, which equals row 1"
    assert line.startswith(start)
    assert doubts(samples_in_memory(np.vstack([X, X[:3]]), np.append(y, y[:3]))) == [], "a coincidence or two"
    flags = RNG.integers(0, 2, (200, 5))
    assert doubts(samples_in_memory(flags, RNG.integers(0, 2, 200))) == [], "answers of yes and no coincide"


def test_copies_between_the_parts_of_a_given_split_count():
    X, y = load_wine(return_X_y=True)
    rows, is_train = np.r_[np.arange(178), np.arange(30)], np.arange(208) < 178
    text = y[rows].astype(str).tolist()
    (line,) = doubts(Samples.of(X[rows], text, is_train=is_train))
    assert line.startswith("30 of 30 test samples are copies of training samples, such as row 179, which equals row 1")
    assert doubts(Samples.of(X[rows], text, is_train=rows >= 30)) == [], "copies on one side"


def test_a_class_smaller_than_the_folds_is_named():
    X, y = load_iris(return_X_y=True)
    keep = np.r_[:103]
    source = UserSource(samples_in_memory(X[keep], y[keep]))
    assert source.draws == 3
    assert source.warnings == [
        "class '2' has only 3 samples, so that there are 3 folds: add samples of it, or leave it out"
    ]
    message = r"folds 5, but class '2' has only 3 samples: choose at most 3 folds, or add samples of that class"
    with pytest.raises(ValueError, match=message):
        UserSource(samples_in_memory(X[keep], y[keep]), folds=5)
    assert UserSource(samples_in_memory(X, y), folds=3).warnings == []


@pytest.fixture
def with_id(tmp_path):
    """A table sorted by class with a running number, as a spreadsheet exports it."""
    X, y = load_iris(return_X_y=True)
    rows = [
        ",".join([str(3 * i), *map(repr, row.tolist()), "abc"[k]]) for i, (row, k) in enumerate(zip(X, y, strict=True))
    ]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["vial,a,b,c,d,label", *rows]) + "\n")
    return path


LINE = "column 'vial' numbers the samples and by itself predicts 99 % of held-out labels: remove it"


def test_every_command_warns(with_id, tmp_path):
    for arguments in (
        ["train", with_id, "-o", tmp_path / "m.npz", "--method", "CRC"],
        ["audit", with_id, "-o", tmp_path / "audit"],
        ["compare", with_id, "-o", tmp_path / "out", "--methods", "kNN", "--no-figures"],
    ):
        result = invoke(arguments)
        assert result.exit_code == 0, result.output
        assert f"warning: {with_id}: {LINE}" in result.stderr
    assert LINE.replace("'", "&#39;") in (tmp_path / "out" / "report.html").read_text()


def test_compare_in_python_warns(with_id):
    data = np.genfromtxt(with_id, delimiter=",", skip_header=1, usecols=range(5))
    with pytest.warns(DataWarning, match="column '0' numbers the samples"):
        ancr.compare(data, load_iris().target, ["kNN"], learning_curve=False, jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        ancr.compare(data[:, 1:], load_iris().target, ["kNN"], learning_curve=False, jobs=1)


def test_the_studio_says_it(with_id):
    pytest.importorskip("starlette", reason="the studio needs starlette")
    from ancr.studio.openings import open_source

    assert any(note.startswith(LINE) for note in open_source(with_id).notes)


def test_a_class_of_few_samples_lies_in_one_interval_of_any_column():
    X = np.random.default_rng(0).standard_normal((24, 2))
    assert doubts(samples_in_memory(X, np.arange(24).astype(str))) == []
