"""ANCR on a GPU with data of the shape of the Cars features: ADMM, exact, relaxed and RBF against a lower bound.

    python benchmarks/bench_gpu.py --make-reference cars.npz            # where numba is installed: the CPU's answers
    python benchmarks/bench_gpu.py --reference cars.npz --out results.json
    python benchmarks/bench_gpu.py --cv                                 # ANCRClassifierCV() on 8,137 × 1,280 as well
    python benchmarks/bench_gpu.py --device cpu --scale small           # a trial run

Needs torch; numba is needed only for the reference. The features are synthetic: 196 classes in a latent space of 64
dimensions, mapped to 4096 and rectified, all of it in integers, so that one NumPy seed gives the same bits on every
machine. Every time is the best of several after warm-up, with the device idle before and after.

*Floor*, the lower bound: the Gram matrix, XᵀY, and the Cholesky factor and inverse, in full single precision. *Plain
loop*: five iterations of Algorithm 1 as one would write them in torch, with the n × n inverse, coding only.
"""

import argparse
import json
import platform
import sys
import time
import warnings
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # works from a checkout that is not installed

import numpy as np
import sklearn

from ancr import ANCRClassifier, ANCRClassifierCV

SEED, ALPHA, RHO, ITERATIONS, COMPARED = 0, 1e-3, 1e-2, 5, 1000
# atoms, features, queries, classes
SHAPES = {"cars": (8144, 4096, 8041, 196), "small": (1000, 300, 400, 20), "features": (8137, 1280, 1, 196)}
ADMM = {"solver": "admm", "rho": RHO, "max_iter": ITERATIONS, "code": "c"}
METHODS = {"exact": {}, "admm": ADMM, "relaxed": {"relaxation": 1.0}, "rbf": {"space": "rbf"}}


def features(scale):
    """(train, labels, test, truth), float32, the same bits everywhere: the order of integer sums does not matter."""
    n, d, n_queries, n_classes = SHAPES[scale]
    rng = np.random.default_rng(SEED)
    labels = np.concatenate([np.arange(n) % n_classes, rng.integers(0, n_classes, n_queries)])
    centres = np.rint(8.0 * rng.standard_normal((n_classes, 64)))
    latent = centres[labels] + np.rint(12.0 * rng.standard_normal((n + n_queries, 64)))
    rows = latent @ np.rint(8.0 * rng.standard_normal((64, d)))
    rows = np.maximum(rows, 0.0).astype(np.float32)
    rows += 128.0 * rng.integers(0, 2, rows.shape, dtype=np.int8)
    return rows[:n], labels[:n], rows[n:], labels[n:]


def usps():
    """USPS with 300 samples per class if its files are found, else None."""
    try:
        from _data import usps as load

        return load()
    except Exception as error:
        print(f"USPS left out: {error}")
        return None


# --- the CPU's answers


def make_reference(path, scale):
    """Labels and CSR codes of the first queries, and USPS labels, by the numba path."""
    train, labels, test, _ = features(scale)
    content = {"scale": scale}
    for name, options in METHODS.items():
        clf = ANCRClassifier(alpha=ALPHA, **options).fit(train, labels)
        content[f"{name}_labels"] = clf.predict(test[:COMPARED])
        if name == "exact":
            codes = clf.codes(test[:COMPARED])
            content |= {"data": codes.data, "indices": codes.indices, "indptr": codes.indptr, "shape": codes.shape}
    digits = usps()
    if digits is not None:
        for dtype in ("float64", "float32"):
            pixels, digit, queries = digits[0].astype(dtype), digits[1], digits[2].astype(dtype)
            content[f"usps_{dtype}"] = ANCRClassifier(alpha=ALPHA).fit(pixels, digit).predict(queries)
    np.savez_compressed(path, **content)
    print(f"wrote {path}")


def agreement(found, reference, name):
    """Share of labels equal to the CPU's, and for exact codes the largest difference."""
    expected = reference[f"{name}_labels"]
    result = {"labels_equal": float(np.mean(to_numpy(found["labels"])[: len(expected)] == expected))}
    if name == "exact":
        from scipy import sparse

        parts = (reference["data"], reference["indices"], reference["indptr"])
        codes = sparse.csr_array(parts, shape=tuple(reference["shape"])).toarray()
        difference = np.abs(to_numpy(found["codes"][: len(codes)]) - codes)
        result |= {"codes_max_difference": float(difference.max()), "queries_compared": len(codes)}
        result["codes_within_1e-4"] = float(np.mean(difference.max(axis=1) <= 1e-4))
    return result


