"""`plimsoll.plan`: computes the memory that training a model needs, before the run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import IterableDataset
from torch_geometric.data import Data, HeteroData

from plimsoll import _torch
from plimsoll._fit.budget import budget as budget_of_process
from plimsoll._fit.budget import limit as limit_in_force
from plimsoll._fit.budget import naming_a_budget, smallest_budget
from plimsoll._fit.device import card_of, device_of, generators
from plimsoll._fit.module_memory import ModuleMemory
from plimsoll._fit.planner import Need, Needs, graphs_of, largest_batch, worst_of
from plimsoll._fit.sharding import Share, checked, share_of
from plimsoll._fit.steps import Forward, Loss, by_names, require_cpu
from plimsoll._fit.trial import Optimizer, Trial, bytes_of, tensors_in
from plimsoll._fit.working_budget import with_working_budget
from plimsoll.arguments import Budget
from plimsoll.data.graph_set import Graphs, as_graphs
from plimsoll.data.sizes import Size, size_of, sizes_of
from plimsoll.errors import BudgetExceeded, UsageError
from plimsoll.loaders.epochs import EpochLoader

Batches: TypeAlias = Data | Iterable[Data]
_MIB = 1 << 20


@dataclass(frozen=True)
class Plan:
    """The memory of a run, in bytes. `print` shows it."""

    parameters: int  #: The model's parameters and buffers.
    gradients: int  #: Gradients of all parameters at the end of the backward pass; with "zero2" those that a rank keeps.
    optimizer: int  #: State that the optimizer keeps between steps; with sharding, a rank's share.
    batch: int  #: The tensors of the worst batch.
    step: int  #: Activations, gradients and temporary memory of operations, at the peak of the worst batch's step.
    outside: int  #: Other memory of the process: interpreter, libraries, other tensors.
    worst: Size  #: The batch that needs the most memory.
    operation: str  #: torch's operation at the peak of its step.
    held_at_peak: tuple[tuple[str, int], ...]  #: Bytes at the peak by allocating operation, the largest first.
    exact: bool  #: Whether the worst batch was run and the steps that were run determine the needs of all batches. Otherwise
    #: needs are estimates or bounds.
    difference: str  #: The operation whose allocations depend on more than a batch's counts, so that batches not run are
    #: estimates; "" if there is none.
    largest_batch: int | None  #: Maximum number of graphs that fit the budget, or the detected limit, whatever graphs they are;
    #: None if batches are parts of one graph, or if the graphs are not known.
    budget: int | None  #: The budget that the plan is for; None without one.
    sharding: str | None  #: Sharding of gradients and optimizer among ranks: "zero1", "zero2", or None.
    ranks: int  #: Number of ranks. The plan is for one of them.
    memory: ModuleMemory = field(repr=False)  #: Memory by module during the step on the worst batch.
    device: str = "cpu"  #: The device that all numbers are for. For a GPU `outside` is that of driver and libraries.
    bound: bool = False  #: Whether `step` is an upper bound, because random numbers decide which operations run.
    between: int = 0  #: For a device: bytes lost in gaps between tensors, and bytes of kernels that are loaded later.
    device_model: str | None = None  #: The GPU model that was assumed; None if steps ran on the device itself.

    def by_module(self) -> ModuleMemory:
        """Returns the memory by module during `step`, and a snapshot for pytorch.org/memory_viz."""
        return self.memory

    @property
    def tensors(self) -> int:
        """Maximum bytes that the ledger will hold during the run.

        It is exact to the byte if the plan is exact and the run keeps nothing from one step to the next.
        """
        return self.parameters + self.optimizer + self.batch + self.step

    @property
    def peak(self) -> int:
        """Peak bytes of the whole process, or of the device."""
        return self.outside + self.tensors

    @property
    def smallest_budget(self) -> int:
        """The smallest budget that the run works with in any process like this one, in bytes of whole MiB.

        It is the peak plus the slack of `plimsoll.budget` plus 2 MiB; for a device the peak plus `between`.
        """
        if self.device != "cpu":
            return -(-(self.peak + self.between) >> 20 << 20)
        return smallest_budget(self.peak)

    @property
    def fits(self) -> bool:
        """Whether the run works within the budget; True without a budget."""
        minimum = smallest_budget(self.peak, spread=0) if self.device == "cpu" else self.smallest_budget
        return self.budget is None or minimum <= self.budget

    def __str__(self) -> str:
        size = _torch.format_bytes
        parts = [
            ("outside: interpreter, libraries" if self.device == "cpu" else "driver and libraries", self.outside),
            ("parameters and buffers", self.parameters),
            ("optimizer" + (f", {self.sharding} of {self.ranks} ranks" if self.sharding else ""), self.optimizer),
            ("batch", self.batch),
            (f"step, at {self.operation or 'its start'}", self.step),
            (f"peak of the {'process' if self.device == 'cpu' else 'device'}", self.peak),
        ]
        lines = [f"{name:<40} {size(count):>10}" for name, count in parts]
        lines.append(f"{'smallest budget':<40} {size(self.smallest_budget):>10}")
        if self.sharding:
            lines.append(f"a rank holds {size(self.gradients)} of gradients at the end of the backward pass")
        how = "" if self.exact else " (a bound: which operations run is random)" if self.bound else " (estimated, not run)"
        lines.append(f"worst batch: {self.worst}{how}")
        if self.largest_batch is not None:
            lines.append(f"largest batch of any graphs: {self.largest_batch} graphs")
        if self.device_model is not None:
            lines.append(f"computed on the CPU for a {self.device_model}: driver and libraries are those of an H200, with a margin "
                         "on other models, and operators are assumed to allocate as on the CPU")
        if self.budget is not None:
            lines.append(f"budget {size(self.budget)}: " + ("fits" if self.fits else "does not fit"))
        return "\n".join(lines)


def plan(
    model: torch.nn.Module,
    batches: Batches,
    *,
    loss: Loss = torch.nn.functional.cross_entropy,
    optimizer: Optimizer = torch.optim.Adam,
    forward: Forward = by_names,
    training: bool = True,
    budget: Budget = None,
    sharding: str | None = None,
    ranks: int = 1,
    device: str | torch.device = "cpu",
    device_budget: Budget = None,
    device_model: str | None = None,
) -> Plan:
    """Computes the memory that training a model of PyTorch Geometric needs, before the run.

    It runs steps on a few of the batches with a copy of the model and records every allocation. From these it
    computes what the other batches need, as a function of their numbers of graphs, nodes, edges and self-loops, and
    also runs the batch that needs the most. Model, optimizer and torch's generator stay unchanged.

    - `model`: a model on the CPU that can be copied.
    - `batches`: one `Data`, `Batch` or `HeteroData`, or an iterable of them: a `DataLoader` of Plimsoll or of PyTorch Geometric, or
      a list. It is iterated over more than once, and its state is restored afterwards. If it shuffles, later epochs
      may have larger batches; `Plan.largest_batch` accounts for these.
    - `loss`: called as `loss(out, batch.y)`; for a `HeteroData`, which is a batch around seeds, with the `y` of the seeds.
    - `optimizer`: an existing optimizer, or a function that makes one from parameters.
    - `forward`: `forward(model, batch)` returns `out`. By default the model is called with the batch's fields that its
      parameters name.
    - `training`: if False, plan a forward pass without gradients.
    - `budget`: planning itself stays within this budget, in which case the worst batch may be estimated.
    - `sharding`, `ranks`: plan one of `ranks` processes that shard the optimizer's state ("zero1"), or the gradients
      too ("zero2"), as ZeRO does, where each rank has an even slice of all parameters' elements. `batches` are those
      of one rank. `step` counts all gradients in full, because a backward pass may hold them before they are reduced.
      Buffers of the communication library are not included.
    - `device`, `device_budget`: with "cuda", model, optimizer, batch and step are on the GPU, and all numbers are for
      its memory. Trial steps run there, within `device_budget` (`plimsoll.budget`).
    - `device_model`: with device="cuda", a model of GPU such as "v100-16" that need not be in this machine; trial steps
      run on the CPU, and driver and libraries are assumed. No CUDA is needed.

    Errors: `UsageError` for no batches, a model that is not on the CPU or cannot be copied, and other values of
    `sharding`; `BudgetExceeded` if the budget is too small for the smallest part of a batch, naming the smallest
    budget that works, which is planned without the budget; and any error that the model or the loss raises.
    """

    def within(budget: Budget) -> Plan:
        return _planned(model, batches, loss, optimizer, forward, training, budget, sharding, ranks, str(device), device_budget,
                        device_model)

    try:
        return within(budget)
    except BudgetExceeded as error:
        refused = error
    raise with_working_budget(refused, budget, lambda: within(None).smallest_budget)


def _planned(
    model: torch.nn.Module,
    batches: Batches,
    loss: Loss,
    optimizer: Optimizer,
    forward: Forward,
    training: bool,
    budget: Budget,
    sharding: str | None,
    ranks: int,
    device: str,
    device_budget: Budget,
    device_model: str | None,
) -> Plan:
    require_cpu(model)
    if training and (parameters := [*model.parameters()]) and not any(parameter.requires_grad for parameter in parameters):
        raise UsageError("every parameter of the model is frozen; expected at least one with requires_grad=True, or "
                         "training=False")
    stage = checked(sharding, ranks)
    gpu, of_card = (device_of(device, device_budget), None) if device_model is None else card_of(device_model, device, device_budget)
    with budget_of_process(budget) as memory, naming_a_budget(), torch.random.fork_rng(devices=generators(gpu)):
        held_before = _torch.held()
        if gpu is not None:
            gpu.warm_up()
            held_before = gpu.in_use + gpu.workspace  # A backward pass runs in a thread with its own workspace.
        in_buffer = batches._in_buffer if isinstance(batches, EpochLoader) else None
        needs = Needs(Trial(model, optimizer, forward, loss, training, gpu, in_buffer))
        found = _Found(batches)
        try:
            found.go_through(needs)
            worst = worst_of(needs, found.sizes, found.batch_of)
        finally:
            found.rewind()
        trial = needs.trial
        share = share_of(trial, stage, ranks) if training else Share(0, 0)
        fixed = trial.parameters + share.optimizer
        if gpu is not None:
            space = _space_on_device(gpu, of_card or gpu.budget, needs, worst, fixed, held_before)
        else:
            of_run = _bytes_of_run(model, optimizer) + (worst.batch if found.in_memory else 0)
            space = _space_of_process(held_before - of_run, fixed)
        limit = space.limit
        graphs = None if found.of_one_graph else found.graphs()
        return Plan(
            parameters=trial.parameters,
            gradients=share.gradients,
            optimizer=share.optimizer,
            batch=worst.batch,
            step=worst.step,
            outside=space.outside,
            worst=worst.size,
            operation=worst.operation,
            held_at_peak=worst.held,
            exact=worst.run and all(map(needs.spans, found.sizes)) and not needs.are_bounds,
            bound=needs.are_bounds,
            difference=needs.difference,
            largest_batch=None if graphs is None else largest_batch(needs, graphs, space.free),
            budget=limit if budget is not None or gpu is not None or limit < memory.bytes else None,
            sharding=sharding,
            ranks=ranks,
            memory=needs.by_module(worst.size),
            device="cpu" if gpu is None else device,
            between=space.between,
            device_model=device_model,
        )


class _Space(NamedTuple):
    """The memory into which the plan's bytes have to fit."""

    limit: int  #: The budget.
    outside: int  #: As `Plan.outside`.
    free: int  #: Bytes left for a batch and its step.
    between: int = 0  #: As `Plan.between`.


