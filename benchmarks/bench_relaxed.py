"""Relaxed ANCR against the hard constraint: fit and predict, as multiples of exact ANCR's, in one run.

python benchmarks/bench_relaxed.py
"""

from _data import features, usps
from _timing import best_times

import ancr

METHODS = {
    "ANCR, exact": ancr.ANCRClassifier(),
    "relaxed, λ=1e-2 γ=1, c": ancr.ANCRClassifier(alpha=1e-2, relaxation=1.0),
    "relaxed, λ=1e-2 γ=1, z": ancr.ANCRClassifier(alpha=1e-2, relaxation=1.0, code="z"),
    "relaxed, λ=.1 γ=1, c": ancr.ANCRClassifier(alpha=0.1, relaxation=1.0),
    "CRC": ancr.CRCClassifier(),
}


def main():
    """Measure and print."""
    for name, job in {"USPS N=300": usps(), "Stanford 40 features": features("Stanford 40")}.items():
        if job is None:
            print(f"\n{name}: data not found, skipped")
            continue
        train, labels, test = job
        print(f"\n{name}: n={len(train)}, d={train.shape[1]}, {len(test)} queries, {train.dtype}; time / exact ANCR's")
        for clf in METHODS.values():
            clf.fit(train, labels).predict(test[:256])
        fit = best_times({key: lambda c=clf: c.fit(train, labels) for key, clf in METHODS.items()}, 3)  # noqa: B023
        predict = best_times({key: lambda c=clf: c.predict(test) for key, clf in METHODS.items()}, 3)  # noqa: B023
        for key in METHODS:
            print(
                f"  {key:24} fit {fit[key] / fit['ANCR, exact']:6.2f}×   "
                f"predict {predict[key] / predict['ANCR, exact']:6.2f}×"
            )


if __name__ == "__main__":
    main()
