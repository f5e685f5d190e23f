"""Computes the memory that any batch needs from the tapes of a few."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Batch, Data

from plimsoll import _torch
from plimsoll._fit.batch_parts import graphs_in, parts_of
from plimsoll._fit.budget import settle
from plimsoll._fit.module_memory import ModuleMemory, module_memory
from plimsoll._fit.random_paths import RandomPaths
from plimsoll._fit.trial import Tape, Trial, rounding
from plimsoll.data.sizes import Size, size_of
from plimsoll.errors import BudgetExceeded

_PARTS = (0.75, 0.5, 0.375, 0.25, 0.125)  # fractions of a batch that are tried in addition to it
_FEW = (1, 2, 3, 5)  # numbers of its graphs that are tried, which suffice if the budget does not allow more
_ROUNDS = 3  # maximum times that the worst batch is run


class Need(NamedTuple):
    """The memory of one batch, in bytes as the ledger counts them."""

    size: Size
    batch: int
    step: int
    operation: str
    held: tuple[tuple[str, int], ...]  #: Bytes at the peak by operation, the largest first; empty if it was not run.
    run: bool  #: Whether it was run.

    @property
    def bytes(self) -> int:
        return self.batch + self.step


class Needs:
    """Tapes of a few batches, and the memory of all other batches, computed from these tapes.

    The result is exact if the sizes of all tensors are affine in a batch's graphs, nodes, edges and self-loops, or in
    these and the rows that padding to the largest graph makes, and if all batches have the same sequence of
    allocations. Otherwise `difference` names the first operation for which this does not hold.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.tapes: dict[Size, Tape] = {}
        self.refused: BudgetExceeded | None = None
        self._model: _torch.TapeModel | None = None
        self._unusable: set[Size] = set()  # sizes on which the model does not run, such as one graph with batch norm after pooling
        self._pads = False  # whether sizes follow padded graphs
        self._paths: RandomPaths | None = None
        self._several = False  # whether the fit is only for batches of several graphs

    def run(self, batch: Data, may_fail: bool = False) -> None:
        """Runs a step on a batch, unless one of its size was run.

        A batch that the budget refuses is left out, and with `may_fail` also a batch on which the model does not run.
        """
        size = size_of(batch)
        if size in self.tapes or size in self._unusable:
            return
        try:
            self.tapes[size] = self._record(batch)
            self._model = None
        except BudgetExceeded as refusal:
            self.leave_out(refusal)
        except Exception:
            if not may_fail:
                raise
            self._unusable.add(size)

    def _record(self, batch: Data) -> Tape:
        if self._paths is None:
            tape = self.trial.record(batch)
            paths = RandomPaths()
            paths.look(self.trial, batch, tape)
            self._paths = paths
            if not paths.found:
                return tape
        return self._paths.record(self.trial, batch)

    @property
    def are_bounds(self) -> bool:
        """Whether random numbers decide which operations run, so that needs are upper bounds."""
        return self._paths is not None and self._paths.found

    def leave_out(self, refusal: BudgetExceeded) -> None:
        """Records that there was no memory for a batch."""
        self.refused = refusal.alone()
        settle()

    def run_parts(self, batch: Data) -> None:
        """Runs the first graphs of a batch, in several numbers. The model may fail on one graph."""
        if not isinstance(batch, Batch):
            return
        for count in counts_of_parts(batch.num_graphs):
            self.run(parts_of(batch, [count])[0], may_fail=count == 1)

    @property
    def difference(self) -> str:
        """Why needs are not exact; "" if they are."""
        return self._fitted().difference

    def of(self, size: Size) -> Need:
        """Returns the memory that a batch of this size needs, measured or computed; an upper bound if `are_bounds`."""
        need = self._of(size)
        return need._replace(step=self._at_most(need.step))

    def _at_most(self, step: int) -> int:
        return step if self._paths is None else self._paths.at_most(step)

    def _of(self, size: Size) -> Need:
        if (tape := self.tapes.get(size)) is not None:
            held = sorted(tape.recording.held_at_peak(), key=lambda row: -row[1])
            return Need(size, tape.batch + sum(map(rounding, tape.buffers.values())), *tape.recording.peak(), tuple(held), True)
        step, operation = self._fitted().peak(self._terms(size))
        need = Need(size, self._batch_bytes(size), step, operation, (), False)
        return need if self.spans(size) else max(need, self._bound(size), key=lambda n: n.bytes)

    def packed(self, size: Size) -> int:
        """Returns the bytes of one memory range that holds a whole step on such a batch, placing each tensor at the
        first fit.
        """
        return self._at_most(self._packed(size))

    def _packed(self, size: Size) -> int:
        if (tape := self.tapes.get(size)) is not None:
            return tape.recording.packed()
        packed = self._fitted().packed(self._terms(size))
        return packed if self.spans(size) else max(packed, self._bound(size).step)

    def by_module(self, size: Size) -> ModuleMemory:
        """Returns the memory by module; without modules for a batch that was not run, if allocations depend on the data."""
        savings = self._savings(size)
        if (tape := self.tapes.get(size)) is not None:
            return module_memory(tape.recording.by_module(), savings, tape.recording.snapshot())
        model, terms = self._fitted(), self._terms(size)
        if model.same_sequence:
            return module_memory(model.by_module(terms), savings, model.snapshot(terms))
        return module_memory((*model.peak(terms), [], 0, [], [], []), savings)

    def _savings(self, size: Size) -> tuple[tuple[str, int], ...]:
        """Returns the memory that a smaller batch saves, as far as the batches that were run determine it."""
        if size.types:
            return ()
        graphs, nodes, edges, self_loops = (-(-count // 2) for count in size[:4])
        half = Size(graphs, nodes, edges, self_loops, size.largest)
        saved = self.of(size).step - self.of(half).step
        if size.graphs < 2 or saved <= 0 or not self.spans(half):
            return ()
        return ((f"batches of {half.graphs} graphs", saved),)

    def spans(self, size: Size) -> bool:
        """Returns whether the batches that were run determine the need of this size: its counts are a combination of
        theirs.
        """
        if size.edges == 0 and size not in self.tapes and any(other.edges for other in self.tapes):
            return False
        self._fitted()
        if self._several and size.graphs == 1:
            return size in self.tapes
        rows = np.array([self._terms(other) for other in self.tapes if other.graphs > 1 or not self._several], float)
        scale = rows.max(axis=0, initial=1)  # The numbers of pairs of rows are much larger than the other counts.
        rank = np.linalg.matrix_rank
        return bool(rank(rows / scale) == rank(np.vstack([rows, self._terms(size)]) / scale))

    def _bound(self, size: Size) -> Need:
        """Returns an upper bound, if needs grow with every count: the smallest multiple of another need that covers this
        size.
        """
        smallest: Need | None = None
        for other, tape in self.tapes.items():
            if any(a and not b for a, b in zip(self._terms(size), self._terms(other))):
                continue
            times = max(a / b for a, b in zip(self._terms(size), self._terms(other)) if b)
            batch = math.ceil(times * tape.batch) + sum(rounding(math.ceil(times * asked)) for asked in tape.buffers.values())
            need = Need(size, batch, math.ceil(times * tape.step), tape.recording.peak()[1], (), False)
            if smallest is None or need.bytes < smallest.bytes:
                smallest = need
        return smallest or Need(size, 0, 0, "", (), False)

    def _terms(self, size: Size) -> list[int]:
        return size.padded_terms if self._pads else size.terms

    def _fitted(self) -> _torch.TapeModel:
        if self._model is not None:
            return self._model
        if self.refused is not None and not self.tapes:
            raise BudgetExceeded(f"there is not enough memory for a step on one graph: {self.refused}")
        # Batches without edges may run other operations, and so may batches of one graph, which need no padding.
        tapes = [tape for tape in self.tapes.values() if tape.size.edges] or list(self.tapes.values())
        several = [tape for tape in tapes if tape.size.graphs > 1]
        terms = [tape.size.terms for tape in tapes]
        model = _torch.TapeModel([tape.recording for tape in tapes], terms)
        self._pads = self._several = False
        if model.difference and len(several) > 2:
            for pads in (False, True):
                counts = [tape.size.padded_terms if pads else tape.size.terms for tape in several]
                other = _torch.TapeModel([tape.recording for tape in several], counts)
                if not other.difference:
                    model, self._pads, self._several = other, pads, True
                    break
        self._model = model
        fields = sorted({name for tape in tapes for name in tape.buffers})
        batches = [(tape.batch, *(tape.buffers.get(name, 0) for name in fields)) for tape in tapes]
        self._batch, *_ = np.linalg.lstsq(np.array(terms, float), np.array(batches, float))
        return model

    def _batch_bytes(self, size: Size) -> int:
        batch, *buffers = np.ceil(np.dot(size.terms, self._batch) - 0.5).astype(np.int64).tolist()
        return int(batch + sum(rounding(asked) for asked in buffers if asked > 0))


def counts_of_parts(graphs: int) -> list[int]:
    """Returns the numbers of graphs of a batch that are tried."""
    return sorted({min(count, graphs) for count in (*_FEW, *(int(graphs * part) for part in _PARTS)) if count})


def worst_of(needs: Needs, sizes: Iterable[Size], batch_of: Callable[[Size], Data | None]) -> Need:
    """Returns the need of the batch that needs the most, which is run if `batch_of` returns it and the budget
    allows.
    """
    sizes = set(sizes)
    dimensions = max((len(size.types) for size in sizes), default=0) or len(Size._fields)
    for _ in range(dimensions + 1):  # Each batch that is run adds a dimension to what is known.
        unknown = [size for size in sizes if not needs.spans(size)]
        if not unknown or (batch := batch_of(max(unknown, key=lambda size: needs.of(size).bytes))) is None:
            break
        needs.run(batch)
    for _ in range(_ROUNDS):
        worst = max((needs.of(size) for size in sizes), key=lambda need: need.bytes)
        if worst.run or (batch := batch_of(worst.size)) is None:
            return worst
        needs.run(batch)
    return max((needs.of(size) for size in sizes), key=lambda need: need.bytes)


def largest_batch(needs: Needs, graphs: NDArray[np.int64], free: int) -> int:
    """Returns how many graphs fit into `free` bytes, whatever graphs they are. `graphs` i64 [G, 4] has the counts of
    each.
    """
    graphs = np.sort(graphs, axis=0)[::-1]
    largest = int(graphs[0, 1]) if len(graphs) else 0
    totals = np.cumsum(graphs, axis=0)  # row k - 1 has the maximum of each count in any k graphs
    fits, too_many = 0, len(totals) + 1
    while fits + 1 < too_many:
        k = (fits + too_many) // 2
        total, nodes, edges, self_loops = map(int, totals[k - 1])
        if needs.of(Size(total, nodes, edges, self_loops, largest)).bytes <= free:
            fits = k
        else:
            too_many = k
    return fits


def graphs_of(batches: Iterable[Data]) -> NDArray[np.int64]:
    """Returns the counts of every graph of some batches, i64 [G, 4]."""
    graphs = [graph for batch in batches for graph in (graphs_in(batch) if isinstance(batch, Batch) else [batch])]
    return np.array([size_of(graph)[:4] for graph in graphs], np.int64).reshape(-1, 4)
