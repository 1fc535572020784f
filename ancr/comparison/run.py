"""``compare``: methods of the family, their rivals and your own on your data, on the same splits."""

import re
import time
import warnings
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import TIMEOUT_MAX

from ancr._core.files import check_folder
from ancr._core.messages import naming
from ancr.classifiers.warmup import warm_up
from ancr.comparison.answers import AnswerFolder
from ancr.comparison.cells import CellFile, refuse_other_data
from ancr.comparison.method_progress import method_progress
from ancr.comparison.own_methods import is_import_path, load_method, method_name, own_method
from ancr.comparison.protocols import PROTOCOLS
from ancr.comparison.result import Comparison
from ancr.comparison.runner import FailedCellsError, Plan, TimeIsUpError, make_plans, run_missing
from ancr.comparison.split_sources import UserSource, learning_setting
from ancr.samples.readers import samples_in_memory

DEFAULT_METHODS = ("ANCR", "CRC", "Softmax", "SVM", "RBF SVM", "kNN", "Random forest", "Gradient boosting")
DEFAULT_PROTOCOLS = ("cv",)
_FAMILY = ("ANCR", "CRC")
_SHARES = (0.2, 0.4, 0.7)
# More columns without names are taken for features of a network, whose columns have one unit but not one range.
_FEW_COLUMNS = 100


def compare(
    X,
    y,
    methods=None,
    *,
    folds=5,
    repeats=1,
    standardize=None,
    protocols=DEFAULT_PROTOCOLS,
    learning_curve=True,
    time_limit=None,
    jobs=None,
    output=None,
    name="data",
    image_shape=None,
):
    """Compare classifiers on the same stratified folds, each with settings chosen on the training folds.

    Parameters
    ----------
    X : array-like or DataFrame of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,)
        Their labels. Samples without one (None, NaN or an empty text) are left out with a warning.
    methods : sequence, str, classifier or None, default=None
        Names such as ``"ANCR"`` or ``"RBF SVM"``, import paths such as ``"package.module:Classifier"``, and
        scikit-learn classifiers or their classes; a single one needs no list. None means ANCR, CRC, softmax, linear and
        RBF SVM, kNN, random forest and gradient boosting.
    folds : int, default=5
        Stratified folds.
    repeats : int, default=1
        How often the samples are divided into folds, each time anew; more repeats make smaller differences visible.
    standardize : bool or None, default=None
        Scale each column on the training folds. None does so if columns have different ranges, in a DataFrame and in
        an array of at most 100 columns; wider arrays, as networks give them, and images are used as they are. The
        report says what was done.
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
    _check_count("folds", folds, 2)
    _check_count("repeats", repeats, 1)
    if jobs is not None:
        _check_count("jobs", jobs, 1)
    if output is not None:
        _check_output(output)
    everything = samples_in_memory(X, y, name, image_shape)
    if everything.n_unlabelled:
        warnings.warn(everything.left_out, UserWarning, stacklevel=2)
    samples = everything.labelled()
    if standardize is None and not hasattr(X, "columns") and samples.vectors.shape[1] > _FEW_COLUMNS:
        standardize = False
    source = UserSource(samples, folds, standardize, repeats)
    if source.warning:
        warnings.warn(source.warning, UserWarning, stacklevel=2)
    with TemporaryDirectory() as scratch:
        folder = Path(scratch if output is None else output)
        plans = plan_comparison(source, methods, protocols, folder)
        _make_folder(folder)
        result = run_comparison(source, plans, folder, jobs, time_limit, learning_curve, command="ancr.compare(…)")
    if output is not None:
        result.save(folder / "report.html")
    return result


def _check_count(name, value, least):
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def _check_output(output):
    """Raise before the work if nothing can be written to the folder."""
    with naming("output"):
        folder = Path(output)
    check_folder(folder / "report.html", create=True)


def _make_folder(folder):
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"output={str(folder)!r} cannot be made: {error.strerror}; choose another folder") from error


def plan_comparison(source, methods, protocols, folder):
    """The plans of a comparison, fold by fold.

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
    protocols = [protocols] if isinstance(protocols, str) else list(protocols)
    unknown = [name for name in protocols if name not in PROTOCOLS]
    if unknown or not protocols:
        got = repr(unknown[0]) if protocols else "none"
        raise ValueError(f"protocols must be names out of {', '.join(PROTOCOLS)}, got {got}")
    answers = AnswerFolder(folder / "answers")
    named = make_plans(source, protocols=protocols)
    if methods is None:
        methods = [name for name in DEFAULT_METHODS if any(plan.method == name for plan in named)]
    methods = [methods] if isinstance(methods, str) or hasattr(methods, "fit") else methods
    names = [each for each in methods if isinstance(each, str) and not is_import_path(each)]
    own = [_own(each) for each in methods if not isinstance(each, str) or is_import_path(each)]
    chosen = select_methods(names, named) if names else []
    if not chosen and not own:
        select_methods([""], named)
    chosen += [
        Plan(source, setting, name, "own", draw, recipe)
        for draw in range(source.draws)
        for setting in source.settings
        for name, recipe in _with_different_names(own)
    ]
    # Fold by fold, so that a run that is stopped leaves complete folds.
    return sorted((replace(plan, answers=answers) for plan in chosen), key=lambda plan: plan.draw)


