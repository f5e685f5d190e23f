"""The steps of `plimsoll.fit`: blocks, alone or at once, whose gradients are added up to those of a batch."""

from __future__ import annotations

import gc
import math
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from plimsoll import _other_random, _torch
from plimsoll._apart import Apart, InOrder, drawing
from plimsoll._budget import SETTLING, settle
from plimsoll._fit_loss import counts
from plimsoll._fit_plan import Room
from plimsoll._fit_result import Fit
from plimsoll._lanes import LaneSums, require_unchanged
from plimsoll._on_device import OnDevice
from plimsoll.blocks import Block, BlockList
from plimsoll.errors import BudgetExceeded, Failure
from plimsoll.journal import RunJournal
from plimsoll.loss_shares import LossShares
from plimsoll.steps import Forward, Loss, loss_of

_RERUNS = 3  # of a block that was refused memory


class Steps:
    """The epochs of a run."""

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        blocks: BlockList,
        forward: Forward,
        loss: Loss,
        shares: LossShares,
        found: Fit,
        room: Room,
        apart: Apart,
        lanes: int,
        journal: RunJournal | None,
        on: OnDevice | None = None,
    ) -> None:
        self._model, self._optimizer, self._blocks = model, optimizer, blocks
        self._forward, self._loss, self._found = forward, loss, found
        self._mean, self._counts = shares.mean, counts(shares, blocks)
        self._memory = _torch.BlockMemory() if room.blocks and found.workers == 1 else None
        self._room, self._apart, self._on = room, apart, on
        self._threads = InOrder[_Done](found.workers) if found.workers > 1 else None
        self._journal = journal
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self._sums = LaneSums(self._parameters, lanes)

    def epoch(self, epoch: int) -> float:
        """Trains one epoch; gives its mean loss."""
        self._model.train()
        losses, targets = 0.0, 0.0
        done = epoch * len(self._blocks.sizes)
        for step, batch in enumerate(self._blocks.batches(epoch), 1):
            total, count = self._batch(epoch, batch)
            losses, targets = losses + total, targets + count
            done += sum(len(block.graphs) for block in batch)
            if self._journal is not None:
                self._journal.progress(epoch + 1, step, done)
        return losses / targets if targets else float("nan")

    def _batch(self, epoch: int, blocks: list[Block]) -> tuple[float, float]:
        """Steps on a batch; gives its loss times what it is a mean over, and that."""
        counts = {block.number: float(self._counts[block.graphs].sum()) for block in blocks}
        all_targets = sum(counts.values())
        with self._on.there() if self._on else nullcontext():
            for share in self._sums.shares(blocks):
                # None of a block's targets may count, and its mean is then 0 / 0.
                jobs = (self._job(epoch, block, counts[block.number] / all_targets) for block in share if counts[block.number])
                self._add_blocks(epoch, jobs)
        summed, loss = self._sums.add_up()
        for parameter, gradient in zip(self._parameters, summed):
            parameter.grad = gradient
        self._make_room()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return loss * all_targets if self._mean else loss, all_targets

    def _add_blocks(self, epoch: int, jobs: Iterator[_Job]) -> None:
        for block, weight, (gradients, value) in self._run(jobs):
            if not math.isfinite(value):
                raise Failure(
                    f"the loss of block {block.number} of epoch {epoch} is {value}, of the graphs {_some(block.graphs)}; "
                    "expected a number. The weights are those before its batch: a smaller learning rate, clipped gradients, "
                    "or look at these graphs"
                )
            self._sums.add(gradients)
            del gradients
            self._sums.add_loss(weight * value)

    def _make_room(self) -> None:
        """For the step of the optimizer, which cannot run again."""
        try:
            torch.empty(self._room.optimizer, dtype=torch.uint8)
        except BudgetExceeded as refused:
            self._give_way(refused)

    def _give_way(self, refused: BudgetExceeded) -> None:
        """The memory that is kept for blocks goes back, for what was refused beside it."""
        refused.alone()
        self._memory = None
        settle()

    def close(self) -> None:
        """Ends the threads."""
        if self._threads is not None:
            self._threads.close()
            self._threads = None

    def _job(self, epoch: int, block: Block, share: float) -> _Job:
        seed = _seed_of(self._blocks.seed, epoch, block.number)
        try:
            data = self._load(block, seed)
        except BudgetExceeded as refused:
            self._give_way(refused)
            data = self._load(block, seed)
        return _Job(block, data, share if self._mean else 1.0, seed)

    def _load(self, block: Block, seed: int) -> Data:
        _other_random.seed(seed)
        with self._drawing(seed):  # random transforms
            return self._blocks.load(block.graphs)

    def _run(self, jobs: Iterator[_Job]) -> Iterator[tuple[Block, float, _Done]]:
        """The blocks of a lane in their order, with the weights of their losses; at once where there are threads."""
        for job, done in self._each(jobs):
            if isinstance(done, BudgetExceeded):
                done = self._again(job, [], done)
            block, weight = job.block, job.weight
            del job  # the plan has no room for its batch beside the next one's
            yield block, weight, done
            del done  # nor for its gradients

    def _each(self, jobs: Iterator[_Job]) -> Iterator[tuple[_Job, _Done | BudgetExceeded]]:
        if self._threads is not None:
            yield from self._threads.run(jobs, self._in_thread)
            return
        while (job := next(jobs, None)) is not None:
            yield job, self._block(job)
            del job

    def _in_thread(self, memory: _torch.BlockMemory, job: _Job) -> _Done:
        try:
            memory.begin()
        except Failure:  # what the loss keeps of earlier blocks lies in it
            return self._step(job)
        try:
            inside, loss = self._step(job)
        finally:
            memory.end()
        return [None if gradient is None else gradient.clone() for gradient in inside], loss

    def _block(self, job: _Job) -> _Done:
        """The gradients of a block and its loss."""
        buffers = [buffer.clone() for buffer in self._model.buffers()]
        try:
            done = self._in_memory(job)
            require_unchanged(self._model, buffers)
            return done
        except BudgetExceeded as error:
            # What was packed tightly before may lie apart in the block's memory; the heap has no such gaps.
            refused = error.alone()
        self._memory = None
        return self._again(job, buffers, refused)

    def _again(self, job: _Job, buffers: list[torch.Tensor], refused: BudgetExceeded) -> _Done:
        """Runs a block that was refused memory, alone."""
        self._found.reruns += 1
        for attempt in range(_RERUNS):
            for parameter in self._parameters:
                parameter.grad = None
            for buffer, kept in zip(self._model.buffers(), buffers):
                buffer.copy_(kept)
            gc.collect()
            if attempt:
                time.sleep(SETTLING)
            settle()
            try:
                return self._step(job)
            except BudgetExceeded as error:
                refused = error.alone()
        raise refused

    def _in_memory(self, job: _Job) -> _Done:
        if self._memory is None:
            return self._step(job)
        try:
            self._memory.begin()
        except Failure:
            warnings.warn("the model keeps tensors from one block to the next; blocks run slower so", stacklevel=5)
            self._memory = None
            return self._step(job)
        try:
            inside, loss = self._step(job)
        finally:
            self._memory.end()
        return [None if gradient is None else gradient.clone() for gradient in inside], loss

    def _step(self, job: _Job) -> _Done:
        if not self._apart.at_once:
            _other_random.seed(job.seed)
        if self._on is not None:
            return self._on.step(job.data, self._forward, job.weight, job.seed)
        with self._drawing(job.seed):
            loss = loss_of(self._model, job.data, self._forward, self._loss)
            if self._apart.at_once:
                weighed = loss * job.weight
                return list(torch.autograd.grad(weighed, self._parameters, allow_unused=True)), float(loss.detach())
            (loss * job.weight).backward()
        gradients = [parameter.grad for parameter in self._parameters]
        for parameter in self._parameters:
            parameter.grad = None
        return gradients, float(loss.detach())

    def _drawing(self, seed: int) -> AbstractContextManager[None]:
        """Random numbers of torch follow from the seed."""
        if self._apart.random:
            return drawing(seed)
        torch.default_generator.manual_seed(seed)
        return nullcontext()


class _Job(NamedTuple):
    block: Block
    data: Data
    weight: float  #: of its loss in that of the batch
    seed: int


#: The gradients of the parameters and the loss.
_Done: TypeAlias = tuple[list[torch.Tensor | None], float]


def _some(graphs: NDArray[np.int64]) -> str:
    return ", ".join(map(str, graphs[:8])) + (", ..." if len(graphs) > 8 else "")


def _seed_of(seed: int, epoch: int, block: int) -> int:
    return int(np.random.SeedSequence((seed, epoch, block)).generate_state(1, np.uint64)[0])
