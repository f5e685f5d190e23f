"""The steps of `plimsoll.fit`: blocks, run one by one or in parallel, whose gradients are summed over a batch."""

from __future__ import annotations

import gc
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from plimsoll import _torch
from plimsoll._fit import other_random
from plimsoll._fit.apart import Apart, InOrder, drawing
from plimsoll._fit.batch_statistics import BatchStatistics
from plimsoll._fit.block_plan import Room
from plimsoll._fit.blocks import Block, BlockList
from plimsoll._fit.budget import SETTLING, settle
from plimsoll._fit.lanes import LaneSums, require_unchanged
from plimsoll._fit.loss import counts
from plimsoll._fit.loss_shares import LossShares, loss_and_share
from plimsoll._fit.on_device import OnDevice
from plimsoll._fit.parameter_hooks import ParameterHooks
from plimsoll._fit.progress import FitProgress
from plimsoll._fit.result import Fit
from plimsoll._fit.steps import Forward, Loss, let_compiled_sizes_vary
from plimsoll.errors import BudgetExceeded, Failure, UsageError
from plimsoll.journal import RunJournal

_RERUNS = 3  # maximum reruns of a block that was refused memory


class Done(NamedTuple):
    """The result of a block."""

    tensors: Sequence[Tensor | None]  #: Gradients of the parameters, or statistics.
    loss: float = 0.0
    share: float = 0.0  #: Share of its loss in that of the batch.


class _Job(NamedTuple):
    block: Block
    data: Data
    weight: float  #: Factor by which its loss is multiplied in the loss of the batch.
    seed: int
    work: _Work


