"""Rules against the formulas written out, one query and one class at a time."""

import numpy as np
import pytest
from scipy import sparse

from ancr import ACRClassifier, ANCRClassifier, CRCClassifier
from ancr.axes.rules import RULES, class_residuals
from ancr.dictionary.coordinates import Dictionary
from ancr.dictionary.products import Queries


def written_out(dictionary, queries, codes, rule):
    out = np.empty((len(queries), dictionary.n_classes))
    for q, (y, c) in enumerate(zip(queries, codes, strict=True)):
        for k, block in enumerate(dictionary.blocks):
            part = c[block] @ dictionary.atoms[block]
            residual = np.linalg.norm(y - part)
            out[q, k] = {
                "res": residual,
                "reg": residual**2 / max(c[block] @ c[block], 1e-14),
                "pro": np.linalg.norm(c @ dictionary.atoms - part) ** 2,
            }[rule]
    return out


# Few samples per class are handled through class Gram blocks, many through class vectors.
@pytest.mark.parametrize(("per_class", "d"), [(4, 40), (60, 5)])
@pytest.mark.parametrize("rule", ["res", "reg", "pro"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_rules_agree_with_the_formulas(per_class, d, rule, form):
    rng = np.random.default_rng(0)
    dictionary = Dictionary.build(rng.standard_normal((5 * per_class, d)), np.arange(5 * per_class) % 5)
    queries, codes = rng.standard_normal((7, d)), rng.standard_normal((7, 5 * per_class))
    codes[:, ::3] = 0.0
    codes[0, dictionary.blocks[2]] = 0.0  # a class with zero code
    codes[1] = 0.0
    codes[2] *= 1e4
    # A query that one class represents perfectly: cancellation of large terms must not show.
    queries[3] = codes[3, dictionary.blocks[1]] @ dictionary.atoms[dictionary.blocks[1]]
    given = sparse.csr_array(codes) if form == "sparse" else codes
    expected = written_out(dictionary, queries, codes, rule)
    decision = RULES[rule].scores(Queries.of(dictionary, queries), given)
    if rule == "reg":
        decision, expected = np.exp(-decision), np.maximum(expected, 1e-31)
        close = expected > 1e-20  # below that both are zero up to rounding
        np.testing.assert_allclose(decision[close], expected[close], rtol=1e-9)
        assert decision[~close].max(initial=0) < 1e-20
    else:
        np.testing.assert_allclose(-decision, expected, atol=1e-9, rtol=1e-9)


def test_residuals_keep_single_precision():
    rng = np.random.default_rng(1)
    dictionary = Dictionary.build(rng.standard_normal((12, 30)).astype(np.float32), np.arange(12) % 3)
    queries, codes = rng.standard_normal((4, 30)).astype("f"), rng.standard_normal((4, 12)).astype("f")
    residuals = class_residuals(Queries.of(dictionary, queries), codes)
    assert residuals.dtype == np.float32
    np.testing.assert_allclose(residuals, written_out(dictionary, queries, codes, "res"), rtol=1e-5)


def test_class_vanishing_everywhere_is_finite():
    dictionary = Dictionary.build(np.eye(4), [0, 0, 1, 1])
    for rule in RULES.values():
        assert np.isfinite(rule.scores(Queries.of(dictionary, np.zeros((1, 4))), np.zeros((1, 4)))).all()


def test_no_label_contradicts_the_decision_values():
    # Two classes with the same samples: rounding decides which is nearer.
    rng = np.random.default_rng(5)
    X, y = np.repeat(rng.standard_normal((160, 60)), 2, axis=0), np.arange(320) % 80
    y[1::2] = y[::2] + 1
    Q = rng.standard_normal((900, 60))
    for clf in (CRCClassifier(rule="res"), ACRClassifier(), ANCRClassifier(solver="admm", max_iter=5, code="c")):
        values = clf.fit(X, y).decision_function(Q)
        np.testing.assert_array_equal(clf.predict(Q), clf.classes_[np.argmax(values, axis=1)])
