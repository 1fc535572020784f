"""How much memory and time data of several sizes take: the table of ``docs/sizes.md``.

Each row runs in a process of its own, on one thread, and reports the processor time of `fit` and of `predict` on 1,000
queries, with kernels compiled ahead, and the process's peak memory. The samples are made up: non-negative, ten classes,
each near a space of 20 dimensions, like images.

    python benchmarks/sizes.py
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from ancr._core.files import write_text

RESULT = Path(__file__).parent / "results" / "sizes.md"
N_QUERIES = 1_000
CASES = (
    (500, 64, "ANCRClassifierCV()"),
    (2_000, 100, "ANCRClassifierCV()"),
    (4_000, 1_280, "ANCRClassifier()"),
    (16_000, 784, "ANCRClassifier()"),
    (60_000, 784, "ANCRClassifier()"),
    (60_000, 784, "CRCClassifier()"),
    (60_000, 784, 'ANCRClassifier(space=Space("rbf", n_landmarks=1000))'),
)


def samples(n, d, rng):
    """Samples of ten classes, in single precision, and their labels."""
    bases = np.abs(rng.standard_normal((10, 20, d)))
    labels = rng.integers(10, size=n)
    rows = np.empty((n, d), np.float32)
    for label in range(10):
        chosen = labels == label
        rows[chosen] = rng.random((chosen.sum(), 20)) ** 4 @ bases[label]
    return rows + rng.random((n, d), dtype=np.float32), labels


def measure(n, d, call):
    """Processor seconds of fit and of predict, and the peak memory in GiB."""
    import ancr
    from ancr.classifiers.warmup import warm_up

    warm_up()
    X, y = samples(n + N_QUERIES, d, np.random.default_rng(0))
    clf = eval(call, {name: getattr(ancr, name) for name in ancr.__all__})
    start = time.process_time()
    clf.fit(X[:n], y[:n])
    fitted = time.process_time()
    clf.predict(X[n:])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"fit": fitted - start, "predict": time.process_time() - fitted, "peak": peak}


def shown(seconds):
    return f"{seconds:.1f}\N{NO-BREAK SPACE}s" if seconds < 10 else f"{seconds:.0f}\N{NO-BREAK SPACE}s"


def main():
    lines = ["| samples × features | what | fit | 1,000 queries | memory |", "|---|---|---:|---:|---:|"]
    for n, d, call in CASES:
        command = [sys.executable, __file__, "--one", json.dumps([n, d, call])]
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ANCR_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **threads})
        found = json.loads(done.stdout)
        times = f"{shown(found['fit'])} | {shown(found['predict'])}"
        lines.append(f"| {n:,} × {d:,} | `{call}` | {times} | {found['peak']:.1f}\N{NO-BREAK SPACE}GiB |")
        print(lines[-1], flush=True)
    write_text(RESULT, "\n".join(lines) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(*json.loads(sys.argv[2]))))
    else:
        main()
