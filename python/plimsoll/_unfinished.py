"""Frees the tensors that torch keeps after a backward pass ended with an error."""

from __future__ import annotations

import sys


def drop_unfinished_backward() -> None:
    """Frees the tensors of operations that this thread's last backward pass did not reach.

    torch's engine keeps them in a queue per thread (torch/csrc/autograd/engine.cpp) and only drops them during the
    thread's next backward pass. This function runs a backward pass on a tensor without memory.
    """
    if (torch := sys.modules.get("torch")) is None:
        return
    with torch.inference_mode(False), torch.enable_grad():
        leaf = torch.zeros((), device="meta", requires_grad=True)
        torch.autograd.grad(leaf.clone(), leaf)