#: Runs a block, in any thread.
_Work: TypeAlias = Callable[[_Job], Done]


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
        batch_norms: int = 0,
    ) -> None:
        """`batch_norms` is the number of batch norm calls per forward pass that get the statistics of the batch; with 0
        they use those of a block.
        """
        self._model, self._optimizer, self._blocks = model, optimizer, blocks
        self._forward, self._loss, self._found = forward, loss, found
        self._shares, self._counts, self._batch_norms = shares, counts(shares, blocks), batch_norms
        self._memory = _torch.BlockMemory() if room.blocks and found.workers == 1 else None
        self._room, self._apart, self._on = room, apart, on
        self._threads = InOrder[Done](found.workers) if found.workers > 1 else None
        self._journal = journal
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self._sums = LaneSums(self._parameters, lanes)
        self._hooks = ParameterHooks(self._parameters)

    def epoch(self, epoch: int, shown: FitProgress) -> float:
        """Trains one epoch and returns its mean loss."""
        self._model.train()
        losses, targets = 0.0, 0.0
        done = epoch * self._blocks.order.length(epoch)
        for step, batch in enumerate(self._blocks.batches(epoch), 1):
            total, count = self._batch(epoch, batch)
            losses, targets = losses + total, targets + count
            graphs = sum(len(block.graphs) for block in batch)
            done += graphs
            shown.add(graphs)
            if self._journal is not None:
                self._journal.progress(epoch + 1, step, done)
        if not targets:
            raise UsageError(
                f"weights, or the count that loss returns, is 0 for every batch of epoch {epoch}; expected the number of items "
                "that the loss is a "
                "mean over, above 0 for at least one batch"
            )
        return losses / targets

    def _batch(self, epoch: int, blocks: list[Block]) -> tuple[float, float]:
        """Runs a step on a batch. Returns its loss times the number of items that the loss is a mean over, and that
        number.
        """
        counts = {block.number: float(self._counts[block.graphs].sum()) for block in blocks}
        all_targets = sum(counts.values())
        shares = 0.0
        with self._on.placed() if self._on else nullcontext(), self._hooks.off():
            for share in self._sums.shares(blocks):
                # Leave out blocks in which no target counts: their mean would be 0 / 0.
                weights = {block.number: counts[block.number] / all_targets for block in share if counts[block.number]}
                if self._batch_norms and len(blocks) > 1:
                    shares += self._in_passes(epoch, share, weights)
                else:
                    shares += self._add(epoch, self._weighted(epoch, share, weights, self._train))
        summed, loss = self._sums.add_up()
        if self._shares.known_late:
            all_targets = shares
            loss = self._divide(summed, loss, shares)
        for parameter, gradient in zip(self._parameters, summed):
            parameter.grad = gradient
        self._hooks.run()
        self._reserve_for_optimizer()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return loss * all_targets if self._shares.mean else loss, all_targets

    @staticmethod
    def _divide(summed: list[Tensor | None], loss: float, shares: float) -> float:
        """Turns sums into means: divides them by the sum of the shares, which is known only after all blocks."""
        for i, gradient in enumerate(summed):
            if not shares:
                summed[i] = None
            elif gradient is not None:
                gradient.div_(shares)
        return loss / shares if shares else 0.0

    def _in_passes(self, epoch: int, blocks: Sequence[Block], weights: dict[int, float]) -> float:
        """Adds the gradients of blocks whose batch norms use the statistics of all of them."""
        count = len(self._parameters)
        with BatchStatistics(self._model) as statistics:

            def advance(job: _Job) -> Done:
                return Done(*statistics.advance(self._forward, job.data))

            def train(job: _Job) -> Done:
                out, leaves = statistics.forward(self._forward, job.data)
                return self._gradients(job, out, leaves)

            for _ in range(self._batch_norms):
                results = self._run(self._job(epoch, block, 1.0, advance) for block in blocks)
                statistics.add_statistics((done.tensors, done.loss) for _, _, done in results)
            shares = self._add(epoch, self._weighted(epoch, blocks, weights, train), statistics)
            for number in reversed(range(self._batch_norms)):

                def back(job: _Job, number: int = number) -> Done:
                    return Done(statistics.back(number, self._parameters, self._forward, job.data))

                for _, _, (tensors, _, _) in self._run(self._job(epoch, block, 1.0, back) for block in blocks):
                    self._sums.add(tensors[:count])
                    statistics.add_gradients(tensors[count:])
            statistics.end()
        return shares

    def _weighted(self, epoch: int, blocks: Sequence[Block], weights: dict[int, float], work: _Work) -> Iterator[_Job]:
        return (self._job(epoch, block, weights[block.number], work) for block in blocks if block.number in weights)

    def _add(self, epoch: int, jobs: Iterator[_Job], statistics: BatchStatistics | None = None) -> float:
        """Adds up gradients and losses and returns the sum of the blocks' shares."""
        shares, count = 0.0, len(self._parameters)
        for block, weight, (tensors, value, share) in self._run(jobs):
            if self._shares.known_late and not share:
                continue  # No item of the block counts in the loss, so its mean is 0 / 0.
            if not math.isfinite(value):
                raise Failure(
                    f"the loss of block {block.number} of epoch {epoch}, with the graphs {_some(block.graphs)}, is {value}; "
                    "expected a finite number. The weights are those before its batch: try a smaller learning rate or clipped "
                    "gradients, "
                    "or check these graphs"
                )
            self._sums.add(tensors[:count])
            if statistics is not None:
                statistics.add_gradients(tensors[count:])
            del tensors
            self._sums.add_loss((share if self._shares.known_late else weight) * value)
            shares += share
        return shares

    def _reserve_for_optimizer(self) -> None:
        """Checks that there is memory for the optimizer's step, which cannot run again."""
        try:
            torch.empty(self._room.optimizer, dtype=torch.uint8)
        except BudgetExceeded as refused:
            self._release_block_memory(refused)

    def _release_block_memory(self, refused: BudgetExceeded) -> None:
        """Frees the memory that is kept for blocks, so that the refused allocation can succeed."""
        refused.alone()
        self._memory = None
        settle()

    def close(self) -> None:
        """Ends the threads, and frees the memory of blocks, of sums and on the device. No batch can run afterwards."""
        if self._threads is not None:
            self._threads.close()
            self._threads = None
        self._memory = self._on = None
        self._sums.free()

    def _job(self, epoch: int, block: Block, weight: float, work: _Work) -> _Job:
        seed = _seed_of(self._blocks.seed, epoch, block.number)
        try:
            data = self._load(block, seed)
        except BudgetExceeded as refused:
            self._release_block_memory(refused)
            data = self._load(block, seed)
        return _Job(block, data, weight if self._shares.mean and not self._shares.known_late else 1.0, seed, work)

    def _load(self, block: Block, seed: int) -> Data:
        other_random.seed(seed)
        with self._drawing(seed):  # Transforms may be random.
            return self._blocks.load(block.graphs)

    def _run(self, jobs: Iterator[_Job]) -> Iterator[tuple[Block, float, Done]]:
        """Yields the blocks of a lane in order, with the weights of their losses and their results. Uses threads if
        there are any.
        """
        for job, done in self._each(jobs):
            if isinstance(done, BudgetExceeded):
                done = self._again(job, [], done)
            block, weight = job.block, job.weight
            del job  # The plan has memory for only one batch.
            yield block, weight, done
            del done  # The plan has no memory for its gradients next to the following block.

    def _each(self, jobs: Iterator[_Job]) -> Iterator[tuple[_Job, Done | BudgetExceeded]]:
        if self._threads is not None:
            yield from self._threads.run(jobs, self._in_thread)
            return
        while (job := next(jobs, None)) is not None:
            yield job, self._block(job)
            del job

    def _in_thread(self, memory: _torch.BlockMemory, job: _Job) -> Done:
        try:
            memory.begin()
        except Failure:  # Raised if the loss keeps tensors of earlier blocks in this memory.
            return self._step(job)
        try:
            inside = self._step(job)
        finally:
            memory.end()
        return _cloned(inside)

    def _block(self, job: _Job) -> Done:
        """Returns the gradients of a block and its loss."""
        buffers = [buffer.clone() for buffer in self._model.buffers()]
        try:
            done = self._in_memory(job)
            require_unchanged(self._model, buffers)
            return done
        except BudgetExceeded as error:
            # Tensors may leave more gaps in the block's memory than planned; the heap has no such gaps.
            refused = error.alone()
        self._memory = None
        return self._again(job, buffers, refused)

    def _again(self, job: _Job, buffers: list[torch.Tensor], refused: BudgetExceeded) -> Done:
        """Runs a block that was refused memory again, alone."""
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

    def _in_memory(self, job: _Job) -> Done:
        if self._memory is None:
            return self._step(job)
        try:
            self._memory.begin()
        except Failure:
            warnings.warn("the model keeps tensors from one block to the next, which makes blocks slower", stacklevel=5)
            self._memory = None
            return self._step(job)
        try:
            inside = self._step(job)
        finally:
            self._memory.end()
        return _cloned(inside)

    def _step(self, job: _Job) -> Done:
        if not self._apart.at_once:
            other_random.seed(job.seed)
        if self._on is not None:
            return Done(*self._on.step(job.data, self._forward, job.weight, job.seed))
        with self._drawing(job.seed):
            return job.work(job)

    def _train(self, job: _Job) -> Done:
        let_compiled_sizes_vary(self._model, job.data)
        return self._gradients(job, self._forward(self._model, job.data), ())

    def _gradients(self, job: _Job, out: object, leaves: Sequence[Tensor]) -> Done:
        """Returns gradients with respect to the parameters, then to `leaves`."""
        loss, share = loss_and_share(self._loss(out, job.data.y), job.data, job.data.y, self._shares)
        weighed = loss * (share if self._shares.known_late else job.weight)
        del out
        if self._apart.at_once or leaves:
            gradients = torch.autograd.grad(weighed, [*self._parameters, *leaves], allow_unused=True)
            return Done(gradients, float(loss.detach()), share)
        weighed.backward()
        gradients = tuple(parameter.grad for parameter in self._parameters)
        for parameter in self._parameters:
            parameter.grad = None
        return Done(gradients, float(loss.detach()), share)

    def _drawing(self, seed: int) -> AbstractContextManager[None]:
        """Makes torch's random numbers depend only on the seed."""
        if self._apart.random:
            return drawing(seed)
        torch.default_generator.manual_seed(seed)
        return nullcontext()


def _cloned(done: Done) -> Done:
    return done._replace(tensors=[None if tensor is None else tensor.clone() for tensor in done.tensors])


def _some(graphs: NDArray[np.int64]) -> str:
    return ", ".join(map(str, graphs[:8])) + (", ..." if len(graphs) > 8 else "")


def _seed_of(seed: int, epoch: int, block: int) -> int:
    return int(np.random.SeedSequence((seed, epoch, block)).generate_state(1, np.uint64)[0])