def _space_on_device(gpu: _torch.Device, budget: int, needs: Needs, worst: Need, fixed: int, held_before: int) -> _Space:
    """Returns the space within a budget on a device that holds `fixed` bytes of parameters and optimizer."""
    outside = gpu.context + held_before
    between = max(needs.packed(worst.size) - worst.step, 0) + (fixed + worst.bytes) // 64 + 2 * _MIB
    return _Space(budget, outside, budget - outside - fixed - between, between)


def _bytes_of_run(model: torch.nn.Module, optimizer: Optimizer) -> int:
    """Returns the bytes that the caller's model and optimizer hold, which the plan counts as those of the run."""
    held = [*model.parameters(), *model.buffers()]
    if isinstance(optimizer, torch.optim.Optimizer):
        held += tensors_in(optimizer.state)
    return bytes_of(held)


def _space_of_process(held: int, fixed: int) -> _Space:
    """Returns the space of the process, whose ledger holds `held` bytes that are not the run's."""
    _torch.give_back_freed_memory()
    outside, limit = _torch.outside() + held, limit_in_force()
    return _Space(limit, outside, limit - _torch.slack(limit) - outside - fixed)


class _Found:
    """The batches of a loader, of which only the largest are kept."""

    def __init__(self, batches: Batches) -> None:
        self.in_memory = isinstance(batches, (Data, HeteroData, Sequence))
        self._batches: Iterable[Data] = [batches] if isinstance(batches, Data | HeteroData) else batches
        self._random = torch.random.get_rng_state()
        self._of_loader = [(generator, generator.get_state()) for generator in _generators(batches)]
        self.sizes: set[Size] = set()
        self._largest: list[Data] = []  # the largest by nodes, and by edges

    def go_through(self, needs: Needs) -> None:
        """Runs parts of the largest batches, then the largest batches themselves. Errors: `UsageError` if there are no
        batches."""
        largest: list[tuple[int, Data]] = []
        for batch in self._once():
            if not isinstance(batch, Data | HeteroData):
                raise UsageError(f"batches gave {type(batch).__name__}; expected torch_geometric.data.Data, Batch or HeteroData")
            size = size_of(batch)
            self.sizes.add(size)
            counts = (size.nodes, size.edges)
            largest = [max(a, b, key=lambda p: p[0]) for a, b in zip(largest, zip(counts, (batch, batch)))] or [
                (count, batch) for count in counts
            ]
        if not largest:
            raise UsageError("batches returned nothing; expected at least one batch")
        self._largest = [batch for _, batch in largest]
        for batch in self._largest:
            needs.run_parts(batch)
        for batch in self._largest:
            needs.run(batch)

    @property
    def of_one_graph(self) -> bool:
        """Whether batches were sampled from one graph. Such batches store the numbers of its nodes."""
        return all("n_id" in batch for batch in self._largest)

    def _once(self) -> Iterable[Data]:
        # Use a copy of a loader and the earlier state of torch's generator, so that epochs do not advance and batches are the same.
        self.rewind()
        return copy(self._batches) if isinstance(self._batches, EpochLoader) else self._batches

    def rewind(self) -> None:
        """Restores the state of torch's generator and of the loader's generators."""
        torch.random.set_rng_state(self._random)
        for generator, state in self._of_loader:
            generator.set_state(state)

    def batch_of(self, size: Size) -> Data | None:
        return next((batch for batch in self._once() if size_of(batch) == size), None)

    def graphs(self) -> NDArray[np.int64] | None:
        """Returns the counts of each graph that batches may have, from the loader's data set or the batches themselves."""
        dataset: Any = getattr(self._batches, "dataset", self._batches)
        dataset = as_graphs(dataset) or dataset
        if isinstance(dataset, Graphs):
            return sizes_of(dataset)
        if isinstance(dataset, IterableDataset) or not (hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")):
            return None
        try:
            if len(dataset) and isinstance(dataset[0], Data):
                return graphs_of(dataset[i] for i in range(len(dataset)))
        except (NotImplementedError, LookupError, TypeError):  # Its keys are not numbers.
            pass
        return None


def _generators(loader: Any) -> list[torch.Generator]:
    """Returns the generators of a loader, and of the samplers that choose its batches."""
    batch_sampler = getattr(loader, "batch_sampler", None)
    owners = (loader, getattr(loader, "sampler", None), batch_sampler, getattr(batch_sampler, "sampler", None))
    found = (getattr(owner, "generator", None) for owner in owners)
    return [generator for generator in found if isinstance(generator, torch.Generator)]
