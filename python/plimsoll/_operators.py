"""Loads plimsoll._torch once: torch's operators, the ledger's allocator and the other bindings that need torch.

The library is built for one version of torch. The package has a folder `torch-VERSION` for each version it was built
for.
"""

from __future__ import annotations

import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from plimsoll.errors import MissingPackage

_PACKAGE = Path(__file__).parent


def versions() -> list[str]:
    """Returns the versions of torch that the package was built for, such as "2.13"."""
    return sorted(folder.name.removeprefix("torch-") for folder in _PACKAGE.glob("torch-*"))


def folder_of(torch_version: str) -> Path:
    """Returns the folder with the files built for this version of torch. Errors: `MissingPackage`."""
    found = ".".join(torch_version.split(".")[:2])
    folder = _PACKAGE / f"torch-{found}"
    if not folder.is_dir():
        built = f"for torch {', '.join(versions())}" if versions() else "without torch"
        other = f'Install another torch (pip install "torch=={versions()[-1]}.*"), or build' if versions() else "Build"
        raise MissingPackage(
            f"torch {torch_version}, but plimsoll was built {built}. Data sets, detection and the command line "
            f"work, except for training. {other} plimsoll from source with this one: "
            "pip install --force-reinstall --no-deps --no-cache-dir --no-binary plimsoll plimsoll"
        )
    return folder


def load() -> ModuleType:
    """Loads plimsoll._torch and returns it. From then on the ledger counts torch's CPU tensors.

    Errors: `MissingPackage` if torch cannot be imported, or if the package was not built for its version.
    """
    if "plimsoll._torch" in sys.modules:
        return sys.modules["plimsoll._torch"]
    try:
        import torch
    except ImportError as error:
        raise MissingPackage(f"{error}; install it: pip install torch") from error
    from plimsoll import _core  # noqa: F401  This loads the ledger and registers the error classes.

    folder = folder_of(torch.__version__)
    files = [folder / f"_torch{suffix}" for suffix in EXTENSION_SUFFIXES if (folder / f"_torch{suffix}").exists()]
    if not files:
        raise MissingPackage(f"{folder} was built for another Python; build plimsoll from source, or use Python 3.11")
    spec = spec_from_file_location("plimsoll._torch", files[0])
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["plimsoll._torch"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["plimsoll._torch"]
        raise
    return module
