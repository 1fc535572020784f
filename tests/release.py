"""Build wheel and sdist and try them in clean environments: ``python -m tests.release 3.11 3.12 3.13 3.14``.

For each version of Python that is found: the wheel is installed into an empty environment, where README's lines run and
the command line reads a CSV; then the sdist is unpacked and a slice of its own tests runs against the package installed
from it. Versions that are not installed are skipped with a line that says so.
"""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.versions import find_interpreter

ROOT = Path(__file__).resolve().parent.parent
MEGABYTE = 1_000_000
SLICE = ("tests/test_sets.py", "tests/test_rules.py", "tests/test_docs.py", "tests/test_release.py")


def main(versions):
    """Build, check and try; returns 1 if anything failed."""
    wheel, sdist = build(ROOT / "dist")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e3:.0f} kB; {sdist.name}: {sdist.stat().st_size / 1e3:.0f} kB")
    if wheel.stat().st_size > MEGABYTE:
        print("the wheel is larger than 1 MB")
        return 1
    results = {version: _try(version, wheel, sdist) for version in versions}
    for version, result in results.items():
        print(f"Python {version}: {result}")
    return int("failed" in results.values() or not any(result == "passed" for result in results.values()))


def build(folder):
    """``(wheel, sdist)``, built anew and checked by twine."""
    for old in folder.glob("ancr-*"):
        old.unlink()
    _run([sys.executable, "-m", "build", "--outdir", folder, ROOT])
    _run([sys.executable, "-m", "twine", "check", "--strict", *folder.glob("ancr-*")])
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


def _try(version, wheel, sdist):
    interpreter = find_interpreter(version)
    if interpreter is None:
        return "not installed, skipped"
    with tempfile.TemporaryDirectory() as scratch:
        try:
            _try_wheel(interpreter, wheel, Path(scratch))
            _try_sdist(interpreter, sdist, Path(scratch))
        except subprocess.CalledProcessError as error:
            print(f"Python {version}: {' '.join(map(str, error.cmd))} failed")
            return "failed"
    return "passed"


def _try_wheel(interpreter, wheel, scratch):
    """README's lines and a CSV, with nothing installed but the wheel and what it asks for."""
    python = _environment(interpreter, scratch / "wheel", wheel)
    (scratch / "lines.py").write_text("\n".join(readme_lines()), encoding="utf-8")
    _run([python, scratch / "lines.py"], cwd=scratch)
    rows = "".join(f"{i % 7},{(3 * i) % 5},{'ab'[i % 2]}\n" for i in range(40))
    (scratch / "tiny.csv").write_text("x,y,kind\n" + rows, encoding="utf-8")
    _run([python, "-m", "ancr", "train", "tiny.csv", "--label", "kind", "-o", "model.npz"], cwd=scratch)
    _run([python, "-m", "ancr", "predict", "model.npz", "tiny.csv", "-o", "answers.csv"], cwd=scratch)


def _try_sdist(interpreter, sdist, scratch):
    """A slice of the tests, from the sdist alone."""
    with tarfile.open(sdist) as archive:
        archive.extractall(scratch, filter="data")
    (source,) = scratch.glob("ancr-*")
    python = _environment(interpreter, scratch / "sdist", f"{source}[test]")
    _run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not all", *SLICE], cwd=source)


def readme_lines():
    """The Python blocks of README."""
    import re

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


def _environment(interpreter, folder, package):
    _run([interpreter, "-m", "venv", folder])
    python = folder / "bin" / "python"
    _run([python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", package])
    return python


def _run(command, **options):
    subprocess.run(list(map(str, command)), check=True, **options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
