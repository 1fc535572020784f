"""Tables as people have them: units, gaps, categories, dates, texts; the same from Python, command line and studio."""

import csv
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import ancr
from ancr.samples.column_kinds import columns_of
from ancr.samples.column_plan import ColumnPlan, TableColumns
from ancr.samples.column_steps import OneShare, WithoutStrays
from ancr.samples.doubts import doubts
from ancr.samples.model_file import Model
from ancr.samples.readers import read_samples, samples_in_memory
from tests.command_line import invoke
from tests.marks import rarely

pd = pytest.importorskip("pandas")
N = 120
COLUMNS = ["id", "island", "bill", "mass", "sex", "tagged", "seen", "unit", "notes"]
SAID = "2 numbers, 1 yes/no (tagged), 1 date (seen) and 2 categories (island, sex)"
LEFT = "left out: id (identifier), unit (constant), notes (empty)"


def birds():
    """A table with units, gaps, categories, a date, an identifier, a constant, an empty column, and 10⁹ in one cell."""
    rng = np.random.default_rng(0)
    kind = np.arange(N) % 3
    frame = pd.DataFrame(
        {
            "id": np.arange(1, N + 1),
            "island": np.array(["Biscoe", "Dream", "Torgersen"])[(kind + (rng.random(N) < 0.3)) % 3],
            "bill": np.round(38 + 5 * kind + rng.normal(size=N), 2),
            "mass": np.round(3500 + 900 * (kind == 2) + 200 * rng.normal(size=N)),
            "sex": rng.choice(["male", "female"], N),
            "tagged": rng.choice(["yes", "no"], N),
            "seen": pd.to_datetime("2007-11-01") + pd.to_timedelta(rng.integers(0, 90, N), unit="D"),
            "unit": "mm",
            "notes": np.full(N, np.nan),
            "species": np.array(["Adelie", "Chinstrap", "Gentoo"])[kind],
        }
    )
    frame.loc[[3, 50], "bill"] = np.nan
    frame.loc[rng.random(N) < 0.1, "sex"] = None
    frame.loc[7, "mass"] = 1e9
    return frame


def texts():
    """Questions of three intents."""
    rng = np.random.default_rng(1)
    words = {
        "card": ["my card was stolen", "card lost abroad", "block the card now", "new card please"],
        "loan": ["rate of a loan", "repay my loan early", "loan for a house", "what loan can I get"],
        "login": ["password forgotten", "cannot log in", "reset the password", "locked out of my login"],
    }
    fillers = ["please help", "today", "thank you very much", "it is urgent", "since yesterday", "as soon as possible"]
    rows = [
        (f"{first} {rng.choice(fillers)} {rng.integers(1000)}", intent)
        for intent, firsts in words.items()
        for first in firsts * 6
    ]
    return pd.DataFrame(rows, columns=["question", "intent"])


def write(frame, path):
    """A frame as a file of the kind that the suffix says."""
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    elif path.suffix == ".xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    elif path.name.startswith("semicolon"):
        frame.to_csv(path, sep=";", decimal=",", index=False)
    else:
        frame.to_csv(path, sep="\t" if path.suffix == ".tsv" else ",", index=False)
    return path


