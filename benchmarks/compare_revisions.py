"""Processor times of this tree as multiples of an older commit's, in one run: ``make bench-compare REV=v0.1.0``.

The commit is unpacked into a temporary folder. One process for each tree runs every job once, to compile, and then the
two take turns, so that other load affects both alike; the best of the repeats counts. Jobs use one thread and data that
ships with scikit-learn. A job that one of the trees cannot run is shown with its error.

    python benchmarks/compare_revisions.py HEAD~20 --repeats 7
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SLOWER = 1.1  # above this ratio a line is marked
_THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ANCR_NUM_THREADS"), "1")


def jobs():
    """``{name: function}``; parameters whose names have changed make a job that an older commit cannot run."""
    from sklearn.datasets import load_digits

    import ancr

    X, y = load_digits(return_X_y=True)
    train, labels, queries = X[:900], y[:900], X[900:1700]

    def classify(classifier):
        return lambda: classifier.fit(train, labels).predict(queries)

    return {
        "ANCR": classify(ancr.ANCRClassifier(alpha=1e-3)),
        "NCR": classify(ancr.NCRClassifier(alpha=1e-3)),
        "CRC": classify(ancr.CRCClassifier(alpha=1e-3)),
        "SRC": classify(ancr.SRCClassifier(alpha=0.1)),
        "ANCR, relaxed": classify(ancr.ANCRClassifier(alpha=1e-2, relaxation=1.0)),
        "ANCR, RBF": lambda: classify(ancr.ANCRClassifier(alpha=1e-2, space="rbf"))(),
        "ANCR, 5 iterations": classify(ancr.ANCRClassifier(solver="admm", rho=1e-2, max_iter=5, code="c")),
        "solve and verify": lambda: ancr.solve(train, queries, alpha=1e-3, constraint="simplex").verify(),
        "search for settings": lambda: ancr.ANCRClassifierCV().fit(X[:300], y[:300]),
        "audit": lambda: ancr.audit_labels(X[:300], y[:300]),
    }


def answer():
    """The worker: for each name on stdin, the processor seconds of that job, or ``!`` and the error."""
    known = jobs()
    for line in sys.stdin:
        start = time.process_time()
        try:
            known[line.strip()]()
        except Exception as error:
            print(f"!{type(error).__name__}: {error}".splitlines()[0], flush=True)
        else:
            print(time.process_time() - start, flush=True)


class Tree:
    """One version of the library, in a process of its own."""

    def __init__(self, folder):
        command = [sys.executable, "-W", "ignore", str(Path(__file__).resolve()), "--answer"]
        environment = {**os.environ, **_THREADS, "PYTHONPATH": str(folder)}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, env=environment, cwd=folder, text=True, **pipes)

    def run(self, job):
        """Seconds, or a text that says why not."""
        print(job, file=self._process.stdin, flush=True)
        said = self._process.stdout.readline().strip()
        return said[1:] if said.startswith("!") else float(said)

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def unpack(revision, folder):
    """The files of a commit."""
    archive = Path(folder) / "tree.tar"
    subprocess.run(["git", "archive", "-o", str(archive), revision], cwd=ROOT, check=True)
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")


def compare(new, old, repeats):
    """Print the ratio of each job; returns the names of those that have become slower."""
    slower = []
    print(f"{'job':22} {'old':>9} {'new':>9}  new / old")
    for job in jobs():
        seconds = [(new.run(job), old.run(job)) for _ in range(1 + repeats)][1:]
        failed = next((value for pair in seconds for value in pair if isinstance(value, str)), None)
        if failed:
            print(f"{job:22} left out: {failed}", flush=True)
            continue
        ours, theirs = (min(column) for column in zip(*seconds, strict=True))
        slower += [job] * (ours > SLOWER * theirs)
        mark = "  slower" if slower[-1:] == [job] else ""
        print(f"{job:22} {theirs:7.3f} s {ours:7.3f} s  {ours / theirs:.2f}×{mark}", flush=True)
    return slower


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        unpack(given.revision, folder)
        trees = Tree(ROOT), Tree(folder)
        slower = compare(*trees, given.repeats)
        for tree in trees:
            tree.close()
    sys.exit(f"slower than {given.revision} by more than a tenth: {', '.join(slower)}" if slower else 0)


if __name__ == "__main__":
    if sys.argv[1:] == ["--answer"]:
        answer()
    else:
        main()
