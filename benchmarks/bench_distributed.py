"""The guarantees of `ancr.distributed` at full size, measured and asserted on a `LocalCluster`.

    python benchmarks/bench_distributed.py [shards] [once] [kill]

shards  1,000,000 atoms × 256 features in files, 500 queries on the simplex: all must be certified; memory of client and
        workers; comparison with one machine on 50,000 of the atoms.
once    1 GB of atoms and 100 blocks of queries: bytes that each worker receives, from any sender.
kill    one of three workers dies during a predict of 100 blocks.
"""

import os
import pickle
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

N_ATOMS, N_FEATURES, N_CLASSES, N_QUERIES, N_SHARDS, RANK = 1_000_000, 256, 100, 500, 8, 32


def samples(count, seed):
    """Non-negative samples of N_CLASSES classes near a subspace of RANK dimensions, float32, and their labels."""
    basis = np.abs(np.random.default_rng(0).standard_normal((RANK, N_FEATURES))).astype(np.float32)
    centres = np.random.default_rng(1).random((N_CLASSES, RANK), np.float32) ** 4
    rng = np.random.default_rng(seed)
    labels = rng.integers(N_CLASSES, size=count)
    weights = centres[labels] + 0.5 * rng.random((count, RANK), np.float32) ** 4
    return weights @ basis + 0.3 * rng.random((count, N_FEATURES), np.float32), labels


def write_shard(folder, number, count):
    atoms, labels = samples(count, 100 + number)
    np.save(folder / f"atoms{number}.npy", atoms)
    np.save(folder / f"labels{number}.npy", labels)
    few = 50_000 // N_SHARDS
    np.save(folder / f"few{number}.npy", atoms[:few])
    np.save(folder / f"few_labels{number}.npy", labels[:few])


def peak_gib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def cluster(n_workers):
    return LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", memory_limit="4GiB")


