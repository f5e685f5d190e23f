"""Modules of the Python package import each other in one direction, also those imports that come late or are for types alone.

(Modules of C++: check_modules_test.py.)
"""

import ast
import graphlib
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "plimsoll"


def modules_of(package):
    return {
        ".".join([package.name, *path.relative_to(package).with_suffix("").parts]).removesuffix(".__init__"): path
        for path in package.rglob("*.py")
    }


def imported(path, modules, package):
    """The modules of the package that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules else node.module for name in names]
        else:
            assert not isinstance(node, ast.ImportFrom), f"{path}: relative import; name the module from {package}"
            continue
        # The package itself imports everything, and is imported by whoever imports a module of it.
        yield from (name for name in names if name in modules and name != package)


def cycle_of(package):
    """The modules of a cycle, in order; none where there is none."""
    modules = modules_of(package)
    graph = {name: {*imported(path, modules, package.name)} for name, path in modules.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_the_package_has_no_cycle():
    assert cycle_of(PACKAGE) == []


def test_a_late_import_makes_a_cycle(tmp_path):
    package = tmp_path / "boat"
    package.mkdir()
    (package / "__init__.py").write_text("from boat.hull import Hull\n")
    (package / "hull.py").write_text("class Hull:\n    def sail(self):\n        from boat.sail import Sail\n        return Sail(self)\n")
    (package / "sail.py").write_text("class Sail: pass\n")
    assert cycle_of(package) == []
    (package / "sail.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from boat.hull import Hull\nclass Sail: pass\n"
    )
    assert {*cycle_of(package)} == {"boat.hull", "boat.sail"}
