"""`plimsoll.fit`: trains any model of PyTorch Geometric block by block, within a budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import NamedTuple

import torch
from torch_geometric.data import Data

from plimsoll._fit.block_steps import Steps
from plimsoll._fit.blocks import BlockLimits, BlockList
from plimsoll._fit.budget import limit, naming_a_budget
from plimsoll._fit.callers_random import CallersRandom
from plimsoll._fit.device import device_of, generators, same_bits_each_time
from plimsoll._fit.lanes import checked_lanes, require_agreement
from plimsoll._fit.loss_shares import shares_of
from plimsoll._fit.process_group import is_first_rank, ranks
from plimsoll._fit.progress import FitProgress
from plimsoll._fit.result import Fit
from plimsoll._fit.steps import Forward, Loss, by_names, is_compiled, require_cpu
from plimsoll._fit.training import Training as _Training
from plimsoll._fit.trial import Optimizer, require_plain_step
from plimsoll._fit.tries import Tries
from plimsoll._fit.working_budget import prepared_within
from plimsoll.arguments import Budget, PathLike, Progress, whole
from plimsoll.data.graph_set import Graphs
from plimsoll.errors import UsageError
from plimsoll.journal import RunJournal


_TRAINED_LOSS = (
    "To train a loss, let the model's forward take y and give the loss of each graph, and loss be lambda out, y: out.mean() "
    "(docs/python/training.md)"
)


class _Ready(NamedTuple):
    """What training needs, once it is planned."""

    callers: CallersRandom
    blocks: BlockList
    optimizer: torch.optim.Optimizer
    found: Fit
    training: _Training
    threads: int
    steps: Steps


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
    weights: Callable[[Data], float | torch.Tensor] | None = None,
    couples: str = "exact",
    start_epoch: int = 0,
    follow_batch: Iterable[str] | None = None,
    exclude_keys: Iterable[str] | None = None,
    on_epoch: Callable[[int, float], object] | None = None,
    progress: Progress = None,
    run: PathLike | None = None,
    trackers: Sequence[str] = (),
    device: str | torch.device = "cpu",
    device_budget: Budget = None,
) -> Fit:
    """Trains a model of PyTorch Geometric on a data set of small graphs, within a budget of memory.

    A batch of `batch_size` graphs is run in blocks of whole graphs, whose gradients are summed up in the order of the
    blocks before the optimizer steps; so memory is that of one block, whatever the batch. Which graphs make up a
    block follows from (`seed`, epoch) and the limits in `block`; before each block torch's generator, Python's `random`
    and NumPy's are seeded from (`seed`, epoch, block), and they are as before when `fit` returns. So the weights are the
    same to the bit for every budget. Generators of the caller's own, in a model or a data set, are not seeded.

    Blocks run at once in as many threads as torch has, as far as the budget has room, where a step leaves nothing in the
    model and draws from no generator but torch's (`plimsoll._fit.apart`); the weights are then the same for any number of
    threads, too. Other models run one block after the other, with all of torch's threads, whose number is part of the
    result.

    Where torch.distributed is initialised, all processes of the default group, which must be gloo's, call it with the same
    arguments and weights and share the blocks. `lanes`, a power of two up to 64, is in how many parts the blocks of a batch
    are added up, and the most ranks that there may be: the weights are the same for any number of ranks up to `lanes`, one
    included, and others for other `lanes` (docs/ranks.md).

    `loss(out, batch.y)` is a mean over the rows of `batch.y`, by which blocks are weighted, or a sum. Class weights and
    `ignore_index` count where torch's cross entropy or NLL has them, as a module, a function or a `functools.partial`. A mean over
    other items needs `weights(batch)`, which gives how many of them a block has, or a loss that returns (sum, count).
    Whether a loss can be split into blocks is tried on a few graphs before the first step. `optimizer` is over
    parameters of the model alone, or makes one of them; by default Adam. `forward`, `follow_batch` and `exclude_keys` are as in
    `plan`. To clip gradients, give `optimizer.register_step_pre_hook` a function `(optimizer, args, kwargs)` that returns None
    (docs/python/training.md). Hooks of parameters see the gradient of the batch. The model is left in training mode.

    Epochs `start_epoch` to `epochs - 1` run: a call that goes on with the same model and optimizer trains as one call would
    have. `on_epoch(epoch, loss)` is called after each epoch, and the place to step a schedule, or to freeze and unfreeze
    parameters, after which `fit` plans again; what it draws at random goes on from the caller's draws, as if `fit` drew nothing.
    `progress` is called with the graphs done and in all; by default a bar shows them on a terminal, and a table follows.
    With `run`, a new folder, the journal of the run is written there, for `plimsoll top`, `compare` and `sync`; `trackers`
    are those of `run.trackers`, and a missing package is a `UsageError` before training starts (docs/seeing.md).
    These generators are one each for all threads: runs in several threads at once are not reproducible.

    Batch norm has the statistics of the whole batch, and their gradients, at the price of two more passes over its blocks for
    each call (`Fit.batch_norm` names the modules). Any other operation that looks at several graphs would see those of a block:
    it is refused by name. With `couples="allow"` it trains so, and so does batch norm; a warning and `Fit.couples` name these
    modules.

    With `device="cuda"` blocks run on the GPU, one after the other, within `device_budget` of its memory (docs/gpu.md#python):
    the weights are the same for every such budget. The model stays on the CPU, where gradients are summed and the optimizer
    steps.

    Before it trains it plans (`plan`), within the least of all budgets in force: one that the largest block does not fit in
    is refused with the smallest that works, which is planned without the budget where it has no room for the plan.

    Errors: `BudgetExceeded`; `UsageError`, as for a loss over pairs of rows; `Failure` for a loss that is no number; what
    model and loss raise. The model then has the weights of the last whole batch; running statistics may be of blocks after
    it.
    """
    require_cpu(model)
    epochs = whole("epochs", epochs, 1)
    start_epoch = whole("start_epoch", start_epoch, 0)
    if start_epoch >= epochs:
        raise UsageError(f"start_epoch: is {start_epoch}, expected less than epochs, which is {epochs}: epochs counts from 0")
    if couples not in ("exact", "allow"):
        raise UsageError(f'couples={couples!r}: expected "exact" or "allow"')
    lanes = checked_lanes(lanes)
    shares = shares_of(loss)
    if weights is not None:
        if not callable(weights):
            found = f"a tensor of shape {tuple(weights.shape)}" if isinstance(weights, torch.Tensor) else f"{weights!r:.60}"
            raise UsageError(
                f"weights: expected a function of a batch that gives how many items its loss is a mean over, found {found}; "
                "give weights=lambda batch: batch.train_mask.sum(), or class weights as torch.nn.CrossEntropyLoss(weight=...)"
            )
        shares = shares._replace(weights=weights)
    settings = {"model": model, "loss": loss, "epochs": epochs, "batch_size": batch_size, "block": block, "shuffle": shuffle}
    journal = None if run is None or not is_first_rank() else RunJournal(run, seed=seed, settings=settings, trackers=trackers)
    if run is None and trackers:
        raise UsageError("trackers follow the journal of a run; give run, the folder for it")
    gpu = device_of(str(device), device_budget)
    if gpu is not None:
        _require_for_device(model, loss)

    def prepare(enter: ExitStack) -> _Ready:
        enter.enter_context(torch.enable_grad())
        callers = enter.enter_context(CallersRandom(generators(gpu)))
        blocks = BlockList(dataset, batch_size, block, seed, shuffle, follow_batch, exclude_keys, shares.share)
        stepper = _optimizer(model, optimizer)
        found = Fit(start_epoch)
        tries = Tries()
        training = _Training(model, stepper, blocks, forward, loss, shares, lanes, found, gpu, tries)
        tries.run(lambda: training.look(couples), None)
        if gpu is not None:
            enter.enter_context(same_bits_each_time())
        threads = enter.enter_context(_threads(gpu))
        steps = training.plan(range(start_epoch, epochs), threads, journal)
        enter.callback(training.close)
        return _Ready(callers, blocks, stepper, found, training, threads, steps)

    with ExitStack() as enter:
        memory, ready = prepared_within(budget, enter, journal or nullcontext(), prepare, lambda ready: ready.found.smallest_budget)
        callers, blocks, stepper, found, training, threads, steps = ready
        with naming_a_budget():
            require_agreement(model, blocks, {"epochs": epochs, "lanes": lanes, "limits of blocks": tuple(blocks.limits)})
            if gpu is not None:
                enter.callback(gpu.end_peak, gpu.begin_peak())
            if journal is not None:
                _start(journal, model, blocks, epochs - start_epoch, found, limit())
        shown = enter.enter_context(FitProgress(progress, len(blocks.sizes), range(start_epoch, epochs)))
        stepper.zero_grad(set_to_none=True)
        try:
            for epoch in range(start_epoch, epochs):
                begin = time.perf_counter()
                with naming_a_budget():
                    if training.is_outdated():
                        steps = training.plan(range(epoch, epochs), threads, journal)
                    found.losses.append(steps.epoch(epoch, shown))
                found.seconds.append(time.perf_counter() - begin)
                shown.epoch(epoch, found.losses[-1], found.seconds[-1])
                if journal is not None:
                    rate = float(stepper.param_groups[0]["lr"])
                    journal.epoch(epoch + 1, len(blocks.sizes), training_loss=found.losses[-1], learning_rate=rate)
                if on_epoch is not None:
                    with callers.back():
                        on_epoch(epoch, found.losses[-1])
            if journal is not None:
                journal.end(reruns=found.reruns)
        finally:
            stepper.zero_grad(set_to_none=True)
        if gpu is not None:
            found.device_peak = gpu.context + gpu.peak
    found.peak, found.peak_process = memory.peak, memory.peak_process
    shown.table(found)
    return found


def _require_for_device(model: torch.nn.Module, loss: Loss) -> None:
    if ranks() > 1:
        raise UsageError('device="cuda" is for one process; leave it out for ranks')
    if any(map(is_compiled, model.modules())):
        raise UsageError('a compiled model with device="cuda": give fit the model itself')
    own = set(map(id, model.parameters()))
    if isinstance(loss, torch.nn.Module) and not own.isdisjoint(map(id, loss.parameters())):
        raise UsageError(f'the loss has parameters of the model, which device="cuda" does not share with it. {_TRAINED_LOSS}')


@contextmanager
def _threads(gpu: object) -> Iterator[int]:
    """How many threads torch has now; they are as before afterwards."""
    threads = torch.get_num_threads()
    try:
        yield 1 if gpu is not None else threads
    finally:
        torch.set_num_threads(threads)


def _optimizer(model: torch.nn.Module, optimizer: Optimizer | None) -> torch.optim.Optimizer:
    """Errors: `UsageError` for one that steps otherwise, or over other parameters."""
    make = torch.optim.Adam if optimizer is None else optimizer
    if not callable(make) and not isinstance(make, torch.optim.Optimizer):
        raise UsageError(f"optimizer={make!r}: expected one of torch.optim, or what makes one of parameters")
    made = make if isinstance(make, torch.optim.Optimizer) else make(model.parameters())
    require_plain_step(made)
    own = set(map(id, model.parameters()))
    others = [parameter for group in made.param_groups for parameter in group["params"] if id(parameter) not in own]
    if others:
        raise UsageError(
            f"the optimizer has parameters that are not the model's, the first of shape {tuple(others[0].shape)}; expected "
            f"those of model.parameters() alone. {_TRAINED_LOSS}"
        )
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
