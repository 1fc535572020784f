"""Small problems with known answers, plain and degenerate, shared by all tests."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from ancr.datasets import DataNotFoundError, load_ar, load_usps
from tests.array_libraries import BACKENDS, converter
from tests.chromium import chromium


def named_problem(name):
    """(atoms, queries) of a named case; every case is small enough for an independent oracle."""
    rng = np.random.default_rng(sum(map(ord, name)))
    wide, tall = rng.standard_normal((12, 30)), rng.standard_normal((40, 6))
    cases = {
        "more features than atoms": (wide, rng.standard_normal((5, 30))),
        "more atoms than features": (tall, rng.standard_normal((5, 6))),
        "non-negative data": (np.abs(tall), np.abs(rng.standard_normal((5, 6)))),
        "duplicate atoms": (np.repeat(tall[:10], 3, axis=0), rng.standard_normal((4, 6))),
        "scaled atoms": (tall * np.logspace(-2, 2, 40)[:, None], rng.standard_normal((4, 6))),
        "query equal to an atom": (tall, tall[:4].copy()),
        "query at the mean": (tall, tall.mean(axis=0, keepdims=True)),
        "zero query": (tall, np.zeros((2, 6))),
        "zero atoms": (np.vstack([tall[:10], np.zeros((3, 6))]), rng.standard_normal((4, 6))),
        "one atom": (tall[:1], rng.standard_normal((3, 6))),
        "one feature": (tall[:, :1], rng.standard_normal((3, 1))),
    }
    return cases[name] if name else list(cases)


PROBLEMS = named_problem("")


@pytest.fixture(scope="module")
def browser():
    """A real browser."""
    with chromium() as opened:
        yield opened


@pytest.fixture(params=PROBLEMS)
def problem(request):
    """Atoms and queries of each case in turn."""
    return named_problem(request.param)


@pytest.fixture(params=BACKENDS)
def arrays(request):
    """The function that makes arrays of each library in turn."""
    with threadpool_limits(1):  # BLAS threads would wait for each other in parallel tests
        yield converter(request.param)


@pytest.fixture(scope="session")
def ar():
    """The AR faces, or a skip that names them."""
    return _or_skip(load_ar)


@pytest.fixture(scope="session")
def usps():
    """The USPS digits, or a skip that names them."""
    return _or_skip(load_usps)


def _or_skip(load):
    try:
        return load()
    except DataNotFoundError as missing:
        pytest.skip(str(missing))
