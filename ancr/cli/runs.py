"""Commands that run experiments: ``ancr reproduce`` and ``ancr compare``."""

import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ancr.cli.options import (
    DATA_HOME,
    Reading,
    print_tables,
    readable_errors,
    readable_warnings,
    say,
    say_of,
    takes_samples,
)

if TYPE_CHECKING:
    from ancr.comparison.result import Comparison
    from ancr.comparison.table_formats import Table
    from ancr.paper.experiment import Experiment
    from ancr.paper.paper_sources import PaperSource

_RESULTS = Path("results")


def _output_option(default: str) -> Any:
    return click.option(
        "-o",
        "--output",
        type=click.Path(file_okay=False, path_type=Path),
        help=f"Folder for cells.jsonl, tables, figures and report.html. Default: {default}.",
    )


_JOBS = click.option(
    "--jobs", type=click.IntRange(1), help="Cells to run in parallel, one thread each. Default: one per core."
)


@click.command()
@click.argument("names", nargs=-1, metavar="[DATASET]...")
@click.option(
    "--draws", type=click.IntRange(1), help="Random draws of the training set. Default: as many as the paper."
)
@click.option("--features", help="Stored features of the large data sets. Default: efficientnet_lite0.")
@click.option(
    "--protocol", "protocols", multiple=True, help="paper, exact or cv; may be repeated. Default: paper and exact."
)
@click.option("--methods", help="Names separated by commas, such as CRC,ANCR. Default: all.")
@_JOBS
@click.option("--figures/--no-figures", default=True, show_default=True, help="Draw the figures.")
@DATA_HOME
@_output_option("results")
def reproduce(
    names: tuple[str, ...],
    draws: int | None,
    features: str | None,
    protocols: tuple[str, ...],
    methods: str | None,
    jobs: int | None,
    figures: bool,
    data_home: Path | None,
    output: Path | None,
) -> None:
    """Regenerate the paper's tables and figures, with the printed number beside each result.

    DATASET is a name that `ancr datasets` lists, such as ar or cub200. The default is digits, which ships with
    scikit-learn, and also AR and USPS (one draw) if their data is found.

    Cells that are already in the output folder are not run again; Ctrl-C loses only the cells that are running. A
    folder that holds results on other data sets is refused, because their report would be replaced.

    \b
    Example:
      ancr reproduce digits --draws 1 --methods CRC,ANCR --no-figures --output digits-results
    """
    output = output or _RESULTS
    with readable_errors(), _options_named(), _resumable(output):
        from ancr._core.files import check_folder
        from ancr.comparison.protocols import check_protocols
        from ancr.comparison.run import select_methods
        from ancr.comparison.runner import make_plans
        from ancr.paper.experiment import Experiment
        from ancr.paper.paper_sources import paper_source

        check_folder(output / "report.html", create=True)
        if features and not names:
            raise ValueError(f"--features {features!r} needs the name of a data set, such as cub200")
        sources = [paper_source(name, features, data_home) for name in dict.fromkeys(names)] or _available(data_home)
        known_protocols = check_protocols(protocols or ("paper", "exact"))
        plans = []
        for each in sources:
            few = 1 if not names and each.name == "usps" else None
            each.bunch  # noqa: B018  reports a missing data set before anything is run
            plans += make_plans(each, draws or few, known_protocols)
        plans = plans if methods is None else select_methods(methods.split(","), plans)
        _run(Experiment("Reproduction of the ANCR paper", sources, plans, output, _command()), jobs, figures)


