"""Objects on an axis keep their constructor's parameters as they are given, so that cloning and reprs are right."""

from inspect import signature

import pytest
from sklearn.base import clone

from ancr.axes.quadratics import Quadratic, weights_of
from ancr.axes.rules import RULES
from ancr.axes.sets import SETS
from ancr.classifiers.rivals import Mixed
from ancr.solvers import ADMM, ClosedForm, DeviceWorkingSet, HostWorkingSet, InteriorPoint, Relaxed, SparseAugmented

KINDS = [type(one) for one in (*SETS.values(), *RULES.values())]
KINDS += [Mixed, ADMM, ClosedForm, DeviceWorkingSet, HostWorkingSet, InteriorPoint, Relaxed, SparseAugmented]


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_are_kept_and_shown(kind):
    given = {name: object() for name in signature(kind).parameters}
    made = kind(**given)
    assert all(getattr(made, name) is value for name, value in given.items())
    assert all(f"{name}=" in repr(made) for name in given)
    assert repr(kind()) == f"{kind.__name__}()"
    assert repr(clone(kind())) == repr(kind())


@pytest.mark.parametrize("weights", [{"gram": -1.0}, {"gram": 0.0}, {"blocks": -0.1}, {"ridge": float("nan")}])
def test_a_quadratic_that_is_not_convex_is_refused(weights):
    with pytest.raises(ValueError, match="to be convex"):
        Quadratic(**weights)


def test_a_function_that_returns_no_quadratic_is_named():
    with pytest.raises(ValueError, match="function that returns a Quadratic, got 3"):
        weights_of(lambda alpha, beta, n_classes: 3, 1.0, 1.0, 2)
