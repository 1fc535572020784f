"""Options and error messages that several commands share."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

FILE = click.Path(dir_okay=False, path_type=Path)
DATA_HOME = click.option(
    "--data-home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder that holds the data sets. Default: $ANCR_DATA, then the platform's cache folder.",
)
LABEL = click.option(
    "--label", help="Column or array that holds the labels. Default: target, labels, y, label, gnd, Y or class."
)
IMAGE_FEATURES = click.option(
    "--features", default="pixels", show_default=True, help="For images: pixels, or a network such as vgg19."
)
STANDARDIZE = click.option(
    "--standardize/--no-standardize",
    default=None,
    help="Scale each column to zero mean and unit variance. Default: only for .csv and .parquet, whose units differ.",
)


@contextmanager
def readable_errors() -> Iterator[None]:
    """Turn bad input into one message instead of a traceback, and warnings into lines on stderr."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        except (ValueError, OSError, ImportError) as error:
            raise click.ClickException(str(error)) from error
        finally:
            for warning in caught:
                if issubclass(warning.category, UserWarning):
                    click.echo(f"warning: {warning.message}", err=True)


def print_tables(tables: Iterable[Any]) -> None:
    """Print tables; if the output is not a terminal, wide enough for all columns."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console.width = 200
    for table in tables:
        console.print(table)
