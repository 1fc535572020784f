"""Dask gives the answers of one machine, sends data once and survives the loss of a worker. Uses small clusters."""

import os
import pickle
import signal
import threading
import time

import dask
import dask.array as da
import dask.bag
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster, get_client
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import ancr
from ancr import Space
from ancr.distributed import DaskClassifier, ShardedClassifier
from ancr.distributed.shards import Question, Shard, price
from tests.components import component
from tests.marks import rarely


@pytest.fixture(scope="module")
def cluster():
    settings = {"distributed.scheduler.worker-ttl": None}
    with (
        dask.config.set(settings),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 80)
    centres = rng.random((3, 20))
    X = centres[np.repeat(np.arange(3), 80)] + 0.7 * rng.random((240, 20))
    shuffled = rng.permutation(240)
    return X[shuffled], y[shuffled], centres[np.arange(30) % 3] + 0.7 * rng.random((30, 20))


METHODS = ("predict", "predict_proba", "decision_function", "residuals", "codes")


def dense(values):
    return values.toarray() if hasattr(values, "toarray") else np.asarray(values)


def assert_same(found, expected):
    found, expected = dense(found), dense(expected)
    if expected.dtype.kind == "f":
        # A block of another size can take another path through BLAS, which rounds differently.
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("estimator", [ancr.ANCRClassifier(), ancr.CRCClassifier()], ids=lambda c: type(c).__name__)
def test_lazy_arrays_give_the_answers_of_one_machine(estimator, data, cluster):
    X, y, Q = data
    clf = estimator.fit(X, y)
    with DaskClassifier(clf) as lazy:
        for method in METHODS:
            result = getattr(lazy, method)(da.from_array(Q, chunks=(7, 11)))
            expected = dense(getattr(clf, method)(Q))
            assert isinstance(result, da.Array)
            assert result.shape == expected.shape
            assert result.dtype == expected.dtype
            assert_same(result.compute(), expected)


@pytest.mark.all
@pytest.mark.parametrize("estimator", [ancr.ANCRClassifier(space="rbf"), ancr.CRCClassifier()], ids=str)
def test_a_classifier_on_a_device_answers_on_every_worker(estimator, data, cluster):
    torch = component("torch")
    X, y, Q = data
    numbers = np.unique(y, return_inverse=True)[1]
    plain = clone(estimator).fit(X, numbers)
    moved = clone(estimator).fit(torch.asarray(X), torch.asarray(numbers))
    lazy = da.from_array(Q, chunks=(8, 20))
    with DaskClassifier(moved) as distributed:
        for method in METHODS:
            found = getattr(distributed, method)(lazy).compute()
            assert isinstance(found, np.ndarray), method
            np.testing.assert_allclose(found, dense(getattr(plain, method)(Q)), atol=1e-9, err_msg=method)


@pytest.mark.all
def test_shards_are_priced_on_a_device(data, cluster, tmp_path):
    component("torch")
    X, y, Q = data
    paths, labels = write(tmp_path, X, y, "npy")
    plain, moved = (
        ShardedClassifier(ancr.ANCRClassifier(), device=device).fit(paths, labels).solve(Q) for device in (None, "cpu")
    )
    assert moved.converged.all()
    assert moved.gap.max() <= 1e-8
    np.testing.assert_allclose(moved.codes.toarray(), plain.codes.toarray(), atol=1e-7)


def test_local_schedulers_and_plain_arrays(data):
    X, y, Q = data
    lazy = DaskClassifier(ancr.ANCRClassifier()).fit(X, y)
    expected = lazy.estimator_.residuals(Q)
    with dask.config.set(scheduler="threads"):
        assert_same(lazy.residuals(da.from_array(Q, chunks=(8, 20))).compute(), expected)
    np.testing.assert_array_equal(lazy.residuals(Q), expected)
    assert not pickle.loads(pickle.dumps(lazy)).__dict__.get("_resident")


def test_dataframes(data, cluster):
    dd = pytest.importorskip("dask.dataframe")
    X, y, Q = data
    names = [f"f{i}" for i in range(20)]
    clf = ancr.ANCRClassifier().fit(pd.DataFrame(X, columns=names), y)
    frame = pd.DataFrame(Q, columns=names)
    with DaskClassifier(clf) as lazy:
        for method in METHODS:
            result = getattr(lazy, method)(dd.from_pandas(frame, npartitions=3))
            assert_same(result.compute(), getattr(clf, method)(frame))
        with pytest.raises(ValueError, match="feature names"):
            lazy.predict(dd.from_pandas(frame[names[::-1]], npartitions=3)).compute()


