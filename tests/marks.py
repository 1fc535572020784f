"""Marks of single cases."""

import pytest


def rarely(*cases):
    """Cases that take the way of another one: `make test-all` runs them, `make test` does not."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.all) for case in cases]
