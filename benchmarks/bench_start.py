"""Processor seconds of the first calls in an environment where nothing has been compiled: the numbers of README.

python benchmarks/bench_start.py
"""

import os
import subprocess
import sys
import tempfile

FIRST = """
import time
from sklearn.datasets import load_digits
X, y = load_digits(return_X_y=True)
start = time.process_time()
import ancr
ancr.ANCRClassifier().fit(X[:500], y[:500]).predict(X[500:510])
print(f"{time.process_time() - start:.1f} s  first predict, 500 digits, import included")
for attempt in ("first search over settings", "second search"):
    start = time.process_time()
    ancr.ANCRClassifierCV().fit(X[:500], y[:500])
    print(f"{time.process_time() - start:.1f} s  {attempt}, 500 digits")
"""
WARM = """
import time
from ancr.classifiers.warmup import warm_up
start = time.process_time()
warm_up()
print(f"{time.process_time() - start:.1f} s  ancr warmup")
"""


def main():
    for code in (FIRST, WARM):
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
            subprocess.run([sys.executable, "-c", code], env=environment, check=True)


if __name__ == "__main__":
    main()
