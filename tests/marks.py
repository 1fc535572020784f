"""Marks of single cases, and checks of scikit-learn that some classifiers cannot pass."""

import pytest

# That weight two is two copies.
WEIGHT_CHECKS = tuple(f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse"))


def rarely(*cases):
    """Cases that take the way of another one: `make test-all` runs them, `make test` does not."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.all) for case in cases]