def _own(each):
    if isinstance(each, str):
        return load_method(each)
    return method_name(each), own_method(each)


def _with_different_names(methods):
    """Number methods of the same name: ``SVC``, ``SVC 2``."""
    seen = {}
    for name, recipe in methods:
        seen[name] = seen.get(name, 0) + 1
        yield (name if seen[name] == 1 else f"{name} {seen[name]}"), recipe


def select_methods(names, plans):
    """The plans of the methods named; case, spaces and hyphens do not count."""
    known = {_plain(plan.method): plan.method for plan in plans}
    if [_plain(name) for name in names] == ["all"]:
        return plans
    unknown = sorted(name.strip() for name in names if _plain(name) not in known)
    if unknown:
        listed = ", ".join(known.values())
        raise ValueError(f"methods {', '.join(unknown)}: no such method here; choose from {listed}")
    wanted = {known[_plain(name)] for name in names}
    return [plan for plan in plans if plan.method in wanted]


def _plain(name):
    return re.sub(r"[\s_-]+", "", name).lower()


def run_comparison(source, plans, folder, jobs=None, time_limit=None, learning_curve=True, command=""):
    """Run what is missing and judge it.

    Raises
    ------
    FailedCellsError
        If cells failed and none was finished; otherwise the notes of the comparison name them.
    """
    deadline = _deadline(time_limit)
    refuse_other_data([source], folder)
    file = CellFile(folder / "cells.jsonl")
    notes = [source.warning] if source.warning else []
    notes += _hidden(file.read(), plans)
    if any(plan.method in _FAMILY for plan in plans):
        warm_up()  # the time to compile is not the time of the method that happens to be first
    cells, complaint = _run(plans, file, jobs, deadline)
    if learning_curve and not complaint:
        more = _learning_plans(Comparison.of(source, plans, cells), plans)
        learned, complaint = _run(more, file, jobs, deadline)
        plans, cells = plans + more, cells + learned
    notes += [f"{complaint}."] if complaint else []
    failed = complaint if " failed: " in complaint else ""
    return Comparison.of(source, plans, cells, command=command, notes=notes, failed=failed)


def _deadline(time_limit):
    """When to stop, by ``time.monotonic()``; None without a limit, and for one longer than a thread can wait."""
    if time_limit is None:
        return None
    if not isinstance(time_limit, Real) or not time_limit > 0:
        raise ValueError(f"time_limit must be a number of seconds above 0, got {time_limit!r}")
    return None if time_limit > TIMEOUT_MAX else time.monotonic() + time_limit


def _run(plans, file, jobs, deadline):
    """``(cells, complaint)``: the cells that were finished, and why the others were not."""
    try:
        with method_progress(plans, jobs) as on_cell, warnings.catch_warnings():
            # The comparison says it once, for all cells.
            warnings.filterwarnings("ignore", "the columns of X differ in scale", UserWarning)
            return run_missing(plans, file, jobs, on_cell, deadline), ""
    except FailedCellsError as error:
        if not error.cells:
            raise
        return list(error.cells), str(error)
    except TimeIsUpError as error:
        if not error.cells:
            raise ValueError("no cell was finished within the time limit; allow more, or fewer methods") from error
        return list(error.cells), f"{error}; the same command without the limit runs them"


def _learning_plans(comparison, plans):
    """The best method and the best of the family on parts of the training parts."""
    family = [result for result in comparison.results if result.name in _FAMILY]
    shown = list(dict.fromkeys([comparison.best.name, *(result.name for result in family[:1])]))
    return [
        replace(plan, setting=learning_setting(plan.setting, share), answers=None)
        for share in _SHARES
        for plan in plans
        if plan.method in shown and plan.protocol == comparison.best.protocol
    ]


def _hidden(cells, plans):
    shown = {plan.key for plan in plans}
    hidden = {cell.key for cell in cells if not cell.setting.endswith("of the training part")} - shown
    if not hidden:
        return []
    return [f"{len(hidden)} further cells in cells.jsonl, of other methods or settings, are not shown."]
