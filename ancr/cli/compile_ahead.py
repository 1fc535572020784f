"""``ancr warmup``: compile the kernels once, ahead of the first call."""

import click

from ancr.cli.options import readable_errors


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
        from ancr._core.compiling import be_silent
        from ancr.classifiers.warmup import warm_up

        be_silent()
        dtypes = ("float64", "float32") if single else ("float64",)
        total = warm_up(lambda name, seconds: click.echo(f"{seconds:6.1f} s  {name}"), dtypes)
    click.echo(f"{total:6.1f} s  in all; the next start of Python reads this from the cache")