def predicted(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


FILES = ["birds.csv", "birds.tsv", "semicolon.csv", "birds.parquet", "birds.xlsx"]


@pytest.mark.parametrize("name", FILES)
def test_every_kind_of_file_is_the_same_table(name, tmp_path):
    frame = birds()
    samples = read_samples(write(frame, tmp_path / name), "species")
    plan = samples.plan()
    assert plan.reason == f"{SAID}; {LEFT}; columns are standardized"
    prepared = plan.fit(samples.vectors)(samples.vectors)
    expected = TableColumns().fit(frame.drop(columns="species"), frame["species"])
    np.testing.assert_allclose(prepared, expected.transform(frame), rtol=0, atol=1e-12)
    assert expected.plan_.kinds == plan.kinds
    assert np.abs(prepared).max() < 4  # 10⁹ in one cell


def test_polars_is_pandas():
    pl = pytest.importorskip("polars")
    frame = birds()
    other = pl.from_pandas(frame.drop(columns="notes"))
    pipeline = ancr.table_pipeline(ancr.ANCRClassifier(alpha=0.1)).fit(other.drop("species"), other["species"])
    assert (
        pipeline["columns"].plan_.reason
        == f"{SAID}; left out: id (identifier), unit (constant); columns are standardized"
    )
    same = ancr.table_pipeline(ancr.ANCRClassifier(alpha=0.1)).fit(frame.drop(columns="species"), frame["species"])
    np.testing.assert_allclose(pipeline.predict_proba(other), same.predict_proba(frame), rtol=0, atol=1e-9)
    assert np.mean(same.predict(frame) == frame["species"]) > 0.95


def test_python_command_line_and_studio_give_the_same_labels(tmp_path):
    pytest.importorskip("starlette")
    frame = birds()
    path = write(frame, tmp_path / "birds.csv")
    options = ["--label", "species", "--method", "ANCR", "--set", "alpha=0.1", "--drop", "island"]
    trained = invoke(["train", path, *options, "-o", tmp_path / "m.npz"])
    said = (
        "2 numbers, 1 yes/no (tagged), 1 date (seen) and 1 category (sex); left out: id (identifier), island (as asked)"
    )
    assert f"{path}: {said}, unit (constant), notes (empty); columns are standardized\n" in trained.stderr
    assert invoke(["predict", tmp_path / "m.npz", path, "--explain", "-o", tmp_path / "out.csv"]).exit_code == 0
    rows = predicted(tmp_path / "out.csv")
    pipeline = ancr.table_pipeline(ancr.ANCRClassifier(alpha=0.1), kinds={"island": "drop"})
    labels = pipeline.fit(frame.drop(columns="species"), frame["species"]).predict(frame).tolist()
    assert [row["label"] for row in rows] == labels
    assert rows[0]["unlike"].count("(witnesses ") == 3
    name, _, values = rows[0]["because_1"].partition(": ")
    witness = frame.loc[int(name.removeprefix("row ")) - 1]
    assert values.startswith(f"bill {witness['bill']:g} · mass {witness['mass']:.6g} · sex {witness['sex']} · tagged")
    assert studio_labels(path, "species", {"island": "drop"}) == labels


def studio_labels(path, label, kinds=None):
    from ancr.studio.openings import open_source
    from ancr.studio.recogniser import Query
    from ancr.studio.workbench import Studio

    studio = Studio(open_source(path, label, kinds=kinds))
    try:

        def answers():  # in the worker's thread, which alone touches the state
            classifier = studio.state.adjusted({"alpha": 0.1, "space__normalize": True})
            vectors = studio.source.data.vectors
            return [answer.label for answer in studio.recogniser.judge([Query(v, None, classifier) for v in vectors])]

        return studio.worker.submit("read", answers).result()
    finally:
        studio.close()


ALONE = """
import importlib.abc, sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("matplotlib", "torch", "starlette", "polars", "dask", "PIL", "skimage"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from ancr.cli import main
main(sys.argv[1:])
"""


def test_a_saved_model_predicts_from_the_raw_table_elsewhere(tmp_path):
    frame = birds()
    options = ["--label", "species", "--method", "ANCR", "-o", tmp_path / "m.npz"]
    assert invoke(["train", write(frame, tmp_path / "birds.csv"), *options]).exit_code == 0
    new = frame.drop(columns=["species", "id", "unit", "notes"]).head(30)[
        ["seen", "tagged", "sex", "mass", "bill", "island"]
    ]
    new["colour"] = "black"
    new.loc[0, "island"], new.loc[1, "bill"], new.loc[2, ["sex", "seen"]] = "Ross", np.nan, None
    write(new, tmp_path / "new.csv")

    def predict(name):
        command = [sys.executable, "-c", ALONE, "predict", "m.npz", name, "-o", "out.csv"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)

    result = predict("new.csv")
    assert result.returncode == 0, result.stderr
    assert result.stderr == "warning: new.csv: the model does not know the columns colour; they are ignored\n"
    model = Model.load(tmp_path / "m.npz").build()
    assert [row["label"] for row in predicted(tmp_path / "out.csv")] == model.predict(new).tolist()
    write(new.drop(columns=["mass", "island"]), tmp_path / "less.csv")
    assert (
        "less.csv lacks the columns island, mass that the model was trained on; it has seen"
        in predict("less.csv").stderr
    )
    with pytest.raises(ValueError, match="X lacks the columns island, mass; it has seen, tagged, sex, bill, colour"):
        model.predict(new.drop(columns=["mass", "island"]))


def test_explanations_are_in_the_columns_of_the_table():
    frame = birds()
    pipeline = ancr.table_pipeline(ancr.ANCRClassifier(alpha=0.1)).fit(frame.drop(columns="species"), frame["species"])
    query = frame.loc[[0]].assign(bill=60.0)
    (why,) = pipeline.explain(query, top=3)
    assert [row["island"] for row in why.rows] == frame["island"].iloc[why.why.indices].tolist()
    assert (why.unlike[0].column, why.unlike[0].value) == ("bill", "60")
    assert sum(each.share for each in why.unlike) <= 1.0 + 1e-12
    assert f"row {why.why.indices[0] + 1}, " in str(why), "rows count from 1, as on the command line"


def test_an_audit_shows_the_values_of_rows(tmp_path):
    path = write(birds(), tmp_path / "birds.csv")
    assert invoke(["audit", path, "--label", "species", "--id", "id", "-o", tmp_path / "out"]).exit_code == 0
    (first, *_) = predicted(tmp_path / "out" / "audit.csv")
    row = birds().set_index("id").loc[int(first["sample"])]
    assert (first["island"], first["unit"]) == (row["island"], "mm")
    assert f"island {row['island']}" in (tmp_path / "out" / "audit.html").read_text()


def test_an_audit_is_the_same_from_python_and_command_line(tmp_path):
    frame = birds()
    path = write(frame, tmp_path / "birds.csv")
    assert invoke(["audit", path, "--label", "species", "-o", tmp_path / "out"]).exit_code == 0
    rows = predicted(tmp_path / "out" / "audit.csv")
    pipeline = ancr.table_pipeline().fit(frame.drop(columns="species"), frame["species"])
    prepared = pipeline[:-1].transform(frame)
    audit = ancr.audit_labels(prepared, frame["species"], estimator=pipeline[-1].best_estimator_)
    np.testing.assert_allclose([float(row["score"]) for row in rows], audit.score[audit.ranking], rtol=1e-3, atol=1e-5)
    assert [row["suggested"] for row in rows] == audit.suggested[audit.ranking].tolist()
    for refused in (ancr.ANCRClassifierCV().fit, ancr.ANCRClassifier().fit, ancr.audit_labels):
        with pytest.raises(ValueError, match=r"X: could not convert string to float: .*; ancr\.table_pipeline"):
            refused(frame.drop(columns="species"), frame["species"])


def test_a_table_of_texts_is_a_first_class_case(tmp_path):
    pytest.importorskip("starlette")
    frame = texts()
    path = write(frame, tmp_path / "questions.csv")
    told = "1 text (question); values are used as they are"
    trained = invoke(
        ["train", path, "--label", "intent", "--method", "ANCR", "--set", "alpha=0.1", "-o", tmp_path / "m.npz"]
    )
    assert trained.stderr == f"{path}: {told}\n"
    assert invoke(["predict", tmp_path / "m.npz", path, "-o", tmp_path / "out.csv"]).exit_code == 0
    rows = predicted(tmp_path / "out.csv")
    pipeline = ancr.table_pipeline(ancr.ANCRClassifier(alpha=0.1)).fit(frame[["question"]], frame["intent"])
    labels = pipeline.predict(frame).tolist()
    assert [row["label"] for row in rows] == labels == studio_labels(path, "intent")
    assert np.mean(np.array(labels) == frame["intent"]) == 1.0
    assert rows[0]["because_1"].partition(": ")[2] in set(frame["question"])
    (why,) = pipeline.explain(pd.DataFrame({"question": ["I forgot the password"]}), top=1)
    assert (why.label, "password" in why.rows[0]["question"]) == ("login", True)
    new = pd.DataFrame({"question": [None, "§§", "Λ"]})
    assert len(pipeline.predict(new)) == 3
    assert invoke(["next", tmp_path / "m.npz", path, "-n", "2"]).stdout.count("\n") == 2
    assert told in invoke(["audit", path, "--label", "intent", "-o", tmp_path / "audit"]).stderr
    compared = invoke(["compare", path, "--label", "intent", "--methods", "CRC", "--no-figures", "-o", tmp_path / "c"])
    assert told in compared.stderr
    accuracy = [json.loads(line)["accuracy"] for line in (tmp_path / "c" / "cells.jsonl").read_text().splitlines()]
    assert np.mean(accuracy) > 90


def test_weights_of_words_never_become_dense(monkeypatch):
    def refused(*args, **options):
        raise AssertionError("a sparse matrix became dense")

    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix):
        for name in ("toarray", "todense"):
            monkeypatch.setattr(kind, name, refused)
    frame = texts()
    pipeline = ancr.table_pipeline(ancr.ANCRClassifier()).fit(frame[["question"]], frame["intent"])
    assert pipeline.predict(frame).shape == (len(frame),)