def test_the_dictionary_is_not_in_the_graph_and_leaves_on_close(data, cluster):
    X, y, Q = data
    lazy = DaskClassifier(ancr.CRCClassifier()).fit(np.tile(X, (40, 1)), np.tile(y, 40))
    size = lazy.estimator_.dictionary_.atoms.nbytes
    labels = lazy.predict(da.from_array(Q, chunks=(1, 20)))
    assert len(pickle.dumps(labels)) < size / 20
    name = lazy._resident[0]
    lazy.predict_proba(da.from_array(Q, chunks=(1, 20))).compute()
    assert lazy._resident[0] == name  # one dictionary for all calls
    assert all(cluster.run(lambda dask_worker: name in dask_worker.plugins).values())
    lazy.close()
    assert not any(cluster.run(lambda dask_worker: name in dask_worker.plugins).values())


ARRIVALS = []


class Counted(ancr.ANCRClassifier):
    """Counts how often it is unpickled, which is how often its bytes arrived."""

    def __setstate__(self, state):
        super().__setstate__(state)
        ARRIVALS.append(len(self.dictionary_.atoms))


@pytest.mark.all
def test_the_dictionary_is_sent_to_each_worker_once(data, cluster):
    X, y, Q = data
    X, y = np.tile(X, (20, 1)), np.tile(y, 20)  # far more bytes than queries and answers
    queries = da.from_array(np.tile(Q, (4, 1))[:100], chunks=(1, 20))
    clf = Counted().fit(X, y)
    with DaskClassifier(clf) as lazy:
        labels, residuals = dask.compute(lazy.predict(queries), lazy.residuals(queries))
        again = lazy.predict(queries).compute()
    assert list(cluster.run(arrivals).values()) == [[len(X)], [len(X)]]
    carried = cluster.run(lambda dask_worker: sum(entry["total"] for entry in dask_worker.transfer_incoming_log))
    assert max(carried.values()) < clf.dictionary_.atoms.nbytes  # workers did not need each other's copies
    np.testing.assert_array_equal(labels, again)
    np.testing.assert_array_equal(labels, clf.classes_[residuals.argmin(axis=1)])


def arrivals():
    return ARRIVALS


def test_a_classifier_is_sent_again_after_learning(data, cluster):
    X, y, Q = data
    clf = ancr.ANCRClassifier().fit(X[:100], y[:100])
    queries = da.from_array(Q, chunks=(15, 20))
    with DaskClassifier(clf) as lazy:
        before = lazy.residuals(queries)
        before.compute()
        clf.partial_fit(X[100:], y[100:])
        expected = ancr.ANCRClassifier().fit(X, y).residuals(Q)
        np.testing.assert_allclose(lazy.residuals(queries).compute(), expected, atol=1e-10)
        with pytest.raises(RuntimeError, match="closed or fitted again"):
            before.compute()


def test_bad_queries_are_rejected_before_anything_is_computed(data):
    X, y, Q = data
    lazy = DaskClassifier(ancr.CRCClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="X must have the 20 features seen by fit, got 3"):
        lazy.predict(da.from_array(Q[:, :3]))
    with pytest.raises(ValueError, match="X must be a Dask array or dataframe of two dimensions, got Array"):
        lazy.codes(da.from_array(Q[0]))
    with pytest.raises(ValueError, match="X must be a Dask array or dataframe of two dimensions, got Bag"):
        lazy.residuals(dask.bag.from_sequence(Q.tolist()))
    with pytest.raises(NotFittedError):
        DaskClassifier(ancr.CRCClassifier()).predict(da.from_array(Q))


class Slow:
    """A query block that takes its time, so that a worker can die in the middle."""

    def __call__(self, block):
        time.sleep(0.02)
        return block


