"""Side-by-side timing: repeats interleaved, best of several, so that noisy neighbours hit everyone alike."""

import time


def best_times(jobs, repeats=5):
    """Best wall time of each job in seconds: {name: seconds}. Jobs take turns within every repeat."""
    best = dict.fromkeys(jobs, float("inf"))
    for _ in range(repeats):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def print_ratios(title, times, reference):
    """Print each time as a multiple of the reference's."""
    print(f"\n{title}  (reference: {reference}, {times[reference]:.4g} s)")
    width = max(map(len, times))
    for name, seconds in times.items():
        print(
            f"  {name:{width}}  {seconds / times[reference]:8.2f}×   {times[reference] / seconds:8.2f}× faster"
        )
