"""`plimsoll.fit`: trains any model of PyTorch Geometric block by block, within a budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import NamedTuple

import torch
from torch_geometric.data import Data

from plimsoll import _torch
from plimsoll._fit.block_steps import Steps
from plimsoll._fit.blocks import BlockLimits, BlockList
from plimsoll._fit.budget import limit, naming_a_budget
from plimsoll._fit.callers_random import CallersRandom
from plimsoll._fit.device import device_of, generators, same_bits_each_time
from plimsoll._fit.lanes import checked_lanes, require_agreement
from plimsoll._fit.loss_shares import LossShares, shares_of
from plimsoll._fit.order import rewinder
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
    "To train a loss, have the model's forward take y and return the loss of each graph; loss is then lambda out, y: out.mean() "
    "(docs/python/training.md)"
)


class _Ready(NamedTuple):
    """The objects that training needs once it is planned."""

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
    sampler: Iterable[int] | None = None,
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
    """Trains a model of PyTorch Geometric on a data set of small graphs, within a memory budget, and returns a report.

    Each batch of `batch_size` graphs runs in blocks of whole graphs. The gradients of the blocks are summed in order
    before the optimizer steps, so a step needs the memory of one block, for any batch size. (`seed`, epoch) and the
    limits in `block` determine the graphs of a block. Before each block, the generators of torch, Python's `random` and
    NumPy are seeded from (`seed`, epoch, block); when `fit` returns, they are restored. The weights are therefore bit
    for bit the same for every budget. Other generators, in a model or a data set, are not seeded.

    - `model`: a model on the CPU, with at least one parameter that requires a gradient. It is left in training mode.
    - `dataset`: graphs of a `GraphSet`, or a list or data set of `Data`.
    - `loss`: `loss(out, batch.y)` is a mean over the rows of `batch.y`, by which blocks are weighted, or a sum. Class
      weights and `ignore_index` count for torch's cross entropy and NLL, as a module, a function or a
      `functools.partial`. A mean over other items needs `weights`, or a loss that returns (sum, count). Before the
      first step a few graphs are used to check that the loss can be split into blocks.
    - `optimizer`: an optimizer over parameters of the model only, or a function that makes one from parameters; by
      default Adam. To clip gradients, give `optimizer.register_step_pre_hook` a function `(optimizer, args, kwargs)`
      that returns None (docs/python/training.md). Hooks of parameters see the gradient of the batch.
    - `epochs`, `start_epoch`: epochs `start_epoch` to `epochs - 1` run. A call that continues with the same model and
      optimizer trains as one call would have.
    - `batch_size`: graphs per batch.
    - `block`: limits of a block.
    - `budget`: as in `plimsoll.budget`.
    - `seed`, `shuffle`: determine the order of graphs.
    - `sampler`: determines the graphs of each epoch instead, once per epoch, as in torch's `DataLoader`: a list of
      indices or a sampler such as `torch.utils.data.WeightedRandomSampler`. It may omit or repeat graphs. A sampler
      without its own generator is seeded from (`seed`, epoch).
    - `lanes`: number of parts, a power of two up to 64, in which the blocks of a batch are summed, and the maximum
      number of ranks. Weights are the same for any number of ranks up to `lanes`, including one, and differ for other
      `lanes` (docs/ranks.md).
    - `forward`, `follow_batch`, `exclude_keys`: as in `plan`.
    - `weights`: `weights(batch)` returns the number of items that the loss of a block is a mean over.
    - `couples`: "exact" or "allow"; see below.
    - `on_epoch`: `on_epoch(epoch, loss)` is called after each epoch. It may step a schedule, or freeze and unfreeze
      parameters, after which `fit` plans again. Random numbers that it draws continue the caller's sequence, as if
      `fit` had drawn none.
    - `progress`: called with the numbers of finished graphs and of all graphs. By default a terminal shows a bar, and a
      table at the end.
    - `run`: a new folder for the journal of the run, for `plimsoll top`, `compare` and `sync`.
    - `trackers`: as `run.trackers` in a recipe. A missing package is a `UsageError` before training starts
      (docs/seeing.md).
    - `device`, `device_budget`: with "cuda", blocks run on the GPU, one after the other, within `device_budget` of its
      memory (docs/gpu.md#python); the weights are the same for every such budget. The model stays on the CPU, where
      gradients are summed and the optimizer steps.

    Threads: if a step changes nothing in the model and draws only from torch's generator, blocks run in parallel, in as
    many threads as torch has, if the budget allows. The weights are then the same for any number of threads. Other
    models run one block after the other with all of torch's threads, and the number of threads affects the result. The
    seeded generators are shared by all threads of the process, so concurrent calls of `fit` in several threads are not
    reproducible.

    Ranks: if torch.distributed is initialised, all processes of the default group, which must use gloo, call this
    with the same arguments and weights and share the blocks.

    Batch norm uses the statistics of the whole batch, with their gradients, at the cost of two more passes over its
    blocks per call; `Fit.batch_norm` names the modules. Any other operation whose result depends on several graphs
    would see only those of a block; `fit` refuses it and names the module. With `couples="allow"`, such operations, and
    batch norm, use the graphs of a block; a warning and `Fit.couples` name the modules.

    Before training, it plans (see `plan`), within the smallest of all budgets in force. If the largest block does not
    fit, the error names the smallest budget that works; if there is not enough memory to make the plan, that budget is
    computed without enforcing the given one.

    Errors: `BudgetExceeded`; `UsageError`, for example for a loss over pairs of rows; `Failure` if the loss is not
    finite; and any error that the model or the loss raises. After an error, the model has the weights of the last
    complete batch; running statistics may include blocks after it.
    """
    require_cpu(model)
    to_train = _epochs(start_epoch, epochs)
    if couples not in ("exact", "allow"):
        raise UsageError(f'couples={couples!r}: expected "exact" or "allow"')
    lanes, shares = checked_lanes(lanes), _shares(loss, weights)
    settings = {"model": model, "loss": loss, "epochs": to_train.stop, "batch_size": batch_size, "block": block}
    journal = _journal(run, trackers, seed, settings | {"shuffle": shuffle})
    gpu = _gpu(device, device_budget, model, loss)

    rewind = rewinder(sampler)

    def prepare(enter: ExitStack) -> _Ready:
        rewind()
        enter.enter_context(torch.enable_grad())
        callers = enter.enter_context(CallersRandom(generators(gpu)))
        blocks = BlockList(dataset, batch_size, block, seed, shuffle, follow_batch, exclude_keys, shares.share, sampler, to_train.start)
        stepper, found, tries = _optimizer(model, optimizer), Fit(to_train.start), Tries()
        training = _Training(model, stepper, blocks, forward, loss, shares, lanes, found, gpu, tries)
        tries.run(lambda: training.look(couples), None)
        enter.enter_context(nullcontext() if gpu is None else same_bits_each_time())
        threads = enter.enter_context(_threads(gpu))
        steps = training.plan(to_train, threads, journal)
        enter.callback(training.close)
        return _Ready(callers, blocks, stepper, found, training, threads, steps)

    with ExitStack() as enter:
        try:
            memory, ready = prepared_within(budget, enter, journal or nullcontext(), prepare, lambda ready: ready.found.smallest_budget)
        except BaseException:
            rewind()
            raise
        blocks, found = ready.blocks, ready.found
        with naming_a_budget():
            require_agreement(model, blocks, {"epochs": to_train.stop, "lanes": lanes, "limits of blocks": tuple(blocks.limits)})
            _start(enter, gpu, journal, model, blocks, to_train, found)
        shown = enter.enter_context(FitProgress(progress, blocks.order.length(to_train.start), to_train))
        _train(ready, to_train, shown, journal, on_epoch)
        found.device_peak = 0 if gpu is None else gpu.context + gpu.peak
    found.peak, found.peak_process = memory.peak, memory.peak_process
    shown.table(found)
    return found


def _epochs(start_epoch: int, epochs: int) -> range:
    """Returns the epochs to train. Errors: `UsageError`."""
    epochs = whole("epochs", epochs, 1)
    start_epoch = whole("start_epoch", start_epoch, 0)
    if start_epoch >= epochs:
        raise UsageError(f"start_epoch: is {start_epoch}, expected less than epochs, which is {epochs}: epochs are counted "
                         "from 0")
    return range(start_epoch, epochs)


def _shares(loss: Loss, weights: Callable[[Data], float | torch.Tensor] | None) -> LossShares:
    """Returns how the loss is split into blocks. Errors: `UsageError`."""
    shares = shares_of(loss)
    if weights is None:
        return shares
    if not callable(weights):
        found = f"a tensor of shape {tuple(weights.shape)}" if isinstance(weights, torch.Tensor) else f"{weights!r:.60}"
        raise UsageError(
            f"weights: found {found}, expected a function of a batch that returns the number of items its loss is a mean over; "
            "give weights=lambda batch: batch.train_mask.sum(), or give class weights as torch.nn.CrossEntropyLoss(weight=...)"
        )
    return shares._replace(weights=weights)


def _journal(run: PathLike | None, trackers: Sequence[str], seed: int, settings: dict[str, object]) -> RunJournal | None:
    """Returns the journal of a run, on the first rank; None without a run. Errors: `UsageError`."""
    journal = None if run is None or not is_first_rank() else RunJournal(run, seed=seed, settings=settings, trackers=trackers)
    if run is None and trackers:
        raise UsageError("trackers follow the journal of a run; give run, the folder for it")
    return journal


def _gpu(device: str | torch.device, budget: Budget, model: torch.nn.Module, loss: Loss) -> _torch.Device | None:
    """Returns the GPU that blocks run on; None for the CPU. Errors: `UsageError`."""
    gpu = device_of(str(device), budget)
    if gpu is not None:
        _require_for_device(model, loss)
    return gpu


def _train(
    ready: _Ready,
    epochs: range,
    shown: FitProgress,
    journal: RunJournal | None,
    on_epoch: Callable[[int, float], object] | None,
) -> None:
    """Trains these epochs and records each in the report, in `shown` and in the journal."""
    callers, blocks, stepper, found, training, threads, steps = ready
    stepper.zero_grad(set_to_none=True)
    try:
        for epoch in epochs:
            begin = time.perf_counter()
            with naming_a_budget():
                if training.is_outdated():
                    steps = training.plan(range(epoch, epochs.stop), threads, journal)
                found.losses.append(steps.epoch(epoch, shown))
            found.seconds.append(time.perf_counter() - begin)
            shown.epoch(epoch, found.losses[-1], found.seconds[-1])
            if journal is not None:
                rate = stepper.param_groups[0].get("lr")  # An optimizer of the caller may have none.
                rates = {} if rate is None else {"learning_rate": float(rate)}
                journal.epoch(epoch + 1, blocks.order.length(epoch), training_loss=found.losses[-1], **rates)
            if on_epoch is not None:
                with callers.back():
                    on_epoch(epoch, found.losses[-1])
        if journal is not None:
            journal.end(reruns=found.reruns)
    finally:
        stepper.zero_grad(set_to_none=True)


def _require_for_device(model: torch.nn.Module, loss: Loss) -> None:
    if ranks() > 1:
        raise UsageError('device="cuda" works only with one process; remove it to train with ranks')
    if any(map(is_compiled, model.modules())):
        raise UsageError('device="cuda" does not support a compiled model; give fit the model itself')
    own = set(map(id, model.parameters()))
    if isinstance(loss, torch.nn.Module) and not own.isdisjoint(map(id, loss.parameters())):
        raise UsageError(f'the loss has parameters of the model, which is not supported with device="cuda". {_TRAINED_LOSS}')


@contextmanager
def _threads(gpu: object) -> Iterator[int]:
    """Yields the number of threads for blocks, torch's or 1 with a GPU, and restores torch's number afterwards."""
    threads = torch.get_num_threads()
    try:
        yield 1 if gpu is not None else threads
    finally:
        torch.set_num_threads(threads)


def _optimizer(model: torch.nn.Module, optimizer: Optimizer | None) -> torch.optim.Optimizer:
    """Returns the optimizer. Errors: `UsageError` if it steps in an unsupported way, or has other models'
    parameters.
    """
    make = torch.optim.Adam if optimizer is None else optimizer
    if not callable(make) and not isinstance(make, torch.optim.Optimizer):
        raise UsageError(f"optimizer={make!r}: expected an optimizer of torch.optim, or a function that makes one from "
                         "parameters")
    made = make if isinstance(make, torch.optim.Optimizer) else make(model.parameters())
    require_plain_step(made)
    own = set(map(id, model.parameters()))
    others = [parameter for group in made.param_groups for parameter in group["params"] if id(parameter) not in own]
    if others:
        raise UsageError(
            f"the optimizer has parameters that are not the model's, the first of shape {tuple(others[0].shape)}; expected "
            f"only those of model.parameters(). {_TRAINED_LOSS}"
        )
    return made


def _start(
    enter: ExitStack,
    gpu: _torch.Device | None,
    journal: RunJournal | None,
    model: torch.nn.Module,
    blocks: BlockList,
    epochs: range,
    found: Fit,
) -> None:
    """Starts to measure the peak of the GPU, until `enter` is left, and starts the journal."""
    if gpu is not None:
        enter.callback(gpu.end_peak, gpu.begin_peak())
    if journal is None:
        return
    graphs = blocks.order.length(epochs.start)
    journal.start(
        total=epochs.stop * graphs,  # `progress` and `epoch` also count the epochs of earlier calls.
        max_epochs=epochs.stop,
        planned_bytes=found.planned,
        min_budget_bytes=found.smallest_budget,
        budget_bytes=limit(),
        training=graphs,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        batch_size=blocks.batch_size,
        threads=max(torch.get_num_threads(), found.workers),
        blocks_in_flight=found.workers,
    )
