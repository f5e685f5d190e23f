"""What torch keeps of a backward pass that an error ended."""

from __future__ import annotations

import sys


def drop_unfinished_backward() -> None:
    """Frees the tensors of operations that were still to come in this thread's last backward pass.

    They wait in the queue that torch's engine has for the thread (torch/csrc/autograd/engine.cpp), where only its next
    backward pass finds that they are of no use. So one is made, of a tensor without memory.
    """
    if (torch := sys.modules.get("torch")) is None:
        return
    with torch.inference_mode(False), torch.enable_grad():
        leaf = torch.zeros((), device="meta", requires_grad=True)
        torch.autograd.grad(leaf.clone(), leaf)
