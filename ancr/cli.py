"""The command line: ``ancr …``, the same as ``python -m ancr …``."""

import click

from ancr import __version__
from ancr.cli_data import datasets, extract, fetch


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ancr")
def main() -> None:
    """Representation-based classification: reproduce, compare, explain."""


for command in (datasets, extract, fetch):
    main.add_command(command)
