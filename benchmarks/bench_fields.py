"""`solve` on the problems of four fields, beside what people use there, side by side in one run.

    python benchmarks/bench_fields.py                 everything, with 50,000 pixels
    python benchmarks/bench_fields.py --full          with a million pixels, in memory maps
    python benchmarks/bench_fields.py controls one    some of: controls, placebos, pixels, dictionaries, one

A loop that would take minutes is timed on a sample of its queries in the same run and scaled up; the table says on how
many. Ratios are what counts: absolute times depend on the machine. Packages that are not installed are left out:
``pip install quadprog osqp clarabel qpsolvers pysyncon pandas pysptools cvxopt``.
"""

import argparse
import importlib.util
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
from _timing import best_times
from scipy import sparse
from scipy.optimize import nnls

from ancr import prepare, solve
from ancr._core.compiling import compiling_now

PIXELS, ALL_PIXELS, DRAWN, BANDS, ENDMEMBERS = 50_000, 1_000_000, 10_000, 285, 30
SUM_WEIGHT = 1e4  # of the row that enforces Σc = 1, relative to the data


def loop(function, targets, sample):
    """Seconds for all targets, from the first ``sample`` of them, and what the function gave for these."""
    some = targets[:sample]
    begin = time.perf_counter()
    found = np.array([function(target) for target in some])
    return (time.perf_counter() - begin) * len(targets) / len(some), found


def by_nnls(atoms, sums):
    """SciPy's nnls, with a heavy row for the sum where there is one: what most scripts do."""
    heavy = SUM_WEIGHT * np.abs(atoms).max()
    design = np.vstack([atoms.T, np.full((1, len(atoms)), heavy)]) if sums else atoms.T

    def code(target):
        found = nnls(design, np.append(target, heavy) if sums else target, maxiter=100 * len(atoms))[0]
        return found / found.sum() if sums else found

    return code