@pytest.mark.all
def test_a_killed_worker_changes_nothing(data):
    X, y, Q = data
    Q = np.tile(Q, (10, 1))
    clf = ancr.ANCRClassifier().fit(X, y)
    with (
        LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        queries = da.from_array(Q, chunks=(3, 20)).map_blocks(Slow(), dtype=Q.dtype, meta=np.empty((0, 0)))
        future = client.compute(DaskClassifier(clf).predict(queries))
        victim = sorted(client.run(os.getpid).items())[0]
        time.sleep(0.3)
        os.kill(victim[1], signal.SIGKILL)
        labels = future.result(timeout=60)
        assert victim[0] not in client.run(os.getpid)
    np.testing.assert_array_equal(labels, clf.predict(Q))


def write(folder, X, y, kind):
    """Three shards on disk: (paths, labels)."""
    paths, labels = [], []
    for number, part in enumerate(np.array_split(np.arange(len(X)), 3)):
        path = folder / f"atoms{number}.{kind}"
        if kind == "parquet":
            frame = pd.DataFrame(X[part], columns=[f"f{i}" for i in range(X.shape[1])])
            frame.assign(label=y[part]).to_parquet(path)
        elif kind == "zarr":
            zarr = pytest.importorskip("zarr")
            stored = zarr.create_array(str(path), shape=X[part].shape, dtype=X.dtype, chunks=(50, X.shape[1]))
            stored[:] = X[part]
        else:
            np.save(path, X[part])
        np.save(folder / f"labels{number}.npy", y[part])
        paths.append(path)
        labels.append(folder / f"labels{number}.npy")
    return paths, "label" if kind == "parquet" else labels


@pytest.mark.parametrize("kind", ["npy", *rarely("zarr", "parquet")])
@pytest.mark.parametrize(
    "estimator",
    [
        ancr.ANCRClassifier(),
        ancr.NCRClassifier(alpha=1e-2, rule="reg"),
        ancr.ANCRClassifier(space=Space(normalize=False)),
        ancr.ANCRClassifier(space=Space(lift=0.5, power=0.5)),
    ],
    ids=["simplex", "orthant", "as given", "lifted"],
)
def test_shards_give_the_answer_of_one_machine(estimator, kind, data, cluster, tmp_path):
    X, y, Q = data
    sharded = ShardedClassifier(estimator).fit(*write(tmp_path, X, y, kind))
    whole = estimator.fit(X, y)
    solution = sharded.solve(Q)
    assert solution.converged.all()
    assert (solution.gap <= 1e-8).all()
    assert (solution.n_iter > 1).all()
    np.testing.assert_allclose(solution.codes.toarray(), whole.codes(Q).toarray(), atol=1e-6)
    np.testing.assert_allclose(sharded.residuals(Q), whole.residuals(Q), atol=1e-6)
    np.testing.assert_array_equal(sharded.predict(Q), whole.predict(Q))
    np.testing.assert_allclose(sharded.predict_proba(Q), whole.predict_proba(Q), atol=1e-4)
    assert sharded.classes_.tolist() == ["a", "b", "c"]


@pytest.mark.all
def test_fifty_thousand_atoms_in_single_precision(cluster, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(50, size=50_020)
    X = (rng.random((50, 128)) ** 4)[y] + 0.5 * rng.random((50_020, 128))
    X, Q = X[:-20].astype(np.float32), X[-20:]
    sharded = ShardedClassifier(ancr.ANCRClassifier()).fit(*write(tmp_path, X, y[:-20], "npy"))
    whole = ancr.ANCRClassifier().fit(X.astype(float), y[:-20])
    solution = sharded.solve(Q)
    assert solution.converged.all()
    assert solution.gap.max() <= 1e-8
    np.testing.assert_allclose(solution.codes.toarray(), whole.codes(Q).toarray(), atol=1e-5)
    np.testing.assert_array_equal(sharded.predict(Q), whole.predict(Q))


class Fragile(ShardedClassifier):
    """Loses a worker just before the second pricing round."""

    looks = 0

    def _on_workers(self, function, arguments):
        self.looks += function is price
        if function is price and self.looks == 2:
            self.victim, pid = sorted(get_client().run(os.getpid).items())[0]
            os.kill(pid, signal.SIGKILL)
        return super()._on_workers(function, arguments)


@pytest.mark.all
def test_a_worker_lost_between_pricing_rounds_changes_nothing(data, tmp_path):
    X, y, Q = data
    files = write(tmp_path, X, y, "npy")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        clf = Fragile(ancr.ANCRClassifier()).fit(*files)
        solution = clf.solve(Q)
        assert clf.looks > 2
        assert clf.victim not in client.run(os.getpid)
    assert solution.converged.all()
    np.testing.assert_allclose(solution.codes.toarray(), ancr.ANCRClassifier().fit(X, y).codes(Q).toarray(), atol=1e-6)


def test_work_waits_where_all_workers_are_gone_for_the_moment(data, tmp_path):
    X, y, Q = data
    with (
        dask.config.set({"distributed.scheduler.worker-ttl": None}),
        LocalCluster(n_workers=0, threads_per_worker=1, processes=False, dashboard_address=":0") as local,
        Client(local),
    ):
        later = threading.Timer(1.0, local.scale, [1])
        later.start()
        clf = ShardedClassifier(ancr.ANCRClassifier()).fit(*write(tmp_path, X, y, "npy"))
        later.join()
        np.testing.assert_array_equal(clf.predict(Q), ancr.ANCRClassifier().fit(X, y).predict(Q))


def test_single_precision_files_are_certified_in_double(data, cluster, tmp_path):
    X, y, Q = data
    X = X.astype(np.float32)
    sharded = ShardedClassifier(ancr.ANCRClassifier()).fit(*write(tmp_path, X, y, "npy"))
    solution = sharded.solve(Q)
    atoms = X / np.linalg.norm(X, axis=1, keepdims=True)
    queries = Q / np.linalg.norm(Q, axis=1, keepdims=True)
    pull = (queries - solution.codes @ atoms.astype(float)) @ atoms.T.astype(float) - 1e-3 * solution.codes.toarray()
    gap = 2 * (pull.max(axis=1) - (pull * solution.codes.toarray()).sum(axis=1))
    assert (gap <= 1e-8 * 2.5).all()  # ‖y‖² + (Σ c)² is 2
    assert solution.converged.all()


@pytest.mark.parametrize("offset", [1e4, *rarely(0.0, 1e2)])
def test_single_precision_files_about_their_mean(data, cluster, tmp_path, offset):
    X, y, Q = data
    X = (X + offset).astype(np.float32)
    estimator = ancr.ANCRClassifier(alpha=1e-3, space=Space(normalize=False))
    solution = ShardedClassifier(estimator).fit(*write(tmp_path, X, y, "npy")).solve(Q + offset)
    assert solution.converged.all()
    atoms = X.astype(np.longdouble)
    queries, codes = (Q + offset).astype(np.longdouble), solution.codes.toarray().astype(np.longdouble)
    codes /= codes.sum(axis=1, keepdims=True)
    middle = atoms.mean(axis=0)
    atoms, queries = atoms - middle, queries - middle
    pull = (queries - codes @ atoms) @ atoms.T - 1e-3 * codes
    gap = 2 * (pull.max(axis=1) - (pull * codes).sum(axis=1))
    assert (gap <= 1e-8 * (queries**2).sum(axis=1)).all()


def test_dask_classifier_tells_features_and_width(data):
    X, y, Q = data
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    dask_clf = DaskClassifier(ancr.ANCRClassifier())
    assert not hasattr(dask_clf, "n_features_in_")
    dask_clf.fit(frame, y, sample_weight=np.arange(len(y)) % 4)
    assert dask_clf.n_features_in_ == X.shape[1]
    assert list(dask_clf.feature_names_in_) == list(frame.columns)
    codes = dask_clf.codes(da.from_array(Q, chunks=(10, X.shape[1])))
    assert codes.shape == (len(Q), len(X))
    assert codes.compute().shape == codes.shape


def test_pricing_finds_what_rounding_would_hide(tmp_path):
    """Two atoms that single precision cannot tell apart, one on either side of the level."""
    x = np.linspace(0.1, 1.0, 64, dtype=np.float32)
    above = x.copy()
    above[0] += np.float32(1e-8) * 2
    atoms = np.stack([x, above])
    np.save(tmp_path / "a.npy", atoms)
    residual = np.linspace(1.0, 2.0, 64)
    exact = atoms.astype(float) @ residual
    level = exact.mean()
    assert exact[0] < level < exact[1]
    shard = Shard(str(tmp_path / "a.npy"), np.array([0, 1]), Space(normalize=False).prepare(atoms))
    longest = float(np.linalg.norm(atoms.astype(float), axis=1).max())
    (answer,) = price(shard, longest, Question(residual[None], np.array([level]), [np.empty(0, int)]))
    assert answer.rows.tolist() == [1]
    np.testing.assert_allclose(answer.surplus, (exact[1] - level) ** 2, rtol=1e-6)


def test_pricing_keeps_the_hardest_pulls_and_skips_known_atoms(tmp_path, monkeypatch):
    monkeypatch.setattr("ancr.distributed.shards.CHUNK_ROWS", 16)
    rng = np.random.default_rng(1)
    atoms, residuals = rng.standard_normal((200, 5)), rng.standard_normal((3, 5))
    np.save(tmp_path / "a.npy", atoms)
    shard = Shard(str(tmp_path / "a.npy"), np.arange(200), Space(normalize=False).prepare(atoms))
    pulls = residuals @ atoms.T
    order = np.argsort(-pulls, axis=1)
    known = [np.sort(rows[:4]) for rows in order]
    longest = np.linalg.norm(atoms, axis=1).max()
    for answer, rows in zip(
        price(shard, longest, Question(residuals, np.full(3, -np.inf), known), most=6), order, strict=True
    ):
        assert answer.rows.tolist() == answer.labels.tolist() == rows[4:10].tolist()
    levels = np.take_along_axis(pulls, order[:, 20:21], axis=1)[:, 0]
    for answer, row, level in zip(
        price(shard, longest, Question(residuals, levels, known), most=50), pulls, levels, strict=True
    ):
        assert len(answer.rows) == 16
        outside = np.sort(row)[::-1][4:20]
        np.testing.assert_allclose(answer.surplus, ((outside - level) ** 2).sum())


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (ancr.CRCClassifier(), "to be used on shards"),
        (ancr.NRCClassifier(), "'nonnegative' with alpha > 0"),
        (ancr.ANCRClassifier(solver="admm"), "solver='exact'"),
        (ancr.ProCRCClassifier(), "no class blocks"),
        (ancr.ANCRClassifier(relaxation=0.1), "no relaxation"),
        (ancr.ANCRClassifier(alpha=-1.0), "alpha"),
        (ancr.ANCRClassifier(space="rbf"), "a linear space"),
        (ancr.ANCRClassifier(class_weight="balanced"), "class_weight=None"),
    ],
)
def test_estimators_unsuited_to_shards_are_refused(estimator, message):
    with pytest.raises(ValueError, match=message):
        ShardedClassifier(estimator).fit(["a.npy"], ["b.npy"])


