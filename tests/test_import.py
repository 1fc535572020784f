"""Importing is almost free and loads nothing heavy."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

HEAVY = ("numba", "torch", "matplotlib", "dask", "pandas", "array_api_compat")


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_import_loads_nothing_heavy():
    loaded = run(f"import sys, ancr; print([m for m in {HEAVY} if m in sys.modules])")
    assert loaded.strip() == "[]"


def test_public_names_load_nothing_that_scikit_learn_does_not():
    watch = f"print([m for m in {HEAVY} if m in sys.modules])"
    assert run(f"import sys; from ancr import *; {watch}") == run(f"import sys, sklearn.preprocessing; {watch}")


def test_the_core_install_pulls_neither_torch_nor_dask():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    core = {re.match(r"[\w-]+", requirement)[0].lower() for requirement in project["dependencies"]}
    assert not core & {"torch", "torchvision", "timm", "cupy", "dask", "distributed", "matplotlib", "pandas"}
    assert {"torch"} <= {re.match(r"[\w-]+", each)[0] for each in project["optional-dependencies"]["gpu"]}


def test_everything_but_distributed_works_without_dask_and_torch():
    """As on a core install: importing either fails."""
    run("""
import sys
class Missing:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in ("torch", "dask", "distributed"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing)
import numpy as np, ancr
X, y = np.random.default_rng(0).random((20, 5)), np.arange(20) % 2
for name in ("ANCRClassifier", "CRCClassifier"):
    getattr(ancr, name)().fit(X, y).partial_fit(X, y).predict(X)
try:
    import ancr.distributed
except ImportError as error:
    assert "pip install 'dask[array,dataframe]' distributed" in str(error)
else:
    raise AssertionError("ancr.distributed without Dask")
""")


def test_import_is_quick():
    """Compared with `import sklearn` in the same process, so that a slow machine is slow for both."""
    code = """
import time
start = time.perf_counter(); import ancr; ours = time.perf_counter() - start
start = time.perf_counter(); import sklearn; theirs = time.perf_counter() - start
print(ours / theirs)
"""
    assert min(float(run(code)) for _ in range(3)) < 1.5