def bench_shards():
    from ancr import ANCRClassifier
    from ancr.distributed import ShardedClassifier

    with tempfile.TemporaryDirectory() as name, cluster(2) as local, Client(local) as client:
        folder = Path(name)
        client.gather([client.submit(write_shard, folder, i, N_ATOMS // N_SHARDS) for i in range(N_SHARDS)])
        client.restart()  # so that the measured workers did not make the data

        def files(kind):
            return [[str(folder / f"{part}{i}.npy") for i in range(N_SHARDS)] for part in kind]

        queries = samples(N_QUERIES, 7)[0]
        start = time.perf_counter()
        clf = ShardedClassifier(ANCRClassifier(alpha=1e-3)).fit(*files(("atoms", "labels")))
        fitted = time.perf_counter()
        solution = clf.solve(queries)
        solved = time.perf_counter()
        client_gib, worker_gib = peak_gib(), max(client.run(peak_gib).values())
        support, looks = np.diff(solution.codes.indptr).mean(), solution.n_iter
        print(f"shards: {clf.n_atoms_:,} atoms × {clf.n_features_in_} in {N_SHARDS} files, {len(queries)} queries")
        print(
            f"  certified {solution.converged.sum()} of {len(queries)}, largest relative gap {solution.gap.max():.1e}"
        )
        print(f"  pricing rounds per query: mean {looks.mean():.1f}, at most {looks.max()}; mean support {support:.0f}")
        ratio = (solved - fitted) / (fitted - start)
        print(f"  solving takes {ratio:.1f}× as long as reading all files once, {solved - fitted:.0f} s here")
        print(f"  peak memory: client {client_gib:.2f} GiB, worker {worker_gib:.2f} GiB", flush=True)
        assert solution.converged.all()
        assert solution.gap.max() <= 1e-8
        assert client_gib < 1.0
        assert worker_gib < 4.0

        few = ShardedClassifier(ANCRClassifier(alpha=1e-3)).fit(*files(("few", "few_labels")))
        found = few.solve(queries)
        atoms, labels = (np.concatenate([np.load(path) for path in part]) for part in files(("few", "few_labels")))
        whole = ANCRClassifier(alpha=1e-3).fit(atoms.astype(float), labels)
        apart = abs(found.codes - whole.codes(queries.astype(float))).max()
        agree = (few.predict(queries) == whole.predict(queries.astype(float))).mean()
        print(
            f"  against one machine on {len(atoms):,} atoms: codes differ by {apart:.1e}, same labels {agree:.1%}",
            flush=True,
        )
        assert apart < 1e-6
        assert agree == 1.0


def pickled_bytes(thing):
    """Size of a fitted classifier on the wire, in bytes."""

    class Scale:
        total = 0

        def write(self, part):
            self.total += memoryview(part).nbytes

    scale = Scale()
    pickle.Pickler(scale, protocol=5).dump(thing)
    return scale.total


def count_received():
    """Count the bytes that Dask's connections of this process receive from now on."""
    from distributed.comm import tcp

    plain, tcp.received = tcp.read_bytes_rw, 0

    async def counted(stream, n):
        tcp.received += n
        return await plain(stream, n)

    tcp.read_bytes_rw = counted


def received():
    from distributed.comm import tcp

    return tcp.received


def bench_once(n_workers=2, n_blocks=100):
    from ancr import ANCRClassifier
    from ancr.distributed import DaskClassifier

    parts = [samples(N_ATOMS // 10, 100 + i) for i in range(10)]
    atoms = np.concatenate([part[0] for part in parts])
    labels = np.concatenate([part[1] for part in parts])
    del parts
    clf = ANCRClassifier(solver="admm", max_iter=1).fit(atoms, labels)  # the wire is measured, not the solver
    del atoms
    size = pickled_bytes(clf)
    queries = samples(n_blocks, 7)[0]
    with cluster(n_workers) as local, Client(local) as client:
        client.run(count_received)
        lazy = DaskClassifier(clf)
        found = lazy.predict(da.from_array(queries, chunks=(1, N_FEATURES))).compute()
        again = lazy.residuals(da.from_array(queries, chunks=(1, N_FEATURES))).compute()
        copies = [count / size for count in client.run(received).values()]
    atoms_gb = clf.dictionary_.atoms.nbytes / 1e9
    print(f"once: {atoms_gb:.3f} GB of atoms, {size / 1e9:.3f} GB with labels and factors, {n_workers} workers")
    print(f"  {n_blocks} blocks of queries, predict and then residuals")
    print(f"  dictionary copies received by each worker: {', '.join(f'{each:.4f}' for each in copies)}", flush=True)
    assert clf.dictionary_.atoms.nbytes >= 1e9
    assert all(0.999 <= each <= 1.02 for each in copies)
    np.testing.assert_array_equal(found, clf.classes_[again.argmin(axis=1)])


def bench_kill(n_blocks=100):
    from ancr import ANCRClassifier
    from ancr.distributed import DaskClassifier

    atoms, labels = samples(4000, 3)
    queries = samples(60 * n_blocks, 7)[0]
    clf = ANCRClassifier().fit(atoms, labels)
    with cluster(3) as local, Client(local) as client:
        victim, pid = sorted(client.run(os.getpid).items())[0]
        future = client.compute(DaskClassifier(clf).predict(da.from_array(queries, chunks=(60, N_FEATURES))))
        while not sum(len(keys) for keys in client.has_what().values()) > n_blocks // 10:
            time.sleep(0.01)
        os.kill(pid, signal.SIGKILL)
        done = sum(len(keys) for keys in client.has_what().values())
        found = future.result(timeout=600)
        gone = victim not in client.run(os.getpid)
    same = (found == clf.predict(queries)).mean()
    print(f"kill: one of 3 workers killed with {done} of {n_blocks} blocks done, gone: {gone}; same labels {same:.1%}")
    assert gone
    assert done < n_blocks
    assert same == 1.0


if __name__ == "__main__":
    # Peak memory is measured, so the case with a memory limit comes first.
    for case in sys.argv[1:] or ("shards", "once", "kill"):
        {"shards": bench_shards, "once": bench_once, "kill": bench_kill}[case]()
