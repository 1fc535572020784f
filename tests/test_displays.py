"""Plots show what the classifier says; explanations and solutions can be read in a notebook."""

import inspect
import re

import numpy as np
import pytest
from sklearn.datasets import load_digits

import ancr
from ancr._core.thumbnails import png_uri

plt = pytest.importorskip("matplotlib.pyplot")
plt.switch_backend("agg")


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300], X[300:306], y[300:306]


@pytest.fixture(scope="module")
def fitted(digits):
    return ancr.ANCRClassifier().fit(*digits[:2])


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_the_explanation_shows_query_and_samples(fitted, digits):
    X, _, Q, _ = digits
    display = ancr.ExplanationDisplay.from_estimator(fitted, Q[0], samples=X, image_shape=(8, 8), top=3)
    told = fitted.explain(Q[:1], top=3)[0]
    shown = [axis.get_images()[0].get_array() for axis in display.axes_]
    np.testing.assert_array_equal(shown[0], Q[0].reshape(8, 8))
    np.testing.assert_array_equal(shown[1:], X[told.indices].reshape(-1, 8, 8))
    bars = ancr.ExplanationDisplay.from_estimator(fitted, Q[0])
    assert bars.axes_.get_xlabel() == "weight"
    with pytest.raises(ValueError, match="samples is None"):
        ancr.ExplanationDisplay.from_estimator(fitted, Q[0], image_shape=(8, 8))
    with pytest.raises(ValueError, match="X must be one query, got 6"):
        ancr.ExplanationDisplay.from_estimator(fitted, Q)


def test_residuals_are_the_bars(fitted, digits):
    display = ancr.ResidualDisplay.from_estimator(fitted, digits[2][:2], digits[3][:2])
    heights = [[bar.get_height() for bar in axis.patches] for axis in display.axes_]
    np.testing.assert_allclose(heights, fitted.residuals(digits[2][:2]))


def test_the_path_of_a_code_ends_at_the_code(fitted, digits):
    X, y, Q, _ = digits
    display = ancr.CodePathDisplay.from_estimator(ancr.ANCRClassifier(), Q[0], samples=X, labels=y, values=[1e-3, 1e-1])
    np.testing.assert_allclose(display.codes[0], fitted.codes(Q[:1]).toarray()[0], atol=1e-9)
    ax = plt.figure().add_subplot()
    assert display.plot(ax).axes_ is ax


EXPLANATION, RESIDUAL, PATH = (
    ancr.ExplanationDisplay.from_estimator,
    ancr.ResidualDisplay.from_estimator,
    ancr.CodePathDisplay.from_estimator,
)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda clf, X, y, Q: EXPLANATION("a", Q[0]), "estimator must be a classifier of ancr, got 'a'"),
        (lambda clf, X, y, Q: EXPLANATION(clf, Q[0], samples=X[:2], image_shape=(8, 8)), "samples must be those given"),
        (
            lambda clf, X, y, Q: EXPLANATION(clf, Q[0], samples=X, image_shape=(3, 3)),
            "image_shape must be .* 64 values",
        ),
        (lambda clf, X, y, Q: EXPLANATION(clf, Q[0], samples=X, image_shape="a"), "image_shape must be .* got 'a'"),
        (lambda clf, X, y, Q: EXPLANATION(clf, Q[0], samples=X, image_shape=64), "image_shape must be .* got 64"),
        (lambda clf, X, y, Q: RESIDUAL(None, Q), "estimator must be a classifier of ancr, got None"),
        (lambda clf, X, y, Q: RESIDUAL(clf, Q, y[:2]), "y must hold the true label of each query, 6, got shape"),
        (lambda clf, X, y, Q: RESIDUAL(clf, Q, [77] * 6), "y holds 77, which is not one of the classes"),
        (lambda clf, X, y, Q: RESIDUAL(clf, Q, ax=object()), "ax has room for one query, and X has 6"),
        (lambda clf, X, y, Q: EXPLANATION(clf, Q[0], y[:2]), "y must be the true label of the query, got shape"),
        (lambda clf, X, y, Q: PATH(3, Q[0], samples=X, labels=y), "estimator must be a classifier of ancr, got 3"),
        (
            lambda clf, X, y, Q: PATH(clf, Q[0], samples=X, labels=y, values=[]),
            "values must be a list of at least one number",
        ),
        (
            lambda clf, X, y, Q: PATH(clf, Q[0], samples=X, labels=y, values=["a"]),
            "values must be finite numbers.* got 'a'",
        ),
        (
            lambda clf, X, y, Q: PATH(clf, Q[0], samples=X, labels=y, param="relaxation", values=[None, 1.0]),
            "values must be finite numbers.* got None",
        ),
        (lambda clf, X, y, Q: ancr.CodePathDisplay([], [], y).plot(), "values, codes and labels must be"),
    ],
)
def test_bad_input_is_named_before_anything_is_drawn(fitted, digits, draw, message):
    with pytest.raises(ValueError, match=message) as raised:
        draw(fitted, *digits[:3])
    assert "\n" not in str(raised.value)
    assert not plt.get_fignums()


