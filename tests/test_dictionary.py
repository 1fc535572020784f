import numpy as np
import pytest
from sklearn.preprocessing import normalize

from ancr import Dictionary
from ancr._core.arrays import to_numpy, unit_rows
from ancr.dictionary.products import Queries
from tests.rational import rational


def test_blocks_order_and_norms():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 4)), np.array(["b", "a", "c", "a"] * 5)
    X[3] = 0.0
    d = Dictionary.build(X, y)
    assert d.classes.tolist() == ["a", "b", "c"]
    for k, block in enumerate(d.blocks):
        assert (y[d.order[block]] == d.classes[k]).all()
        assert (d.labels[block] == k).all()
    np.testing.assert_allclose(d.atoms[d.position][0], X[0] / np.linalg.norm(X[0]))
    assert not d.atoms[d.position[3]].any()  # a zero row stays zero and does not become NaN
    np.testing.assert_allclose(d.gram, d.atoms @ d.atoms.T)
    for block, gram in zip(d.blocks, d.block_grams, strict=True):
        np.testing.assert_allclose(gram, d.gram[block, block])


def test_precision_and_views():
    X = np.random.default_rng(1).standard_normal((12, 6)).astype(np.float32)
    d = Dictionary.build(np.asfortranarray(X)[::2, ::2], normalize=False)
    assert d.dtype == d.gram.dtype == np.float32
    np.testing.assert_array_equal(d.atoms, X[::2, ::2])
    assert Dictionary.build(X.astype(int)).dtype == np.float64


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="atoms contains NaN"):
        Dictionary.build([[np.nan]], name="atoms")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Dictionary.build(np.ones((3, 2)), [0, 1])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_are_scaled_as_scikit_learn_does(dtype):
    rows = np.random.default_rng(0).standard_normal((20, 7)).astype(dtype)
    rows[3] = 0.0
    np.testing.assert_allclose(Dictionary.build(rows).atoms, normalize(rows), rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize(("dtype", "powers"), [("f8", (-307, -160, -8, 18, 160, 307)), ("f4", (-37, -20, -8, 18, 37))])
def test_rows_are_scaled_at_every_scale(arrays, dtype, powers):
    rows = np.random.default_rng(0).uniform(0.1, 1.0, (len(powers) + 2, 5)).astype(dtype)
    wanted = rows / np.linalg.norm(rows.astype("f8"), axis=1, keepdims=True)
    for row, power in enumerate(powers):
        rows[row] = (rows[row].astype("f8") * 10.0**power).astype(dtype)
    rows[-2] = np.finfo(dtype).smallest_subnormal  # all entries alike
    wanted[-2] = 5**-0.5
    rows[-1] = wanted[-1] = 0.0
    scaled = to_numpy(unit_rows(arrays(rows)))
    np.testing.assert_allclose(scaled, wanted, rtol=1e-4 if dtype == "f4" else 1e-13)
    assert scaled.dtype == dtype


@pytest.mark.parametrize("query", [[0.0, 0.0], [1.0, -2.0]])
def test_misfits_of_classes_whose_products_cancel(query):
    """Products of 1e9 that cancel to 0.1: a Gram matrix has no digit of it, and no query shows that."""
    atoms = np.array([[1.0e9, 0.25], [-1.0e9, 0.125], [1.0e9, -0.5], [3.0, 4.0]])
    dictionary = Dictionary.build(atoms, [0, 0, 0, 1], normalize=False)
    code = np.array([[0.5, 0.75, 0.25, 0.5]])
    found = Queries.of(dictionary, np.array([query])).class_misfits(code)
    x, c, y = rational(atoms), rational(code[0]), rational(query)
    for k, members in enumerate([(0, 1, 2), (3,)]):
        misfit = sum((y[i] - sum(c[j] * x[j][i] for j in members)) ** 2 for i in range(2))
        assert found[0, k] == pytest.approx(float(misfit), rel=1e-9)
