import numpy as np
import pytest
from sklearn.datasets import load_digits

from ancr import ANCRClassifier, ANCRClassifierCV, CRCClassifier


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600], X[600:640]


@pytest.mark.parametrize("clf", [ANCRClassifier(), CRCClassifier()], ids=["ANCR", "CRC"])
def test_explanations_are_the_code(clf, digits):
    X, y, Q = digits
    clf.fit(X, y)
    codes, predicted = clf.codes(Q), clf.predict(Q)
    codes = codes.toarray() if hasattr(codes, "toarray") else codes
    for code, label, query, told in zip(codes, predicted, Q, clf.explain(Q, top=4), strict=True):
        assert told.label == label
        assert len(told.indices) == min(4, np.count_nonzero(code))
        np.testing.assert_allclose(told.weights, code[told.indices], atol=1e-12)
        assert np.abs(told.weights[-1]) >= np.sort(np.abs(code))[-4] - 1e-12
        np.testing.assert_array_equal(told.labels, y[told.indices])
        # The share of the strongest sample, written out.
        atoms, query = X / np.linalg.norm(X, axis=1, keepdims=True), query / np.linalg.norm(query)
        own = (y == told.labels[0]) * code
        residual = np.linalg.norm(query - own @ atoms)
        own[told.indices[0]] = 0.0
        assert told.shares[0] == pytest.approx(np.linalg.norm(query - own @ atoms) - residual, abs=1e-9)
    assert f"sample {told.indices[0]:>6}" in str(told)


def test_bad_top_is_named(digits):
    X, y, Q = digits
    with pytest.raises(ValueError, match="top must be a positive integer"):
        ANCRClassifier().fit(X, y).explain(Q, top=0)


@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("clf", [ANCRClassifier(), CRCClassifier(), ANCRClassifierCV(alphas=[1e-3, 1e-2])], ids=str)
def test_judge_is_all_of_them_together(clf, digits, n_classes):
    X, y, Q = digits
    clf.fit(X[y < n_classes], y[y < n_classes])
    decisions, probabilities, explanations = clf.judge(Q, top=3)
    values = clf.decision_function(Q)
    np.testing.assert_allclose(decisions[:, 1] - decisions[:, 0] if n_classes == 2 else decisions, values, atol=1e-12)
    np.testing.assert_allclose(probabilities, clf.predict_proba(Q), atol=1e-12)
    assert list(map(str, explanations)) == list(map(str, clf.explain(Q, top=3)))
