"""The ranks that share a call, if torch.distributed is initialised. See docs/ranks.md."""

from __future__ import annotations

import torch
import torch.distributed as dist

from plimsoll.errors import UsageError


def ranks() -> int:
    """Returns the number of processes that share a call; 1 if torch.distributed is not initialised."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def is_first_rank() -> bool:
    """Returns whether this process writes the outputs that the ranks share."""
    return ranks() == 1 or dist.get_rank() == 0


def group_name() -> str:
    """Returns the name of the default process group; "" for one process. Errors: `UsageError` for a group without gloo."""
    if ranks() == 1:
        return ""
    group = dist.group.WORLD
    assert group is not None
    try:
        backend = group._get_backend(torch.device("cpu")).name()
    except RuntimeError:
        backend = "none"
    if backend != "gloo":
        raise UsageError(f"the default process group has the backend {backend!r} for the CPU; expected 'gloo'")
    return str(group.group_name)
