"""The map in docs/architecture.md holds: layers, the files that predict passes through, axes that nobody tests for."""

import ast
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

import ancr
from ancr import ANCRClassifier
from ancr._core.compiling import compiling_now

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "ancr"
# The files that define the axes, and where parameters are validated.
AXES = {
    "axes/sets.py", "axes/rules.py", "axes/quadratics.py", "axes/spaces.py", "solvers/contract.py", "solvers/choice.py"
}  # fmt: skip


def test_imports_point_downwards_and_never_in_circles():
    run = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as main; main()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout
    assert "2 kept, 0 broken" in run.stdout


def files_of(predict):
    """Files of the package in which a call runs a function, compiled ones included, in the order of their first use."""
    seen = []

    def note(frame, event, argument):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            name = path.relative_to(PACKAGE).as_posix()
            seen.extend([name] if name not in seen else [])

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        predict()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return seen


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="numba reports calls of compiled functions up to Python 3.11")
@pytest.mark.parametrize(
    ("name", "clf"),
    [("exact", ANCRClassifier()), ("admm", ANCRClassifier(solver="admm", rho=1e-2, max_iter=5, code="c"))],
)
def test_predict_passes_through_the_files_that_the_page_lists(name, clf, monkeypatch):
    X, y = load_digits(return_X_y=True)
    with compiling_now():  # nothing is left to compile for those that are fitted after it
        ANCRClassifier().fit(X[:1100], y[:1100]).predict(X[1100:1200])
    clf.fit(X[:1100], y[:1100]).predict(X[1100:1200])
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\d+\. `(.*?)`", page.split(f"<!-- {name} -->")[1].split("\n\n")[0], flags=re.MULTILINE)
    assert len(listed) <= 8
    monkeypatch.setenv("ANCR_NUM_THREADS", "1")
    with threadpool_limits(1):
        assert files_of(lambda: clf.predict(X[1100:1200])) == listed


def sources():
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        yield name, path.read_text(encoding="utf-8")


SOLVER = r"Solver|ADMM|ClosedForm|HostWorkingSet|DeviceWorkingSet|Relaxed\b|InteriorPoint|SparseAugmented"
KINDS = rf"{SOLVER}|\bSet\b|Simplex|Affine|NonNegative|Free\b|\bRule\b|Residual|LabelScore|Probabilistic|Quadratic"
FORBIDDEN = {
    "a type of an axis": rf"isinstance\([^)]*({KINDS})",
    "an attribute of an axis object": r"(hasattr|getattr)\([^,()]*(solver|constraint|rule|quadratic)_?\b",
}
NAMED = {"constraint", "rule", "quadratic", "solver", "kernel", "space"}
# A line of stored results says in words what was run: there is no object to ask.
STILL_ASKING = {"paper/findings.py"}


def axis_of(node):
    """The axis that an expression holds: constraint, self.rule_.name, settings["solver"], options.get("kernel")."""
    match node:
        case ast.Attribute(value=value, attr="name"):
            return axis_of(value)
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name.removesuffix("_") if name.removesuffix("_") in NAMED else None
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(value=str(name)), *_]):
            return name if name in NAMED else None


def is_text(node):
    """Whether an expression is a name written out, or several."""
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts)


def comparisons_with_a_name(text):
    """Expressions that compare an axis with its name, such as settings["constraint"] == "simplex"."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(axis_of, sides)) and any(map(is_text, sides)):
                yield ast.unparse(node)


def test_nobody_asks_for_the_name_of_an_axis():
    # No behaviour shows it: an answer is the same whether an axis is asked for its name or for what it does.
    found = {name: list(comparisons_with_a_name(text)) for name, text in sources() if name not in AXES}
    found = {name: asked for name, asked in found.items() if asked}
    assert {name: asked for name, asked in found.items() if name not in STILL_ASKING} == {}
    assert STILL_ASKING - set(found) == set(), "no longer asking: remove from STILL_ASKING"


@pytest.mark.parametrize(
    "asks",
    ['constraint == "simplex"', 'self.rule_.name in ("res", "reg")', 's["constraint"] != "free"', '"l1" == quadratic'],
)
def test_such_a_question_is_seen(asks):
    assert list(comparisons_with_a_name(f"answer = 1 if {asks} else 2"))


@pytest.mark.parametrize("what", sorted(FORBIDDEN))
def test_nobody_asks_for(what):
    found = [
        f"{name}: {match[0]}"
        for name, text in sources()
        if name not in AXES
        for match in re.finditer(FORBIDDEN[what], text)
    ]
    assert found == []


def test_nothing_leaks_from_the_namespace():
    assert dir(ancr) == sorted(ancr.__all__)
    code = "import ancr; print([name for name in vars(ancr) if not name.startswith('_')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_only_solvers_that_declare_it_read_coordinates():
    files = dict(sources())
    described = {"axes/rules.py", "axes/quadratics.py", "axes/sets.py", "axes/problem.py"}
    for name in described | {name for name in files if name.startswith("certificate/")}:
        assert ".atoms" not in files[name].replace("dictionary.atoms", ""), name
    for name, text in files.items():
        text = text.replace("dictionary.atoms", "")
        if name.startswith("solvers/") and "(Solver)" in text and ".atoms" in text:
            assert "on_coordinates = True" in text, name
        if name.startswith("solvers/") and "(Solver)" in text and ".coordinates" in text:
            assert "on_coordinates = True" in text or "has_coordinates" in text, name
