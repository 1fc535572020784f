"""Kernels against the linear space, and against scikit-learn's SVC: ratios measured in one run, jobs taking turns.

python benchmarks/bench_kernel.py [--quick]

Deep features of Stanford 40 and CUB-200-2011, or numbers of their shape where these are not available. ``--quick``
takes a quarter of the samples. Goals: exact RBF predict at most 2 times the linear one, relaxed RBF at most 4 times
relaxed linear, and fit plus predict at least 5 times as fast as SVC on Stanford 40.
"""

import argparse
import resource
import time
from functools import partial

import numpy as np
from _data import features
from _timing import best_times
from sklearn.svm import SVC

import ancr
from ancr import Space

SHAPES = {"Stanford 40": (4000, 5532, 40), "CUB-200-2011": (5994, 5794, 200)}
SPACE = Space("rbf", gamma=0.5, power=0.5)
METHODS = {
    "exact": partial(ancr.ANCRClassifier, alpha=1e-2),
    "relaxed": partial(ancr.ANCRClassifier, alpha=1e-2, relaxation=0.1),
    "CRC": partial(ancr.CRCClassifier, alpha=1e-2, rule="res"),
}


def stand_in(name):
    """Clusters with the shape of a feature set."""
    n, queries, classes = SHAPES[name]
    rng = np.random.default_rng(0)
    labels = np.arange(n + queries) % classes
    centres = rng.gamma(0.5, 1.0, (classes, 1280))
    samples = (centres[labels] * rng.gamma(2.0, 0.5, (n + queries, 1280))).astype(np.float32)
    return samples[:n], labels[:n], samples[n:]


def compare_spaces(name, job, repeats):
    """Fit and predict in the RBF space as multiples of the linear one."""
    train, labels, test = job
    print(f"\n{name}: n={len(train)}, d={train.shape[1]}, {len(test)} queries, {train.dtype}; RBF / linear")
    for method, make in METHODS.items():
        pair = {"linear": make(space=Space(power=0.5)), "rbf": make(space=SPACE)}
        for clf in pair.values():
            clf.fit(train, labels).predict(test[:256])  # compile
        fit = best_times({key: partial(clf.fit, train, labels) for key, clf in pair.items()}, repeats)
        predict = best_times({key: partial(clf.predict, test) for key, clf in pair.items()}, repeats)
        ratios = f"fit {fit['rbf'] / fit['linear']:6.2f}×   predict {predict['rbf'] / predict['linear']:6.2f}×"
        print(f"  {method:8} {ratios}   ({fit['rbf']:.2f} s and {predict['rbf']:.2f} s)")


def compare_with_svc(job):
    """Fit and predict of scikit-learn's SVC as multiples of ours, on the same rows."""
    train, labels, test = job
    rows = ancr.ANCRClassifier(space=Space(power=0.5)).fit(train, labels).space_.rows
    seconds = {}
    for name, clf, change in (
        ("SVC", SVC(kernel="rbf", gamma=0.5, C=10.0, cache_size=1000), rows),
        *((f"{method}, RBF", make(space=SPACE), lambda samples: samples) for method, make in METHODS.items()),
    ):
        clf.fit(change(train[::8]), labels[::8]).predict(change(test[:64]))  # compile
        start = time.perf_counter()
        clf.fit(change(train), labels).predict(change(test))
        seconds[name] = time.perf_counter() - start
    print("\nStanford 40, fit + predict: time of SVC / ours")
    for name, value in seconds.items():
        print(f"  {name:13} {seconds['SVC'] / value:7.1f}×   ({value:.2f} s)")


def landmarks(sizes, repeats=1):
    """Fit and 1,000 queries with landmarks for growing n: the exponent of the time, and the peak memory."""
    rng = np.random.default_rng(0)
    labels = np.arange(max(sizes) + 1000) % 10
    centres = rng.random((10, 784))
    samples = (centres[labels] + 0.3 * rng.standard_normal((len(labels), 784))).astype(np.float32)
    seconds = []
    for n in sizes:
        clf = ancr.ANCRClassifier(space=Space("rbf", gamma=1.0, n_landmarks=1000, random_state=0), alpha=1e-2)
        clf.fit(samples[:2000], labels[:2000]).predict(samples[-10:])  # compile
        job = partial(lambda n, clf: clf.fit(samples[:n], labels[:n]).predict(samples[-1000:]), n, clf)
        seconds.append(best_times({"": job}, repeats)[""])
        error, peak = clf.space_.error_, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"  n={n:6}: {seconds[-1]:6.2f} s, error {error:.3f}, peak so far {peak:.2f} GiB")
    exponent = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
    print(f"  exponent in n: {exponent:.2f}")


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=["spaces", "svc", "landmarks"])
    options = parser.parse_args()
    repeats = 1 if options.quick else 3
    jobs = {name: features(name) or stand_in(name) for name in SHAPES}
    if options.quick:
        jobs = {name: (train[::4], labels[::4], test[::4]) for name, (train, labels, test) in jobs.items()}
    if options.only in (None, "spaces"):
        for name, job in jobs.items():
            compare_spaces(name, job, repeats)
    if options.only in (None, "svc"):
        compare_with_svc(jobs["Stanford 40"])
    if options.only in (None, "landmarks"):
        print("\nRBF with 1,000 landmarks, d=784, float32: fit + 1,000 queries")
        landmarks((7_500, 15_000) if options.quick else (7_500, 15_000, 30_000, 60_000))


if __name__ == "__main__":
    main()
