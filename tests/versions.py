"""The tests under several versions of Python: ``python -m tests.versions 3.11 3.12 3.13 3.14 -- -k solve``.

Each version that is installed gets an environment of its own, ``.venv-3.12`` for instance; others are skipped with a
line that says so. Arguments after ``--`` are for pytest.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTEST = ("-n", "auto", "--dist", "worksteal", "-m", "not all")


def main(arguments):
    """Test the versions, and return 1 if any failed."""
    versions, pytest = _split(arguments)
    results = {version: _test(version, pytest) for version in versions}
    for version, result in results.items():
        print(f"Python {version}: {result}")
    return int("failed" in results.values())


def find_interpreter(version):
    """A Python of this version that runs, from PATH or from pyenv; None if there is none."""
    installed = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    of_pyenv = sorted(installed.glob(f"{version}.*/bin/python"), key=_numbers, reverse=True)
    return next((str(path) for path in (f"python{version}", *of_pyenv) if _runs(path, version)), None)


def _runs(path, version):
    """A shim of pyenv is on PATH even where its version is not installed or not chosen."""
    try:
        shown = subprocess.run([path, "--version"], capture_output=True, text=True)
    except OSError:
        return False
    return shown.returncode == 0 and shown.stdout.startswith(f"Python {version}.")


def _test(version, pytest):
    interpreter = find_interpreter(version)
    if interpreter is None:
        return "not installed, skipped"
    python = ROOT / f".venv-{version}" / "bin" / "python"
    commands = [
        [interpreter, "-m", "venv", python.parent.parent],
        [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "-e", ".[test]"],
        [python, "-m", "pytest", *PYTEST, *pytest],
    ]
    done = all(subprocess.run(command, cwd=ROOT).returncode == 0 for command in commands)
    return "passed" if done else "failed"


def _split(arguments):
    place = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:place], arguments[place + 1 :]


def _numbers(path):
    return [int(part) for part in path.parent.parent.name.split(".") if part.isdigit()]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
