"""What a release needs: one version, types from a user's side, a page and an example for every public name."""

import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import ancr

ROOT = Path(__file__).parents[1]

USER = """
from ancr import ANCRClassifier, ANCRClassifierCV, ExplanationDisplay, compare, solve

clf = ANCRClassifier(alpha=1e-3).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
labels = clf.predict([[0.0, 1.0]])
solution = solve([[0.0, 1.0]], [[0.0, 1.0]], alpha=1e-3)
certified = solution.verify()
ANCRClassifierCV().fit([[0.0]], [0])
"""


def test_the_version_is_the_same_everywhere():
    assert f"version: {ancr.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version = {{{ancr.__version__}}}" in (ROOT / "docs" / "cite.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" in project["dynamic"]
    assert (ROOT / "ancr" / "py.typed").is_file()


WRONG = {
    "ANCRClassifier(alhpa=1e-3)": 'Unexpected keyword argument "alhpa"',
    "solution.no_such_name": 'has no attribute "no_such_name"',
    "from ancr import Nothing": 'has no attribute "Nothing"',
}


@pytest.mark.all
def test_types_help_a_user(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "right.py").write_text(USER)
    (tmp_path / "wrong.py").write_text(USER + "\n".join(WRONG))
    command = [sys.executable, "-m", "mypy", "--ignore-missing-imports", "--follow-imports=silent", "--config-file", ""]
    done = subprocess.run(
        [*command, "right.py", "wrong.py"], cwd=tmp_path, env=os.environ | {"MYPYPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    complaints = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert not any(line.startswith("right.py") for line in complaints), done.stdout
    assert len(complaints) == len(WRONG), done.stdout
    for expected, found in zip(WRONG.values(), complaints, strict=True):
        assert expected in found


def test_the_table_of_the_readme_is_the_one_that_was_measured():
    measured = (ROOT / "benchmarks" / "results" / "when_to_use.md").read_text(encoding="utf-8").strip()
    assert measured in (ROOT / "README.md").read_text(encoding="utf-8")
    assert measured.count("\n") >= 6


def listed():
    return re.findall(r"^   ([A-Za-z_.]+)$", (ROOT / "docs" / "api.rst").read_text(encoding="utf-8"), re.MULTILINE)


def test_every_public_name_is_in_the_reference():
    names = set(listed())
    assert set(ancr.__all__) - {"__version__"} <= names
    for module in ("distributed", "features"):
        public = importlib.import_module(f"ancr.{module}").__all__
        assert {f"{module}.{name}" for name in public if not name.endswith("Error")} <= names


@pytest.mark.parametrize("name", listed())
def test_every_name_of_the_reference_has_an_example(name):
    module, _, last = f"ancr.{name}".rpartition(".")
    assert "Examples\n" in getattr(importlib.import_module(module), last).__doc__


def test_there_are_at_least_fourteen_examples():
    examples = sorted((ROOT / "examples").rglob("plot_*.py"))
    assert len(examples) >= 14
    for path in examples:
        compile(path.read_text(encoding="utf-8"), path.name, "exec")


def test_links_that_lead_nowhere_are_found(tmp_path):
    from tests.links import broken_links

    (tmp_path / "a.html").write_text(
        '<a href="b.html#x">b</a> <a href="#here" id="here">a</a> <a href="https://x.y">x</a>'
    )
    (tmp_path / "b.html").write_text('<p id="x"></p>')
    assert broken_links(tmp_path) == []
    (tmp_path / "b.html").write_text('<a href="c.html">c</a>')
    assert broken_links(tmp_path) == ["a.html: b.html#x", "b.html: c.html"]


def test_workflows_are_yaml():
    yaml = pytest.importorskip("yaml")
    workflows = list((ROOT / ".github" / "workflows").glob("*.yml"))
    assert {path.stem for path in workflows} == {"tests", "docs", "publish"}
    for path in workflows:
        jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
        assert all("runs-on" in job and "steps" in job for job in jobs.values())


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_site_does_not_enter_the_repository():
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8") if (ROOT / ".gitignore").exists() else "docs/_build/"
    assert "docs/_build/" in ignored


def test_no_page_or_message_names_a_package_that_cannot_be_installed_yet():
    """Until there is a release, ``pip install 'ancr[web]'`` finds nothing; a clone is installed by ``-e '.[web]'``."""
    texts = [path for part in ("ancr", "docs", "examples", "benchmarks") for path in (ROOT / part).rglob("*.*")]
    texts += [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    built = {"_build", "auto_examples", "generated"}
    pages = [path for path in texts if path.suffix in (".py", ".md", ".rst", ".js") and not built & set(path.parts)]
    assert len(pages) > 200
    assert [path.name for path in pages if re.search(r"pip install ['\"]?ancr\[", path.read_text("utf-8"))] == []
