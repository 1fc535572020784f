"""The paper's numbers, to the image, where the data is present."""

import numpy as np
import pytest

from ancr import ACRClassifier, ANCRClassifier, CRCClassifier, NRCClassifier
from ancr.datasets import per_class_split
from ancr.features import Eigenfaces


@pytest.fixture(scope="module")
def faces(ar):
    projected = Eigenfaces(300).fit(ar.data[ar.train_indices]).transform(ar.data)
    return projected, ar.target, ar.train_indices, ar.test_indices


def images_right(clf, faces, dim):
    X, y, train, test = faces
    return np.sum(clf.fit(X[train, :dim], y[train]).predict(X[test, :dim]) == y[test])


@pytest.mark.parametrize(
    ("clf", "expected"),
    [
        (ANCRClassifier(alpha=1e-4, solver="admm", rho=1e-2, max_iter=5, code="c"), (601, 638, 657)),
        (NRCClassifier(solver="admm", rho=0.1, max_iter=5, code="c"), (596, 638, 652)),
        (ACRClassifier(alpha=1e-4), (549, 619, 639)),
        (CRCClassifier(alpha=1e-3, rule="reg"), (561, 630, 656)),
        (ANCRClassifier(alpha=1e-4), (538, 566, 580)),
        (NRCClassifier(), (538, 569, 582)),
    ],
    ids=["ANCR as published", "NRC as published", "ACR", "CRC", "ANCR optimum", "NRC optimum"],
)
def test_ar(clf, expected, faces):
    for dim, right in zip((54, 120, 300), expected, strict=True):
        assert abs(images_right(clf, faces, dim) - right) <= 1


@pytest.mark.parametrize(("n_per_class", "expected"), [(50, 91.5), (100, 93.3), (200, 94.6), (300, 94.7)])
def test_usps_optimum_is_certified(usps, n_per_class, expected):
    queries, truth = usps.data[usps.test_indices], usps.target[usps.test_indices]
    queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
    accuracies = []
    for seed in range(3):
        train, _ = per_class_split(usps.target, n_per_class, seed, pool=usps.train_indices)
        clf = ANCRClassifier(alpha=1e-3).fit(usps.data[train], usps.target[train])
        accuracies.append(100 * clf.score(queries, truth))
        if seed == 0:
            assert clf.solver_.solve(queries).verify(tol=1e-8).all()
    assert abs(np.mean(accuracies) - expected) <= 0.5


def test_ar_with_large_supports_is_certified(faces):
    X, y, train, test = faces
    clf = ANCRClassifier(alpha=4.0).fit(X[train], y[train])
    queries = X[test[:40]] / np.linalg.norm(X[test[:40]], axis=1, keepdims=True)
    solution = clf.solver_.solve(queries)
    assert solution.verify().all()
    assert np.diff(solution.codes.indptr).mean() > 300
