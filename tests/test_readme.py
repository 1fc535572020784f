"""The README's Python code runs as printed and gives the printed output; docstring examples hold."""

import contextlib
import doctest
import io
import re
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
MODULES = (
    "ancr.axes.sets",
    "ancr.solvers",
    "ancr.solvers.contract",
    "ancr.certificate.solution",
    "ancr.dictionary.atoms",
    "ancr.axes.rules",
    "ancr.axes.quadratics",
    "ancr.dictionary.mercer",
    "ancr.classifiers.displays",
    "ancr.classifiers.warmup",
    "ancr._core.thumbnails",
    "ancr._core.spreadsheet",
    "ancr.samples.model_file",
    "ancr.datasets.pixel_sets",
    "ancr.datasets.own_data",
    "ancr.samples.column_plan",
    "ancr.samples.sample_set",
    "ancr.samples.table_files",
    "ancr.datasets.bunches",
    "ancr._core.locations",
    "ancr.datasets.registry",
    "ancr.distributed.sharded",
    "ancr.comparison.run",
    "ancr.comparison.result",
    "ancr.comparison.significance",
    "ancr._core.messages",
    "ancr._core.jsonl",
    "ancr.classifiers.representation",
    "ancr.classifiers.explanation",
    "ancr.classifiers.presets",
    "ancr.classifiers.rivals",
    "ancr.features.eigenfaces",
    "ancr.features.hog",
    "ancr.studio.claims",
    "ancr.studio.identities",
    "ancr.studio.journal",
    "ancr.studio.labelled",
    "ancr.studio.leases",
    "ancr.studio.state",
    "ancr.studio.worker",
    "ancr.selection.cross_validation",
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
