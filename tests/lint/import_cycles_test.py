"""Modules and folders of the Python package import each other in one direction. Imports count wherever they are: inside functions,
for types alone, and in stubs, such as that of the package itself. (Modules of C++: check_modules_test.py.)
"""

import ast
import graphlib
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "plimsoll"


def files_of(package):
    """The files of each module: a source, a stub, or both."""
    files = defaultdict(list)
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.pyi")]):
        name = ".".join([package.name, *path.relative_to(package).with_suffix("").parts])
        files[name.removesuffix(".__init__")].append(path)
    return files


def imported(path, modules):
    """The modules of the package that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import; name the module from the package on"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules else node.module for name in names]
        else:
            continue
        yield from (name for name in names if name in modules)


def imports_of(package):
    files = files_of(package)
    return {name: {other for path in paths for other in imported(path, files)} for name, paths in files.items()}


def folder_of(module):
    """The folder next to the package's own modules that a module is in; for one of these, itself."""
    return ".".join(module.split(".")[:2])


def imports_of_folders(package):
    folders = defaultdict(set)
    for name, others in imports_of(package).items():
        folders[folder_of(name)] |= {folder_of(other) for other in others} - {folder_of(name)}
    return folders


def cycle_of(imports):
    """The modules of a cycle, in order; none where there is none."""
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_the_package_has_no_cycle_of_modules():
    assert cycle_of(imports_of(PACKAGE)) == []


def test_the_package_has_no_cycle_of_folders():
    assert cycle_of(imports_of_folders(PACKAGE)) == []


def test_the_engine_knows_no_can():
    folders = imports_of_folders(PACKAGE)
    knowing = {name for name, others in folders.items() if "plimsoll.can" in others}
    assert knowing & {f"plimsoll.{folder}" for folder in ("data", "loaders", "_fit", "nn", "sync")} == set()


def written(folder, **sources):
    for name, source in sources.items():
        path = folder / f"{name.replace('__in__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    return folder


def test_a_late_import_makes_a_cycle(tmp_path):
    boat = written(
        tmp_path / "boat", __init__="def __getattr__(name):\n    from boat.hull import Hull\n    return Hull\n",
        hull="class Hull:\n    def sail(self):\n        from boat.sail import Sail\n        return Sail(self)\n",
        sail="class Sail: pass\n",
    )  # fmt: skip
    assert cycle_of(imports_of(boat)) == []
    written(boat, sail="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from boat.hull import Hull\nclass Sail: pass\n")
    assert {*cycle_of(imports_of(boat))} == {"boat.hull", "boat.sail"}
    for name in ("import boat\n", "from boat import Hull\n"):  # the package itself imports the hull
        written(boat, sail=f"def sail():\n    {name}")
        assert {*cycle_of(imports_of(boat))} == {"boat", "boat.hull", "boat.sail"}
    written(boat, sail="")
    (boat / "hull.pyi").write_text("from boat import Hull as Hull\n")
    assert {*cycle_of(imports_of(boat))} == {"boat", "boat.hull"}


def test_folders_make_a_cycle_though_their_modules_make_none(tmp_path):
    boat = written(
        tmp_path / "boat", __init__="", deck__in__mast="", deck__in__rail="from boat.hold.cargo import Cargo\n",
        hold__in__cargo="", hold__in__crane="def lift():\n    from boat.deck import mast\n",
    )  # fmt: skip
    assert cycle_of(imports_of(boat)) == []
    assert {*cycle_of(imports_of_folders(boat))} == {"boat.deck", "boat.hold"}
