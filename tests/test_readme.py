"""The README's Python code runs as printed and gives the printed output; docstring examples hold."""

import contextlib
import doctest
import io
import re
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

import ancr

README = Path(__file__).parents[1] / "README.md"
PACKAGE = Path(ancr.__file__).parent
MODULES = sorted(
    ".".join(("ancr", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


def test_readme_runs_as_printed():
    blocks = re.findall(r"```(python)?\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    pairs = [(code, printed) for (kind, code), (_, printed) in pairwise(blocks) if kind]
    assert len(pairs) == 2
    namespace = {}
    for code, printed in pairs:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, namespace)
        assert out.getvalue() == printed


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = import_module(name)
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in finder.find(module, name):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