def test_a_search_learns_the_columns_once(monkeypatch):
    fitted, frame = [], texts()
    make_blocks = TableColumns._make_blocks
    monkeypatch.setattr(
        TableColumns, "_make_blocks", lambda self, rows: fitted.append(len(rows)) or make_blocks(self, rows)
    )
    ancr.table_pipeline().fit(frame[["question"]], frame["intent"])
    assert fitted == [len(frame)]


def test_a_fit_that_fails_leaves_a_pipeline_as_it_was(monkeypatch):
    """Also where it fails, or is interrupted, after its columns were learned: they would not fit the classifier."""
    frame, other = birds(), birds().assign(bill=0.0, mass=lambda frame: -frame["mass"])
    pipeline = ancr.table_pipeline().fit(frame.drop(columns="species"), frame["species"])
    expected, plan = pipeline.predict_proba(frame), pipeline[0].plan_
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        pipeline.fit(other.drop(columns="species"), frame["species"][:-1])

    def interrupted(self, X, y):
        raise KeyboardInterrupt

    monkeypatch.setattr(ancr.ANCRClassifierCV, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pipeline.fit(other.drop(columns="species"), frame["species"])
    assert pipeline[0].plan_ is plan
    assert pipeline[-1].spaces is None
    np.testing.assert_array_equal(pipeline.predict_proba(frame), expected)


def test_columns_of_one_name_are_refused_however_it_is_written():
    frame = pd.DataFrame(np.eye(4), columns=["1", "a", 1, "b"])
    with pytest.raises(ValueError, match="several columns named '1'"):
        ancr.table_pipeline(ancr.ANCRClassifier()).fit(frame, list("xxyy"))


@pytest.mark.parametrize(("make", "label"), [(birds, "species"), (texts, "intent")])
def test_the_defaults_of_python_and_command_line_are_the_same(make, label, tmp_path):
    half = np.arange(len(make())) // 4 % 2 == 0  # the texts begin in four ways, which both halves have
    frame = make()[half]
    path = write(frame, tmp_path / "mine.csv")
    assert "ANCR-CV on" in invoke(["train", path, "--label", label, "-o", tmp_path / "m.npz"]).stdout
    new = make()[~half]
    pipeline = ancr.table_pipeline().fit(frame.drop(columns=label), frame[label])
    expected = pipeline.predict_proba(new)
    np.testing.assert_allclose(Model.load(tmp_path / "m.npz").build().predict_proba(new), expected, rtol=0, atol=1e-6)
    assert np.mean(pipeline.predict(new) == new[label]) > 0.9
    assert pipeline[-1].spaces is None


def test_the_studio_shows_labels_edits_and_searches_texts(tmp_path):
    pytest.importorskip("starlette")
    from ancr.studio.openings import open_source
    from ancr.studio.workbench import Studio

    frame = texts()
    frame.loc[0, "intent"] = None
    studio = Studio(open_source(write(frame, tmp_path / "questions.csv"), "intent"))
    try:

        def look():  # in the worker's thread, which alone touches the state
            hits, answers = studio.browse.search.matches("RESET password"), []
            for row in (["forgot my password"], [None]):
                query = studio.query({"row": row})
                answers.append(studio.recogniser.judge([query])[0].label)
            return studio.views.describe(0), hits, answers, studio.views.overview()

        notes = studio.source.notes
        first, hits, answers, overview = studio.worker.submit("read", look).result()
    finally:
        studio.close()
    assert (first["row"], first["label"]) == ([["question", frame.loc[0, "question"]]], None)
    assert hits.sum() == frame["question"].str.contains("reset the password").sum() == 6
    assert answers[0] == "login"
    assert overview["kinds"] == ["text"]
    assert "Columns: 1 text (question); values are used as they are." in notes


def test_a_plan_file_and_options_say_what_columns_are(tmp_path):
    path = write(birds(), tmp_path / "birds.csv")
    (tmp_path / "plan.toml").write_text('[columns]\nmass = "category"\nseen = "drop"\nunit = "text"\n')
    options = ["--label", "species", "--method", "CRC", "--columns", tmp_path / "plan.toml", "--column", "unit=drop"]
    trained = invoke(["train", path, *options, "-o", tmp_path / "m.npz"])
    assert (
        "1 number, 1 yes/no (tagged) and 3 categories (island, mass, sex); left out: id (identifier), seen (as"
        in trained.stderr
    )
    for content, message in (("mass = ", "Invalid"), ("columns = 3", "expected a table [columns]")):
        (tmp_path / "plan.toml").write_text(content)
        assert message in invoke(["train", path, *options, "-o", tmp_path / "m.npz"]).stderr


def test_compare_takes_kinds_and_counts_rows_as_the_command_line_does(tmp_path):
    frame = birds()
    path = write(frame, tmp_path / "birds.csv")
    options = ["--methods", "CRC", "--no-figures", "--drop", "mass", "--column", "tagged=category"]
    said = invoke(["compare", path, "--label", "species", *options, "-o", tmp_path / "out"]).stderr
    kinds = {"mass": "drop", "tagged": "category"}
    X, y = frame.drop(columns="species"), frame["species"]
    compared = ancr.compare(X, y, "CRC", kinds=kinds, learning_curve=False, jobs=1)
    assert compared.source.plan.reason in said
    assert {"tagged": "category"}.items() <= compared.source.plan.kinds.items()
    lines = (tmp_path / "out" / "cells.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["accuracy"] for line in lines) == sorted(compared.best.accuracies)
    assert compared.source.sample_name(0) == "row 1"
    assert samples_in_memory(X, y, kinds={"id": "id"}).names[7] == "8"
    with pytest.raises(ValueError, match="X, row 9, column 'bill': 'long' is not a number"):
        samples_in_memory(X.astype({"bill": object}).assign(bill=[*X["bill"][:8], "long", *X["bill"][9:]]), y)
    with pytest.raises(ValueError, match="there is no column 'weight'"):
        ancr.compare(X, y, kinds={"weight": "number"})
    with pytest.raises(ValueError, match="kinds go by the names of columns, but X is an array"):
        ancr.compare(X[["mass"]].to_numpy(), y, kinds=kinds)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1.0, 2.0, np.nan], "number"),
        (["Yes", "no", None], "yes/no"),
        (["true", "false", "true"], "yes/no"),
        (["2024-01-31", "2024-02-01T10:30:00", None], "date"),
        (["31.01.2024", "01.02.2024", "02.02.2024"], "date"),
        (["1/31/2024", "2/1/2024", None], "date"),
        (["31/1/2024", "2/1/2024", None], "date"),
        (["2024-01-31", "01.02.2024", None, "2024-01-31"], "left out"),
        (["2024-01-31", "2024-02-01", "unknown", None], "left out"),
        (["2024-01-31", "unknown", "never", None], "category"),
        (["red", "blue", "red"], "category"),
        (["none", "-", "none"], "category"),
        (["the first of three texts", "a second one of them", "and this is the last"], "text"),
        ([f"A-{i}" for i in range(30)], "left out"),
        ([float(i) for i in range(30)], "left out"),
        ([3.0, 3.0, 3.0], "left out"),
        ([np.nan, np.nan, np.nan], "left out"),
    ],
)
def test_kinds_of_columns(cells, kind):
    rows = np.array([cells, [1.0, 2.5] * (len(cells) // 2) + [0.5] * (len(cells) % 2)], dtype=object).T
    assert columns_of(rows, ["this", "other"])[0].kind == kind


@pytest.mark.parametrize(
    ("stray", "why"),
    [
        ("01.02.2024", "'01.02.2024' is not written like '2024-01-31'; write all dates alike, or leave cells empty"),
        ("some day", "'some day' is not written like '2024-01-31'"),
    ],
)
def test_dates_that_are_not_written_alike_are_named(stray, why):
    days = ["2024-01-31", "2024-02-29", None, stray]
    rows = np.array([days, [1.0, 2.5, 1.5, 0.5]], dtype=object).T
    assert ColumnPlan.of(rows, ["day", "size"]).left_out == "left out: day (dates that are not written alike)"
    assert [column.kind for column in columns_of(rows, ["day", "size"], {"day": "category"})] == ["category", "number"]
    with pytest.raises(ValueError, match=f"column 'day' cannot be read as dates: {re.escape(why)}"):
        columns_of(rows, ["day", "size"], {"day": "date"})
    rows[:, 0] = ["red", "blue", "red", "green"]
    with pytest.raises(ValueError, match="cannot be read as dates: 'red' is no date that is known"):
        columns_of(rows, ["day", "size"], {"day": "date"})


def test_identifiers_go_by_name_too():
    rows = np.array([[17.0, 4.0, 9.0, 12.0], [17.0, 4.0, 9.0, 12.0]]).T
    assert [column.kind for column in columns_of(rows, ["PassengerId", "paid"])] == ["left out", "number"]


def test_every_column_counts_the_same():
    frame = birds().drop(columns="species")
    columns = TableColumns().fit(frame)
    variances = np.bincount(columns.sources_, columns.transform(frame).var(axis=0))
    used = variances[columns.plan_.used]
    np.testing.assert_allclose(used, 1 / len(used), rtol=1e-9)
    assert len(columns.get_feature_names_out()) == columns.transform(frame).shape[1]


def test_frequent_gaps_are_a_column_of_their_own():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 2))
    values[:50, 0], values[0, 1] = np.nan, np.nan
    columns = TableColumns(standardize=True).fit(pd.DataFrame(values, columns=["a", "b"]))
    assert columns.get_feature_names_out().tolist() == ["a_1", "b", "a_2"]
    third = columns.transform(pd.DataFrame({"a": [np.nan, 0.0], "b": [0.0, np.nan]}))[:, 2]
    assert third[0] > 0 > third[1]


def test_strays_are_drawn_in_and_nothing_else_is():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.normal(size=300), rng.random(300) < 0.05, rng.exponential(size=300)]).astype(float)
    np.testing.assert_array_equal(WithoutStrays().fit_transform(values), values)
    values[5] = 1e9, 1e9, -1e9
    assert np.abs(WithoutStrays().fit_transform(values)).max() < 30


