"""The command line: ``ancr …``, the same as ``python -m ancr …``."""

from pathlib import Path

import click

from ancr import __version__
from ancr.cli_data import datasets, extract, fetch


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ancr")
def main() -> None:
    """Representation-based classification: every method of the family, exact and reproducible."""


@main.command()
@click.option("--draws", default=5, show_default=True, type=click.IntRange(1), help="Random draws of the training set.")
@click.option(
    "--output",
    default=Path("results"),
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for cells.jsonl and the table.",
)
def reproduce(draws: int, output: Path) -> None:
    """Run every classifier on scikit-learn's digits with the paper's USPS protocol.

    N samples a class to train on, the rest to test on, several random draws. Cells already in the output folder
    are not run again; stopping with Ctrl-C loses at most the one in flight.

    Example: ancr reproduce --draws 2 --output /tmp/digits
    """
    from rich.console import Console
    from rich.progress import Progress

    from ancr.experiments.cells import CellFile
    from ancr.experiments.runner import plan_digits, run_missing
    from ancr.experiments.tables import to_markdown, to_rich

    progress = Console(stderr=True)
    plans = plan_digits(draws)
    folder = output / "digits"
    file = CellFile(folder / "cells.jsonl")
    with Progress(console=progress, disable=not progress.is_terminal, transient=True) as bar:
        task = bar.add_task("digits", total=len(plans))
        cells = run_missing(plans, file, on_cell=lambda cell: bar.advance(task))
    table = folder / "table.md"
    table.write_text(to_markdown(cells), encoding="utf-8")
    Console().print(to_rich(cells, f"digits: accuracy in %, mean ± sd over {draws} draws"))
    click.echo(f"cells: {folder / 'cells.jsonl'}\ntable: {table}")


for command in (datasets, extract, fetch):
    main.add_command(command)
