"""Commands about data: ``ancr datasets``, ``ancr fetch`` and ``ancr extract``."""

from pathlib import Path
from typing import Any

import click

from ancr.cli.options import DATA_HOME, FILE, check_output, print_tables, readable_errors, say


@click.command()
@DATA_HOME
def datasets(data_home: Path | None) -> None:
    """Show which data sets are on this machine, where they are, their licences, and how to get the others.

    \b
    Example:
      ancr datasets
    """
    from rich.table import Table

    from ancr.datasets.registry import inventory

    table = Table(show_lines=True)
    for column in ("name", "data set", "here", "where", "licence", "how to get it"):
        table.add_column(column, overflow="fold")
    for present in inventory(data_home):
        table.add_row(*_inventory_row(present))
    print_tables([table])


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
    """Download the data set NAME into the folder where its loader looks. An interrupted download is resumed.

    \b
    Example:
      ancr fetch usps --data-home data
    """
    with readable_errors():
        from ancr.datasets import fetch as fetch_data

        click.echo(fetch_data(name, data_home))


@click.command()
@click.argument("source")
@click.option("-o", "--output", required=True, type=FILE, help="The .npz file to write.")
@click.option(
    "--features",
    type=click.Choice(["pixels", "hog", "eigenfaces"]),
    help="Features that need no network and no torch; options of networks are then not used.",
)
@click.option("--backbone", default="vgg19", show_default=True, help="vgg16, vgg19, alexnet, or a timm model name.")
@click.option("--layer", help="fc6, fc7, pool or conv. Default: fc7 or pool; conv if --pooling is given.")
@click.option("--pooling", help="Pooling of the last convolution: average, bilinear (B-CNN) or fisher (FV-CNN).")
@click.option("--weights", default="default", show_default=True, help="A name, a file, or 'none' for random weights.")
@click.option("--image-size", type=int, help="Side length of the square image that the network sees.")
@click.option("--batch-size", default=32, show_default=True, help="Images per batch.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:1, mps.")
@click.option("--cache-dir", default="auto", show_default=True, help="Folder for cached features, or 'none'.")
@click.option("--strict", is_flag=True, help="Stop at the first unreadable image.")
@DATA_HOME
def extract(source: str, output: Path, data_home: Path | None, **options: Any) -> None:
    """Compute features of SOURCE and write them to a file.

    SOURCE is the name of a data set, a folder with one sub-folder per class, or a CSV of path,label. A folder
    of images without sub-folders is read as one image per class, named after the class. The result holds features,
    labels, class_names, image_names and, if there is a split, is_train; ancr.datasets.load_table reads it.

    \b
    Example (photos has one sub-folder of images per class):
      ancr extract photos --backbone resnet18 --output photos.npz
    """
    with readable_errors():
        from ancr.datasets.extraction_file import extract_to_file, load_source

        check_output(output)
        report = extract_to_file(load_source(source, data_home), output, **options)
    for name, reason in report.unreadable.items():
        say(f"unreadable: {name}: {reason}", err=True)
    say(report.summary)
