"""How large the pieces may be: parameters of a constructor, methods of a class, lines of a function and of a file."""

import ast
import io
import tokenize
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "ancr"
FACES = {"__init__", "__main__", "model_selection"}  # modules that may lie at the top
PARAMETERS, METHODS, BODY, FILE = 12, 25, 40, 500
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def is_compiled(path):
    """Whether a file holds compiled kernels: what a kernel calls stands in its file, however long that makes it."""
    return path.stem.endswith("_kernels")


@cache
def modules():
    """Every file of the package: its name, its tree, and the numbers of the lines that are code."""
    return [
        (path, path.relative_to(PACKAGE).as_posix(), ast.parse(text), code_lines(text))
        for path in sorted(PACKAGE.rglob("*.py"))
        for text in [path.read_text(encoding="utf-8")]
    ]


def code_lines(text):
    """Numbers of the lines that hold more than a comment."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {line for t in tokens if t.type not in NOT_CODE for line in range(t.start[0], t.end[0] + 1)}


def definitions(tree, kinds, prefix=""):
    """(dotted name, node) of every definition of these kinds, nested ones included."""
    for node in ast.iter_child_nodes(tree):
        name = f"{prefix}{node.name}." if isinstance(node, (ast.ClassDef, *FUNCTION)) else prefix
        if isinstance(node, kinds):
            yield name.removesuffix("."), node
        yield from definitions(node, kinds, name)


def body_lines(function, code):
    """Lines of code of a function's body; docstrings of the function and of those inside it do not count."""
    lines = set(range(function.body[0].lineno, function.end_lineno + 1)) & code
    for node in [function, *(inner for _, inner in definitions(function, (ast.ClassDef, *FUNCTION)))]:
        if ast.get_docstring(node, clean=False) is not None:
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def n_parameters(function):
    """Parameters of a function, self aside."""
    given = function.args
    return len([a for a in [*given.posonlyargs, *given.args, *given.kwonlyargs] if a.arg not in ("self", "cls")])


def is_field(node):
    """Whether a statement in the body of a dataclass declares a parameter of its constructor."""
    if not isinstance(node, ast.AnnAssign) or "ClassVar" in ast.unparse(node.annotation):
        return False
    return node.value is None or "init=False" not in ast.unparse(node.value)


def constructors():
    """(where, number of parameters) of every constructor, those that a dataclass writes included."""
    for _, name, tree, _ in modules():
        for inside, node in definitions(tree, ast.ClassDef):
            where = f"{name}: {inside}"
            if any("dataclass" in ast.unparse(d) for d in node.decorator_list):
                yield where, sum(map(is_field, node.body))
            yield from ((where, n_parameters(f)) for f in node.body if isinstance(f, FUNCTION) and f.name == "__init__")
        yield from (  # the same problem as a constructor takes, in one call
            (f"{name}: solve", n_parameters(node)) for inside, node in definitions(tree, FUNCTION) if inside == "solve"
        )


def methods():
    """(where, number of its own methods) of every class."""
    for _, name, tree, _ in modules():
        for inside, node in definitions(tree, ast.ClassDef):
            yield f"{name}: {inside}", len({f.name for f in node.body if isinstance(f, FUNCTION)})


def bodies():
    """(where, lines of code) of every function that is not compiled."""
    for path, name, tree, code in modules():
        if not is_compiled(path):
            yield from ((f"{name}: {inside}", body_lines(f, code)) for inside, f in definitions(tree, FUNCTION))


def files():
    """(name, lines) of every file but compiled kernels."""
    for path, name, _, _ in modules():
        if not is_compiled(path):
            yield name, len(path.read_text(encoding="utf-8").splitlines())


def names():
    """(name, how many modules have it)."""
    yield from Counter(path.stem for path, *_ in modules() if not path.stem.startswith("__")).items()


def loose():
    """(name, 1) of every module that lies at the top and is no public face."""
    yield from ((path.name, 1) for path in PACKAGE.glob("*.py") if path.stem not in FACES)


MEASURES = {
    "parameters of a constructor": (constructors, PARAMETERS),
    "methods of a class": (methods, METHODS),
    "lines of a function's body": (bodies, BODY),
    "lines of a file": (files, FILE),
    "modules of one name": (names, 1),
    "loose modules at the top": (loose, 0),
}


@pytest.mark.parametrize("what", MEASURES)
def test_nothing_is_larger_than(what):
    measure, limit = MEASURES[what]
    assert {where: size for where, size in measure() if size > limit} == {}