def to_numpy(tensor):
    return tensor.detach().cpu().numpy()


# --- timing


class Bench:
    """Timing on one device."""

    def __init__(self, device, repeats):
        self.device, self.repeats = torch.device(device), repeats

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def best(self, job):
        """Best wall time of several, after a warm-up, and the last result."""
        result, best = job(), float("inf")
        for _ in range(self.repeats):
            result = None  # free its memory before the next run
            self.wait()
            start = time.perf_counter()
            result = job()
            self.wait()
            best = min(best, time.perf_counter() - start)
        return best, result

    @contextmanager
    def timed(self, phases, name):
        self.wait()
        start = time.perf_counter()
        yield
        self.wait()
        phases[name] += time.perf_counter() - start

    def stopwatch(self, phases, name, function):
        """The same function, with its time added to a phase."""

        def timed(*arguments):
            with self.timed(phases, name):
                return function(*arguments)

        return timed


def floor(bench, train, queries):
    """The products and the factorisation that coding through n × n matrices cannot avoid."""
    ridge = (ALPHA + RHO / 2) * torch.eye(len(train), device=train.device)
    gram_s, gram = bench.best(lambda: train @ train.T)
    linear_s, _ = bench.best(lambda: queries @ train.T)
    inverse_s, _ = bench.best(lambda: torch.cholesky_inverse(torch.linalg.cholesky(gram + ridge)))
    return {"gram": gram_s, "linear": linear_s, "cholesky_inverse": inverse_s}


def plain_loop(train, queries):
    """Algorithm 1 as one would write it, all queries at once."""
    n = len(train)
    inverse = torch.cholesky_inverse(
        torch.linalg.cholesky(train @ train.T + (ALPHA + RHO / 2) * torch.eye(n, device=train.device))
    )
    linear = queries @ train.T
    z, delta = torch.zeros_like(linear), torch.zeros_like(linear)
    ranks = torch.arange(1, n + 1, device=train.device, dtype=train.dtype)
    for _ in range(ITERATIONS):
        c = (linear + 0.5 * (RHO * z + delta)) @ inverse
        shifted = c - delta / RHO
        ordered = shifted.sort(dim=1, descending=True).values
        sums = ordered.cumsum(dim=1) - 1.0
        last = (ordered * ranks > sums).sum(dim=1, keepdim=True)
        z = (shifted - sums.gather(1, last - 1) / last).clamp_(min=0.0)
        delta += RHO * (z - c)
    return c


def exact_profile(bench, train, labels, queries):
    """Where the exact solver spends its time, with the device synchronised after each phase, and what it did."""
    phases = defaultdict(float)
    with bench.timed(phases, "fit"):
        clf = ANCRClassifier(alpha=ALPHA).fit(train, labels)
    for phase in ("begin", "price", "admit", "blocks"):
        method = getattr(clf.solver_, f"_{phase}")
        setattr(clf.solver_, f"_{phase}", bench.stopwatch(phases, phase, method))
    with bench.timed(phases, "solve"):
        solution = clf.solver_.solve(queries)
    with bench.timed(phases, "rule"):
        clf.winners(solution)
    with bench.timed(phases, "certificate"):
        certified = int(solution.verify().sum())
    sizes = (solution.sorted_codes > 0).sum(dim=1).double()
    return {
        "phases_s": dict(phases),
        "rounds": clf.solver_.rounds,
        "rounds_per_query": float(solution.n_iter.double().mean()),
        "handed_to_host": clf.solver_.handed_over,
        "support_mean": float(sizes.mean()),
        "support_max": int(sizes.max()),
        "certified": certified,
        "queries": len(queries),
        "gap_max": float(solution.gap.max()),
    }


