"""The command line: ``ancr …``, the same as ``python -m ancr …``."""

from typing import Any

import click

from ancr import __version__
from ancr.cli.labels import audit, next_
from ancr.cli.local import datasets, extract, fetch, studio, warmup
from ancr.cli.models import predict, serve, train
from ancr.cli.options import spell_out_what_the_terminal_lacks
from ancr.cli.runs import compare, reproduce


class _Commands(click.Group):
    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command; its output reaches every terminal."""
        spell_out_what_the_terminal_lacks()
        return super().main(*args, **kwargs)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ancr")
def main() -> None:
    """Representation-based classification: every method of the family, exact and reproducible.

    \b
    Example:
      ancr reproduce digits --draws 1 --methods CRC,ANCR --no-figures --output digits-results
    """


for command in (reproduce, compare, train, predict, serve, studio, audit, next_, datasets, extract, fetch, warmup):
    main.add_command(command)
