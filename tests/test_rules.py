"""Rules against the formulas written out, one query and one class at a time."""

import numpy as np
import pytest
from scipy import sparse

from ancr import ACRClassifier, ANCRClassifier, CRCClassifier
from ancr.dictionary import Dictionary
from ancr.rules import RULES, class_residuals, classes_can_be_skipped, nearest_class
from ancr.solvers.estimate import Estimate
from ancr.solvers.two_parts import TwoParts


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


# Few samples a class take the route through class Gram blocks, many the one through class vectors.
@pytest.mark.parametrize(("per_class", "d"), [(4, 40), (60, 5)])
@pytest.mark.parametrize("rule", ["res", "reg", "pro"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_rules_agree_with_the_formulas(per_class, d, rule, form):
    rng = np.random.default_rng(0)
    dictionary = Dictionary.build(rng.standard_normal((5 * per_class, d)), np.arange(5 * per_class) % 5)
    queries, codes = rng.standard_normal((7, d)), rng.standard_normal((7, 5 * per_class))
    codes[:, ::3] = 0.0
    codes[0, dictionary.blocks[2]] = 0.0  # a class without code
    codes[1] = 0.0
    codes[2] *= 1e4
    # A query that one class represents perfectly: the difference of large terms must not show.
    queries[3] = codes[3, dictionary.blocks[1]] @ dictionary.atoms[dictionary.blocks[1]]
    given = sparse.csr_array(codes) if form == "sparse" else codes
    expected = written_out(dictionary, queries, codes, rule)
    decision = RULES[rule](dictionary, queries, given)
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
    residuals = class_residuals(dictionary, queries, codes)
    assert residuals.dtype == np.float32
    np.testing.assert_allclose(residuals, written_out(dictionary, queries, codes, "res"), rtol=1e-5)


def test_class_vanishing_everywhere_is_finite():
    dictionary = Dictionary.build(np.eye(4), [0, 0, 1, 1])
    for rule in RULES.values():
        assert np.isfinite(rule(dictionary, np.zeros((1, 4)), np.zeros((1, 4)))).all()


def sizes_of_classes(kind):
    return {"small": [1, 7, 3, 2, 9], "large": [20, 31, 17], "some empty": [0, 4, 0, 5, 3, 0]}[kind]


@pytest.mark.parametrize("kind", ["small", "large", "some empty"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1e-3, 0.3, 1.0, 30.0])
def test_nearest_class_is_that_of_the_least_residual(kind, dtype, scale):
    rng, sizes = np.random.default_rng(2), sizes_of_classes(kind)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    atoms = rng.standard_normal((len(labels), 70)) + 1.0
    dictionary = Dictionary.build(atoms.astype(dtype), labels, classes=np.arange(len(sizes)))
    queries = (rng.standard_normal((83, 70)) / 8).astype(dtype)
    codes = (scale * rng.standard_normal((83, len(labels)))).astype(dtype)
    codes[:9] = 0.0  # all residuals are equal
    queries[9:20] = 0.0
    winners = nearest_class(dictionary, queries, codes, most=9)
    expected = written_out(dictionary, queries.astype(float), codes.astype(float), "res")
    expected[:, np.equal(sizes, 0)] = np.inf
    tied = winners < 0
    assert tied[:9].all()
    assert tied[9:].mean() < 0.3
    best = np.sort(expected[tied], axis=1)
    np.testing.assert_allclose(best[:, 1], best[:, 0], rtol=1e-9 if dtype is np.float64 else 1e-3, atol=1e-30)
    np.testing.assert_array_equal(winners[~tied], np.argmin(expected[~tied], axis=1))


def test_classes_that_cannot_be_ruled_out_are_left_to_the_others():
    rng = np.random.default_rng(7)
    dictionary = Dictionary.build(rng.standard_normal((320, 60)), np.arange(320) % 80)
    # Codes so small that no bound tells classes apart.
    queries, codes = rng.standard_normal((30, 60)), 1e-3 * rng.standard_normal((30, 320))
    assert (nearest_class(dictionary, queries, codes) == -1).all()
    assert (nearest_class(dictionary, queries, codes, most=80) >= 0).all()


def test_no_label_contradicts_the_decision_values():
    # Two classes of the same samples: which is nearer is a matter of rounding.
    rng = np.random.default_rng(5)
    X, y = np.repeat(rng.standard_normal((160, 60)), 2, axis=0), np.arange(320) % 80
    y[1::2] = y[::2] + 1
    assert classes_can_be_skipped(Dictionary.build(X, y), np.zeros((1, 320)))
    Q = rng.standard_normal((900, 60))
    for clf in (CRCClassifier(rule="res"), ACRClassifier(), ANCRClassifier(solver="admm", max_iter=5, code="c")):
        values = clf.fit(X, y).decision_function(Q)
        np.testing.assert_array_equal(clf.predict(Q), clf.classes_[np.argmax(values, axis=1)])


@pytest.mark.parametrize("kind", ["small", "large", "some empty"])
@pytest.mark.parametrize("scale", [0.0, 1e-3, 0.3, 1e5])
@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("estimated", [True, False])
def test_nearest_class_of_codes_in_two_parts(kind, scale, length, estimated):
    rng, sizes = np.random.default_rng(4), sizes_of_classes(kind)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    atoms = length * rng.standard_normal((len(labels), 70))
    dictionary = Dictionary.build(atoms, labels, classes=np.arange(len(sizes)), normalize=False)
    queries, vectors = rng.standard_normal((2, 83, 70))
    queries, vectors = length * queries, scale / length * vectors
    rest = 0.1 * rng.standard_normal((83, len(labels))) * (rng.random((83, len(labels))) < 0.2)
    codes = TwoParts(dictionary, Estimate(dictionary) if estimated else None, vectors, rest)
    np.testing.assert_allclose(codes.whole(), vectors @ dictionary.atoms.T + rest, atol=1e-12 * scale)
    rough, error = codes.roughly()
    assert (np.abs(rough - codes.whole()) <= error[:, None] + 1e-12 * scale).all()
    expected = written_out(dictionary, queries, codes.whole(), "res")
    expected[:, np.equal(sizes, 0)] = np.inf
    winners = nearest_class(dictionary, queries, codes, most=9)
    clear = winners >= 0
    assert clear.all() or scale == 0.0  # where several classes may have no code
    np.testing.assert_array_equal(winners[clear], np.argmin(expected[clear], axis=1))


@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
def test_only_exact_codes_tell_twins_apart(length):
    # Two classes whose residuals differ by less than single precision sees. Queries are multiples of what one class
    # represents, so that no bound has room to spare.
    rng = np.random.default_rng(6)
    # All atoms are in a subspace, and most of u is not: that part takes its digits from the estimate.
    inside, outside = np.split(np.linalg.qr(rng.standard_normal((50, 50)))[0], [20])
    one, others = rng.standard_normal((4, 20)) @ inside, rng.standard_normal((8, 20)) @ inside
    atoms = length * np.concatenate([one, one + 1e-8 * rng.standard_normal((4, 20)) @ inside, others])
    dictionary = Dictionary.build(atoms, np.arange(16) // 4, normalize=False)
    vectors = (rng.standard_normal((400, 20)) @ inside + 1e3 * rng.standard_normal((400, 30)) @ outside) / length
    codes = TwoParts(dictionary, Estimate(dictionary), vectors, np.zeros((400, 16)))
    queries = 1.001 * codes.whole()[:, :4] @ atoms[:4]
    exact = codes.whole().astype(np.longdouble)
    parts = np.einsum("qkj,kjd->qkd", exact.reshape(400, 4, 4), atoms.reshape(4, 4, 50).astype(np.longdouble))
    squares = ((queries[:, None] - parts) ** 2).sum(axis=2)
    winners = nearest_class(dictionary, queries, codes, most=9)
    assert (winners >= 0).mean() > 0.8
    assert {0, 1} <= set(winners.tolist())
    np.testing.assert_array_equal(winners[winners >= 0], np.argmin(squares, axis=1)[winners >= 0])


def test_nearest_class_where_long_codes_cancel():
    # Two nearly parallel atoms a class with huge weights of opposite sign: ‖X_i c_i‖² from the Gram has no digits left.
    rng = np.random.default_rng(3)
    base = np.repeat(rng.standard_normal((6, 30)), 2, axis=0)
    dictionary = Dictionary.build(base + 1e-9 * rng.standard_normal(base.shape), np.arange(12) // 2)
    weights = 1e8 * rng.standard_normal((200, 6))
    codes = np.stack([weights, -weights], axis=2).reshape(200, 12)
    queries = rng.standard_normal((200, 30))
    expected = written_out(dictionary, queries, codes, "res")
    winners = nearest_class(dictionary, queries, codes, most=9)
    picked = np.take_along_axis(expected, winners[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(picked[winners >= 0], expected.min(axis=1)[winners >= 0], rtol=1e-6)
    assert (winners >= 0).any()
