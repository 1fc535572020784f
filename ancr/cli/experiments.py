"""Commands that run experiments: ``ancr reproduce`` and ``ancr compare``."""

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ancr.cli.options import DATA_HOME, IMAGE_FEATURES, LABEL, STANDARDIZE, print_tables, readable_errors

if TYPE_CHECKING:
    from ancr.experiments.experiment import Experiment

_OUTPUT = click.option(
    "-o",
    "--output",
    default=Path("results"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for cells.jsonl, tables, figures and report.html.",
)
_JOBS = click.option(
    "--jobs", type=click.IntRange(1), help="Cells to run in parallel, one thread each. Default: one per core."
)
_METHODS = click.option("--methods", help="Names separated by commas, such as CRC,ANCR. Default: all.")
_PROTOCOLS = click.option(
    "--protocol", "protocols", multiple=True, help="paper, exact or cv; may be repeated. Default: paper and exact."
)
_FIGURES = click.option("--figures/--no-figures", default=True, show_default=True, help="Draw the figures.")


@click.command()
@click.argument("names", nargs=-1, metavar="[DATASET]...")
@click.option(
    "--draws", type=click.IntRange(1), help="Random draws of the training set. Default: as many as the paper."
)
@click.option("--features", help="Stored features of the large data sets. Default: efficientnet_lite0.")
@_PROTOCOLS
@_METHODS
@_JOBS
@_FIGURES
@DATA_HOME
@_OUTPUT
def reproduce(
    names: tuple[str, ...],
    draws: int | None,
    features: str | None,
    protocols: tuple[str, ...],
    methods: str | None,
    jobs: int | None,
    figures: bool,
    data_home: Path | None,
    output: Path,
) -> None:
    """Regenerate the paper's tables and figures, with the printed number beside each result.

    DATASET is a name that `ancr datasets` lists, such as ar or cub200. The default is digits, which ships with
    scikit-learn, and also AR and USPS (one draw) if their data is found.

    Cells that are already in the output folder are not run again; Ctrl-C loses only the cells that are running.

    \b
    Example:
      ancr reproduce digits --draws 1 --methods CRC,ANCR --no-figures --output digits-results
    """
    with readable_errors(), _resumable(output):
        from ancr.experiments.experiment import Experiment
        from ancr.experiments.runner import make_plans
        from ancr.experiments.sources import source

        sources = [source(name, features, data_home) for name in dict.fromkeys(names)] or _available(data_home)
        known_protocols = _check_protocols(protocols)
        plans = []
        for each in sources:
            few = 1 if not names and each.name == "usps" else None
            each.bunch  # noqa: B018  reports a missing data set before anything is run
            plans += make_plans(each, draws or few, known_protocols)
        plans = _select_methods(methods, plans)
        _run(Experiment("Reproduction of the ANCR paper", sources, plans, output, _command()), jobs, figures)


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@LABEL
@click.option("--folds", type=click.IntRange(2), help="Stratified folds. Default: the file's own split, otherwise 5.")
@IMAGE_FEATURES
@STANDARDIZE
@_PROTOCOLS
@_METHODS
@_JOBS
@_FIGURES
@_OUTPUT
def compare(
    data: Path,
    label: str | None,
    folds: int | None,
    features: str,
    standardize: bool | None,
    protocols: tuple[str, ...],
    methods: str | None,
    jobs: int | None,
    figures: bool,
    output: Path,
) -> None:
    """Compare the methods on your own DATA: a .csv, .npz, .npy, .mat or .parquet file, or a folder of images.

    A folder of images has one sub-folder per class. With --protocol cv, every method chooses its settings on the
    training folds; the other protocols use the settings of the paper. The output is the table, the figures and the
    report that `ancr reproduce` makes for the paper's data.

    \b
    Example:
      python -c "from sklearn.datasets import load_wine as w; w(as_frame=True).frame.to_csv('wine.csv', index=False)"
      ancr compare wine.csv --label target --methods CRC,ANCR --no-figures --output wine-results
    """
    with readable_errors(), _resumable(output):
        from ancr.experiments.experiment import Experiment
        from ancr.experiments.runner import make_plans
        from ancr.experiments.sources import UserSource
        from ancr.features.user_data import load_user_data

        source = UserSource(load_user_data(data, label, features), folds, standardize)
        plans = _select_methods(methods, make_plans(source, protocols=_check_protocols(protocols)))
        _run(Experiment(f"Comparison on {source.title}", [source], plans, output, _command()), jobs, figures)


def _run(experiment: "Experiment", jobs: int | None, figures: bool) -> None:
    from ancr.experiments.table_formats import to_rich

    click.echo(f"The report will be written to {experiment.page}")
    report = experiment.run(jobs, figures)
    print_tables(map(to_rich, report.tables))
    for sentence in report.findings:
        click.echo(f"- {sentence}")
    for note in report.notes:
        click.echo(note, err=True)
    click.echo(f"report: {experiment.page}")


@contextmanager
def _resumable(output: Path) -> Iterator[None]:
    """End at once on Ctrl-C, without waiting for the cells that are running; every written line is complete."""
    try:
        yield
    except KeyboardInterrupt:
        cells = output / "cells.jsonl"
        click.echo(f"\nInterrupted. Finished cells are in {cells}; run the same command again to continue.", err=True)
        sys.stderr.flush()
        os._exit(130)


def _available(data_home: Path | None) -> list[Any]:
    """Digits, and AR and USPS if they are on this machine."""
    from ancr.datasets import DataNotFoundError
    from ancr.experiments.sources import source

    found = []
    for candidate in (source(name, data_home=data_home) for name in ("digits", "ar", "usps")):
        try:
            candidate.bunch  # noqa: B018  reads the data
        except DataNotFoundError:
            click.echo(f"{candidate.name}: not found, skipped; `ancr fetch {candidate.name}` downloads it", err=True)
        else:
            found.append(candidate)
    return found


def _check_protocols(protocols: tuple[str, ...]) -> tuple[str, ...]:
    """Return the protocols asked for, or the default ones."""
    from ancr.experiments.methods import KNOWN_PROTOCOLS, PROTOCOLS

    unknown = [name for name in protocols if name not in KNOWN_PROTOCOLS]
    if unknown:
        raise ValueError(f"--protocol {unknown[0]!r} is unknown; choose from {', '.join(KNOWN_PROTOCOLS)}")
    return protocols or PROTOCOLS


def _select_methods(methods: str | None, plans: list[Any]) -> list[Any]:
    """Return the plans of the methods named."""
    if methods is None:
        return plans
    wanted, known = {name.strip() for name in methods.split(",")}, dict.fromkeys(plan.method for plan in plans)
    if unknown := sorted(wanted - set(known)):
        raise ValueError(f"--methods {', '.join(unknown)}: no such method here; choose from {', '.join(known)}")
    return [plan for plan in plans if plan.method in wanted]


def _command() -> str:
    return shlex.join(["ancr", *sys.argv[1:]])