class _Duration(click.ParamType):
    """A time such as ``5m``, ``90s`` or ``1h30m``, in seconds; a number alone is in minutes."""

    name = "TIME"
    _FORM = re.compile(r"(?:(\d+\.?\d*)h)?(?:(\d+\.?\d*)m)?(?:(\d+\.?\d*)s)?")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds; what is not a duration above zero is refused."""
        text = value.strip()
        found = self._FORM.fullmatch(f"{text}m" if text.replace(".", "", 1).isdecimal() else text)
        units = zip(found.groups(), (3600.0, 60.0, 1.0), strict=True) if found else ()
        seconds = sum((float(part) * unit for part, unit in units if part), start=0.0)
        if not seconds > 0.0:
            self.fail(f"{value!r} is not a duration above zero; write 5m, 90s or 1h30m.", param, ctx)
        return seconds


@click.command()
@takes_samples
@click.option(
    "--folds",
    type=click.IntRange(2),
    help="Stratified folds. Default: the file's own split, otherwise 5, or as many as the smallest class has samples.",
)
@click.option(
    "--repeats", type=click.IntRange(1), default=1, show_default=True, help="How many times to divide into folds."
)
@click.option(
    "--time",
    "time_limit",
    type=_Duration(),
    help="Time limit, such as 5m or 1h30m. The slowest methods are left out first, and a message says which.",
)
@click.option(
    "--protocol",
    "protocols",
    multiple=True,
    help="cv (settings chosen on the training folds), paper or exact. Default: cv.",
)
@click.option(
    "--methods",
    help="Names separated by commas, such as ANCR,RBF SVM, and your own as package.module:Classifier or "
    "file.py:Classifier; 'all' for every method that has a name. Default: ANCR, CRC, Softmax, SVM, RBF SVM, kNN, "
    "Random forest and Gradient boosting.",
)
@_JOBS
@click.option(
    "--figures/--no-figures",
    default=True,
    show_default=True,
    help="Draw the figures; the learning curve runs more cells.",
)
@_output_option("results/ and the name of DATA")
def compare(
    reading: Reading,
    folds: int | None,
    repeats: int,
    time_limit: float | None,
    protocols: tuple[str, ...],
    methods: str | None,
    jobs: int | None,
    figures: bool,
    output: Path | None,
) -> None:
    """Compare methods on your own DATA: a table, texts, arrays or a folder of images.

    Tables are .csv, .tsv, .parquet or .xlsx, texts .txt (one per line), arrays .npz, .npy or .mat; a folder of images
    has one sub-folder per class. Every method chooses its settings on the training folds. The report says which method
    is best, which are as good, which are worse and which cannot be told apart, how long each takes, and what to do
    next.

    Name your own classifier as package.module:Classifier or file.py:Classifier: a class, a function without arguments
    that returns a classifier, or a classifier. Cells that are already in the output folder are not run again, unless
    the data, the settings or the code of your classifier have changed.

    \b
    Example:
      python -c "from sklearn.datasets import load_wine as w; w(as_frame=True).frame.to_csv('wine.csv', index=False)"
      ancr compare wine.csv --label target --methods CRC,kNN,sklearn.naive_bayes:GaussianNB --output wine-results
    """
    data = reading.data
    output = output or _RESULTS / data.resolve().stem
    with readable_errors(), _options_named(), _resumable(output):
        from ancr._core.files import check_folder
        from ancr.comparison.cells import open_results
        from ancr.comparison.run import DEFAULT_PROTOCOLS, plan_comparison, run_comparison, write_tracebacks
        from ancr.comparison.runner import FailedCellsError
        from ancr.comparison.split_sources import UserSource

        check_folder(output / "report.html", create=True)
        with readable_warnings():  # what was left out is said before hours of work, not after them
            samples = reading.samples()
            source = UserSource(samples.labelled(), folds, reading.standardize, repeats, reading.kinds)
        names = None if methods is None else [name.strip() for name in methods.split(",")]
        plans = plan_comparison(source, names, protocols or DEFAULT_PROTOCOLS, output)
        file = open_results(output, [source])
        say(f"The report will be written to {output / 'report.html'}")
        say_of(data, samples, source.plan)
        try:
            comparison = run_comparison(source, plans, file, jobs, time_limit, figures, _command())
        except FailedCellsError as error:  # every cell
            raise click.ClickException(f"{error}{write_tracebacks(error, output)}") from error
        _write_comparison(comparison, output)


def _write_comparison(comparison: "Comparison", output: Path) -> None:
    from ancr.comparison.comparison_page import write_comparison
    from ancr.comparison.run import write_tracebacks

    write_comparison(comparison, output)
    answer, report = comparison.answer, output / "report.html"
    training = [f"To train {what}: {command}" for what, command in answer.training]
    notes = [note for note in comparison.notes if note != f"{comparison.failed}."]  # the last line says it
    _show([comparison.table()], [*answer.lines(), *training], notes, report)
    if comparison.failed:
        where = write_tracebacks(comparison, output)
        raise click.ClickException(f"{comparison.failed}{where}; the others are in {report}")


def _run(experiment: "Experiment", jobs: int | None, figures: bool) -> None:
    from ancr.comparison.run import write_tracebacks
    from ancr.comparison.runner import FailedCellsError

    experiment.file  # noqa: B018  refuses results on other data before anything is said
    say(f"The report will be written to {experiment.page}")
    try:
        report = experiment.run(jobs, figures)
    except FailedCellsError as error:
        where = write_tracebacks(error, experiment.page.parent)
        kept = f"; the others are in {experiment.page}" if error.cells else ""
        raise click.ClickException(f"{error}{where}{kept}") from error
    _show([table.plain() for table in report.tables], report.findings, report.notes, experiment.page)


def _show(tables: "Iterable[Table]", sentences: Iterable[str], notes: Iterable[str], page: Path) -> None:
    from ancr.comparison.table_formats import to_rich

    print_tables(map(to_rich, tables))
    for sentence in sentences:
        click.echo(f"- {sentence}")
    for note in notes:
        click.echo(note, err=True)
    say(f"report: {page}")


@contextmanager
def _options_named() -> Iterator[None]:
    """Let a message about an argument of `ancr.compare` name the option instead: ``--methods`` for ``methods``."""
    try:
        yield
    except ValueError as error:
        text = str(error).replace("protocols: ", "protocol ", 1)
        if text.startswith(("methods ", "folds ", "protocol ")):
            raise ValueError(f"--{text}") from error
        raise


@contextmanager
def _resumable(output: Path) -> Iterator[None]:
    """End at once on Ctrl-C, without waiting for the cells that are running; every written line is complete."""
    try:
        yield
    except KeyboardInterrupt:
        cells = output / "cells.jsonl"
        kept = f"Finished cells are in {cells}; run the same command again to continue."
        found = cells.is_file() and cells.stat().st_size
        click.echo(f"\nInterrupted. {kept if found else 'No cell was finished.'}", err=True)
        sys.stderr.flush()
        os._exit(130)


def _available(data_home: Path | None) -> "list[PaperSource]":
    """Digits, and AR and USPS if they are on this machine."""
    from ancr.datasets import DataNotFoundError
    from ancr.paper.paper_sources import paper_source

    found = []
    for candidate in (paper_source(name, data_home=data_home) for name in ("digits", "ar", "usps")):
        try:
            candidate.bunch  # noqa: B018  reads the data
        except DataNotFoundError:
            click.echo(f"{candidate.name}: not found, skipped; `ancr fetch {candidate.name}` downloads it", err=True)
        else:
            found.append(candidate)
    return found


def _command() -> str:
    return shlex.join(["ancr", *sys.argv[1:]])
