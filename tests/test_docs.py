"""The Python code of the documentation runs, with small stand-ins for the names that it assumes."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from ancr import ANCRClassifier
from ancr.datasets import load_folder, load_table

DOCS = Path(__file__).parents[1] / "docs"


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.fixture
def names():
    X, y = load_digits(return_X_y=True)
    parts = {"X_train": X[:200], "y_train": y[:200], "X_test": X[200:260], "more": X[300:320], "labels": y[300:320]}
    return {**parts, "X": X[:200], "y": y[:200], "ANCRClassifier": ANCRClassifier}


def test_choosing(names):
    for code in blocks("choosing.md"):
        exec(code, names)
        found = names["clf"].predict(names["X_test"])
        given = found != -1  # the last block withholds answers
        assert given.mean() > 0.5
        assert (found == load_digits().target[200:260])[given].mean() > 0.9


def test_get_started(names):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    for code in blocks("get_started.md"):
        exec(code, names)
    assert names["clf"].best_score_ > 0.95


@pytest.mark.all
def test_comparing(names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own, call = blocks("comparing.md")
    exec(own, names)
    assert names["NearestMean"]().fit(names["X"], names["y"]).score(names["X"], names["y"]) > 0.8
    exec(call, names)
    assert (tmp_path / "report.html").is_file()
    assert len(names["comparison"].results) == 3


def test_labels(names):
    (code,) = blocks("labels.md")
    names |= {"clf": ANCRClassifier(), "known": np.arange(40)}
    exec(code.replace("audit_labels(X, y)", "audit_labels(X, y, estimator=ANCRClassifier(alpha=0.1))"), names)
    assert len(names["rows"]) == 20
    assert not set(names["rows"]) & set(range(40))


def test_imbalance(names, capsys):
    (code,) = blocks("imbalance.md")
    exec(code, names)
    assert capsys.readouterr().out in (DOCS / "imbalance.md").read_text(encoding="utf-8")


def test_photos(tmp_path, monkeypatch):
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    exec(blocks("photos.md")[0], {})
    with pytest.warns(UserWarning, match="is empty"):
        found = load_folder("photos")
    assert len(found.data) == 501  # paths; that of the broken file is left out once pictures are decoded
    assert len(list((tmp_path / "new").iterdir())) == 3


def test_texts(tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    exec(blocks("texts.md")[0], {})
    found = load_table("docstrings.csv", target="package")
    assert set(found.target_names) == {"numpy", "scipy.stats", "pandas"}
    assert len(found.data) > 500


def test_growing(names):
    code, _, _ = blocks("cluster.md")
    exec(code, names)
    assert names["clf"].dictionary_.n_atoms == 220


@pytest.mark.parametrize("which", [1, 2])
def test_cluster(names, which, tmp_path, monkeypatch):
    distributed, da = pytest.importorskip("distributed"), pytest.importorskip("dask.array")
    pytest.importorskip("zarr")
    monkeypatch.chdir(tmp_path)
    for i, (X, y) in enumerate(zip(np.split(names["X"], 8), np.split(names["y"], 8), strict=True)):
        np.save(f"atoms{i}.npy", X)
        np.save(f"labels{i}.npy", y)
    queries = names["X_test"]
    names["Q"] = da.from_array(queries, chunks=(20, -1)) if which == 1 else queries
    code = blocks("cluster.md")[which].replace('"scheduler:8786"', "cluster").replace("/data/", f"{tmp_path}/")
    local = distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None)
    with local as cluster, distributed.Client(cluster):
        exec(code, {**names, "cluster": cluster})


def test_solve():
    names = {}
    for code in blocks("solve.md"):
        exec(code, names)
    assert names["solution"].verify().all()
    np.testing.assert_allclose(names["shares"], names["solution"].toarray(), atol=1e-9)


@pytest.mark.parametrize(
    ("other_use", "meaning"),
    [
        (r"κ\(|constant κ|\+ κ\)|\bkappa", "κ is the width of a kernel"),
        (r"μ(?:_j)? = (?!λ(?:_j)? \+ γ/2)|μ‖|Vμ", "μ is λ + γ/2"),
        (r"exp\(−γ|γ‖x − y‖|width γ", "γ is the relaxation"),
        (r"β[₁₂]", "β is the weight of class terms"),
        (r"α", "the weight of the ridge is λ"),
        (r"Kendall's τ|[cx]_new = τ", "τ is the factor of the rank-one term in leave-one-out"),
    ],
)
def test_a_symbol_has_one_meaning(other_use, meaning):
    """The uses that the symbols of the glossary once had besides, in pages, docstrings and code."""
    root = DOCS.parent
    pages = [
        *DOCS.glob("*.md"),
        *(DOCS / "background").glob("*.md"),
        *root.glob("*.md"),
        *(root / "ancr").rglob("*.py"),
    ]
    for page in [*pages, *(root / "examples").rglob("*.py")]:
        found = re.search(other_use, page.read_text(encoding="utf-8"))
        assert found is None, f"{page}: {found and found[0]!r}, but {meaning}"
