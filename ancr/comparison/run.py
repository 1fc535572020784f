"""``compare``: methods of the family, their rivals and your own on your data, on the same splits."""

import os
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import TIMEOUT_MAX
from typing import Any

import numpy as np

from ancr._core.files import check_folder, write_text
from ancr._core.messages import naming
from ancr.classifiers.warmup import warm_up
from ancr.comparison.cells import Cell, CellFile, open_results
from ancr.comparison.own_methods import is_import_path, load_method, method_name, own_method
from ancr.comparison.protocols import Method, check_protocols, without_spelling
from ancr.comparison.result import Comparison
from ancr.comparison.runner import (
    FailedCellsError,
    Plan,
    TimeIsUpError,
    UnfinishedCellsError,
    make_plans,
    not_shown,
    run_missing,
)
from ancr.comparison.split_sources import UserSource, learning_setting
from ancr.samples.readers import samples_in_memory
from ancr.samples.sample_set import DataWarning, checked_groups, label_texts

Methods = str | Sequence[Any] | Any | None
DEFAULT_METHODS = ("ANCR", "CRC", "Softmax", "SVM", "RBF SVM", "kNN", "Random forest", "Gradient boosting")
DEFAULT_PROTOCOLS = ("cv",)
_FAMILY = ("ANCR", "CRC")
_SHARES = (0.2, 0.4, 0.7)


def compare(
    X: Any,
    y: Any,
    methods: Methods = None,
    *,
    folds: int | None = None,
    repeats: int = 1,
    standardize: bool | None = None,
    kinds: Mapping[str, str] | None = None,
    groups: Any = None,
    protocols: str | Sequence[str] = DEFAULT_PROTOCOLS,
    learning_curve: bool = True,
    time_limit: float | None = None,
    jobs: int | None = None,
    output: str | os.PathLike[str] | None = None,
    name: str = "data",
    image_shape: tuple[int, int] | None = None,
) -> Comparison:
    """Compare classifiers on the same stratified folds, each with settings chosen on the training folds.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        Samples. The columns of a frame of pandas or polars may be numbers, categories, dates or texts, with gaps.
    y : array-like of shape (n_samples,)
        Their labels. Samples without one (None, NaN or an empty text) are left out with a warning.
    methods : sequence, str, classifier or None, default=None
        Names such as ``"ANCR"`` or ``"RBF SVM"``, import paths such as ``"package.module:Classifier"``, and
        scikit-learn classifiers or their classes; a single one needs no list. None means ANCR, CRC, softmax, linear and
        RBF SVM, kNN, random forest and gradient boosting.
    folds : int or None, default=None
        Stratified folds; None means 5, or as many as the smallest class has samples.
    repeats : int, default=1
        How often the samples are divided into folds, each time anew; more repeats make smaller differences visible.
    standardize : bool or None, default=None
        Scale each column. None leaves it to the training folds: the columns are standardized for all methods alike if
        nearest neighbours are right more often so. Images are used as they are. The report says what was done.
    kinds : dict or None, default=None
        What some columns of a frame are, by name, as for `ancr.table_pipeline`; the others are recognised. ``"id"``
        names the samples in the report, and folds keep the samples of a ``"group"`` together.
    groups : array-like of shape (n_samples,) or None, default=None
        Groups of the samples, such as patients, where no column holds them: no group is in a training part and in the
        test part, nor in two of the folds in which settings are chosen.
    protocols : sequence of {"cv", "paper", "exact"}, default=("cv",)
        Where methods get their settings from: chosen on the training folds, or as the paper has them.
    learning_curve : bool, default=True
        Run the best method and the best of the family again on 20, 40 and 70 % of the training folds.
    time_limit : float or None, default=None
        Seconds after which cells that are not finished are given up; above 0.
    jobs : int or None, default=None
        Cells to run in parallel, one thread each; None means one per core.
    output : path-like or None, default=None
        Folder for ``cells.jsonl``, from which an interrupted call continues, and for ``report.html``; None keeps
        nothing.
    name : str, default="data"
        Name of the data in the report.
    image_shape : tuple of int or None, default=None
        Height and width, if samples are images, to show them in the report.

    Returns
    -------
    Comparison
        With ``to_frame()``, ``answer`` and ``save("report.html")``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import ancr
    >>> X, y = load_iris(return_X_y=True)
    >>> comparison = ancr.compare(X, y, methods=["CRC", GaussianNB()], learning_curve=False)
    >>> [result.name for result in comparison.results]
    ['CRC', 'GaussianNB']
    """
    if folds is not None:
        _check_count("folds", folds, 2)
    _check_count("repeats", repeats, 1)
    if jobs is not None:
        _check_count("jobs", jobs, 1)
    if output is not None:
        with naming("output"):
            check_folder(Path(output) / "report.html", create=True)  # before the work
    everything = samples_in_memory(X, y, name, image_shape, kinds or {})
    if everything.n_unlabelled:
        warnings.warn(everything.left_out, UserWarning, stacklevel=2)
    samples = everything.labelled()
    own = None if groups is None else _checked_groups(groups, len(everything))[everything.target >= 0]
    source = UserSource(samples, folds, standardize, repeats, kinds, own)
    for line in source.warnings:
        warnings.warn(line, DataWarning, stacklevel=2)
    with TemporaryDirectory() as scratch:
        folder = Path(scratch if output is None else output)
        result = compare_source(source, methods, protocols, folder, jobs, time_limit, learning_curve)
    if output is not None:
        result.save(folder / "report.html")
        write_tracebacks(result, folder)
    return result


