"""Batched ADMM against a plain transcription of the paper's Algorithms 1 and 2, fit included.

The transcription is what a reader of the paper would write: one n × n inverse, then one query and one class at a time.
Both run the same five iterations and must give the same labels.

    python benchmarks/bench_admm.py
"""

import numpy as np
from _timing import best_times, print_ratios
from sklearn.preprocessing import normalize

from ancr import ANCRClassifier
from ancr.datasets import load_ar, load_usps, per_class_split
from ancr.features import Eigenfaces

ALPHA, RHO, ITERATIONS = 1e-4, 1e-2, 5


def project_newton(point):
    """Projection on the simplex by Newton's iteration on the threshold (Huang et al., 2015)."""
    point = point - point.mean() + 1.0 / len(point)
    threshold = 0.0
    for _ in range(100):
        above = point > threshold
        value = point[above].sum() - threshold * above.sum() - 1.0
        if abs(value) < 1e-10:
            break
        threshold += value / above.sum()
    return np.maximum(point - threshold, 0.0)


def transcription(train, labels, test):
    """Algorithms 1 and 2, one query at a time."""
    X, queries = normalize(train).T, normalize(test)
    n = X.shape[1]
    inverse = np.linalg.inv(X.T @ X + (RHO + 2 * ALPHA) / 2 * np.eye(n))
    classes = np.unique(labels)
    predicted = []
    for y in queries:
        z, c, delta = np.zeros(n), np.zeros(n), np.zeros(n)
        b = X.T @ y
        for _ in range(ITERATIONS):
            z_previous, c_previous = z, c
            c = inverse @ (b + (RHO * z + delta) / 2)
            z = project_newton(c - delta / RHO)
            if max(map(np.linalg.norm, (z - c, z - z_previous, c - c_previous))) < 1e-5:
                break
            delta = delta + RHO * (z - c)
        residuals = [np.linalg.norm(y - X[:, labels == k] @ c[labels == k]) for k in classes]
        predicted.append(classes[np.argmin(residuals)])
    return np.array(predicted)


def ours(train, labels, test):
    clf = ANCRClassifier(alpha=ALPHA, solver="admm", rho=RHO, max_iter=ITERATIONS, code="c")
    return clf.fit(train, labels).predict(test)


def compare(title, dtype, train, labels, test, repeats, often):
    train, test = train.astype(dtype), test.astype(dtype)
    jobs = {
        "transcription": lambda: transcription(train, labels, test),
        "ancr, batched": lambda: ours(train, labels, test),
    }
    # Both compile or warm up here, before the clock starts.
    agree = np.mean(jobs["transcription"]() == jobs["ancr, batched"]())
    # They take turns, and the fast one runs more often per turn, so both have a fair chance of an undisturbed run.
    turns = [{name: best_times({name: job}, often[name])[name] for name, job in jobs.items()} for _ in range(repeats)]
    times = {name: min(turn[name] for turn in turns) for name in jobs}
    print_ratios(f"{title}, {dtype}: n={len(train)}, d={train.shape[1]}, {len(test)} queries", times, "transcription")
    print(f"  labels agree on {agree:.2%}")


def main():
    ar = load_ar()
    faces = Eigenfaces(300).fit(ar.data[ar.train_indices]).transform(ar.data)
    job = faces[ar.train_indices], ar.target[ar.train_indices], faces[ar.test_indices]
    for dtype in ("float64", "float32"):
        compare("AR-300", dtype, *job, 3, {"transcription": 1, "ancr, batched": 24})
    usps = load_usps()
    train, _ = per_class_split(usps.target, 300, seed=0, pool=usps.train_indices)
    job = usps.data[train], usps.target[train], usps.data[usps.test_indices]
    compare("USPS N=300", "float64", *job, 1, {"transcription": 1, "ancr, batched": 5})


if __name__ == "__main__":
    main()
