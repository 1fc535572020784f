"""The numeric campaign: problems by the thousand, each compared with a reference in long double.

    python -m tests.campaign --problems 100000 --seed 0 --minutes 40 --jobs 2
    python -m tests.campaign --seed 0 --only 47        # one problem again, with its data

Ctrl-C ends it with the summary so far. The exit status is 1 if any problem failed.
"""

import argparse
import os
import sys
import time
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path

CHUNK = 50


def main(arguments=None):
    """Run a campaign, or one of its problems."""
    options = _parser().parse_args(arguments)
    if options.only is not None:
        return _one(options.seed, options.only)
    from tests.campaign.summary import Summary, replace_block

    summary, start = Summary(), time.perf_counter()
    try:
        for outcome in _with_progress(_outcomes(options), options.problems):
            summary.add(outcome)
    except KeyboardInterrupt:
        print("interrupted; the summary so far:", file=sys.stderr)
    print(summary.text(options.seed))
    done, seconds = summary.total.counts["problems"], time.perf_counter() - start
    print(f"{done:,} problems in {seconds:.0f} s, {summary.failed:,} failed")
    if options.write:
        command = f"python -m tests.campaign --problems {done} --seed {options.seed}"
        page = options.write.read_text(encoding="utf-8")
        options.write.write_text(replace_block(page, summary.markdown(command)), encoding="utf-8")
    return int(summary.failed > 0)


def _parser():
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__.split("\n\n")[0])
    parser.add_argument("--problems", type=int, default=100_000, help="how many problems")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the campaign")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many minutes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--only", type=int, metavar="INDEX", help="one problem, printed in full")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page in which to replace the summary")
    return parser


def _one(seed, index):
    """Print a problem with its data and what is wrong with it."""
    from tests.campaign.judge import judge
    from tests.campaign.problems import make_problem

    problem, outcome = make_problem(seed, index), judge(seed, index)
    for name, value in (("atoms", problem.atoms), ("queries", problem.queries), *problem.settings.items()):
        print(f"{name} = {value!r}")
    print(outcome.families, outcome.counts, outcome.refusal)
    print(*(outcome.failures or ["nothing is wrong"]), sep="\n")
    return int(bool(outcome.failures))


def _outcomes(options):
    """Outcomes as they come, until all are there or the time is over."""
    deadline = time.perf_counter() + 60.0 * options.minutes
    starts = iter(range(0, options.problems, CHUNK))
    # Fresh processes: they must not inherit threads, and each is to use one core.
    with ProcessPoolExecutor(options.jobs, get_context("spawn"), _use_one_core) as pool:
        waiting = deque()
        try:
            while True:
                while len(waiting) < 2 * options.jobs and (start := next(starts, None)) is not None:
                    indices = range(start, min(start + CHUNK, options.problems))
                    waiting.append(pool.submit(_chunk, options.seed, indices))
                if not waiting or time.perf_counter() > deadline:
                    return
                yield from waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _use_one_core():
    import signal

    from threadpoolctl import threadpool_limits

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent sums up and ends the pool
    os.environ["LOKY_MAX_CPU_COUNT"] = "1"
    import numpy  # noqa: F401  loads the BLAS that is limited
    import scipy.linalg  # noqa: F401

    threadpool_limits(1)


def _chunk(seed, indices):
    from tests.campaign.judge import judge

    return [judge(seed, index) for index in indices]


def _with_progress(outcomes, total):
    """The same, with a bar on a terminal."""
    if not sys.stderr.isatty():
        yield from outcomes
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) if total else nullcontext() as bar:
        task = bar.add_task("problems", total=total)
        for outcome in outcomes:
            yield outcome
            bar.advance(task)