def test_one_share_of_constant_columns():
    assert OneShare().fit_transform(np.ones((5, 2))).tolist() == [[0.0, 0.0]] * 5


def test_training_samples_choose_whether_to_standardize():
    from sklearn.datasets import load_digits, load_wine
    from sklearn.decomposition import PCA

    X, y = load_digits(return_X_y=True)
    components = PCA(40).fit_transform(X[:600])
    names = [f"component {i}" for i in range(40)]
    plan = ColumnPlan.of(components, names).settled(components, y[:600])
    assert plan.standardize is False
    assert "40 numbers; values are used as they are (nearest neighbours are right for" in plan.reason
    assert "override with standardize=True)" in plan.reason
    X, y = load_wine(return_X_y=True)
    assert ColumnPlan.of(X, [f"c{i}" for i in range(13)]).settled(X, y).standardize is True


def test_words_after_thousands_of_numbers_are_read_as_they_are_written(tmp_path):
    cells = ["1.50"] * 9000 + ["low", "high"] * 9000
    (tmp_path / "late.csv").write_text(
        "a,b,label\n" + "".join(f"{c},{i % 7},{'xy'[i % 2]}\n" for i, c in enumerate(cells))
    )
    vectors = read_samples(tmp_path / "late.csv").vectors
    assert vectors[:2, 0].tolist() == ["1.50", "1.50"]
    (tmp_path / "late.csv").write_text("a,label\n" + "1.50,x\n" * 9000 + "low,y\n" * 2)
    also = "; 1 more cell of this column is not a number either"
    with pytest.raises(ValueError, match=rf"row 9001 \(line 9002\), column 'a': 'low' is not a number.*{also}$"):
        read_samples(tmp_path / "late.csv")


