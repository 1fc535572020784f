"""The oldest dependencies that ``pyproject.toml`` admits, as constraints for pip: ``python -m tests.oldest``.

The floors are declared there and nowhere else; ``make test-oldest`` installs exactly them and runs the tests.
"""

import re
import tomllib
from pathlib import Path

# Optional packages whose newest release refuses the oldest NumPy without saying so to pip.
ALSO = ("pyarrow",)
PYPROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def oldest(requirements):
    """Each requirement with its floor as the only version: ``numpy>=1.26`` becomes ``numpy==1.26``."""
    floors = [re.fullmatch(r"([\w.-]+)>=([\w.]+)", text) for text in requirements]
    if missing := [text for text, floor in zip(requirements, floors, strict=True) if floor is None]:
        raise ValueError(f"{PYPROJECT.name}: expected NAME>=VERSION, got {', '.join(missing)}")
    return [f"{floor[1]}=={floor[2]}" for floor in floors]


def requirements():
    """The core dependencies, and those of the optional ones that have to be old too."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    optional = [text for extra in project["optional-dependencies"].values() for text in extra]
    return [*project["dependencies"], *(text for text in optional if text.startswith(ALSO))]


if __name__ == "__main__":
    print("\n".join(oldest(requirements())))
