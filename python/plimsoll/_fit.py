"""`plimsoll.fit`: trains any model of PyTorch Geometric block by block, within a budget."""

from __future__ import annotations

import gc
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Batch, Data

from plimsoll import _torch
from plimsoll._apart import THREAD_BYTES, Apart, InOrder, drawing, runs_apart
from plimsoll._budget import budget as budget_of_process
from plimsoll._budget import smallest_budget
from plimsoll._lanes import LaneSums, checked_lanes, require_agreement, require_unchanged
from plimsoll._process_group import is_first_rank
from plimsoll.arguments import Budget, PathLike, whole
from plimsoll.blocks import Block, BlockLimits, BlockList
from plimsoll.coupling import coupling_modules
from plimsoll.errors import BudgetExceeded, Failure, UsageError
from plimsoll.graph_set import Graphs
from plimsoll.journal import RunJournal
from plimsoll.loss_shares import LossShares, require_split, shares_of
from plimsoll.planner import Needs, worst_of
from plimsoll.sizes import Size
from plimsoll.steps import Forward, Loss, by_names, loss_of, require_cpu
from plimsoll.trial import Optimizer, Trial, bytes_of, copied, tensors_in


_RERUNS = 3  # of a block that was refused memory
_SETTLING = 1.2  # seconds: what others in the process took for a moment counts for one


@dataclass
class Fit:
    """What became of a run."""

    losses: list[float] = field(default_factory=list)  #: of each epoch, the mean over its targets
    seconds: list[float] = field(default_factory=list)  #: of each epoch
    couples: list[str] = field(default_factory=list)  #: modules that look at all graphs of a block
    planned: int = 0  #: bytes of the process at its peak, as planned
    smallest_budget: int = 0  #: bytes, as planned, of these epochs with this seed, in any process like this
    smallest_budget_any_seed: int = 0  #: bytes that do for every seed and any number of epochs: of the largest block
    #: that graphs of this data set can make up
    peak: int = 0  #: bytes that the ledger held at once, as measured
    peak_process: int = 0  #: anonymous bytes of the process, as measured
    workers: int = 1  #: blocks that ran at once
    reruns: int = 0  #: blocks that were refused memory once and ran again