def test_one_class_or_one_sample_decides_nothing(tmp_path):
    (tmp_path / "pool.csv").write_text("a,b,label\n1,200,x\n2,300,\n3,100,\n")
    assert read_samples(tmp_path / "pool.csv").plan().standardize is True


def test_texts_and_dates_do_not_number_the_samples(tmp_path):
    days = pd.to_datetime("2024-01-01") + pd.to_timedelta(np.random.default_rng(0).permutation(2000)[:72], unit="D")
    frame = texts().assign(day=days)
    samples = read_samples(write(frame, tmp_path / "questions.csv"), "intent")
    assert samples.plan().kinds == {"question": "text", "day": "date"}
    assert doubts(samples, samples.plan()) == []


def test_explanations_are_the_same_from_python_command_line_and_studio(tmp_path):
    pytest.importorskip("starlette")
    from ancr.studio.openings import open_source
    from ancr.studio.workbench import Studio

    frame, row = birds().drop(columns=["id", "unit", "notes"]), ["Dream", 60.0, 3600.0, "male", "yes", "2008-01-05"]
    query = pd.DataFrame([row], columns=frame.columns[:-1])
    pipeline = ancr.table_pipeline(ancr.ANCRClassifier()).fit(frame.iloc[:, :-1], frame["species"])
    (why,) = pipeline.explain(query)
    assert why.unlike[0].column == "bill"
    # the command line
    path = write(frame, tmp_path / "birds.csv")
    options = ["--label", "species", "--method", "ANCR", "-o", tmp_path / "m.npz"]
    assert invoke(["train", path, *options]).exit_code == 0
    new = write(query, tmp_path / "new.csv")
    assert invoke(["predict", tmp_path / "m.npz", new, "--explain", "-o", tmp_path / "out.csv"]).exit_code == 0
    (line,) = predicted(tmp_path / "out.csv")
    assert line["unlike"] == "; ".join(map(str, why.unlike))
    # the studio, which names six; a labelled sample is not among those that prepare its columns
    studio = Studio(open_source(tmp_path / "m.npz"))
    try:
        answer = studio.answer(studio.query({"row": row})).result()
        own = studio.answer(studio.query({"sample": studio.state.ids[0]})).result()
    finally:
        studio.close()
    (why,) = pipeline.explain(query, top=6)
    named = [(one.column, one.value, one.witnesses) for one in why.unlike]
    assert [(one["column"], one["value"], one["witnesses"]) for one in answer["unlike"]] == named
    np.testing.assert_allclose([one["share"] for one in answer["unlike"]], [one.share for one in why.unlike], atol=1e-5)
    others = frame.drop(index=0)
    (why,) = (
        ancr.table_pipeline(ancr.ANCRClassifier()).fit(others.iloc[:, :-1], others["species"]).explain(frame[:1], top=6)
    )
    assert [one["column"] for one in own["unlike"]] == [one.column for one in why.unlike]


