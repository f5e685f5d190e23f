"""`plimsoll.plan`: what training a model takes of memory, said before it runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import IterableDataset
from torch_geometric.data import Data

from plimsoll import _torch
from plimsoll._fit.budget import budget as budget_of_process
from plimsoll._fit.budget import limit as limit_in_force
from plimsoll._fit.budget import naming_a_budget, smallest_budget
from plimsoll._fit.device import device_of, generators
from plimsoll._fit.module_memory import ModuleMemory
from plimsoll._fit.planner import Needs, graphs_of, largest_batch, worst_of
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
    """What a run takes of memory, in bytes. `print` shows it."""

    parameters: int  #: the model's parameters and buffers
    gradients: int  #: of all parameters when the backward pass ends; of "zero2" those that a rank keeps
    optimizer: int  #: what the optimizer keeps from step to step; with sharding a rank's share
    batch: int  #: the tensors of the worst batch
    step: int  #: activations, gradients and what operations need while they run, at the worst moment of its step
    outside: int  #: what the process holds beside: interpreter, libraries, other tensors
    worst: Size  #: the batch that takes most
    operation: str  #: of torch, in which its step comes to its peak
    held_at_peak: tuple[tuple[str, int], ...]  #: bytes by the operation that asked for them, the largest first
    exact: bool  #: whether the worst batch was run; else its need is worked out from smaller ones
    difference: str  #: where operations allocate by more than a batch's counts, so that what was not run is an estimate
    largest_batch: int | None  #: how many graphs fit the budget, or the limit found, whichever of the data they are;
    #: None where batches are parts of one graph, and where nothing says which graphs there are
    budget: int | None  #: that it was made for
    sharding: str | None  #: of gradients and optimizer among ranks: "zero1", "zero2", or None
    ranks: int  #: of which one is planned
    memory: ModuleMemory = field(repr=False)  #: of the step on the worst batch
    device: str = "cpu"  #: whose memory all of this is; `outside` is then what driver and libraries hold of it
    bound: bool = False  #: whether random numbers decide which operations run, as with stochastic depth: a step takes this or less
    between: int = 0  #: of a device: what is lost between tensors, and may be taken for kernels that are loaded later

    def by_module(self) -> ModuleMemory:
        """Which module of the model holds what at the peak of `step` and over it, and a snapshot for
        pytorch.org/memory_viz."""
        return self.memory

    @property
    def tensors(self) -> int:
        """The most bytes that the ledger will hold of the run: the peak to the byte where the plan is exact and the
        run keeps nothing from one step to the next."""
        return self.parameters + self.optimizer + self.batch + self.step

    @property
    def peak(self) -> int:
        """Of the whole process."""
        return self.outside + self.tensors

    @property
    def smallest_budget(self) -> int:
        """The least budget that the run works with in any process like this, in whole MiB: the peak, the slack of
        `plimsoll.budget` and 2 MiB; of a device the peak and what is lost between tensors."""
        if self.device != "cpu":
            return -(-(self.peak + self.between) >> 20 << 20)
        return smallest_budget(self.peak)

    @property
    def fits(self) -> bool:
        """Whether it works within the budget; True without one."""
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
            lines.append(f"a rank holds {size(self.gradients)} of gradients when the backward pass ends")
        how = "" if self.exact else " (a bound: which operations run is random)" if self.bound else " (estimated, not run)"
        lines.append(f"worst batch: {self.worst}{how}")
        if self.largest_batch is not None:
            lines.append(f"largest batch, whichever the graphs: {self.largest_batch} graphs")
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
) -> Plan:
    """Says what training any model of PyTorch Geometric takes of memory, before the run.

    Steps on a few of the batches run on a copy of the model, and every allocation of theirs is written down; what the
    other batches need is worked out from that, as a function of their graphs, nodes, edges and self-loops, and the
    one that needs most is run as well. Model, optimizer and torch's generator stay as they are.

    `batches` is one `Data` or `Batch`, or what gives them: a `DataLoader` of Plimsoll or of PyTorch Geometric, a
    list. It is gone through more than once, and stands as before afterwards; where it shuffles, later epochs may have
    larger batches, which `largest_batch` takes into account. `optimizer` is one that exists, or what makes one of parameters. `forward(model, batch)` gives
    what `loss(out, batch.y)` takes; by default the model is given the batch's fields by the names of its parameters.
    Without `training` a forward pass without gradients is planned. With a `budget` planning keeps within it, and the
    worst batch may be estimated.

    With `sharding` the plan is that of one of `ranks` processes, whose batches these are, that shard the optimizer's state
    ("zero1"), or gradients too ("zero2"), as ZeRO does: each has an even slice of all parameters' elements. `step` counts
    all gradients in full, as a backward pass may hold them before they are reduced; buffers of the library that
    communicates come on top.

    With `device="cuda"` it is a loop with model, optimizer, batch and step on the GPU, of whose memory all figures are; what
    it tries runs there, within `device_budget` (`plimsoll.budget`).

    Errors: `UsageError` (no batches, a model that is not on the CPU or cannot be copied, a sharding other than these),
    `BudgetExceeded` where the budget is too small for the smallest part of a batch, with the smallest that works, which is
    planned without the budget; and what model and loss raise.
    """

    def within(budget: Budget) -> Plan:
        return _planned(model, batches, loss, optimizer, forward, training, budget, sharding, ranks, str(device), device_budget)

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
) -> Plan:
    require_cpu(model)
    if training and (parameters := [*model.parameters()]) and not any(parameter.requires_grad for parameter in parameters):
        raise UsageError("every parameter of the model is frozen; expected one at least with requires_grad=True, or training=False")
    stage = checked(sharding, ranks)
    gpu = device_of(device, device_budget)
    with budget_of_process(budget) as memory, naming_a_budget(), torch.random.fork_rng(devices=generators(gpu)):
        held_before = _torch.held()
        if gpu is not None:
            gpu.warm_up()
            held_before = gpu.in_use + gpu.workspace  # a backward pass runs in a thread with one of its own
        in_buffer = batches._in_buffer if isinstance(batches, EpochLoader) else None
        needs = Needs(Trial(model, optimizer, forward, loss, training, gpu, in_buffer))
        found = _Found(batches)
        found.go_through(needs)
        worst = worst_of(needs, found.sizes, found.batch_of)
        found.rewind()
        trial = needs.trial
        share = share_of(trial, stage, ranks) if training else Share(0, 0)
        fixed = trial.parameters + share.optimizer
        elsewhere = [*model.parameters(), *model.buffers()]
        if isinstance(optimizer, torch.optim.Optimizer):
            elsewhere += tensors_in(optimizer.state)
        between = 0
        if gpu is not None:
            outside, limit = gpu.context + held_before, gpu.budget
            between = max(needs.packed(worst.size) - worst.step, 0) + (fixed + worst.bytes) // 64 + 2 * _MIB
            free = limit - outside - fixed - between
        else:
            _torch.give_back_freed_memory()
            outside, limit = _torch.outside() + held_before - bytes_of(elsewhere), limit_in_force()
            if found.in_memory:
                outside -= worst.batch
            free = limit - _torch.slack(limit) - outside - fixed
        graphs = None if found.of_one_graph else found.graphs()
        return Plan(
            parameters=trial.parameters,
            gradients=share.gradients,
            optimizer=share.optimizer,
            batch=worst.batch,
            step=worst.step,
            outside=outside,
            worst=worst.size,
            operation=worst.operation,
            held_at_peak=worst.held,
            exact=worst.run and all(map(needs.spans, found.sizes)) and not needs.are_bounds,
            bound=needs.are_bounds,
            difference=needs.difference,
            largest_batch=None if graphs is None else largest_batch(needs, graphs, free),
            budget=limit if budget is not None or gpu is not None or limit < memory.bytes else None,
            sharding=sharding,
            ranks=ranks,
            memory=needs.by_module(worst.size),
            device="cpu" if gpu is None else device,
            between=between,
        )


class _Found:
    """The batches of a loader, of which only the largest are kept."""

    def __init__(self, batches: Batches) -> None:
        self.in_memory = isinstance(batches, (Data, Sequence))
        self._batches: Iterable[Data] = [batches] if isinstance(batches, Data) else batches
        self._random = torch.random.get_rng_state()
        self._of_loader = [(generator, generator.get_state()) for generator in _generators(batches)]
        self.sizes: set[Size] = set()
        self._largest: list[Data] = []  # by nodes, by edges

    def go_through(self, needs: Needs) -> None:
        """Errors: `UsageError` where there is nothing."""
        largest: list[tuple[int, Data]] = []
        for batch in self._once():
            if not isinstance(batch, Data):
                raise UsageError(f"batches gave {type(batch).__name__}; expected torch_geometric.data.Data or Batch")
            size = size_of(batch)
            self.sizes.add(size)
            counts = (size.nodes, size.edges)
            largest = [max(a, b, key=lambda p: p[0]) for a, b in zip(largest, zip(counts, (batch, batch)))] or [
                (count, batch) for count in counts
            ]
        if not largest:
            raise UsageError("batches gave nothing; expected one batch at least")
        self._largest = [batch for _, batch in largest]
        for batch in self._largest:
            needs.run_parts(batch)
        for batch in self._largest:
            needs.run(batch)

    @property
    def of_one_graph(self) -> bool:
        """Whether batches were sampled of one graph: a loader says which of its nodes they have."""
        return all("n_id" in batch for batch in self._largest)

    def _once(self) -> Iterable[Data]:
        # A copy of a loader, and torch's generator as it was: epochs stay as they are, and each time the same batches come.
        self.rewind()
        return copy(self._batches) if isinstance(self._batches, EpochLoader) else self._batches

    def rewind(self) -> None:
        """Puts torch's generator, and those that the loader has, back to where they were."""
        torch.random.set_rng_state(self._random)
        for generator, state in self._of_loader:
            generator.set_state(state)

    def batch_of(self, size: Size) -> Data | None:
        return next((batch for batch in self._once() if size_of(batch) == size), None)

    def graphs(self) -> NDArray[np.int64] | None:
        """The counts of each graph that batches may have: of the loader's data set, or of the batches themselves."""
        dataset: Any = getattr(self._batches, "dataset", self._batches)
        dataset = as_graphs(dataset) or dataset
        if isinstance(dataset, Graphs):
            return sizes_of(dataset)
        if isinstance(dataset, IterableDataset) or not (hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__")):
            return None
        try:
            if len(dataset) and isinstance(dataset[0], Data):
                return graphs_of(dataset[i] for i in range(len(dataset)))
        except (NotImplementedError, LookupError, TypeError):  # it has keys of its own, or gives graphs another way
            pass
        return None


def _generators(loader: Any) -> list[torch.Generator]:
    """Those of a loader, and of the samplers that choose its batches."""
    batch_sampler = getattr(loader, "batch_sampler", None)
    owners = (loader, getattr(loader, "sampler", None), batch_sampler, getattr(batch_sampler, "sampler", None))
    found = (getattr(owner, "generator", None) for owner in owners)
    return [generator for generator in found if isinstance(generator, torch.Generator)]