def compare_source(
    source: UserSource,
    methods: Methods,
    protocols: str | Sequence[str],
    folder: Path,
    jobs: int | None = None,
    time_limit: float | None = None,
    learning_curve: bool = True,
) -> Comparison:
    """Compare methods on data that is ready; cells and answers go into a folder."""
    plans = plan_comparison(source, methods, protocols, folder)
    file = open_results(folder, [source])
    return run_comparison(source, plans, file, jobs, time_limit, learning_curve, command="ancr.compare(…)")


def _checked_groups(groups: Any, count: int) -> np.ndarray:
    names = [name or "" for name in label_texts("groups", groups)]
    if len(names) != count:
        raise ValueError(f"groups must have one entry per sample, {count}, got {len(names)}")
    return checked_groups("groups", names)


def _check_count(name: str, value: int, least: int) -> None:
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def plan_comparison(source: UserSource, methods: Methods, protocols: str | Sequence[str], folder: Path) -> list[Plan]:
    """The plans of a comparison, fold by fold, so that a run that is stopped leaves complete folds.

    Parameters
    ----------
    source : UserSource
        The data.
    methods : sequence, str, classifier or None
        Names, import paths, classes or classifiers; None for the default ones, ``"all"`` for all that have a name.
    protocols : sequence of str
        Names of protocols.
    folder : Path
        Where answers are kept.
    """
    named = make_plans(source, protocols=check_protocols([protocols] if isinstance(protocols, str) else protocols))
    if methods is None:
        methods = [name for name in DEFAULT_METHODS if any(plan.method == name for plan in named)]
    methods = [methods] if isinstance(methods, str) or hasattr(methods, "fit") else list(methods)
    names = [each for each in methods if isinstance(each, str) and not is_import_path(each)]
    own = [_own(each) for each in methods if not isinstance(each, str) or is_import_path(each)]
    chosen = select_methods(names if names or own else [""], named) if names or not own else []
    chosen += [
        Plan(source, setting, name, "own", draw, recipe)
        for draw in range(source.draws)
        for setting in source.settings
        for name, recipe in _with_different_names(own)
    ]
    return sorted((replace(plan, answers=folder / "answers") for plan in chosen), key=lambda plan: plan.draw)


def _own(each: Any) -> tuple[str, Method]:
    return load_method(each) if isinstance(each, str) else (method_name(each), own_method(each))


def _with_different_names(methods: Iterable[tuple[str, Method]]) -> Iterator[tuple[str, Method]]:
    """Number methods of the same name: ``SVC``, ``SVC 2``."""
    seen: Counter[str] = Counter()
    for name, recipe in methods:
        seen[name] += 1
        yield (name if seen[name] == 1 else f"{name} {seen[name]}"), recipe


