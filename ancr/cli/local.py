"""Commands about this machine: ``ancr datasets``, ``fetch``, ``extract``, ``warmup`` and ``studio``."""

from pathlib import Path
from typing import Any

import click

from ancr.cli.options import (
    DATA_HOME,
    FILE,
    WEIGHTS,
    check_output,
    print_tables,
    readable_errors,
    say,
    takes_columns,
    weighted,
)


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
    help="Features that need neither a network nor torch; options for networks are then ignored.",
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


@click.command()
@click.option("--float32", "single", is_flag=True, help="Compile for single precision as well.")
def warmup(single: bool) -> None:
    """Compile the kernels for this environment, so that the first call does not wait.

    What is compiled already is read from the cache on disk, which takes about two seconds.

    \b
    Example:
      ancr warmup
    """
    with readable_errors():
        from ancr._core.compiling import UNKEPT, be_silent, is_kept
        from ancr.classifiers.warmup import warm_up

        be_silent()
        dtypes = ("float64", "float32") if single else ("float64",)
        total = warm_up(lambda name, seconds: click.echo(f"{seconds:6.1f} s  {name}"), dtypes)
    click.echo(
        f"{total:6.1f} s  in all; {'the next start of Python reads this from the cache' if is_kept() else UNKEPT}"
    )


@click.command()
@click.argument("data", required=False, type=click.Path(path_type=Path))
@click.option("--label", help="Column or array that holds the labels; a sample without one waits for yours.")
@click.option(
    "--images",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder of images, or the folder of the images that a table names.",
)
@click.option("--features", default="hog", show_default=True, help="For a folder of images: hog, pixels, or a network.")
@WEIGHTS
@click.option("--port", type=click.IntRange(1, 65535), help="Port on 127.0.0.1. Default: the first free one from 8710.")
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open the page.")
@takes_columns
def studio(
    data: Path | None,
    label: str | None,
    images: Path | None,
    features: str,
    weights: str | None,
    port: int | None,
    browser: bool,
    asked: dict[str, str],
) -> None:
    """Open a page on this machine to try a classifier, label samples, audit labels and compare methods.

    DATA is a table (.csv, .tsv, .parquet, .xlsx), texts (.txt, one per line), arrays (.npz, .npy, .mat), a folder of
    images whose sub-folders are classes (images in unlabelled/ or outside sub-folders wait for a label), or a model
    that `ancr train` saved. Without DATA, the page shows the digits of scikit-learn; other data can be opened from
    there. Everything you do is on disk, next to the data, before the page confirms it.

    \b
    Example (the page is then at the address that is printed):
      ancr studio
      ancr studio photos --port 8800 --no-browser
    """
    with readable_errors():
        try:
            from ancr.studio.server import serve
        except ImportError as error:
            wanted = "pip install starlette uvicorn httptools pillow"
            raise ImportError(f"the studio needs {error.name}: {wanted}") from error
        from ancr.studio.openings import open_source

        serve(
            open_source(data, label, images, weighted(features, weights) or features, kinds=asked),
            port,
            browser,
            click.echo,
        )
