"""plimsoll._torch: the operators, the allocator of the ledger and what is bound beside them, loaded once."""

from __future__ import annotations

from plimsoll import _core
from plimsoll.errors import MissingPackage


def load() -> None:
    """Loads plimsoll._torch. From then on torch's CPU tensors are entered in the ledger.

    Errors: `MissingPackage` where torch cannot be imported, or is another than the package was built with.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingPackage(f"{error}; install it: pip install torch") from error
    found, built = ".".join(torch.__version__.split(".")[:2]), _core.torch_version
    if found != built:
        raise MissingPackage(
            f"torch {torch.__version__}, but plimsoll was built "
            + (f"with torch {built}" if built else "without torch")
            + "; build it again: pip install --force-reinstall --no-deps --no-cache-dir plimsoll"
        )
    from plimsoll import _torch  # noqa: F401
