"""NRC's problem, min ‖y − Xc‖² over c ≥ 0, against scipy's nnls: sparse codes and codes that interpolate their query.

python benchmarks/bench_nonnegative.py

Standardised columns make the atoms span their space with non-negative weights: supports are as large as the rank. Both
on one thread; prints time of scipy / time of `predict`, for each query.
"""

import numpy as np
from _data import digits, usps
from _timing import best_times
from scipy.ndimage import affine_transform, gaussian_filter, zoom
from scipy.optimize import nnls
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler, normalize
from threadpoolctl import threadpool_limits

from ancr import NRCClassifier, solve

QUERIES = 6


def large_digits(n_train=1600, seed=0):
    """Digits enlarged to 28×28 pixels, turned, stretched and moved: some outer pixels are lit in very few images."""
    rng = np.random.default_rng(seed)
    data = load_digits()
    order = rng.permutation(len(data.target))[: n_train + QUERIES]
    middle, images = np.array([13.5, 13.5]), []
    for image in data.images[order] / 16:
        angle, stretch = 0.12 * rng.standard_t(4), np.exp(0.08 * rng.standard_t(4, 2))
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) / stretch
        offset = middle - turn @ middle + 0.6 * rng.standard_t(4, 2)
        moved = affine_transform(np.pad(zoom(image, 2.5, order=1), 4), turn, offset, order=1)
        images.append(np.round(255 * np.clip(1.3 * gaussian_filter(moved, 0.5) - 0.1, 0, 1)).ravel())
    images = np.array(images)
    return images[:n_train], data.target[order[:n_train]], images[n_train:]


def standardised(train, labels, test):
    """The same problem with columns of mean zero and variance one."""
    scaler = StandardScaler().fit(train)
    return scaler.transform(train), labels, scaler.transform(test)


def nearly_repeated(train, labels, test):
    """Each sample three times: as it is, once more, and slightly changed."""
    changed = train + 1e-3 * np.random.default_rng(0).standard_normal(train.shape)
    return np.concatenate([train, train, changed]), np.tile(labels, 3), test


def compare(name, train, labels, test):
    """Print one row."""
    test = test[np.linspace(0, len(test) - 1, QUERIES).astype(int)]
    classifier = NRCClassifier().fit(train, labels)
    classifier.predict(test[:1])  # compile
    atoms, queries = normalize(train), normalize(test)

    def by_scipy():
        return [nnls(atoms.T, query, maxiter=100 * len(atoms)) for query in queries]

    times = best_times({"ours": lambda: classifier.predict(test), "scipy": by_scipy}, 3)
    solution = solve(atoms, queries, alpha=0.0, constraint="nonnegative")
    above = max(solution.objective - [misfit**2 for _, misfit in by_scipy()])
    print(
        f"  {name:28} {times['scipy'] / times['ours']:6.1f}×   n={len(atoms)}, d={atoms.shape[1]}, "
        f"{int(np.median(np.diff(solution.codes.indptr)))} atoms in use, {int(solution.n_iter.max())} rounds at most, "
        f"{int(solution.verify().sum())} of {len(queries)} certified, objective above scipy's by at most {above:.0e}"
    )


def main():
    """Measure and print."""
    print("time of scipy's nnls / ours, for each query")
    jobs = {"digits": digits(), "USPS": usps(200), "digits 28×28": large_digits()}
    for name, job in jobs.items():
        compare(name, *job)
        compare(f"{name}, standardised", *standardised(*job))
    compare("digits thrice, standardised", *standardised(*nearly_repeated(*digits(60))))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
