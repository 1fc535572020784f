"""The paper's numbers, exact to the image, if the data is present."""

import numpy as np
import pytest

from ancr import ACRClassifier, ANCRClassifier, CRCClassifier, NRCClassifier
from ancr.datasets import per_class_split
from ancr.features import Eigenfaces
from ancr.paper.methods import ar_methods
from tests.marks import rarely


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


@pytest.mark.parametrize(("n_per_class", "expected"), [(50, 91.5), (100, 93.3), *rarely((200, 94.6), (300, 94.7))])
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


PRINTED = {
    "NSC": (70.7, 75.5, 76.1),
    "SRC": (82.1, 88.3, 90.3),
    "CRC": (80.3, 90.1, 93.8),
    "CROC": (82.0, 90.8, 93.7),
    "ProCRC": (81.4, 90.7, 93.7),
    "SA-CRC": (75.1, 86.7, 92.5),
    "CCRC": (81.2, 88.9, 93.1),
    "NRC": (85.2, 91.3, 93.3),
    "ANCR": (86.0, 91.3, 94.0),
    "ACR": (78.5, 88.5, 91.4),
    "NCR": (85.2, 91.3, 93.3),
}


@pytest.mark.parametrize("dim", [54, *rarely(120, 300)])
@pytest.mark.parametrize("name", [*rarely("NSC", "SRC"), *(name for name in PRINTED if name not in ("NSC", "SRC"))])
def test_every_printed_ar_number(name, dim, faces):
    X, y, train, test = faces
    clf = ar_methods(f"dim={dim}")[name].build().fit(X[train, :dim], y[train])
    accuracy = 100 * clf.score(X[test, :dim], y[test])
    assert abs(accuracy - PRINTED[name][(54, 120, 300).index(dim)]) <= 0.15


def test_linear_svm_on_ar(faces):
    """Not reproduced (printed 81.6 / 89.3 / 91.6); these are the best found, and they should not get worse."""
    X, y, train, test = faces
    for dim, best in zip((54, 120, 300), (80.4, 86.4, 88.8), strict=True):
        clf = ar_methods(f"dim={dim}")["SVM"].build().fit(X[train, :dim], y[train])
        assert abs(100 * clf.score(X[test, :dim], y[test]) - best) <= 0.5


def test_ar_with_large_supports_is_certified(faces):
    X, y, train, test = faces
    clf = ANCRClassifier(alpha=4.0).fit(X[train], y[train])
    queries = X[test[:40]] / np.linalg.norm(X[test[:40]], axis=1, keepdims=True)
    solution = clf.solver_.solve(queries)
    assert solution.verify().all()
    assert np.diff(solution.codes.indptr).mean() > 300
