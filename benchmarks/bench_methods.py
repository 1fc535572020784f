"""Fit and predict times of every method as multiples of CRC's, on USPS N=300 and Stanford 40 features, in one run.

python benchmarks/bench_methods.py
"""

from _data import features, usps
from _timing import print_classifiers

import ancr

METHODS = {
    "CRC": ancr.CRCClassifier(),
    "NSC": ancr.NSCClassifier(),
    "ACR": ancr.ACRClassifier(),
    "ProCRC": ancr.ProCRCClassifier(),
    "CCRC": ancr.CCRCClassifier(),
    "CROC": ancr.CROCClassifier(),
    "SA-CRC, k=30": ancr.SACRCClassifier(n_nonzero=30),
    "NRC, exact": ancr.NRCClassifier(),
    "NCR, exact": ancr.NCRClassifier(),
    "ANCR, exact": ancr.ANCRClassifier(),
    "ANCR, ADMM 5": ancr.ANCRClassifier(solver="admm", rho=1e-2, max_iter=5, code="c"),
    "SRC, exact, λ=.1": ancr.SRCClassifier(alpha=0.1),
    "SRC, exact, λ=.05": ancr.SRCClassifier(alpha=0.05),
}


def main():
    """Measure and print."""
    print_classifiers(METHODS, {"USPS N=300": usps(), "Stanford 40 features": features("Stanford 40")}, "CRC")


if __name__ == "__main__":
    main()
