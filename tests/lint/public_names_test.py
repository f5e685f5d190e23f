"""The stub of the package is the one place that names what is public: `__init__.py` reads it, a line a name."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "plimsoll"


def test_a_line_of_the_stub_has_one_name_and_no_name_comes_twice():
    nodes = ast.parse((PACKAGE / "__init__.pyi").read_text()).body
    for node in nodes:
        # `as` makes a name public for type checkers, also where it repeats the name before it.
        assert isinstance(node, ast.ImportFrom) and len(node.names) == 1 and node.names[0].asname, ast.unparse(node)
        assert node.lineno == node.end_lineno, ast.unparse(node)
    names = [node.names[0].asname for node in nodes]
    assert len(names) == len({*names})


def test_the_source_of_the_package_repeats_no_name():
    stub, source = (ast.parse((PACKAGE / f"__init__.{kind}").read_text()) for kind in ("pyi", "py"))
    public = {node.names[0].asname for node in stub.body} - {"open"}  # which a program that imports * does not get
    assert {node.value for node in ast.walk(source) if isinstance(node, ast.Constant)} & public == set()
