"""Plimsoll: graph neural networks within a memory budget.

The package opens and makes data sets (`open`, `ingest`, `simulate`, `windows`, `verify`) and exchanges them with
PyTorch Geometric (`from_pyg`, `GraphSet.to_pyg`, `DataLoader`). It needs NumPy. It imports torch and PyTorch
Geometric only for calls that need them, and loads each of its own modules on first use. `python -m plimsoll` is the
command line. docs/python/ has one page per task.
"""

TYPE_CHECKING = False  # Importing typing would account for most of the package's import time.
if TYPE_CHECKING:
    from typing import Any


def _read_stub() -> "dict[str, tuple[str, str]]":
    """Reads the public names from `__init__.pyi` and returns the module of each, and its name in that module."""
    import io  # The name `open` belongs to this module.

    with io.open(f"{__path__[0]}/__init__.pyi", encoding="utf-8") as stub:
        lines = [line.split() for line in stub if line.startswith("from ")]
    return {public: (module, name) for _, module, _, name, _, public in lines}


def _public_names() -> "dict[str, tuple[str, str]]":
    """Returns what `_read_stub` reads. Reads the stub on the first call only, so importing the package reads nothing."""
    if "_public" not in globals():
        globals()["_public"] = _read_stub()
    return globals()["_public"]  # type: ignore[no-any-return]


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name == "__all__":
        value: Any = sorted(_public_names().keys() - {"open"})  # `import *` leaves the built-in `open` alone.
    elif name == "_torch":
        from plimsoll import _operators

        value = _operators.load()
    elif name in _public_names():
        module, its_name = _public_names()[name]
        value = import_module(f"plimsoll.{name}") if module == "plimsoll" else getattr(import_module(module), its_name)
    elif name.startswith("__"):
        raise AttributeError(f"module 'plimsoll' has no attribute {name!r}")
    else:
        try:  # The name may be a module of the package, such as plimsoll.nn.
            return import_module(f"plimsoll.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"plimsoll.{name}":
                raise
            raise AttributeError(f"module 'plimsoll' has no attribute {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_public_names(), "__all__"} - {"_public", "_torch"})