def fit(
    model: torch.nn.Module,
    dataset: Sequence[Data] | Graphs,
    loss: Loss = torch.nn.functional.cross_entropy,
    optimizer: Optimizer | None = None,
    *,
    epochs: int = 1,
    batch_size: int = 512,
    block: BlockLimits = BlockLimits(),
    budget: Budget = None,
    seed: int = 0,
    shuffle: bool = True,
    lanes: int = 1,
    forward: Forward = by_names,
    on_epoch: Callable[[int, float], object] | None = None,
    run: PathLike | None = None,
    trackers: Sequence[str] = (),
) -> Fit:
    """Trains a model of PyTorch Geometric on a data set of small graphs, on the CPU, within a budget of memory.

    A batch of `batch_size` graphs is run in blocks of whole graphs, whose gradients are summed up in the order of the
    blocks before the optimizer steps; so memory is that of one block, whatever the batch. Which graphs make up a
    block follows from (`seed`, epoch) and the limits in `block`; before each block torch's generator is seeded from
    (`seed`, epoch, block), and it is as before when `fit` returns. So the weights are the same to the bit for every
    budget.

    Blocks run at once in as many threads as torch has, as far as the budget has room, where a step leaves nothing in the
    model and draws from no generator but torch's (`plimsoll._apart`); the weights are then the same for any number of
    threads, too. Other models run one block after the other, with all of torch's threads, whose number is part of the
    result.

    Where torch.distributed is initialised, all processes of the default group, which must be gloo's, call it with the same
    arguments and weights and share the blocks. `lanes`, a power of two up to 64, is in how many parts the blocks of a batch
    are added up, and the most ranks that there may be: the weights are the same for any number of ranks up to `lanes`, one
    included, and others for other `lanes` (docs/ranks.md).

    `loss(out, batch.y)` is a mean over the rows of `batch.y`, by which blocks are weighted, or a sum. Class weights and
    `ignore_index` count where torch's cross entropy or NLL has them, as a module, a function or a `functools.partial`.
    Whether a loss can be split into blocks is tried on a few graphs before the first step. `optimizer` is over the
    model's parameters, or makes one of them; by default Adam. `forward` is as in `plan`. `on_epoch(epoch, loss)` is
    called after each epoch, and the place to step a schedule. To clip gradients, give
    `optimizer.register_step_pre_hook` a function `(optimizer, args, kwargs)` that returns None (docs/python/training.md).
    The model is left in training mode.
    With `run`, a new folder, the journal of the run is written there, for `plimsoll top`, `compare` and `sync`; `trackers`
    are those of `run.trackers`, and a missing package is a `UsageError` before training starts (docs/seeing.md).
    torch's generator is one for all threads: runs in several threads at once are not reproducible. An operation that
    looks at all graphs together, such as batch norm, sees those of a block, not of the batch: these modules are in
    `Fit.couples`, and a warning names them.

    Before it trains it plans (`plan`): a budget that the largest block does not fit in is refused with the smallest
    that works. Errors: `BudgetExceeded`; `UsageError`, as for a loss over pairs of rows; `Failure` for a loss that is no
    number; what model and loss raise. The model then has the weights of the last whole batch; running statistics may
    be of blocks after it.
    """
    require_cpu(model)
    epochs = whole("epochs", epochs, 1)
    lanes = checked_lanes(lanes)
    shares = shares_of(loss)
    settings = {"model": model, "loss": loss, "epochs": epochs, "batch_size": batch_size, "block": block, "shuffle": shuffle}
    journal = None if run is None or not is_first_rank() else RunJournal(run, seed=seed, settings=settings, trackers=trackers)
    if run is None and trackers:
        raise UsageError("trackers follow the journal of a run; give run, the folder for it")
    with budget_of_process(budget) as memory, journal or nullcontext(), torch.random.fork_rng(devices=[]), torch.enable_grad(), ExitStack() as enter:
        blocks = BlockList(dataset, batch_size, block, seed, shuffle)
        stepper = _optimizer(model, optimizer)
        found = Fit(couples=_couples(model, blocks, forward))
        apart = _runs_apart(model, blocks, forward, loss)
        threads = enter.enter_context(_one_thread()) if apart.at_once else 1
        with drawing(0) if apart.random else nullcontext():
            room = int(_plan(model, stepper, blocks, range(epochs), forward, loss, found, memory.bytes, lanes, threads))
        found.workers = max(1, min(room, threads))
        _try_split(model, blocks, forward, loss, shares)
        require_agreement(model, blocks, {"epochs": epochs, "lanes": lanes, "limits of blocks": tuple(blocks.limits)})
        steps = _Run(model, stepper, blocks, forward, loss, shares, found, room > 0, apart, lanes, journal)
        enter.callback(steps.close)
        if journal is not None:
            _start(journal, model, blocks, epochs, found, memory.bytes)
        stepper.zero_grad(set_to_none=True)
        try:
            for epoch in range(epochs):
                begin = time.perf_counter()
                found.losses.append(steps.epoch(epoch))
                found.seconds.append(time.perf_counter() - begin)
                if journal is not None:
                    rate = float(stepper.param_groups[0]["lr"])
                    journal.epoch(epoch + 1, len(blocks.sizes), training_loss=found.losses[-1], learning_rate=rate)
                if on_epoch is not None:
                    on_epoch(epoch, found.losses[-1])
            if journal is not None:
                journal.end(reruns=found.reruns)
        finally:
            stepper.zero_grad(set_to_none=True)
    found.peak, found.peak_process = memory.peak, memory.peak_process
    return found


class _Run:
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
        room: bool,
        apart: Apart,
        lanes: int,
        journal: RunJournal | None,
    ) -> None:
        self._model, self._optimizer, self._blocks = model, optimizer, blocks
        self._forward, self._loss, self._found = forward, loss, found
        self._mean, self._counts = shares.mean, _counts(shares, blocks)
        self._memory = _torch.BlockMemory() if room and found.workers == 1 else None
        self._apart = apart
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
        for share in self._sums.shares(blocks):
            # None of a block's targets may count, and its mean is then 0 / 0.
            jobs = (self._job(epoch, block, counts[block.number] / all_targets) for block in share if counts[block.number])
            for job, (gradients, value) in self._run(jobs):
                if not math.isfinite(value):
                    raise Failure(
                        f"the loss of block {job.block.number} of epoch {epoch} is {value}, of the graphs {_some(job.block.graphs)}; "
                        "expected a number. The weights are those before its batch: a smaller learning rate, clipped gradients, "
                        "or look at these graphs"
                    )
                self._sums.add(gradients)
                self._sums.add_loss(job.weight * value)
        summed, loss = self._sums.add_up()
        for parameter, gradient in zip(self._parameters, summed):
            parameter.grad = gradient
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return loss * all_targets if self._mean else loss, all_targets

    def close(self) -> None:
        """Ends the threads."""
        if self._threads is not None:
            self._threads.close()
            self._threads = None

    def _job(self, epoch: int, block: Block, share: float) -> _Job:
        seed = _seed_of(self._blocks.seed, epoch, block.number)
        with self._drawing(seed):  # random transforms
            data = self._blocks.load(block.graphs)
        return _Job(block, data, share if self._mean else 1.0, seed)

    def _run(self, jobs: Iterator[_Job]) -> Iterator[tuple[_Job, _Done]]:
        """The blocks of a lane in their order, at once where there are threads."""
        if self._threads is None:
            for job in jobs:
                yield job, self._block(job)
            return
        for job, done in self._threads.run(jobs, self._in_thread):
            if isinstance(done, BudgetExceeded):
                yield job, self._again(job, [], done)
            else:
                yield job, done

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
            refused = error.with_traceback(None)
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
                _torch.give_back_freed_memory()
                time.sleep(_SETTLING)
            try:
                return self._step(job)
            except BudgetExceeded as error:
                refused = error.with_traceback(None)
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


