"""Commands that run experiments: ``ancr reproduce`` and ``ancr compare``."""

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ancr.cli_data import DATA_HOME, readable_errors

if TYPE_CHECKING:
    from ancr.experiments.study import Study

_OUTPUT = click.option(
    "-o",
    "--output",
    default=Path("results"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for cells.jsonl, tables, figures and report.html.",
)
_JOBS = click.option("--jobs", type=click.IntRange(1), help="Cells at once, one thread each. Default: one a core.")
_METHODS = click.option("--methods", help="Names with commas between, such as CRC,ANCR. Default: all.")
_PROTOCOLS = click.option(
    "--protocol", "protocols", multiple=True, help="paper, exact or cv; may be repeated. Default: paper and exact."
)
_FIGURES = click.option("--figures/--no-figures", default=True, show_default=True, help="Draw the figures.")
_NAMES = ("digits", "ar", "usps", "stanford40", "cub", "aircraft", "cars")


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(_NAMES), metavar="[DATASET]...")
@click.option("--draws", type=click.IntRange(1), help="Random draws of the training set. Default: the paper's number.")
@click.option("--features", help="Stored features of the large sets. Default: efficientnet_lite0.")
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
    """Regenerate the paper's tables and figures, every number beside the printed one.

    DATASET is any of digits, ar, usps, stanford40, cub, aircraft and cars. Without one: digits, which ships with
    scikit-learn, and AR and USPS (one draw) where their data is found.

    Cells already in the output folder are not run again; stopping with Ctrl-C loses at most the ones in flight.

    \b
    Example:
      ancr reproduce digits --draws 1 --methods CRC,ANCR --no-figures --output digits-results
    """
    with readable_errors(), _resumable(output):
        from ancr.experiments.runner import make_plans
        from ancr.experiments.sources import source
        from ancr.experiments.study import Study

        sources = [source(name, features, data_home) for name in dict.fromkeys(names)] or _found(data_home)
        chosen = _chosen_protocols(protocols)
        plans = []
        for each in sources:
            few = 1 if not names and each.name == "usps" else None
            each.bunch  # noqa: B018  a data set that is not there is told before anything is run
            plans += make_plans(each, draws or few, chosen)
        plans = _only(methods, plans)
        _run(Study("Reproduction of the ANCR paper", sources, plans, output, _command()), jobs, figures)


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--label", help="Column or array that holds the labels. Default: target, labels, y, label, gnd or class.")
@click.option("--folds", type=click.IntRange(2), help="Stratified folds. Default: the file's own split, or else 5.")
@click.option("--features", default="pixels", show_default=True, help="Of images: pixels, or a network such as vgg19.")
@click.option(
    "--standardize/--no-standardize",
    default=None,
    help="Bring columns to zero mean and unit variance. Default: for .csv and .parquet, whose units differ.",
)
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

    A folder has one sub-folder a class. With --protocol cv every method chooses its settings on the training folds;
    the others use the settings of the paper. The result is the table, the figures and the report that `ancr reproduce`
    makes for the paper's data.

    \b
    Example:
      python -c "from sklearn.datasets import load_wine as w; w(as_frame=True).frame.to_csv('wine.csv', index=False)"
      ancr compare wine.csv --label target --methods CRC,ANCR --no-figures --output wine-results
    """
    with readable_errors(), _resumable(output):
        from ancr.experiments.runner import make_plans
        from ancr.experiments.sources import Own
        from ancr.experiments.study import Study
        from ancr.own import load_own

        own = Own(load_own(data, label, features), folds, standardize)
        plans = _only(methods, make_plans(own, protocols=_chosen_protocols(protocols)))
        _run(Study(f"Comparison on {own.title}", [own], plans, output, _command()), jobs, figures)


def _run(study: "Study", jobs: int | None, figures: bool) -> None:
    from rich.console import Console

    from ancr.experiments.table_formats import to_rich

    click.echo(f"The report will lie in {study.page}")
    report = study.run(jobs, figures)
    console = Console()
    if not console.is_terminal:
        console.width = 200  # a pipe has no width; do not squeeze the table for it
    for table in report.tables:
        console.print(to_rich(table))
    for sentence in report.findings:
        click.echo(f"- {sentence}")
    for note in report.notes:
        click.echo(note, err=True)
    click.echo(f"report: {study.page}")


@contextmanager
def _resumable(output: Path) -> Iterator[None]:
    """Ctrl-C ends at once, without waiting for the cells in flight; what is written is whole."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"\nStopped. Finished cells are in {output / 'cells.jsonl'}; the same command goes on.", err=True)
        sys.stderr.flush()
        os._exit(130)


def _found(data_home: Path | None) -> list[Any]:
    """Digits, and of AR and USPS those that are on this machine."""
    from ancr.datasets import DataNotFoundError
    from ancr.experiments.sources import source

    found = []
    for candidate in (source(name, data_home=data_home) for name in ("digits", "ar", "usps")):
        try:
            candidate.bunch  # noqa: B018  reading it is what finds out
        except DataNotFoundError:
            click.echo(f"{candidate.name}: not found, left out; `ancr fetch {candidate.name}` gets it", err=True)
        else:
            found.append(candidate)
    return found


def _chosen_protocols(protocols: tuple[str, ...]) -> tuple[str, ...]:
    from ancr.experiments.methods import KNOWN_PROTOCOLS, PROTOCOLS

    unknown = [name for name in protocols if name not in KNOWN_PROTOCOLS]
    if unknown:
        raise ValueError(f"--protocol {unknown[0]!r} is unknown; there are {', '.join(KNOWN_PROTOCOLS)}")
    return protocols or tuple(PROTOCOLS)


def _only(methods: str | None, plans: list[Any]) -> list[Any]:
    """The plans of the methods named."""
    if methods is None:
        return plans
    wanted, known = {name.strip() for name in methods.split(",")}, dict.fromkeys(plan.method for plan in plans)
    if unknown := sorted(wanted - set(known)):
        raise ValueError(f"--methods {', '.join(unknown)}: no such method here; there are {', '.join(known)}")
    return [plan for plan in plans if plan.method in wanted]


def _command() -> str:
    return shlex.join(["ancr", *sys.argv[1:]])
