"""The plan of `plimsoll.fit`: the smallest budget, and how many blocks may run at a time."""

from __future__ import annotations

import gc
import math
from contextlib import suppress
from typing import NamedTuple

import torch
from torch_geometric.data import Data

from plimsoll import _torch
from plimsoll._fit.apart import THREAD_BYTES
from plimsoll._fit.blocks import Block, BlockList
from plimsoll._fit.budget import SPREAD, settle, smallest_budget
from plimsoll._fit.lanes import LaneSums
from plimsoll._fit.on_device import DeviceTrial
from plimsoll._fit.planner import Need, Needs, counts_of_parts, worst_of
from plimsoll._fit.result import Fit
from plimsoll._fit.steps import Forward, Loss
from plimsoll._fit.trial import Trial, batch_bytes, bytes_of, tensors_in
from plimsoll.data.sizes import Size
from plimsoll.errors import BudgetExceeded, UsageError


_MIB = 1 << 20
_LARGEST = 64  # number of largest blocks whose memory layout is computed


def _sizes_of(blocks: BlockList, epochs: range) -> dict[Size, Block]:
    """Returns the distinct sizes of all blocks in these epochs, with one block of each."""
    sizes: dict[Size, Block] = {}
    for epoch in epochs:
        for batch in blocks.batches(epoch):
            for block in batch:
                sizes.setdefault(block.size, block)
    return sizes


def _worst(needs: Needs, blocks: BlockList, sizes: dict[Size, Block]) -> Need:
    """Returns the need of the block that needs the most memory."""

    def load(size: Size, count: int | None = None) -> Data | None:
        try:
            return blocks.load(sizes[size].graphs[:count])
        except BudgetExceeded as refusal:
            needs.leave_out(refusal)
            return None

    for size in {max(sizes, key=lambda size: size.nodes), max(sizes, key=lambda size: size.edges)}:
        for count in counts_of_parts(size.graphs):
            if (batch := load(size, count)) is not None:
                needs.run(batch, may_fail=count < blocks.min_graphs)
            del batch  # Free it before the next one is loaded.
    return worst_of(needs, sizes, load)


class Room(NamedTuple):
    """The blocks and the optimizer's step that fit into a budget."""

    blocks: int = 0  #: Maximum number of blocks that can be in memory at a time; 0 if not even one fits.
    optimizer: int = 0  #: Bytes that the optimizer needs during a step.


