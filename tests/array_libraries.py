"""Array libraries to run a test on: NumPy, PyTorch on the CPU, and array-api-strict."""

import numpy as np
import pytest
import scipy
from sklearn.utils.fixes import parse_version

from tests.components import component

BACKENDS = ["numpy", pytest.param("torch", marks=pytest.mark.all), "array_api_strict"]


def converter(name):
    """The function that makes an array of the named library, or a skip that names what is missing."""
    if name == "numpy":
        return np.asarray
    if name == "torch":
        torch = component("torch")
        torch.set_num_threads(1)  # its threads compete with those of parallel tests
        return torch.asarray
    return pytest.importorskip("array_api_strict", reason="array_api_strict is not installed").asarray


def without_dispatch(estimator=None):
    """Checks of scikit-learn that fail where SciPy is too old for its ``array_api_dispatch``, with the reason."""
    old = parse_version(scipy.__version__) < parse_version("1.14")
    return {"check_array_api_input": "scikit-learn's array_api_dispatch needs SciPy 1.14"} if old else {}
