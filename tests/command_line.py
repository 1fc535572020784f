"""The command line, run inside the process of the tests."""

from inspect import signature
from types import SimpleNamespace

from click.testing import CliRunner

from ancr.cli import main

# Click 8.1 mixes the two streams unless told not to; later releases keep both and have no such option.
_APART = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}


def invoke(arguments):
    """What ``ancr`` with these arguments printed and how it ended; ``output`` is both streams, one after the other."""
    result = CliRunner(**_APART).invoke(main, list(map(str, arguments)))
    streams = {"stdout": result.stdout, "stderr": result.stderr, "output": result.stdout + result.stderr}
    return SimpleNamespace(exit_code=result.exit_code, exception=result.exception, **streams)