@contextmanager
def _one_thread() -> Iterator[int]:
    """Torch has one thread an operation for now; gives how many it had."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield threads
    finally:
        torch.set_num_threads(threads)


def _runs_apart(model: torch.nn.Module, blocks: BlockList, forward: Forward, loss: Loss) -> Apart:
    few = np.flatnonzero(blocks.sizes[:, 2] > 0)[:2]
    return runs_apart(model, blocks.load(few), forward, loss) if len(few) else Apart()


def _optimizer(model: torch.nn.Module, optimizer: Optimizer | None) -> torch.optim.Optimizer:
    """Errors: `UsageError` for one that steps otherwise, or over other parameters."""
    make = torch.optim.Adam if optimizer is None else optimizer
    if not callable(make) and not isinstance(make, torch.optim.Optimizer):
        raise UsageError(f"optimizer={make!r}: expected one of torch.optim, or what makes one of parameters")
    made = make if isinstance(make, torch.optim.Optimizer) else make(model.parameters())
    if isinstance(made, torch.optim.LBFGS | torch.optim.SparseAdam):
        raise UsageError(f"{type(made).__name__}: wants a closure, or sparse gradients; expected another optimizer")
    own = set(map(id, model.parameters()))
    if not any(id(parameter) in own for group in made.param_groups for parameter in group["params"]):
        raise UsageError("the optimizer has no parameter of the model; make it of model.parameters()")
    return made


def _start(
    journal: RunJournal, model: torch.nn.Module, blocks: BlockList, epochs: int, found: Fit, budget: int
) -> None:
    graphs = len(blocks.sizes)
    journal.start(
        total=epochs * graphs,
        max_epochs=epochs,
        planned_bytes=found.planned,
        min_budget_bytes=found.smallest_budget,
        budget_bytes=budget,
        training=graphs,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        batch_size=blocks.batch_size,
        threads=max(torch.get_num_threads(), found.workers),
        blocks_in_flight=found.workers,
    )


def _some(graphs: NDArray[np.int64]) -> str:
    return ", ".join(map(str, graphs[:8])) + (", ..." if len(graphs) > 8 else "")


def _seed_of(seed: int, epoch: int, block: int) -> int:
    return int(np.random.SeedSequence((seed, epoch, block)).generate_state(1, np.uint64)[0])


def _couples(model: torch.nn.Module, blocks: BlockList, forward: Forward) -> list[str]:
    dataset = blocks.dataset
    with_edges = np.flatnonzero(blocks.sizes[:, 2] > 0)
    if len(with_edges) < 2:
        return []
    get = dataset.to_pyg if isinstance(dataset, Graphs) else dataset.__getitem__
    try:
        couples = coupling_modules(model, get(int(with_edges[0])), get(int(with_edges[-1])), forward)
    except BudgetExceeded:
        raise
    except Exception as error:
        warnings.warn(f"whether modules look at several graphs could not be found out: {error}", stacklevel=3)
        return []
    if couples:
        warnings.warn(
            f"{', '.join(couples)}: looks at all graphs that run together, which are those of a block "
            f"(at most {blocks.limits.graphs} graphs), not of the batch",
            stacklevel=3,
        )
    return couples


def _counts(shares: LossShares, blocks: BlockList) -> NDArray[np.float64]:
    """What the loss of each graph is a mean over, f64 [G]: rows of its targets, or their classes' weights."""
    if shares.counts_rows:
        return blocks.targets.astype(np.float64)
    dataset = blocks.dataset
    if isinstance(dataset, Graphs):
        y = torch.from_numpy(np.asarray(dataset.graph_set.y)[np.asarray(dataset.indices, np.int64)].astype(np.int64))
        return np.array([shares.share(target) for target in y.view(-1, 1)])
    return np.array([shares.share(torch.as_tensor(dataset[i].y)) for i in range(len(dataset))])


