"""Relaxed ANCR against the hard constraint: fit and predict times as multiples of exact ANCR's, in one run.

python benchmarks/bench_relaxed.py
"""

from _data import features, usps
from _timing import print_classifiers

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
    print_classifiers(METHODS, {"USPS N=300": usps(), "Stanford 40 features": features("Stanford 40")}, "ANCR, exact")


if __name__ == "__main__":
    main()
