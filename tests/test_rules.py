"""Rules against the formulas written out, one query and one class at a time."""

import numpy as np
import pytest
from scipy import sparse

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
    codes[:9] = 0.0  # all residuals are equal: the first class that has atoms
    queries[9:20] = 0.0
    assert classes_can_be_skipped(dictionary, codes)
    winners = nearest_class(dictionary, queries, codes)
    expected = written_out(dictionary, queries.astype(float), codes.astype(float), "res")
    expected[:, np.equal(sizes, 0)] = np.inf
    picked = np.take_along_axis(expected, winners[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(picked, expected.min(axis=1), rtol=1e-12 if dtype is np.float64 else 1e-5)
    assert (winners[:9] == np.flatnonzero(sizes)[0]).all()


@pytest.mark.parametrize("kind", ["small", "large", "some empty"])
@pytest.mark.parametrize("scale", [0.0, 1e-3, 0.3, 1e5])
@pytest.mark.parametrize("estimated", [True, False])
def test_nearest_class_of_codes_in_two_parts(kind, scale, estimated):
    rng, sizes = np.random.default_rng(4), sizes_of_classes(kind)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    # Two classes with all but the same atoms: only exact residuals tell them apart.
    atoms = rng.standard_normal((len(labels), 70))
    atoms[labels == labels[-1]] = atoms[labels == labels[0]].mean(axis=0) + 1e-9 * rng.standard_normal(70)
    dictionary = Dictionary.build(atoms, labels, classes=np.arange(len(sizes)))
    queries, vectors = rng.standard_normal((2, 83, 70))
    rest = 0.1 * rng.standard_normal((83, len(labels))) * (rng.random((83, len(labels))) < 0.2)
    codes = TwoParts(dictionary, Estimate(dictionary) if estimated else None, scale * vectors, rest)
    assert classes_can_be_skipped(dictionary, codes)
    np.testing.assert_allclose(codes.whole(), scale * vectors @ dictionary.atoms.T + rest, atol=1e-12 * scale)
    rough, error = codes.roughly()
    assert (np.abs(rough - codes.whole()) <= error[:, None] + 1e-12 * scale).all()
    expected = written_out(dictionary, queries, codes.whole(), "res")
    expected[:, np.equal(sizes, 0)] = np.inf
    picked = np.take_along_axis(expected, nearest_class(dictionary, queries, codes)[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(picked, expected.min(axis=1), rtol=1e-12)


def test_nearest_class_where_long_codes_cancel():
    # Two nearly parallel atoms a class with huge weights of opposite sign: ‖X_i c_i‖² from the Gram has no digits left.
    rng = np.random.default_rng(3)
    base = np.repeat(rng.standard_normal((6, 30)), 2, axis=0)
    dictionary = Dictionary.build(base + 1e-9 * rng.standard_normal(base.shape), np.arange(12) // 2)
    weights = 1e8 * rng.standard_normal((200, 6))
    codes = np.stack([weights, -weights], axis=2).reshape(200, 12)
    queries = rng.standard_normal((200, 30))
    expected = written_out(dictionary, queries, codes, "res")
    picked = np.take_along_axis(expected, nearest_class(dictionary, queries, codes)[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(picked, expected.min(axis=1), rtol=1e-6)
