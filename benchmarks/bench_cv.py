"""Choosing settings by leave-one-out: against one fit-and-code and GridSearchCV, and how long the default search takes.

    python benchmarks/bench_cv.py [grid | features]

``grid``: USPS with 100 samples per class (n = 1000), 5 × 6 settings of λ and γ in the linear space. All times are the
best of interleaved repeats in one process; only ratios are printed as results. GridSearchCV with ten folds is run once,
because it takes a long time.

``features``: ``ANCRClassifierCV()`` as it comes on deep features of Stanford 40 and CUB-200-2011: seconds (at most 240
and 600 wanted on two cores), processor time, which other load does not change, and the peak memory of the process.
"""

import resource
import sys
import time

from _data import features
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

import ancr
from ancr.paper.paper_sources import Usps

REPEATS = 7


def timed(work):
    """Seconds that ``work()`` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def default_search(name):
    """Time and memory of the default search on a feature set."""
    job = features(name)
    if job is None:
        print(f"{name}: data not found, skipped")
        return
    train, labels, _ = job
    ancr.ANCRClassifierCV().fit(train[::20], labels[::20])  # compile
    used, chosen = time.process_time(), ancr.ANCRClassifierCV()
    seconds = timed(lambda: chosen.fit(train, labels))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{name}, {train.shape[0]} × {train.shape[1]}: ANCRClassifierCV() takes {seconds:.0f} s,", end=" ")
    print(f"{time.process_time() - used:.0f} s of processor time, peak memory {peak:.2f} GiB")
    tried = chosen.cv_results_["stage"]
    print("  settings and rules tried:", {stage: int((tried == stage).sum()) for stage in sorted(set(tried))})


def main():
    """Measure and print."""
    wanted = sys.argv[1:] or ["grid", "features"]
    if "grid" in wanted:
        grid_search()
    if "features" in wanted:
        for name in ("Stanford 40", "CUB-200-2011"):
            default_search(name)


def grid_search():
    """A grid in one space."""
    split = Usps().split("N=100", 0)
    X, y = split.X, split.y
    chosen = ancr.ANCRClassifierCV(
        spaces=["linear"],
        constraints=["simplex"],
        alphas=(1e-4, 1e-3, 3e-3, 1e-2, 1e-1),
        relaxations=(0.1, 1.0, 3.0, 10.0, 100.0, None),
        rules=["res"],
    )
    jobs = {
        "one fit-and-code": lambda: ancr.ANCRClassifier().fit(X, y).codes(X),
        "one relaxed fit-and-code": lambda: ancr.ANCRClassifier(alpha=1e-2, relaxation=1.0).fit(X, y).codes(X),
        "CV": lambda: chosen.fit(X, y),
    }
    for threads in (1, 2):
        with threadpool_limits(threads):
            for job in jobs.values():  # compile
                job()
            rounds = [{name: timed(job) for name, job in jobs.items()} for _ in range(REPEATS)]
        best = {name: min(times[name] for times in rounds) for name in jobs}
        size = f"{len(chosen.alphas)} × {len(chosen.relaxations)}"
        print(f"USPS N=100, n = {len(X)}, {size} settings by leave-one-out, {threads} BLAS thread(s):")
        print(f"  {best['CV'] / best['one fit-and-code']:.1f}× one exact fit-and-code (at most 15 wanted)")
        print(f"  {best['CV'] / best['one relaxed fit-and-code']:.1f}× one relaxed fit-and-code")
    grid = {"alpha": list(chosen.alphas), "relaxation": list(chosen.relaxations)}
    search = GridSearchCV(ancr.ANCRClassifier(), grid, cv=10, refit=False)
    slow = timed(lambda: search.fit(X, y))
    print(f"  GridSearchCV(ANCRClassifier(), cv=10) on the same grid: {slow / best['CV']:.0f}× as long")


if __name__ == "__main__":
    main()
