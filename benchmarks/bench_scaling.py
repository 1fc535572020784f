"""How the exact solver scales with the dictionary: time per query and peak memory at 1k to 60k atoms, d = 784.

Each size runs in its own process, so that its peak memory can be measured. The growth exponent is the slope of log time
over log atoms, fitted over the sizes.

    python benchmarks/bench_scaling.py
"""

import json
import subprocess
import sys

import numpy as np

SIZES = (1_000, 4_000, 16_000, 60_000)
N_QUERIES = 256


def measure(n, with_gram):
    """Time per query and the process's peak memory."""
    import resource
    import time

    from ancr.axes.problem import Problem
    from ancr.axes.quadratics import ridge
    from ancr.axes.sets import SETS
    from ancr.dictionary.coordinates import Dictionary
    from ancr.solvers.working_set.host import HostWorkingSet

    rng = np.random.default_rng(0)
    # Non-negative samples near a low-dimensional manifold, like images.
    basis = np.abs(rng.standard_normal((40, 784)))

    def samples(count):
        weights = rng.random((count, 40)) ** 4
        return weights @ basis + 0.05 * rng.random((count, 784))

    dictionary = Dictionary.build(samples(n))
    queries = samples(N_QUERIES)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    problem = Problem(dictionary, ridge(1e-3), SETS["simplex"])
    solver = HostWorkingSet(gram_budget=2**40 if with_gram else 0).prepare(problem)
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        parts = solver.map(queries, lambda solution: solution)
        best = min(best, time.perf_counter() - start)
    support = np.mean([np.diff(part.sorted_codes.indptr).mean() for part in parts])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"per_query": best / N_QUERIES, "peak_gib": peak, "support": float(support)}


def run(n, with_gram):
    out = subprocess.run([sys.executable, __file__, str(n), str(int(with_gram))], check=True, capture_output=True)
    return json.loads(out.stdout)


def main():
    for with_gram, sizes in ((False, SIZES), (True, SIZES[:3])):
        print(f"\n{'with' if with_gram else 'without'} the Gram matrix: time relative to n={sizes[0]}, peak memory")
        found = [run(n, with_gram) for n in sizes]
        for n, row in zip(sizes, found, strict=True):
            ratio = row["per_query"] / found[0]["per_query"]
            print(f"  n={n:6}  {ratio:8.2f}×   {row['peak_gib']:5.2f} GiB   mean support {row['support']:.0f}")
        slope = np.polyfit(np.log(sizes), np.log([row["per_query"] for row in found]), 1)[0]
        print(f"  growth exponent in n: {slope:.2f}")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measure(int(sys.argv[1]), bool(int(sys.argv[2])))))
    else:
        main()
