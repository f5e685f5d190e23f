"""The report of `plimsoll.fit`."""

from __future__ import annotations

from dataclasses import dataclass, field

from plimsoll import _torch


@dataclass
class Fit:
    """The report of a run. `print` shows its epochs and its memory."""

    start_epoch: int = 0  #: The first epoch that ran.
    losses: list[float] = field(default_factory=list)  #: Loss of each epoch, the mean over its targets.
    seconds: list[float] = field(default_factory=list)  #: Seconds of each epoch.
    couples: list[str] = field(default_factory=list)  #: Modules that depend on all graphs of a block, with couples="allow".
    batch_norm: list[str] = field(default_factory=list)  #: Batch norms with the statistics of the whole batch.
    planned: int = 0  #: Planned peak of the process in bytes.
    smallest_budget: int = 0  #: Smallest budget in bytes for these epochs with this seed, in any process that runs this work.
    smallest_budget_any_seed: int = 0  #: Budget in bytes that suffices for every seed and any number of epochs, for the
    #: largest block that graphs of this data set can form; 0 with a device.
    peak: int = 0  #: Measured maximum bytes in the ledger.
    peak_process: int = 0  #: Measured maximum anonymous bytes of the process.
    workers: int = 1  #: Number of blocks that ran at a time.
    reruns: int = 0  #: Number of blocks that were refused memory and ran again.
    device_planned: int = 0  #: Planned bytes of the GPU, including context and libraries.
    device_smallest_budget: int = 0  #: Smallest device budget in bytes for these epochs with this seed.
    device_peak: int = 0  #: Measured bytes of the GPU: context, libraries, and the peak of tensors.

    def __str__(self) -> str:
        size = _torch.format_bytes
        rows = [f"{'epoch':>5}  {'loss':>10}  {'seconds':>8}"]
        rows += [
            f"{epoch:>5}  {loss:>10.4g}  {seconds:>8.2f}"
            for epoch, (loss, seconds) in enumerate(zip(self.losses, self.seconds), self.start_epoch + 1)
        ]
        planned, measured, minimum = map(size, (self.planned, self.peak_process, self.smallest_budget))
        return "\n".join([*rows, f"memory of the process: planned {planned}, measured {measured}, smallest budget {minimum}"])
