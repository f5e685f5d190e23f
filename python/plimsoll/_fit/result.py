"""What `plimsoll.fit` gives back."""

from __future__ import annotations

from dataclasses import dataclass, field

from plimsoll import _torch


@dataclass
class Fit:
    """What became of a run. `print` shows its epochs and its memory."""

    start_epoch: int = 0  #: the first epoch that ran
    losses: list[float] = field(default_factory=list)  #: of each epoch, the mean over its targets
    seconds: list[float] = field(default_factory=list)  #: of each epoch
    couples: list[str] = field(default_factory=list)  #: modules that look at all graphs of a block, with couples="allow"
    batch_norm: list[str] = field(default_factory=list)  #: modules of batch norm with the statistics of the whole batch
    planned: int = 0  #: bytes of the process at its peak, as planned
    smallest_budget: int = 0  #: bytes, as planned, of these epochs with this seed, in any process like this
    smallest_budget_any_seed: int = 0  #: bytes that do for every seed and any number of epochs: of the largest block
    #: that graphs of this data set can make up; 0 with a device
    peak: int = 0  #: bytes that the ledger held at once, as measured
    peak_process: int = 0  #: anonymous bytes of the process, as measured
    workers: int = 1  #: blocks that ran at once
    reruns: int = 0  #: blocks that were refused memory once and ran again
    device_planned: int = 0  #: bytes of the GPU, context and libraries among them, as planned
    device_smallest_budget: int = 0  #: bytes, as planned, of these epochs with this seed
    device_peak: int = 0  #: bytes of the GPU, as measured: context, libraries, and the most that tensors had

    def __str__(self) -> str:
        size = _torch.format_bytes
        rows = [f"{'epoch':>5}  {'loss':>10}  {'seconds':>8}"]
        rows += [
            f"{epoch:>5}  {loss:>10.4g}  {seconds:>8.2f}"
            for epoch, (loss, seconds) in enumerate(zip(self.losses, self.seconds), self.start_epoch + 1)
        ]
        planned, measured, minimum = map(size, (self.planned, self.peak_process, self.smallest_budget))
        return "\n".join([*rows, f"memory of the process: planned {planned}, measured {measured}, smallest budget {minimum}"])
