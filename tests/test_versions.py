"""Floors and versions that ``make test-oldest`` and ``make test-versions`` read."""

import sys

import pytest

from tests.oldest import oldest
from tests.versions import find_interpreter


def test_floors_become_the_only_version():
    assert oldest(["numpy>=1.26", "array-api-compat>=1.11"]) == ["numpy==1.26", "array-api-compat==1.11"]


def test_a_requirement_without_a_floor_is_refused():
    with pytest.raises(ValueError, match=r"expected NAME>=VERSION, got numpy<3"):
        oldest(["numpy<3"])


def test_an_interpreter_that_does_not_run_is_none(tmp_path, monkeypatch):
    shim = tmp_path / "python3.99"
    shim.write_text("#!/bin/sh\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    assert find_interpreter("3.99") is None


def test_pyenv_has_versions_that_are_not_on_path(tmp_path, monkeypatch):
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    place = tmp_path / "versions" / f"{version}.1" / "bin" / "python"
    place.parent.mkdir(parents=True)
    place.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    place.chmod(0o755)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_interpreter(version) == str(place)