def _try_split(model: torch.nn.Module, blocks: BlockList, forward: Forward, loss: Loss, shares: LossShares) -> None:
    """Errors: `UsageError` for a loss that blocks cannot be summed up to. Each graph runs alone, as every block may."""
    dataset = blocks.dataset
    get = dataset.to_pyg if isinstance(dataset, Graphs) else dataset.__getitem__
    some = np.unique(np.linspace(0, len(blocks.sizes) - 1, 64).astype(np.int64))
    seen: dict[tuple[float, ...], int] = {}  # how many graphs have these targets: classes differ, and each has pairs
    graphs: list[Data] = []
    for number in some:
        data = get(int(number))
        targets = tuple(torch.as_tensor(data.y).flatten()[:8].tolist())
        seen[targets] = seen.get(targets, 0) + 1
        if seen[targets] <= 4:
            graphs.append(data)
        if len(graphs) == 16:
            break
    batches = [Batch.from_data_list([data]) for data in graphs]
    copy = copied(model).eval()
    with torch.no_grad():
        outs = [forward(copy, batch) for batch in batches]
    if all(isinstance(out, torch.Tensor) and out.dim() for out in outs):
        require_split(loss, torch.cat(outs), torch.cat([batch.y for batch in batches]), shares)


def _plan(
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    blocks: BlockList,
    epochs: range,
    forward: Forward,
    loss: Loss,
    found: Fit,
    budget: int,
    lanes: int,
    threads: int,
) -> int:
    """How many blocks may have memory of their own at once, up to `threads`; 0 where not even one may.

    Errors: `BudgetExceeded`, which names the smallest budget.
    """
    sizes: dict[Size, Block] = {}
    for epoch in epochs:
        for batch in blocks.batches(epoch):
            for block in batch:
                sizes.setdefault(block.size, block)
    held_before = _torch.held()
    needs = Needs(Trial(model, optimizer, forward, loss))
    for size in {max(sizes, key=lambda size: size.nodes), max(sizes, key=lambda size: size.edges)}:
        needs.run_parts(blocks.load(sizes[size].graphs))
    worst = worst_of(needs, sizes, lambda size: blocks.load(sizes[size].graphs))
    trial = needs.trial
    gradients = LaneSums.bytes_for([parameter for parameter in trial.model.parameters() if parameter.requires_grad], lanes)
    state = trial.optimizer_state - bytes_of(list(tensors_in(optimizer.state))) + gradients
    range_bytes = max(tape.recording.packed() for tape in needs.tapes.values())
    _torch.give_back_freed_memory()
    outside = _torch.outside() + held_before
    # A batch of a graph_set lies in buffers that are up to an eighth larger than its tensors.
    need = outside + state + worst.batch * 9 // 8
    found.planned = need + worst.step
    found.smallest_budget = smallest_budget(found.planned)
    most = needs.of(blocks.largest_possible())
    found.smallest_budget_any_seed = max(
        found.smallest_budget, smallest_budget(outside + state + most.batch * 9 // 8 + most.step)
    )
    if smallest_budget(need + worst.step, spread=0) > budget:
        text = _torch.format_bytes
        raise BudgetExceeded(
            f"a block of {worst.size} needs {text(worst.step)} at {worst.operation or 'its start'}, beside {text(need)} "
            f"of the process; the smallest budget that works is {text(found.smallest_budget)}; give that, or smaller "
            "blocks"
        )
    room = budget - _torch.slack(budget)
    if need + range_bytes > room:
        return 0
    # Each thread has a block, its batch and its gradients, and one block waits.
    each = range_bytes + worst.batch * 9 // 8 + bytes_of([*trial.model.parameters()]) + THREAD_BYTES
    at_once = max(len(batch) for batch in blocks.batches(0))
    workers = min(threads, at_once, (room - need - worst.batch * 9 // 8) // each)
    if workers > 1:
        found.planned = need + worst.batch * 9 // 8 + workers * each
        return int(workers)
    return 1
