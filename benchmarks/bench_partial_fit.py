"""What `partial_fit` saves over fitting again, at 4,000 atoms.

    python benchmarks/bench_partial_fit.py

Ten batches are taken in, and the classifier is ready after each. Ratios, measured side by side:

as it grows   400 a batch from nothing, against a fit of all that is there after every batch
at n = 4000   the same ten batches, against ten fits at full size
late          40 a batch onto 3,600, against a fit of all that is there after every batch

BLAS runs on one thread, so that the ratios are those of the work and not of how well threads share a busy machine.
"""

from itertools import pairwise

import numpy as np
from _timing import best_times
from threadpoolctl import threadpool_limits

from ancr import ACRClassifier, ANCRClassifier, CRCClassifier

N, STEPS, N_CLASSES = 4000, 10, 40

CASES = {
    "ANCR exact, d=4096": (ANCRClassifier, 4096),
    "ANCR exact, d=1024": (ANCRClassifier, 1024),
    "CRC closed form, d=1024": (CRCClassifier, 1024),
    "ACR closed form, d=1024": (ACRClassifier, 1024),
    "CRC closed form, d=256": (CRCClassifier, 256),
    "ANCR ADMM, d=256": (lambda: ANCRClassifier(solver="admm", rho=1e-2, max_iter=5), 256),
}
# The case that must be at least five times cheaper than ten fits at full size. A closed form's fit is so cheap that
# moving the atoms and factoring the small side, which both ways do, weigh more.
HEADLINE = ("ANCR exact, d=4096",)


def data(d, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(N_CLASSES, size=N)
    centres = rng.random((N_CLASSES, d))
    return centres[labels] + 0.5 * rng.random((N, d)), labels, centres + 0.5 * rng.random((N_CLASSES, d))


def grow(classifier, X, y, bounds):
    for start, stop in pairwise(bounds):
        classifier.partial_fit(X[start:stop], y[start:stop])
    return classifier


def measure(make, d):
    X, y, Q = data(d)
    tenths = np.linspace(0, N, STEPS + 1).astype(int)
    late = np.linspace(N - 40 * STEPS, N, STEPS + 1).astype(int)
    standing = vars(make().fit(X[: late[0]], y[: late[0]]))

    def arrive():
        classifier = make()
        vars(classifier).update(standing)
        return grow(classifier, X, y, late)

    def refit(bounds):
        for stop in bounds[1:]:
            make().fit(X[:stop], y[:stop])

    jobs = {
        "grow": lambda: grow(make(), X, y, tenths),
        "refit as it grows": lambda: refit(tenths),
        "refit at full size": lambda: refit([N] * (STEPS + 1)),
        "arrive": arrive,
        "refit late": lambda: refit(late),
    }
    whole = make().fit(X, y).residuals(Q)
    apart = max(abs(clf.residuals(Q) - whole).max() for clf in (grow(make(), X, y, tenths), arrive()))
    with threadpool_limits(1, user_api="blas"):
        return best_times(jobs, repeats=2), apart


def main():
    print(f"n={N}, {STEPS} batches, {N_CLASSES} classes: time of refitting over time of partial_fit")
    print(f"{'':26}{'as it grows':>14}{'at n = 4000':>14}{'late':>10}{'residuals apart':>18}")
    for name, (make, d) in CASES.items():
        times, apart = measure(make, d)
        growing = times["refit as it grows"] / times["grow"]
        full = times["refit at full size"] / times["grow"]
        late = times["refit late"] / times["arrive"]
        print(f"{name:26}{growing:13.1f}×{full:13.1f}×{late:9.1f}×{apart:18.1e}", flush=True)
        assert apart <= 1e-10
        assert full >= 5.0 or name not in HEADLINE


if __name__ == "__main__":
    main()
