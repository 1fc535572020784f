"""What `partial_fit` saves over fitting again, at 4,000 atoms.

Three ways to take in ten batches, measured side by side. "Refit as it grows" is what a user without `partial_fit` does
when the dictionary starts empty; "ten refits at full size" is what the same user pays for ten batches that arrive once
the dictionary has about its final size. Every time includes the first batch. Residuals are compared with one `fit`.

    python benchmarks/bench_partial_fit.py
"""

import numpy as np
from _timing import best_times

from ancr import ACRClassifier, ANCRClassifier, CRCClassifier, NCRClassifier

N, STEPS, N_CLASSES = 4000, 10, 40


def data(d, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(N_CLASSES, size=N)
    labels[: 2 * N_CLASSES] = np.arange(2 * N_CLASSES) % N_CLASSES
    centres = rng.random((N_CLASSES, d))
    return centres[labels] + 0.5 * rng.random((N, d)), labels, centres + 0.5 * rng.random((N_CLASSES, d))


def grow(classifier, X, y, bounds):
    for start, stop in zip(bounds[:-1], bounds[1:], strict=True):
        classifier.partial_fit(X[start:stop], y[start:stop])
    return classifier


def measure(make, d):
    """Ratios of refitting to `partial_fit`: (as it grows, at full size), and the largest difference in residuals."""
    X, y, Q = data(d)
    tenths = np.linspace(0, N, STEPS + 1).astype(int)
    # Ten batches of 1% each, on a dictionary that already has 90% of its samples.
    late = np.linspace(N - 40 * STEPS, N, STEPS + 1).astype(int)
    standing = make().fit(X[: late[0]], y[: late[0]]).__dict__

    def arrive():
        classifier = make()
        classifier.__dict__.update(standing)
        return grow(classifier, X, y, late)

    times = best_times(
        {
            "grow": lambda: grow(make(), X, y, tenths),
            "refit": lambda: [make().fit(X[:stop], y[:stop]) for stop in tenths[1:]],
            "arrive": arrive,
            "refit late": lambda: [make().fit(X[:stop], y[:stop]) for stop in late[1:]],
        },
        repeats=3,
    )
    whole = make().fit(X, y).residuals(Q)
    apart = max(abs(clf.residuals(Q) - whole).max() for clf in (grow(make(), X, y, tenths), arrive()))
    return times["refit"] / times["grow"], times["refit late"] / times["arrive"], 10 * times["fit"] if 0 else apart


def main():
    print(f"n={N}, {STEPS} steps: time of refitting after every step over time of partial_fit")
    print(f"{'':24}{'400 a step,':>18}{'40 a step,':>18}{'largest difference':>22}")
    print(f"{'':24}{'from nothing':>18}{'from 3600':>18}{'in residuals':>22}")
    for d in (256, 1024):
        for name, make in {
            "ANCR exact": ANCRClassifier,
            "NCR exact": NCRClassifier,
            "ANCR ADMM": lambda: ANCRClassifier(solver="admm"),
            "CRC closed form": CRCClassifier,
            "ACR closed form": ACRClassifier,
        }.items():
            growing, late, apart = measure(make, d)
            print(f"{name + f', d={d}':24}{growing:17.1f}×{late:17.1f}×{apart:22.1e}", flush=True)
            assert apart <= 1e-10


if __name__ == "__main__":
    main()
