"""Projections compared with brute force and checked against their defining property."""

import numpy as np
import pytest
from sklearn.isotonic import isotonic_regression

from ancr import project_simplex, solve
from ancr.axes.sets import SETS, Set
from ancr.solvers import ADMM


def by_sorting(point):
    """The textbook projection: sort, then find how many entries stay positive."""
    ordered = np.sort(point)[::-1]
    thresholds = (np.cumsum(ordered) - 1) / np.arange(1, len(point) + 1)
    last = np.flatnonzero(ordered > thresholds)[-1]
    return np.maximum(point - thresholds[last], 0)


@pytest.mark.parametrize("n", [1, 2, 3, 17, 400])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_simplex_projection_agrees_with_sorting(n, scale):
    points = scale * np.random.default_rng(n).standard_normal((30, n))
    projected = project_simplex(points)
    np.testing.assert_allclose(projected, [by_sorting(point) for point in points], atol=1e-12 * max(1, scale))
    assert np.abs(projected.sum(axis=1) - 1).max() <= 1e-12


@pytest.mark.parametrize(
    "points",
    [
        np.zeros((2, 5)),
        np.ones((2, 5)),
        np.full((1, 3), -1e6),
        np.array([[1e20, 0.0]]),
        np.eye(4),
        [[7.0, 7.0, 1.0]],
    ],
    ids=["zeros", "ties", "far below", "huge", "already there", "tie at the top"],
)
def test_simplex_projection_of_degenerate_points(points):
    projected = project_simplex(points)
    assert np.all(projected >= 0)
    np.testing.assert_allclose(projected.sum(axis=1), 1, atol=1e-12)


def test_simplex_projection_keeps_shape_dtype_and_radius():
    row = np.array([0.3, -1.0, 2.0], np.float32)
    assert project_simplex(row).shape == (3,)
    assert project_simplex(row).dtype == np.float32
    assert project_simplex(row, radius=2.5).sum() == pytest.approx(2.5)
    strided = np.random.default_rng(0).standard_normal((8, 10))[::2, ::3]
    np.testing.assert_array_equal(project_simplex(strided), project_simplex(strided.copy()))
    assert project_simplex(np.empty((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("point", "radius", "expected"),
    [
        ([1e308, -1e308], 1e-300, [1e-300, 0.0]),
        ([1e308, 1e308], 1.0, [0.5, 0.5]),
        ([1.0, 2.0], 1e308, [5e307, 5e307]),
        ([1.7e308, 1e308], 1.5e308, [1.1e308, 4e307]),
        ([-1e308, -1e308], 1.7e308, [8.5e307, 8.5e307]),
        ([5e-324, 0.0], 1.0, [0.5, 0.5]),
    ],
)
@pytest.mark.filterwarnings("error")
def test_simplex_projection_at_the_ends_of_the_range(point, radius, expected):
    np.testing.assert_allclose(project_simplex(point, radius), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("points", "radius", "message"),
    [
        ([[np.nan, 1.0]], 1.0, "points contains NaN"),
        ([[1.0]], 0.0, "radius"),
        ([[1.0]], "a", "radius must be"),
        ([[1.0]], None, "radius must be"),
        ([[1.0]], [1, 2], "radius must be"),
        (np.ones((1, 1), np.float32), 1e39, "radius must be .* range of float32"),
        (np.ones((1, 0)), 1.0, "points"),
    ],
)
def test_simplex_projection_names_bad_input(points, radius, message):
    with pytest.raises(ValueError, match=message):
        project_simplex(points, radius=radius)


@pytest.mark.parametrize("name", sorted(SETS))
def test_projection_is_the_nearest_point_of_the_set(name):
    rng = np.random.default_rng(3)
    points, others = rng.standard_normal((20, 6)), rng.standard_normal((20, 6))
    kind = SETS[name]
    projected, inside = kind.project(points), kind.project(others)
    assert kind.violation(projected).max() <= 1e-12
    # ⟨v − Π(v), w − Π(v)⟩ ≤ 0 for every w in the set
    assert np.einsum("ij,ij->i", points - projected, inside - projected).max() <= 1e-12
    if name != "free":
        assert kind.violation(points).max() > 1e-3


class Decreasing(Set):
    """c₁ ≥ c₂ ≥ …: not bounded, and negative entries are allowed."""

    name = "decreasing"

    def project(self, points):
        return np.array([-isotonic_regression(-row) for row in points])


class DecreasingAndNonNegative(Decreasing):
    """The same with c ≥ 0."""

    nonnegative = True

    def project(self, points):
        return np.maximum(super().project(points), 0.0)


def test_an_unbounded_set_of_ones_own_is_certified_by_its_ridge_if_it_is_non_negative():
    atoms = np.eye(4)
    inside = np.array([[4.0, 3.0, 2.0, 1.0], [2.0, 1.0, 0.0, -1.0]])  # the optimum of the orthant is decreasing, too
    settings = {"alpha": 0.1, "solver": ADMM(max_iter=500)}
    assert solve(atoms, inside, constraint=DecreasingAndNonNegative(), **settings).verify().all()
    assert not solve(atoms, inside, constraint=Decreasing(), **settings).verify().any()


def test_what_is_claimed_about_an_unbounded_set_of_ones_own_is_true():
    atoms, query = np.eye(2), np.array([[1.0, 3.0]])  # the optimum of the set is (2, 2)/1.1, not that of the orthant
    solution = solve(atoms, query, constraint=DecreasingAndNonNegative(), alpha=0.1, solver=ADMM(max_iter=500))
    np.testing.assert_allclose(solution.codes.toarray(), [[2 / 1.1, 2 / 1.1]], atol=1e-5)
    assert not solution.verify().any()
