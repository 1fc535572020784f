"""Commands about data: ``ancr datasets``, ``ancr fetch`` and ``ancr extract``."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

DATA_HOME = click.option(
    "--data-home",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of data sets. Default: $ANCR_DATA, then the platform's cache folder.",
)
_FILE = click.Path(dir_okay=False, path_type=Path)


@contextmanager
def readable_errors() -> Iterator[None]:
    """Bad input ends in one message, not in a traceback; warnings become lines on stderr."""
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


@click.command()
@DATA_HOME
def datasets(data_home: Path | None) -> None:
    """Show which data sets are here, where, under which licence, and how to get the rest.

    \b
    Example:
      ancr datasets
    """
    from rich.console import Console
    from rich.table import Table

    from ancr.datasets.inventory import inventory

    console = Console()
    if not console.is_terminal:
        console.width = 200  # a pipe has no width; do not squeeze the table for it
    table = Table(show_lines=True)
    for column in ("name", "data set", "here", "where", "licence", "how to get it"):
        table.add_column(column, overflow="fold")
    for present in inventory(data_home):
        table.add_row(*_inventory_row(present))
    console.print(table)


def _inventory_row(present: Any) -> tuple[str, ...]:
    info, root, features = present.info, present.root, present.features
    if info.name == "digits":
        return info.name, info.title, "yes", "scikit-learn", info.licence, ""
    places = [str(root)] if root else []
    places += [str(path) for path in features.values()]
    here = "yes" if root else "features only" if features else "no"
    return info.name, info.title, here, "\n".join(places), info.licence, "" if root else info.how_to_get


@click.command()
@click.argument("name")
@DATA_HOME
def fetch(name: str, data_home: Path | None) -> None:
    """Download the data set NAME to where its loader looks; a broken download is resumed.

    \b
    Example:
      ancr fetch usps --data-home data
    """
    with readable_errors():
        from ancr.datasets import fetch as fetch_data

        click.echo(fetch_data(name, data_home))


@click.command()
@click.argument("source")
@click.option("-o", "--output", required=True, type=_FILE, help="An .npz file.")
@click.option("--backbone", default="vgg19", show_default=True, help="vgg16, vgg19, alexnet, or timm's name.")
@click.option("--layer", help="fc6, fc7, pool or conv. Default: fc7 or pool; conv with a pooling.")
@click.option("--pooling", help="Of the last convolution: average, bilinear (B-CNN) or fisher (FV-CNN).")
@click.option("--weights", default="default", show_default=True, help="A name, a file, or 'none': random.")
@click.option("--image-size", type=int, help="Side of the square that the network sees.")
@click.option("--batch-size", default=32, show_default=True, help="Images at once.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:1, mps.")
@click.option("--workers", type=int, help="Processes that decode ahead. Default: by the cores.")
@click.option("--cache-dir", default="auto", show_default=True, help="Folder of kept vectors, or 'none'.")
@click.option("--strict", is_flag=True, help="Stop at the first unreadable image.")
@DATA_HOME
def extract(source: str, output: Path, data_home: Path | None, **options: Any) -> None:
    """Compute features of SOURCE and write them to a file.

    SOURCE is a data set's name, a folder with one sub-folder a class, or a CSV of path,label. A flat
    folder of images is taken as one image a class, named after it. The result holds features, labels,
    class_names, image_names and, where there is a split, is_train; ancr.datasets.load_table reads it.

    \b
    Example (photos has one sub-folder of images a class):
      ancr extract photos --backbone resnet18 --output photos.npz
    """
    with readable_errors():
        from ancr.features.to_file import extract_to_file, load_source

        bunch = load_source(source, data_home)
        report = extract_to_file(bunch, output, progress=True, **options)
    for name, reason in report.unreadable.items():
        click.echo(f"unreadable: {name}: {reason}", err=True)
    click.echo(report.summary)
