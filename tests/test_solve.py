"""The public `solve`: validation and shapes."""

import numpy as np
import pytest
from scipy import sparse

from ancr import solve

ATOMS, QUERIES = np.eye(3), np.ones((2, 3))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alpha": -1.0}, "'alpha' parameter of solve"),
        ({"constraint": "box"}, "'constraint' parameter of solve"),
        ({"solver": "magic"}, "'solver' parameter of solve"),
        ({"quadratic": "cubic"}, "'quadratic' parameter of solve"),
        (
            {"solver": "closed_form"},
            r"cannot be combined with constraint='simplex'.*Use solver in \['exact', 'admm'\]",
        ),
        ({"solver": "admm", "constraint": "free"}, r"for sets with inequalities\. Use solver in \['exact'"),
        ({"quadratic": "l1", "constraint": "affine"}, r"quadratic='l1'"),
        ({"queries": np.ones((2, 4))}, "queries must have the 3 features of the atoms, got 4"),
        ({"queries": [[np.nan, 0, 0]]}, "queries contains NaN"),
        ({"atoms": [[np.inf, 0, 0]]}, "atoms contains infinity"),
        ({"atoms": np.ones(3)}, "Expected 2D array"),
        ({"labels": [0, 1]}, "inconsistent numbers of samples"),
    ],
)
def test_bad_input_is_named(changes, message):
    call = {"atoms": ATOMS, "queries": QUERIES, **changes}
    with pytest.raises(ValueError, match=message):
        solve(call.pop("atoms"), call.pop("queries"), **call)


@pytest.mark.parametrize("constraint", ["free", "affine", "nonnegative", "simplex"])
def test_one_entry_per_query(constraint):
    solution = solve(ATOMS, QUERIES, constraint=constraint)
    assert solution.codes.shape == (2, 3)
    for entry in (solution.objective, solution.gap, solution.n_iter, solution.converged, solution.violation):
        assert np.shape(entry) == (2,)
    assert solution.verify().all()


def test_labels_do_not_reorder_the_columns():
    rng = np.random.default_rng(0)
    atoms, queries, labels = rng.standard_normal((10, 4)), rng.standard_normal((3, 4)), np.arange(10) % 3
    for solver, constraint in (("exact", "simplex"), ("exact", "free"), ("admm", "simplex")):
        plain = solve(atoms, queries, constraint=constraint, solver=solver)
        labelled = solve(atoms, queries, constraint=constraint, solver=solver, labels=labels)
        difference = plain.codes - labelled.codes
        assert abs(difference).max() < 1e-4
        np.testing.assert_allclose(labelled.objective, plain.objective, atol=1e-5)
        np.testing.assert_allclose(labelled.gap, plain.gap, atol=1e-5)


def test_blocks_join_to_a_sparse_array():
    """Not to a matrix, whose ``*`` and ``sum`` mean something else, as the oldest SciPy would have it."""
    rng = np.random.default_rng(0)
    solution = solve(rng.standard_normal((9, 4)), rng.standard_normal((900, 4)))
    assert isinstance(solution.codes, sparse.csr_array)
    assert solution.codes.sum(axis=1).shape == (900,)