def cars(bench, scale, reference):
    """All times for this shape, and the agreement with the reference if there is one."""
    train, labels, test, truth = features(scale)
    train, test = (torch.asarray(rows, device=bench.device) for rows in (train, test))
    labels, truth = (torch.asarray(values, device=bench.device) for values in (labels, truth))
    unit, queries = torch.nn.functional.normalize(train), torch.nn.functional.normalize(test)
    n, d, n_queries, n_classes = SHAPES[scale]
    result = {"shape": {"n": n, "d": d, "queries": n_queries, "classes": n_classes, "dtype": "float32", "seed": SEED}}
    result["floor_s"] = floor(bench, unit, queries)
    total = sum(result["floor_s"].values())
    result["plain_loop_s"], _ = bench.best(lambda: plain_loop(unit, queries))
    for name, options in METHODS.items():
        clf = ANCRClassifier(alpha=ALPHA, **options)
        seconds, found = bench.best(lambda clf=clf: clf.fit(train, labels).predict(test))
        fit_s, _ = bench.best(lambda clf=clf: clf.fit(train, labels))
        entry = {"fit_predict_s": seconds, "fit_s": fit_s, "over_floor": seconds / total}
        entry["over_plain_loop"] = seconds / result["plain_loop_s"]
        entry["accuracy"] = float((found == truth).double().mean())
        if name != "admm":
            some = test[:COMPARED]
            parts = clf.map_solutions("bench", some, lambda solution: int(solution.verify().sum()))
            entry["certified"] = sum(parts)
            entry["queries_verified"] = len(some)
        if reference is not None and str(reference["scale"]) == scale:
            codes = clf.codes(test[:COMPARED]) if name == "exact" else None
            entry["agreement"] = agreement({"labels": found, "codes": codes}, reference, name)
        result[name] = entry
    result["exact"]["profile"] = exact_profile(bench, train, labels, queries)
    return result


def cv(bench):
    """The search of `ANCRClassifierCV()` on features of the size of EfficientNet's for Cars."""
    train, labels, _, _ = features("features")
    rows, names = (torch.asarray(array, device=bench.device) for array in (train, labels))
    start = time.perf_counter()
    clf = ANCRClassifierCV().fit(rows, names)
    bench.wait()
    seconds = time.perf_counter() - start
    chosen = {key: value for key, value in clf.best_params_.items() if isinstance(value, (str, int, float))}
    return {"fit_s": seconds, "best_score": clf.best_score_, "chosen": chosen}


def digits(bench, reference):
    """USPS N=300 in both precisions: agreement with the labels of the numba path, and certified queries."""
    job, result = usps(), {}
    if job is None or reference is None or "usps_float64" not in reference:
        return "left out: needs the data (ANCR_DATA) and a reference made with it"
    for dtype in ("float64", "float32"):
        train, queries = (torch.asarray(rows.astype(dtype), device=bench.device) for rows in (job[0], job[2]))
        clf = ANCRClassifier(alpha=ALPHA).fit(train, torch.asarray(job[1], device=bench.device))
        seconds, labels = bench.best(lambda clf=clf, queries=queries: clf.predict(queries))
        solution = clf.solver_.solve(torch.nn.functional.normalize(queries))
        result[dtype] = {
            "predict_s": seconds,
            "labels_equal": float(np.mean(to_numpy(labels) == reference[f"usps_{dtype}"])),
            "certified": int(solution.verify().sum()),
            "queries": len(queries),
            "handed_to_host": clf.solver_.handed_over,
        }
    return result


def machine(device):
    """The machine and the libraries used."""
    name = torch.cuda.get_device_name(device) if torch.device(device).type == "cuda" else platform.processor()
    return {
        "device": str(device),
        "name": name,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "working_memory_MiB": sklearn.get_config()["working_memory"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the results here, as JSON")
    parser.add_argument("--device", default=None, help="default: cuda if available, else cpu")
    parser.add_argument("--scale", choices=SHAPES, default="cars")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cv", action="store_true", help="time the search of ANCRClassifierCV() as well")
    parser.add_argument("--working-memory", type=int, default=None, help="MiB; 16384 on a GPU, or scikit-learn's")
    parser.add_argument("--reference", type=Path, help="the CPU's answers, from --make-reference")
    parser.add_argument("--make-reference", type=Path, metavar="FILE", help="write the CPU's answers and stop")
    arguments = parser.parse_args()
    if arguments.make_reference:
        make_reference(arguments.make_reference, arguments.scale)
        return
    global torch
    try:
        import torch
    except ImportError:
        print("skipped: needs torch, pip install torch")
        return
    warnings.simplefilter("error", sklearn.exceptions.ConvergenceWarning)  # nothing uncertified goes unnoticed
    device = arguments.device or ("cuda" if torch.cuda.is_available() else "cpu")
    memory = arguments.working_memory or (16384 if device.startswith("cuda") else None)
    sklearn.set_config(**({"working_memory": memory} if memory else {}))
    torch.set_float32_matmul_precision("highest")  # full single precision: no TF32
    reference = np.load(arguments.reference) if arguments.reference else None
    bench = Bench(device, arguments.repeats)
    results = {"machine": machine(device), arguments.scale: cars(bench, arguments.scale, reference)}
    results["usps"] = digits(bench, reference)
    if arguments.cv:
        results["cv"] = cv(bench)
    text = json.dumps(results, indent=2)
    print(text)
    if arguments.out:
        arguments.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
