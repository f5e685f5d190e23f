"""Plimsoll: graph neural networks inside a stated memory budget.

This package has the data sets (`open`, `ingest`, `simulate`, `windows`, `verify`) and the way from and to PyTorch
Geometric (`from_pyg`, `GraphSet.to_pyg`, `DataLoader`). It needs NumPy; torch and PyTorch Geometric are imported where
they are asked for, and all of this package on first use. `python -m plimsoll` is the command line. docs/python/ has a
page a task.
"""

TYPE_CHECKING = False  # typing itself would take most of the import's time
if TYPE_CHECKING:
    from typing import Any


def _read_stub() -> "dict[str, tuple[str, str]]":
    """Reads the public names from `__init__.pyi`: the module of each, and its name there."""
    import io  # `open` is a name of this module

    with io.open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as stub:
        lines = [line.split() for line in stub if line.startswith("from ")]
    return {public: (module, name) for _, module, _, name, _, public in lines}


def _public_names() -> "dict[str, tuple[str, str]]":
    """Returns what `_read_stub` reads. The first call reads; an import of the package alone does not."""
    if "_public" not in globals():
        globals()["_public"] = _read_stub()
    return globals()["_public"]  # type: ignore[no-any-return]


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name == "__all__":
        value: Any = sorted(_public_names().keys() - {"open"})  # a program that imports * keeps its own `open`
    elif name == "_torch":
        from plimsoll import _operators

        value = _operators.load()
    elif name in _public_names():
        module, its_name = _public_names()[name]
        value = import_module(f"plimsoll.{name}") if module == "plimsoll" else getattr(import_module(module), its_name)
    elif name.startswith("__"):
        raise AttributeError(f"module 'plimsoll' has no attribute {name!r}")
    else:
        try:  # a module of the package, such as plimsoll.nn
            return import_module(f"plimsoll.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"plimsoll.{name}":
                raise
            raise AttributeError(f"module 'plimsoll' has no attribute {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_public_names(), "__all__"} - {"_public", "_torch"})
