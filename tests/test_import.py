"""Importing costs next to nothing and loads nothing heavy."""

import subprocess
import sys

HEAVY = ("numba", "torch", "matplotlib", "dask", "pandas", "array_api_compat")


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_import_loads_nothing_heavy():
    loaded = run(f"import sys, ancr; print([m for m in {HEAVY} if m in sys.modules])")
    assert loaded.strip() == "[]"


def test_public_names_load_nothing_that_scikit_learn_does_not():
    watch = f"print([m for m in {HEAVY} if m in sys.modules])"
    assert run(f"import sys; from ancr import *; {watch}") == run(f"import sys, sklearn.preprocessing; {watch}")


def test_import_is_quick():
    """Compared with `import sklearn` in the same process, so that a slow machine is slow for both."""
    code = """
import time
start = time.perf_counter(); import ancr; ours = time.perf_counter() - start
start = time.perf_counter(); import sklearn; theirs = time.perf_counter() - start
print(ours / theirs)
"""
    assert min(float(run(code)) for _ in range(3)) < 1.5
