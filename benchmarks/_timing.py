"""Side-by-side timing: interleaved repeats, best of several, so that other load affects all jobs alike."""

import time
from functools import partial


def best_times(jobs, repeats=5):
    """Best wall time of each job in seconds: {name: seconds}. Jobs take turns within each repeat."""
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
        print(f"  {name:{width}}  {seconds / times[reference]:8.2f}×   {times[reference] / seconds:8.2f}× faster")


def print_classifiers(methods, jobs, reference):
    """Fit and predict of classifiers as multiples of one of them, on each job ``(train, labels, test)``."""
    for name, job in jobs.items():
        if job is None:
            print(f"\n{name}: data not found, skipped")
            continue
        train, labels, test = job
        print(f"\n{name}: n={len(train)}, d={train.shape[1]}, {len(test)} queries, {train.dtype}; time / {reference}'s")
        for clf in methods.values():
            clf.fit(train, labels).predict(test[:256])  # compile
        fit = best_times({key: partial(clf.fit, train, labels) for key, clf in methods.items()}, 3)
        predict = best_times({key: partial(clf.predict, test) for key, clf in methods.items()}, 3)
        width = max(map(len, methods))
        for key in methods:
            times = f"fit {fit[key] / fit[reference]:7.2f}×   predict {predict[key] / predict[reference]:7.2f}×"
            print(f"  {key:{width}}  {times}")
