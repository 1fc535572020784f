"""The command line, run inside the process of the tests."""

from inspect import signature

from click.testing import CliRunner

from ancr.cli import main

# Click 8.1 mixes the two streams unless told not to; later releases keep both and have no such option.
_APART = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}


def invoke(arguments):
    """Click's result of ``ancr`` with these arguments, standard output and errors apart."""
    return CliRunner(**_APART).invoke(main, list(map(str, arguments)))