def plan_on_device(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    blocks: BlockList,
    epochs: range,
    forward: Forward,
    loss: Loss,
    found: Fit,
    budget: int,
    lanes: int,
    tried: int,
    device: _torch.Device,
) -> Room:
    """Plans blocks that run on the device one after the other and need no memory on the host.

    `tried` is as in `plan_blocks`. Errors: `BudgetExceeded`, which names the smallest budget of the device or of the
    process.
    """
    sizes = _sizes_of(blocks, epochs)
    held_before = _torch.held()
    device.warm_up()
    needs = Needs(DeviceTrial(model, optimizer, forward, loss, device))
    resident = device.in_use
    worst = _worst(needs, blocks, sizes)
    largest = sorted(sizes, key=lambda size: needs.of(size).step)[-_LARGEST:]
    packed = max(needs.packed(size) for size in largest)
    state = needs.trial.optimizer_state - bytes_of(list(tensors_in(optimizer.state)))
    copies = needs.trial.parameters + needs.trial.optimizer_state
    host_batch, step_bytes = batch_bytes(blocks.load(sizes[worst.size].graphs)), needs.trial.optimizer_step
    del needs
    gc.collect()
    with suppress(UsageError):  # If the caller has tensors on the device, the earlier measurement is kept.
        device.measure_again()
    # Operators may allocate differently in large blocks than in small ones.
    region = resident + packed + packed // 64 + _MIB + 2 * bytes_of([*model.buffers()])  # Buffers are kept for a second try.
    found.device_planned = device.context + region
    need = device.context + -(-region // device.unit) * device.unit
    found.device_smallest_budget = need + 2 * device.unit  # Kernels that only some blocks use are loaded later.
    text = _torch.format_bytes
    if need > device.budget:
        raise BudgetExceeded(
            f"the device: a block of {worst.size} needs {text(packed)}, at {worst.operation or 'its start'}, in addition to "
            f"{text(device.context + resident)} for driver, libraries and weights; the smallest device budget that works is "
            f"{found.device_smallest_budget} bytes ({text(found.device_smallest_budget)}); give this budget, or smaller blocks"
        )
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    gradients = bytes_of(parameters) + LaneSums.bytes_for(parameters, lanes)
    settle()
    outside = _torch.outside() + held_before
    found.planned = outside + max(tried, copies, state + gradients + step_bytes + 2 * host_batch * 9 // 8)
    found.smallest_budget = smallest_budget(found.planned)
    if smallest_budget(found.planned, spread=0) > budget:
        raise BudgetExceeded(
            f"the process needs {text(found.planned)} in addition to the memory on the device; the smallest budget that works is "
            f"{found.smallest_budget >> 20} MiB; give this budget, or smaller blocks"
        )
    return Room(0, step_bytes)


def plan_blocks(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    blocks: BlockList,
    epochs: range,
    forward: Forward,
    loss: Loss,
    found: Fit,
    budget: int,
    lanes: int,
    tried: int,
    threads: int,
) -> Room:
    """Plans the memory for up to `threads` blocks. `tried` is the maximum number of bytes held by tries before the
    plan.

    Errors: `BudgetExceeded`, which names the smallest budget.
    """
    sizes = _sizes_of(blocks, epochs)
    held_before = _torch.held()
    needs = Needs(Trial(model, optimizer, forward, loss))
    worst = _worst(needs, blocks, sizes)
    trial = needs.trial
    gradients = LaneSums.bytes_for([parameter for parameter in trial.model.parameters() if parameter.requires_grad], lanes)
    # Copies of buffers are kept in case a block runs again. Before training, the trial holds a copy of the model and
    # the optimizer.
    state = trial.optimizer_state - bytes_of(list(tensors_in(optimizer.state))) + gradients + bytes_of([*model.buffers()])
    state = max(state, trial.parameters + trial.optimizer_state)
    parameters = bytes_of([*trial.model.parameters()])
    largest = needs.of(blocks.largest_possible())
    range_bytes, step_bytes = _range(needs, worst), trial.optimizer_step
    # Free the trial first: if malloc kept its memory, it would count as the process's while the first blocks run.
    del needs, trial
    settle()
    outside = _torch.outside() + held_before
    # A batch of a graph_set is in buffers that are up to an eighth larger than its tensors.
    need = outside + state + worst.batch * 9 // 8
    found.planned = max(need + worst.step, outside + tried)
    found.smallest_budget = smallest_budget(found.planned)
    found.smallest_budget_any_seed = max(
        found.smallest_budget, smallest_budget(outside + state + largest.batch * 9 // 8 + largest.step)
    )
    if smallest_budget(found.planned, spread=0) > budget:
        text = _torch.format_bytes
        raise BudgetExceeded(
            f"a block of {worst.size} needs {text(worst.step)} at {worst.operation or 'its start'}, in addition to {text(need)} "
            f"for the process; the smallest budget that works is {found.smallest_budget >> 20} MiB; give that, or smaller "
            "blocks"
        )
    # Leave as much memory free as the smallest budget leaves, in case the process holds more than planned.
    free = budget - _torch.slack(budget) - SPREAD
    # The memory of blocks is still held when gradients that were copied from it are added up, and when the optimizer steps.
    also_held = max(parameters, step_bytes)
    if need + range_bytes + also_held > free:
        return Room(0, step_bytes)
    # Each thread has a block, its batch and its gradients, and one more block waits.
    each = range_bytes + worst.batch * 9 // 8 + parameters + THREAD_BYTES
    at_once = max(len(batch) for batch in blocks.batches(epochs.start))
    workers = min(threads, at_once, (free - need - worst.batch * 9 // 8 - step_bytes) // each)
    if workers > 1:
        found.planned = need + worst.batch * 9 // 8 + workers * each
    return Room(max(1, int(workers)), step_bytes)


def _range(needs: Needs, worst: Need) -> int:
    """Returns the size of one block's memory. It is larger than the peak of its tensors because these leave gaps."""
    tapes = needs.tapes.values()
    largest = max(tape.recording.packed() for tape in tapes)
    if worst.run:
        return largest
    apart = max(tape.recording.packed() / tape.step for tape in tapes)
    return max(largest, math.ceil(worst.step * apart))