@pytest.mark.parametrize("draw", [EXPLANATION, RESIDUAL, PATH])
def test_all_displays_take_the_same_arguments_in_the_same_order(fitted, digits, draw):
    X, y, Q, truth = digits
    names = list(inspect.signature(draw).parameters)
    assert names[:3] == ["estimator", "X", "y"]
    assert names[-1] == "ax"
    training = {"samples": X, "labels": y} if draw is PATH else {}
    for query, label in ((Q[0], truth[0]), (Q[:1], truth[:1])):  # one query may be a row or a matrix of one row
        axes = plt.figure().add_subplot()
        shown = draw(fitted, query, label, **training, ax=axes)
        assert shown.figure_ is axes.figure
        assert np.atleast_1d(shown.axes_)[0] is axes
        assert f"truth: {truth[0]}" in axes.get_title() or "true class" in axes.get_title()
    alone = draw(fitted, Q[0], truth[0], **training)
    assert alone.figure_.number in plt.get_fignums()  # a notebook shows it, also where the cell ends in a semicolon


def test_log_probabilities_are_finite(digits):
    X, y, Q, _ = digits
    clf = ancr.ANCRClassifier(temperature=1e-5).fit(X, y)
    assert (clf.predict_proba(Q) == 0).any()
    assert np.isfinite(clf.predict_log_proba(Q)).all()
    chosen = ancr.RepresentationClassifierCV(spaces=["linear"]).fit(X, y)
    np.testing.assert_allclose(np.exp(chosen.predict_log_proba(Q)), chosen.predict_proba(Q), atol=1e-12)


def test_explanations_in_a_notebook(fitted, digits):
    X, _, Q, _ = digits
    told = fitted.explain(Q[:1], top=3)[0]
    assert repr(told).startswith(f"Explanation({told.label}, because of samples {told.indices[0]}, ")
    assert "<img" not in told._repr_html_()
    page = told.illustrated(Q[0], X, (8, 8))._repr_html_()
    assert len(re.findall(r'<img src="data:image/png;base64,[^"]+"', page)) == 4
    frame = told.to_frame()
    assert list(frame.columns) == ["sample", "label", "weight", "share"]
    np.testing.assert_array_equal(frame["sample"], told.indices)


def test_solutions_in_a_notebook(digits):
    solution = ancr.solve(digits[0], digits[2], alpha=1e-3)
    frame = solution.to_frame()
    assert len(frame) == 6
    assert frame.certified.all()
    np.testing.assert_array_equal(frame.atoms, np.diff(solution.codes.indptr))
    assert "6 of 6" in solution._repr_html_()
    relaxed = ancr.solve(digits[0], digits[2], alpha=1e-3, relaxation=1.0)
    assert len(relaxed.to_frame()) == 6
    assert "6 queries" in relaxed._repr_html_()


def test_thumbnails_are_images():
    from io import BytesIO

    image = pytest.importorskip("PIL.Image")
    from base64 import b64decode

    for pixels in (np.arange(12).reshape(3, 4), np.zeros((2, 5, 3), np.uint8)):
        opened = image.open(BytesIO(b64decode(png_uri(pixels).partition(",")[2])))
        assert opened.size == pixels.shape[1::-1]
        opened.load()
