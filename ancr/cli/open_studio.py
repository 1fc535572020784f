"""The command ``ancr studio``: a local page to try, label, audit and compare."""

from pathlib import Path

import click

from ancr.cli.options import readable_errors


@click.command()
@click.argument("data", required=False, type=click.Path(path_type=Path))
@click.option("--label", help="Column or array that holds the labels; a sample without one waits for yours.")
@click.option(
    "--images",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder of images, or the folder of the images that a table names.",
)
@click.option("--features", default="hog", show_default=True, help="For a folder of images: hog, pixels, or a network.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port on 127.0.0.1. Default: the first free one from 8710.")
@click.option("--browser/--no-browser", default=True, show_default=True, help="Open the page.")
def studio(
    data: Path | None, label: str | None, images: Path | None, features: str, port: int | None, browser: bool
) -> None:
    """Open a page on this machine to try a classifier, label samples, audit labels and compare methods.

    DATA is a table (.csv, .npz, .npy, .mat, .parquet), a folder of images whose sub-folders are classes (images in
    unlabelled/ and loose ones wait for a label), or a model that `ancr train` saved. Without DATA, the page shows
    the digits of scikit-learn. Everything you do is written to a journal beside the data before it is acknowledged.

    \b
    Example (the page is then at the address that is printed):
      ancr studio
      ancr studio photos --port 8800 --no-browser
    """
    with readable_errors():
        try:
            from ancr.studio.server import serve
        except ImportError as error:
            raise ImportError(f"the studio needs {error.name}: pip install 'ancr[web]'") from error
        from ancr.studio.openings import open_source

        serve(open_source(data, label, images, features), port, browser, click.echo)