def penguins():
    """Sixty penguins as they are published: strings, units, gaps; and the last thirty of them without a species."""
    rng = np.random.default_rng(3)
    kind = np.arange(90) % 3
    frame = pd.DataFrame(
        {
            "island": np.array(["Torgersen", "Dream", "Biscoe"])[kind],
            "bill_length_mm": np.round(np.array([38.8, 48.8, 47.5])[kind] + 3 * rng.normal(size=90), 1),
            "body_mass_g": np.array([3700, 3733, 5076])[kind] + 50.0 * np.round(8 * rng.normal(size=90)),
            "sex": rng.choice(["male", "female"], 90),
            "species": np.array(["Adelie", "Chinstrap", "Gentoo"])[kind],
        }
    )
    frame.loc[rng.integers(0, 90, 12), "sex"] = None
    frame.loc[[3, 71], ["bill_length_mm", "body_mass_g"]] = np.nan
    return frame[:60], frame[60:].reset_index(drop=True).drop(columns="species")


def with_columns(**columns):
    """Penguins with more columns: values for the training rows, and for the new ones."""
    train, new = penguins()
    for name, (known, unknown) in columns.items():
        train, new = train.assign(**{name: known}), new.assign(**{name: unknown})
    return train, new


def with_cell(row, column, value, training):
    """Penguins with one other value."""
    train, new = penguins()
    (train if training else new).loc[row, column] = value
    return train, new


