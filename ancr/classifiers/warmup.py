"""Compile the kernels ahead of the first call, once per environment.

Numba compiles a kernel at its first call and keeps the machine code on disk. `warm_up` makes those calls on tiny
problems, so that the first real one does not wait.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def warm_up(
    on_step: Callable[[str, float], object] = lambda name, seconds: None, dtypes: Sequence[str] = ("float64",)
) -> float:
    """Compile what the classifiers, `solve` and the search over settings need.

    Parameters
    ----------
    on_step : callable
        Called with the name of each step and its seconds.
    dtypes : sequence of {"float64", "float32"}
        Precisions to compile for.

    Returns
    -------
    float
        Seconds in total; a fraction of a second where everything was compiled before.

    Examples
    --------
    >>> from ancr.classifiers.warmup import warm_up
    >>> warm_up() > 0
    True
    """
    from ancr._core.compiling import compiling_now

    total = 0.0
    for dtype in dtypes:
        for name, step in _steps(dtype):
            start = time.perf_counter()
            with compiling_now():
                step()
            seconds = time.perf_counter() - start
            total += seconds
            on_step(name if dtype == "float64" else f"{name}, {dtype}", seconds)
    return total


def _steps(dtype: str) -> list[tuple[str, Callable[[], object]]]:
    import ancr

    rng = np.random.default_rng(0)
    # More atoms than features, two classes, and queries between them: enough for every branch that is compiled.
    labels = np.repeat([0, 1], 20)
    X = (rng.standard_normal((40, 6)) + 2.0 * labels[:, None]).astype(dtype)
    queries = X[::3] + np.asarray(0.1, dtype)

    def use(classifier: Any) -> Callable[[], object]:
        fitted = classifier.fit(X, labels)
        return lambda: (fitted.predict(queries), fitted.predict_proba(queries), fitted.explain(queries, top=2))

    return [
        ("the exact solver", lambda: use(ancr.ANCRClassifier())()),
        ("its certificate", lambda: ancr.solve(X, queries).verify()),
        ("many queries over few atoms", lambda: ancr.solve(X[::4], np.tile(queries, (30, 1)))),
        ("non-negative codes", lambda: use(ancr.NRCClassifier())()),
        ("relaxed codes", lambda: use(ancr.ANCRClassifier(relaxation=1.0))()),
        ("kernels", lambda: use(ancr.ANCRClassifier(space="rbf"))()),
        ("other rules", lambda: use(ancr.CRCClassifier())()),
        ("sparse codes", lambda: use(ancr.SRCClassifier())()),
        ("ADMM", lambda: use(ancr.ANCRClassifier(solver="admm", max_iter=5))()),
        ("the search over settings", lambda: use(ancr.ANCRClassifierCV())()),
    ]
