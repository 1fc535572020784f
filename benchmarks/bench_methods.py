"""Fit and predict of every method as multiples of CRC's, on USPS N=300 and on Stanford 40 features, in one run.

python benchmarks/bench_methods.py
"""

from _data import features, usps
from _timing import best_times

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
    for name, job in {"USPS N=300": usps(), "Stanford 40 features": features("Stanford 40")}.items():
        if job is None:
            print(f"\n{name}: data not found, skipped")
            continue
        train, labels, test = job
        print(f"\n{name}: n={len(train)}, d={train.shape[1]}, {len(test)} queries, {train.dtype}; time / CRC's")
        for clf in METHODS.values():
            clf.fit(train, labels).predict(test[:256])
        fit = best_times({key: lambda c=clf: c.fit(train, labels) for key, clf in METHODS.items()}, 3)  # noqa: B023
        predict = best_times({key: lambda c=clf: c.predict(test) for key, clf in METHODS.items()}, 3)  # noqa: B023
        for key in METHODS:
            print(f"  {key:20} fit {fit[key] / fit['CRC']:7.2f}×   predict {predict[key] / predict['CRC']:7.2f}×")


if __name__ == "__main__":
    main()