def days(n, start):
    return pd.to_datetime(start) + pd.to_timedelta(np.arange(n) * 5 % 77, unit="D")


# What is in the table, and what every surface says of its columns.
CASES = {
    "penguins": (penguins, "2 numbers and 2 categories (island, sex); columns are standardized"),
    "date, identifier, constant": (
        lambda: with_columns(
            day=(days(60, "2007-11-01"), days(30, "2008-11-01")),
            id=(np.arange(60), 60 + np.arange(30)),
            study=("PAL0708", "PAL0708"),
        ),
        "1 date (day) and 2 categories (island, sex); left out: id (identifier), study (constant);",
    ),
    "1e9 in a training cell": (lambda: with_cell(5, "body_mass_g", 1e9, True), "2 numbers and 2 categories"),
    "1e9 in a new cell": (lambda: with_cell(5, "body_mass_g", 1e9, False), "2 numbers and 2 categories"),
    "an unseen category": (lambda: with_cell(5, "island", "Ross", False), "2 numbers and 2 categories"),
    "a column all missing in training": (
        lambda: with_columns(depth=(np.full(60, np.nan), np.linspace(14, 21, 30))),
        "2 numbers and 2 categories (island, sex); left out: depth (empty); columns are standardized",
    ),
}


@pytest.mark.parametrize("suffix", ["csv", *rarely("xlsx")])
@pytest.mark.parametrize("case", CASES)
def test_each_case_is_the_same_from_python_command_line_and_studio(case, suffix, tmp_path):
    pytest.importorskip("starlette")
    from ancr.studio.openings import open_source
    from ancr.studio.workbench import Studio

    make, said = CASES[case]
    train, new = make()
    X, y = train.drop(columns="species"), train["species"]
    pipeline = ancr.table_pipeline(ancr.ANCRClassifier(alpha=0.1)).fit(X, y)
    labels, chances = pipeline.predict(new).tolist(), pipeline.predict_proba(new).max(axis=1)
    assert said in pipeline["columns"].plan_.reason
    assert np.isfinite(chances).all()
    assert np.mean(np.array(labels) == np.array(["Adelie", "Chinstrap", "Gentoo"] * 10)) > 0.8
    # the command line
    path, model = write(train, tmp_path / f"train.{suffix}"), tmp_path / "m.npz"
    trained = invoke(["train", path, "--label", "species", "--method", "ANCR", "--set", "alpha=0.1", "-o", model])
    assert said in trained.stderr, trained.output
    queries = write(new, tmp_path / f"new.{suffix}")
    assert invoke(["predict", model, queries, "-o", tmp_path / "out.csv"]).exit_code == 0
    rows = predicted(tmp_path / "out.csv")
    assert [row["label"] for row in rows] == labels
    np.testing.assert_allclose([float(row["probability"]) for row in rows], chances, rtol=0, atol=1e-9)
    # the studio, with the table
    studio = Studio(open_source(path, "species"))
    try:
        assert any(said in note for note in studio.source.notes)
        cells = new.assign(**{name: new[name].astype(str) for name in new if new[name].dtype.kind == "M"})
        asked = [[None if pd.isna(cell) else cell for cell in row] for row in cells[list(X)].values.tolist()]
        settings = {"alpha": 0.1, "space__normalize": True}
        answers = [studio.answer(studio.query({"row": row, "settings": settings})) for row in asked]
        assert [answer.result()["label"] for answer in answers] == labels
    finally:
        studio.close()