def select_methods(names: Sequence[str], plans: list[Plan]) -> list[Plan]:
    """The plans of the methods named; case, spaces and hyphens do not count."""
    known = {without_spelling(plan.method): plan.method for plan in plans}
    if [without_spelling(name) for name in names] == ["all"]:
        return plans
    unknown = sorted(name.strip() for name in names if without_spelling(name) not in known)
    if unknown:
        listed = ", ".join(known.values())
        raise ValueError(f"methods {', '.join(unknown)}: no such method here; choose from {listed}")
    wanted = {known[without_spelling(name)] for name in names}
    return [plan for plan in plans if plan.method in wanted]


def run_comparison(
    source: UserSource,
    plans: list[Plan],
    file: CellFile,
    jobs: int | None = None,
    time_limit: float | None = None,
    learning_curve: bool = True,
    command: str = "",
) -> Comparison:
    """Run what is missing in a file of cells, and judge it.

    Raises
    ------
    FailedCellsError
        If cells failed and none was finished; otherwise the notes of the comparison name them.
    """
    deadline = _deadline(time_limit)
    notes = [*source.warnings, *not_shown(file, plans)]
    if any(plan.method in _FAMILY for plan in plans):
        warm_up()  # the time to compile is not the time of the method that happens to be first
    cells, problem = _run(plans, file, jobs, deadline)
    comparison = Comparison.of(source, plans, cells)
    learned: list[Cell] = []
    if learning_curve and problem is None:
        learned, problem = _run(_learning_plans(comparison, plans), file, jobs, deadline)
    comparison = replace(comparison, learning=learned, command=command, notes=notes)
    if problem is None:
        return comparison
    if isinstance(problem, FailedCellsError):
        comparison = replace(comparison, failed=str(problem), tracebacks=problem.tracebacks)
    return replace(comparison, notes=[*notes, f"{problem}."])


def _deadline(time_limit: float | None) -> float | None:
    """When to stop, by ``time.monotonic()``; None without a limit, and for one longer than a thread can wait."""
    if time_limit is None:
        return None
    if not isinstance(time_limit, Real) or not time_limit > 0:
        raise ValueError(f"time_limit must be a number of seconds above 0, got {time_limit!r}")
    return None if time_limit > TIMEOUT_MAX else time.monotonic() + time_limit


def _run(
    plans: Sequence[Plan], file: CellFile, jobs: int | None, deadline: float | None
) -> tuple[list[Cell], UnfinishedCellsError | None]:
    """``(cells, problem)``: the cells that were finished, and why the others were not."""
    try:
        with warnings.catch_warnings():
            # The comparison says it once, for all cells.
            warnings.filterwarnings("ignore", "the columns of X differ in scale", UserWarning)
            return run_missing(plans, file, jobs, deadline), None
    except FailedCellsError as error:
        if not error.cells:
            raise
        return error.cells, error
    except TimeIsUpError as error:
        if not error.cells:
            raise ValueError("no cell was finished within the time limit; allow more, or fewer methods") from error
        return error.cells, TimeIsUpError(f"{error}; the same command without the limit runs them", error.cells)


def write_tracebacks(failed: Comparison | FailedCellsError, folder: Path) -> str:
    """Write the tracebacks of failed cells to ``errors.txt``, and say so; empty if there are none."""
    if not failed.tracebacks:
        return ""
    write_text(folder / "errors.txt", failed.tracebacks)
    return f"; the traceback is in {folder / 'errors.txt'}"


def _learning_plans(comparison: Comparison, plans: Sequence[Plan]) -> list[Plan]:
    """The best method and the best of the family on parts of the training parts."""
    family = [result.name for result in comparison.results if result.name in _FAMILY]
    shown = {comparison.best.name, *family[:1]}
    return [
        replace(plan, setting=learning_setting(plan.setting, share), answers=None)
        for share in _SHARES
        for plan in plans
        if plan.method in shown and plan.protocol == comparison.best.protocol
    ]
