"""The exact solver against ridge regression, ADMM and general-purpose solvers, side by side in one run.

    python benchmarks/bench_exact.py            everything
    python benchmarks/bench_exact.py predict    one of: predict, dense, solvers, lasso, start

Prints ratios only: absolute times depend on the machine.
"""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from _data import FEATURE_SETS, digits, features, usps
from _timing import best_times
from scipy.optimize import nnls
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from ancr import ACRClassifier, ANCRClassifier, CRCClassifier, solve

ALPHA = 1e-3


def predict():
    """Time of exact `predict` as a multiple of ridge regression's, and compared with five ADMM iterations."""
    print("\npredict: ANCR exact / CRC, same queries, one run")
    jobs = {"digits N=100": digits(), "USPS N=300": usps()} | {name: features(name) for name in FEATURE_SETS}
    for name, job in jobs.items():
        if job is None:
            print(f"  {name:14} data not found, skipped")
            continue
        train, labels, test = job
        classifiers = {"CRC": CRCClassifier(alpha=ALPHA), "exact": ANCRClassifier(alpha=ALPHA)}
        if name.startswith("USPS"):
            classifiers["ADMM"] = ANCRClassifier(alpha=ALPHA, solver="admm", rho=1e-2, max_iter=5, code="c")
        for clf in classifiers.values():
            clf.fit(train, labels).predict(test[:300])
        times = best_times({key: lambda c=clf, test=test: c.predict(test) for key, clf in classifiers.items()}, 7)
        shape = f"n={len(train)}, d={train.shape[1]}, {len(test)} queries, {train.dtype}"
        print(f"  {name:14} {times['exact'] / times['CRC']:5.2f}×   ({shape})")
        if "ADMM" in times:
            print(f"  {'':14} {times['ADMM'] / times['exact']:5.2f}× faster than 5-iteration ADMM's predict")


def dense():
    """Codes of all atoms: `fit` and `predict` of ANCR as a multiple of ACR's, whose closed form they nearly are."""
    rng = np.random.default_rng(0)
    train, test = rng.normal(size=(3000, 20)) + 100.0, rng.normal(size=(200, 20)) + 100.0
    labels = np.arange(3000) % 5

    def run(kind):
        # Processor time, which other processes do not take part in.
        start = time.process_time()
        kind(alpha=1.0).fit(train, labels).predict(test)
        return time.process_time() - start

    with threadpool_limits(1):
        times = [[run(kind) for kind in (ACRClassifier, ANCRClassifier)] for _ in range(41)]
        (acr, ancr), atoms, queries = np.min(times[1:], axis=0), normalize(train), normalize(test)
    certified = int(solve(atoms, queries, alpha=1.0).verify().sum())
    print("\nfit and predict in a narrow cone with λ = 1, ANCR exact / ACR, processor time of one thread, best of 40")
    print(f"  {ancr / acr:5.2f}×   (n=3000, d=20, 200 queries, {certified} of 200 codes certified)")


def solvers():
    """Time per query over n = 1000 atoms: general-purpose solvers on a few queries, ours on all."""
    train, _, test = usps(100)
    atoms, queries = normalize(train), normalize(test)
    n = len(atoms)
    solve(atoms, queries[:50], alpha=ALPHA)
    ours = best_times({"exact": lambda: solve(atoms, queries, alpha=ALPHA).codes}, 5)["exact"] / len(queries)
    values = solve(atoms, queries[:20], alpha=ALPHA).objective
    print(
        f"\none query over n={n} atoms on the simplex: time of others / ours ({ours * 1e6:.0f} µs with the Gram matrix)"
    )

    def by_nnls(query):
        weight = 1e4  # enforces Σc = 1
        stacked = np.vstack([atoms.T, np.sqrt(ALPHA) * np.eye(n), weight * np.ones(n)])
        return nnls(stacked, np.concatenate([query, np.zeros(n), [weight]]), maxiter=100 * n)[0]

    _report("scipy nnls, augmented", by_nnls, atoms, queries[:10], values, ours)
    for name in ("quadprog", "osqp", "clarabel", "proxqp"):
        _report(name, _by_qpsolvers(name, atoms), atoms, queries[:3], values, ours)


