"""Eight calls from several threads of the user as multiples of the same calls in sequence, in one run.

Wall time, and the processor time of the whole process, which other load on the machine does not change: threads that
wait for each other by spinning show up there.

python benchmarks/bench_threads.py
"""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import dask
from _data import features, usps
from joblib import Parallel, delayed

from ancr import ANCRClassifier, CRCClassifier

CALLS, QUERIES, REPEATS = 8, 2000, 3


def in_sequence(job):
    """Eight calls, one after the other."""
    for _ in range(CALLS):
        job()


def in_joblib_threads(job, n_jobs):
    """Eight calls by joblib's threads."""
    Parallel(n_jobs=n_jobs, prefer="threads")(delayed(job)() for _ in range(CALLS))


def in_plain_threads(job, n_jobs):
    """Eight calls by threads of the standard library."""
    with ThreadPoolExecutor(n_jobs) as pool:
        for call in [pool.submit(job) for _ in range(CALLS)]:
            call.result()


def in_dask_threads(job, n_jobs):
    """Eight calls by Dask's threaded scheduler."""
    dask.compute(*[dask.delayed(job, pure=False)() for _ in range(CALLS)], scheduler="threads", num_workers=n_jobs)


WAYS = {"sequence": in_sequence} | {
    f"{name}, {n_jobs} threads": partial(way, n_jobs=n_jobs)
    for name, way in {"joblib": in_joblib_threads, "threading": in_plain_threads, "dask": in_dask_threads}.items()
    for n_jobs in (2, 4)
}


def compare(title, job):
    """Print the best wall and processor time of each way over those of the sequence. Ways take turns."""
    best = dict.fromkeys(WAYS, (float("inf"), float("inf")))
    for _ in range(REPEATS):
        for name, way in WAYS.items():
            wall, processor = time.perf_counter(), time.process_time()
            way(job)
            found = time.perf_counter() - wall, time.process_time() - processor
            best[name] = tuple(map(min, best[name], found))
    one_wall, one_processor = best["sequence"]
    print(f"\n{title}; in sequence {one_wall:.3g} s")
    for name, (wall, processor) in best.items():
        print(f"  {name:20}  wall {wall / one_wall:5.2f}×   processor {processor / one_processor:5.2f}×")


def main():
    """Measure and print."""
    for name, problem in {"USPS N=300": usps(), "Stanford 40 features": features("Stanford 40")}.items():
        if problem is None:
            print(f"\n{name}: data not found, skipped")
            continue
        train, labels, test = problem
        for clf in (CRCClassifier(), ANCRClassifier()):
            compare(f"{name}, {type(clf).__name__}.fit", partial(fit_anew, clf, train, labels))
            clf.fit(train, labels).predict(test[:256])  # compile
            compare(f"{name}, {type(clf).__name__}.predict", partial(clf.predict, test[:QUERIES]))


def fit_anew(clf, train, labels):
    """Fit a classifier of the caller's own."""
    type(clf)().fit(train, labels)


if __name__ == "__main__":
    main()