@pytest.mark.parametrize("case", CASES)
def test_each_case_is_the_same_in_polars(case):
    pl = pytest.importorskip("polars")
    train, new = CASES[case][0]()
    X, y = train.drop(columns="species"), train["species"]
    pandas = ancr.table_pipeline(ancr.ANCRClassifier()).fit(X, y)
    polars = ancr.table_pipeline(ancr.ANCRClassifier()).fit(pl.from_pandas(X), pl.from_pandas(y))
    assert polars["columns"].plan_.reason == pandas["columns"].plan_.reason
    np.testing.assert_allclose(polars.predict_proba(pl.from_pandas(new)), pandas.predict_proba(new), rtol=0, atol=1e-12)


def test_a_text_file_is_read_by_every_command(tmp_path):
    """One text a line; with labels on either side of a tab it is the table of the same texts and labels."""
    texts = [f"{word} news about item {i} of the day" for i in range(20) for word in ("glad", "sad")]
    labels = [None if i % 7 == 0 else text.split()[0] for i, text in enumerate(texts)]
    rows = [(text, label or "") for text, label in zip(texts, labels, strict=True)]
    plain, before, behind, table = (tmp_path / name for name in ("plain.txt", "before.txt", "behind.txt", "table.csv"))
    plain.write_text("\ufeff" + "\n\n".join(texts))
    before.write_text("".join(f"{label}\t{text}\r\n" for text, label in rows))
    behind.write_text("".join(f"{text}\t{label}\n" for text, label in rows))
    pd.DataFrame(rows, columns=["text", "label"]).to_csv(table, index=False)
    expected = read_samples(table)
    for path in (before, behind):
        found = read_samples(path)
        assert (found.columns, found.labels) == (("text",), expected.labels)
        assert found.vectors.tolist() == expected.vectors.tolist()
    assert read_samples(plain, pool=True).vectors.tolist() == expected.vectors.tolist()
    model, answers = tmp_path / "model.npz", tmp_path / "answers.csv"
    assert invoke(["train", before, "--method", "CRC", "-o", model]).exit_code == 0
    labels = []
    for path in (plain, behind, table):
        assert invoke(["predict", model, path, "-o", answers]).exit_code == 0
        labels.append([row["label"] for row in csv.DictReader(answers.open())])
    assert labels[0] == labels[1] == labels[2]
    assert np.mean([label == text.split()[0] for label, text in zip(labels[0], texts, strict=True)]) > 0.8


def test_a_line_without_a_tab_makes_all_lines_texts(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("a tab\tin a text\nand none here\n")
    assert read_samples(path, pool=True).vectors.tolist() == [["a tab\tin a text"], ["and none here"]]


def test_a_column_that_is_left_out_may_hold_anything(tmp_path):
    path = tmp_path / "mixed.csv"
    rows = [(i % 13, "about 7" if i == 40 else 2 * i, "ab"[i % 13 > 6]) for i in range(60)]
    pd.DataFrame(rows, columns=["x", "z", "label"]).to_csv(path, index=False)
    output = tmp_path / "model.npz"
    assert "'about 7' is not a number" in invoke(["train", path, "-o", output]).output
    found = invoke(["train", path, "--drop", "z", "-o", output])
    assert found.exit_code == 0, found.output
    assert list(Model.load(output).plan.kinds) == ["x"]
