"""plimsoll._torch: the operators, the allocator of the ledger and what is bound beside them, loaded once.

It is built for one version of torch: the package has a folder `torch-VERSION` for each that it was built for.
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
    """Versions of torch that the package was built for, such as "2.13"."""
    return sorted(folder.name.removeprefix("torch-") for folder in _PACKAGE.glob("torch-*"))


def folder_of(torch_version: str) -> Path:
    """What was built for this version of torch. Errors: `MissingPackage`."""
    found = ".".join(torch_version.split(".")[:2])
    folder = _PACKAGE / f"torch-{found}"
    if not folder.is_dir():
        built = f"for torch {', '.join(versions())}" if versions() else "without torch"
        other = f'Install another torch (pip install "torch=={versions()[-1]}.*"), or build' if versions() else "Build"
        raise MissingPackage(
            f"torch {torch_version}, but plimsoll was built {built}. What needs no torch works: the command line but for "
            f"training, data sets and detection. {other} plimsoll from source with this one: "
            "pip install --force-reinstall --no-deps --no-cache-dir --no-binary plimsoll plimsoll"
        )
    return folder


def load() -> ModuleType:
    """Loads plimsoll._torch and returns it. From then on torch's CPU tensors are entered in the ledger.

    Errors: `MissingPackage` where torch cannot be imported, or is none that the package was built for.
    """
    if "plimsoll._torch" in sys.modules:
        return sys.modules["plimsoll._torch"]
    try:
        import torch
    except ImportError as error:
        raise MissingPackage(f"{error}; install it: pip install torch") from error
    from plimsoll import _core  # noqa: F401  the ledger, and what errors are translated to

    folder = folder_of(torch.__version__)
    files = [folder / f"_torch{suffix}" for suffix in EXTENSION_SUFFIXES if (folder / f"_torch{suffix}").exists()]
    if not files:
        raise MissingPackage(f"{folder} is of another Python; build plimsoll from source, or take Python 3.11")
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