def test_weights_reach_a_fit_in_memory_and_are_refused_on_shards(data):
    X, y, Q = data
    weights = np.linspace(0.1, 2.0, len(X))
    found = DaskClassifier(ancr.ANCRClassifier(alpha=0.1)).fit(X, y, sample_weight=weights).decision_function(Q)
    expected = ancr.ANCRClassifier(alpha=0.1).fit(X, y, sample_weight=weights).decision_function(Q)
    np.testing.assert_allclose(found, expected)
    with pytest.raises(ValueError, match="sample_weight: atoms on shards have no weights"):
        ShardedClassifier(ancr.ANCRClassifier()).fit(["a.npy"], ["b.npy"], sample_weight=weights)


def test_bad_files_are_named(data, cluster, tmp_path):
    X, y, Q = data
    paths, labels = write(tmp_path, X, y, "npy")
    clf = ShardedClassifier(ancr.ANCRClassifier())
    with pytest.raises(ValueError, match=r"files that end in .* got 'atoms.csv'"):
        clf.fit(["atoms.csv"], [y])
    with pytest.raises(ValueError, match="one per row, 80 in all"):
        clf.fit(paths, [y] * 3)
    with pytest.raises(ValueError, match="labels must hold one entry for each of the 3 paths"):
        clf.fit(paths, labels[:2])
    with pytest.raises(ValueError, match=r"paths must be a list of files, got 'atoms\.npy'"):
        clf.fit("atoms.npy", labels)
    with pytest.raises(ValueError, match="tol must be a positive number, got 0"):
        ShardedClassifier(ancr.ANCRClassifier(), tol=0).fit(paths, labels)
    with pytest.raises(ValueError, match="labels must be of one kind in all shards"):
        clf.fit(paths, [*labels[:2], np.arange(80)])
    with pytest.raises(FileNotFoundError, match="nowhere"):
        clf.fit(["nowhere.npy"], [y])
    with pytest.raises(ValueError, match="X must have the 20 features"):
        clf.fit(paths, labels).predict(Q[:, :3])
    np.save(paths[1], np.full((80, 20), np.nan))
    with pytest.raises(ValueError, match=r"atoms1\.npy contains NaN"):
        clf.fit(paths, labels)
    np.save(paths[1], np.empty((0, 20)))
    with pytest.raises(ValueError, match=r"atoms1\.npy holds no rows"):
        clf.fit(paths, labels)
    np.save(paths[1], np.full((80, 20), "x"))
    with pytest.raises(ValueError, match=r"atoms1\.npy must hold numbers"):
        clf.fit(paths, labels)


def test_a_missing_column_of_labels_is_named(data, cluster, tmp_path):
    paths, _ = write(tmp_path, *data[:2], "parquet")
    with pytest.raises(ValueError, match=r"labels must name a column of .*, got 'class'"):
        ShardedClassifier(ancr.ANCRClassifier()).fit(paths, "class")