def by_qp(name, atoms, sums):
    """A general QP solver through qpsolvers; None if it is not installed."""
    if importlib.util.find_spec("qpsolvers") is None or importlib.util.find_spec(name) is None:
        return None
    from qpsolvers import solve_qp

    n, is_sparse = len(atoms), name in ("osqp", "clarabel")
    hessian = 2.0 * (atoms @ atoms.T) + 1e-10 * np.trace(atoms @ atoms.T) / n * np.eye(n)
    equality = np.ones((1, n)) if sums else None
    if is_sparse:
        hessian, equality = sparse.csc_matrix(hessian), sparse.csc_matrix(equality) if sums else None
    options = {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iter": 20_000} if name == "osqp" else {}

    def code(target):
        given = {"A": equality, "b": np.ones(1)} if sums else {}
        found = solve_qp(hessian, -2.0 * atoms @ target, lb=np.zeros(n), **given, solver=name, **options)
        return np.full(n, np.nan) if found is None else found

    return code


def by_pysyncon(atoms):
    """The weights of pysyncon's solver for given V; None if it is not installed."""
    if importlib.util.find_spec("pysyncon") is None:
        return None
    from pysyncon.base import VanillaOptimMixin

    return lambda target: VanillaOptimMixin.w_optimize(np.eye(len(target)), atoms.T, target)[0]


def by_pysptools(atoms):
    """FCLS of pysptools, one pixel at a time; None if it or cvxopt is not installed."""
    if importlib.util.find_spec("pysptools") is None or importlib.util.find_spec("cvxopt") is None:
        return None
    from pysptools.abundance_maps.amaps import FCLS

    return lambda target: FCLS(target[None], atoms)[0]


def report(title, seconds, found, samples, atoms, targets):
    """Print a table: time as a multiple of ours, and how much better our objective is."""
    ours = seconds["ancr.solve"]

    def objectives(codes):
        return ((targets[: len(codes)] - codes @ atoms) ** 2).sum(axis=1)

    best = objectives(found["ancr.solve"])
    print(f"\n### {title}\n\n| | times ours | objective above ours, relative to ‖y‖²: mean | largest | timed on |")
    print("|---|---:|---:|---:|---:|")
    for name, taken in seconds.items():
        codes = found[name]
        above = (objectives(codes) - best[: len(codes)]) / (targets[: len(codes)] ** 2).sum(axis=1)
        cells = f"{taken / ours:.1f} | {np.nanmean(above):.1e} | {np.nanmax(above):.1e}"
        print(f"| {name} | {cells} | {samples.get(name, len(targets)):,} |")
    print(f"\nOurs: {1e3 * ours:.1f} ms for {len(targets):,} queries, {1e6 * ours / len(targets):.1f} µs each.")


def beside(title, atoms, targets, samples, constraint="simplex", general=("quadprog", "osqp", "clarabel")):
    """`solve` and the others on one problem without a ridge."""
    sums = constraint == "simplex"
    with compiling_now():
        solve(atoms, targets[:300], alpha=0.0, constraint=constraint)
    seconds = best_times({"ancr.solve": lambda: solve(atoms, targets, alpha=0.0, constraint=constraint)}, 5)
    solution = solve(atoms, targets, alpha=0.0, constraint=constraint)
    found = {"ancr.solve": solution.toarray()}
    others = {"SciPy nnls, with a row for the sum" if sums else "SciPy nnls": by_nnls(atoms, sums)}
    others |= {name: by_qp(name, atoms, sums) for name in general}
    others |= {"pysyncon": by_pysyncon(atoms), "FCLS of pysptools": by_pysptools(atoms)} if sums else {}
    for name, function in others.items():
        if function is None:
            print(f"{name} is not installed")
            continue
        count = min(samples.get(name, samples["others"]), len(targets))
        samples[name] = count
        seconds[name], found[name] = loop(function, targets, count)
    report(title, seconds, found, samples, atoms, targets)
    print(f"Certified: {int(solution.verify().sum()):,} of {len(targets):,}.")


def walks(rng, count, periods):
    """Series as economists have them: one common trend with loadings, and a random walk for each."""
    trend = np.cumsum(rng.normal(0.3, 1.0, size=periods))
    return rng.normal(1.0, 0.3, size=(count, 1)) * trend + np.cumsum(rng.normal(size=(count, periods)), axis=1)


def controls(arguments):
    """Synthetic controls: 566 treated units over 39 donors and 60 periods."""
    rng = np.random.default_rng(0)
    donors, targets = np.split(walks(rng, 39 + 566, 60), [39])
    samples = {"SciPy nnls, with a row for the sum": 566, "others": 60}
    beside("Synthetic control: 566 targets × 39 donors × 60 periods", donors, targets, samples)


def placebos(arguments):
    """300 events over 6,000 donors and 250 periods, each a donor that is left out."""
    rng = np.random.default_rng(1)
    donors = walks(rng, 6000, 250)
    events = rng.choice(6000, size=300, replace=False)
    targets, coder = donors[events], prepare(donors, alpha=1e-3)
    with compiling_now():
        coder.solve(targets[:2], exclude=events[:2])
    begin = time.perf_counter()
    prepare(donors, alpha=1e-3)
    fixed = time.perf_counter() - begin
    ours = best_times({"ancr": lambda: coder.solve(targets, exclude=events)}, 3)["ancr"] + fixed
    solution, few = coder.solve(targets, exclude=events), 6
    begin = time.perf_counter()
    for event in events[:few]:
        solve(np.delete(donors, event, axis=0), donors[[event]], alpha=1e-3)
    loop_of_calls = (time.perf_counter() - begin) * len(events) / few
    scipy, _ = loop(by_nnls(donors[:1000], True), targets, 2)
    print("\n### Placebos: 300 events × 6,000 donors × 250 periods, each donor left out, λ = 10⁻³\n")
    print("| | times ours | timed on |\n|---|---:|---:|\n| ancr, one call with `exclude` | 1.0 | 300 |")
    print(f"| ancr, a call of `solve` for each event | {loop_of_calls / ours:.1f} | {few} |")
    print(f"| SciPy nnls, over 1,000 of the donors alone | {scipy / ours:.1f} | 2 |")
    certified = int(solution.verify().sum())
    print(f"\nOurs: {ours:.2f} s, of which {fixed:.2f} s prepare the donors. Certified: {certified} of 300.")


def scene(rng, count):
    """Pixels that mix four of the endmembers each, at 30 dB, and the endmembers: smooth spectra of several bumps."""
    wavelengths = np.linspace(0.4, 2.5, BANDS)

    def bump():
        place, width = rng.uniform(0.4, 2.5, (ENDMEMBERS, 1)), rng.uniform(0.03, 0.4, (ENDMEMBERS, 1))
        return rng.uniform(0.0, 0.3, (ENDMEMBERS, 1)) * np.exp(-(((wavelengths - place) / width) ** 2))

    endmembers = 0.1 + sum(bump() for _ in range(6))

    def pixels(some):
        shares = np.zeros((some, ENDMEMBERS))
        which = rng.permuted(np.tile(np.arange(ENDMEMBERS), (some, 1)), axis=1)[:, :4]
        np.put_along_axis(shares, which, rng.dirichlet(np.ones(4), size=some), axis=1)
        clean = shares @ endmembers
        return clean + np.sqrt((clean**2).mean() / 1e3) * rng.standard_normal(clean.shape)

    return endmembers, pixels


def pixels(arguments):
    """Unmixing: non-negative shares with and without Σ = 1."""
    rng = np.random.default_rng(2)
    endmembers, draw = scene(rng, PIXELS)
    image = draw(PIXELS)
    size = f"{PIXELS:,} pixels × {ENDMEMBERS} endmembers × {BANDS} bands"
    samples = {"others": 100}
    beside(f"Unmixing, shares that sum to one (FCLS): {size}", endmembers, image,
           samples | {"SciPy nnls, with a row for the sum": 2000})  # fmt: skip
    beside(f"Unmixing, non-negative: {size}", endmembers, image, samples | {"SciPy nnls": 2000}, "nonnegative", ())
    if arguments.full:
        streamed(endmembers, draw)


def streamed(endmembers, draw):
    """A million pixels from one memory map to another."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "pixels.npy"
        image = np.lib.format.open_memmap(where, "w+", dtype=np.float32, shape=(ALL_PIXELS, BANDS))
        del image
        for start in range(0, ALL_PIXELS, DRAWN):  # a map that is closed holds no memory
            np.load(where, mmap_mode="r+")[start : start + DRAWN] = draw(DRAWN)
        image = np.load(where, mmap_mode="r")
        shares = np.lib.format.open_memmap(Path(folder) / "shares.npy", "w+", shape=(ALL_PIXELS, ENDMEMBERS))
        begin, converged = time.perf_counter(), 0
        for rows, solution in prepare(endmembers, alpha=0.0).blocks(image):
            shares[rows] = solution.toarray()
            converged += int(solution.converged.sum())
        seconds = time.perf_counter() - begin
        taken, _ = loop(by_nnls(endmembers, True), image[:2000].astype(float), 2000)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\n### Unmixing out of memory: {ALL_PIXELS:,} pixels from one memory map to another\n")
    ratio = taken / 2000 * ALL_PIXELS / seconds
    print(f"{seconds:.1f} s; the loop over SciPy's nnls takes {ratio:.1f} times as long (timed on 2,000).")
    print(f"Converged: {converged:,}. Memory of the process: at most {most:.2f} GiB with what it has mapped, ")
    print(f"{own_memory():.2f} GiB of its own at the end.")


def own_memory():
    """GiB of memory that no file backs; NaN where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    except OSError:
        return float("nan")
    return next((int(line.split()[1]) / 2**20 for line in lines if line.startswith("RssAnon")), float("nan"))


def dictionaries(arguments):
    """1,000 dictionaries of 20 atoms in 40 dimensions, one query each, one after the other."""
    rng = np.random.default_rng(3)
    atoms, targets = rng.normal(size=(1000, 20, 40)), rng.normal(size=(1000, 40))
    solve(atoms[0], targets[:1], alpha=0.0)

    def each(code):
        """The median time of a call: a mean would measure what else the machine does."""
        times = []
        for a, t in zip(atoms, targets, strict=True):
            begin = time.perf_counter()
            code(a, t)
            times.append(time.perf_counter() - begin)
        return float(np.median(times))

    codes = {
        "ancr.solve": lambda a, t: solve(a, t[None], alpha=0.0).codes,
        "SciPy nnls, with a row for the sum": lambda a, t: by_nnls(a, True)(t),
    }
    for name in ("quadprog", "osqp", "clarabel"):
        if by_qp(name, atoms[0], True) is not None:
            codes[name] = lambda a, t, name=name: by_qp(name, a, True)(t)
    times = {name: each(code) for name, code in codes.items()}
    print("\n### 1,000 dictionaries of 20 atoms × 40 features, one after the other\n\n| | times ours |\n|---|---:|")
    for name, seconds in times.items():
        print(f"| {name} | {seconds / times['ancr.solve']:.2f} |")
    print(f"\nOurs: {1e3 * times['ancr.solve']:.2f} ms each (median), on the simplex.")


def one(arguments):
    """What a call costs: one query over 39 atoms."""
    rng = np.random.default_rng(4)
    atoms, query = rng.normal(size=(39, 30)), rng.normal(size=(1, 30))
    with compiling_now():
        solve(atoms, query)
    coder = prepare(atoms)
    times = best_times({"prepared": lambda: coder.solve(query), "from arrays": lambda: solve(atoms, query)}, 500)
    print("\n### One query over 39 atoms × 30 features\n\n| | ms |\n|---|---:|")
    for name, seconds in times.items():
        print(f"| {name} | {1e3 * seconds:.2f} |")


SECTIONS = {"controls": controls, "placebos": placebos, "pixels": pixels, "dictionaries": dictionaries, "one": one}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="what to run")
    parser.add_argument("--full", action="store_true", help="a million pixels, too")
    given = parser.parse_args()
    for section in given.sections or SECTIONS:
        SECTIONS[section](given)