def _by_qpsolvers(name, atoms):
    try:
        from qpsolvers import available_solvers, solve_qp
    except ImportError:
        return None
    if name not in available_solvers:
        return None
    from scipy.sparse import csc_matrix

    n = len(atoms)
    hessian = 2 * (atoms @ atoms.T + ALPHA * np.eye(n))
    equality = np.ones((1, n))
    if name in ("osqp", "clarabel"):
        hessian, equality = csc_matrix(hessian), csc_matrix(equality)

    def run(query):
        return solve_qp(
            hessian, -2 * atoms @ query, A=equality, b=np.ones(1), lb=np.zeros(n), ub=np.ones(n), solver=name
        )

    return run


def _report(name, run, atoms, queries, values, ours):
    if run is None:
        print(f"  {name:22} not installed, skipped")
        return
    start = time.perf_counter()
    codes = [run(query) for query in queries]
    seconds = (time.perf_counter() - start) / len(queries)
    worst = max(
        np.sum((y - c @ atoms) ** 2) + ALPHA * np.sum(c**2) - v for y, c, v in zip(queries, codes, values, strict=False)
    )
    print(f"  {name:22} {seconds / ours:9.0f}×   (objective above ours by at most {worst:.1e})")


def lasso():
    """SRC's problem: ours on all queries, celer on some, at the same duality gap."""
    try:
        from celer import Lasso
    except ImportError:
        print("\nlasso: celer is not installed, skipped")
        return
    train, _, test = usps(300)
    atoms, queries = normalize(train), normalize(test)[:200]
    d = atoms.shape[1]
    print("\nSRC's problem, min ‖y − Xc‖² + λ‖c‖₁ over n=3000 atoms: time of celer / ours")
    for weight in (1e-1, 1e-2, 1e-3):
        solve(atoms, queries[:10], alpha=weight, constraint="free", quadratic="l1")

        def by_celer(weight=weight):
            design = np.asfortranarray(atoms.T)
            model = Lasso(alpha=weight / (2 * d), fit_intercept=False, tol=1e-8, max_iter=1000)
            return [model.fit(design, query).coef_ for query in queries[:40]]

        jobs = {
            "ours": lambda weight=weight: solve(atoms, queries, alpha=weight, constraint="free", quadratic="l1").codes,
            "celer": by_celer,
        }
        times = best_times(jobs, 2)
        print(f"  λ={weight:<6g} {(times['celer'] / 40) / (times['ours'] / len(queries)):7.1f}×")


FIRST = """
import sys, time
from sklearn.datasets import load_digits
from ancr import ANCRClassifier, ANCRClassifierCV
X, y = load_digits(return_X_y=True)
run = {
    "predict": lambda: ANCRClassifier().fit(X[:500], y[:500]).predict(X[500:]),
    "search": lambda: ANCRClassifierCV().fit(X[:500], y[:500]),
}[sys.argv[1]]
for _ in range(2):
    begin, used = time.perf_counter(), time.process_time()
    run()
    print(time.perf_counter() - begin, time.process_time() - used)
"""


def start():
    """First `predict` and first search in a fresh process, on 500 digits, with a cold and a warm compile cache."""
    print("\nfirst call in a fresh process, 500 digits: seconds, and the same call once more")
    names = {"predict": "fit and predict 1,297", "search": "ANCRClassifierCV().fit"}
    for what, name in names.items():
        with tempfile.TemporaryDirectory() as cache:
            environment = os.environ | {"NUMBA_CACHE_DIR": cache}
            for kind in ("cold", "after that"):
                command = [sys.executable, "-W", "ignore", "-c", FIRST, what]
                out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
                first, used, again, _ = map(float, out.stdout.split())
                print(f"  {name:24} {kind:12} {first:6.2f} s ({used:.2f} s of processor time), then {again:.2f} s")
    with tempfile.TemporaryDirectory() as cache:
        for name in ("cold", "warm"):
            begin = time.perf_counter()
            command, environment = [sys.executable, "-m", "ancr", "warmup"], os.environ | {"NUMBA_CACHE_DIR": cache}
            subprocess.run(command, env=environment, check=True, capture_output=True)
            print(
                f"  ancr warmup, {name} compile cache: {time.perf_counter() - begin:6.2f} s, start of Python included"
            )


SECTIONS = {"predict": predict, "dense": dense, "solvers": solvers, "lasso": lasso, "start": start}

if __name__ == "__main__":
    for section in sys.argv[1:] or SECTIONS:
        SECTIONS[section]()
