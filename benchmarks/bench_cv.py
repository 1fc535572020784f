"""Choosing λ and γ by leave-one-out, against one fit-and-code of the same samples and against GridSearchCV.

    python benchmarks/bench_cv.py

On USPS with 100 samples per class (n = 1000) and the 5 × 6 grid that is `ANCRClassifierCV`'s default. All times are the
best of interleaved repeats in one process; only ratios are printed as results. GridSearchCV with ten folds is run once,
because it takes a long time.
"""

import time

from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

import ancr
from ancr.experiments.sources import Usps

REPEATS = 7


def timed(work):
    """Seconds that ``work()`` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main():
    """Measure and print."""
    split = Usps().split("N=100", 0)
    X, y = split.X, split.y
    chosen = ancr.ANCRClassifierCV()
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
