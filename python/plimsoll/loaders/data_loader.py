"""Batches of a data set's graphs for PyTorch Geometric, within a memory budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plimsoll import _core
from plimsoll.arguments import accept_loader_options, texts, whole
from plimsoll.data.graph_set import Graphs, as_graphs
from plimsoll.data.pyg_data import is_data, one_graph
from plimsoll.errors import UsageError
from plimsoll.loaders.drawn_order import require_sampler
from plimsoll.loaders.epochs import EpochLoader
from plimsoll.loaders.list_batches import ListBatches

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Batch

_NO_LIMIT = 2**63 - 1


class DataLoader(EpochLoader["Batch"]):
    """Iterates over graphs of a `GraphSet` in batches: `for batch in loader` is one epoch.

    A batch equals that of `torch_geometric.loader.DataLoader` for the same graphs, a `torch_geometric.data.Batch`:
    `x` f32 [N, F], `edge_index` i64 [2, E], `edge_attr` f32 [E, K], `y` i64 [B], `pos` f32 [N, 3] and `node_y` i64
    [N] if the data set has them, `batch` i64 [N], `ptr` i64 [B+1]. Tensors are copies and may be written to. C++ makes
    them ahead of time in a separate thread; there are no worker processes.

    - `dataset`: a `GraphSet`, `Graphs` selected from one (`graphs[graphs.splits["train"].slice]`), or torch's
      `Subset` or `ConcatDataset` of these. Any other sequence, such as a list of `Data` or a data set of PyTorch
      Geometric, is also accepted: its items are fetched in the caller's thread or by `num_workers` processes, put
      together by PyTorch Geometric, and not counted by the ledger; `max_bytes` is then not available.
    - `batch_size`: maximum graphs per batch. None: as many as the other limits allow.
    - `shuffle`: shuffle each epoch. The order depends only on `(seed, epoch)`, not on torch's generator.
    - `sampler`, `batch_sampler`: samplers of torch or PyTorch Geometric, or lists, for a list or data set of `Data`.
      They return the numbers of graphs in order, as `ImbalancedSampler` does, or of whole batches, as
      `DynamicBatchSampler` does. They draw from torch's generator, seeded from `(seed, epoch)`, so an epoch can be
      repeated. For a `GraphSet` use `graphs[numbers]`.
    - `follow_batch`, `exclude_keys`: as in PyTorch Geometric.
    - `max_nodes`, `max_edges`, `max_bytes`: a batch ends before it would exceed one of them. `max_bytes`, a number or
      text such as "16MiB", counts the bytes of all tensors, including `ptr`, `batch` and the offsets of each graph's
      edges. A graph that exceeds a limit by itself is a `UsageError`, or is left out with `skip_too_big`.
    - `min_steps_per_epoch`: minimum number of batches per epoch. It limits `batch_size` to m / min_steps_per_epoch,
      rounded down, for an epoch of m graphs per rank. Too few graphs are a `UsageError`.
    - `drop_last`: leave out the last batch if it has fewer than `batch_size` graphs.
    - `seed`: a whole number from 0 to 2^64 - 1.
    - `rank`, `num_replicas`: the rank of this process and the number of processes; by default those of
      torch.distributed when an epoch begins, or 0 of 1. As in `DistributedSampler`, each rank gets every
      num_replicas-th graph of the same order. If the graphs do not divide evenly, the order starts again at its
      beginning, or with `drop_last` ends earlier. All ranks have the same number of batches: if limits give a rank
      fewer, its first batches come again, or with `drop_last` the other ranks leave out their surplus.
    - `pin_memory`: put batches into pinned memory if there is CUDA; otherwise warn, as torch does.
    - `prefetch_factor`: maximum number of batches made ahead, together at most 16 MiB or one batch. 0 uses no thread.
    - `as_numpy`: return each batch as a dictionary of NumPy arrays of the same names, dtypes and shapes, and
      `edge_ptr` i64 [B+1]. Needs neither torch nor PyTorch Geometric. Their memory is freed like that of
      tensors.
    - `num_workers`, `persistent_workers` and other arguments for how torch's loader makes batches are accepted.
      Graphs of a `GraphSet` need no processes.

    Memory: the ledger counts the tensors of batches under the tag `blocks` until they are freed, including batches made
    ahead. After a refusal, no batches are made ahead until the next batch is delivered. If a requested batch is
    refused, `BudgetExceeded` is raised at once; its text has the bytes held by delivered batches, which are also in
    `live_bytes`. The next call of `next` makes the same batch again, also if the caller's own code was refused memory.
    After any other error in that code, it continues with the following batch, as in torch.

    Epochs: each `iter(loader)` is an epoch, numbered 0, 1, ... in the order in which their first batches are requested;
    `set_epoch` sets the number of the next one. Epochs of one loader that run at the same time are independent, and
    `state_dict` describes the one started last. An epoch may be used by one thread at a time. A loader can be pickled:
    the copy opens the data set by its path and starts with the coming epoch. A child process made by `fork()` starts
    its own thread and continues.

    Errors: `UsageError` for arguments, and a closed data set; `InputError` for a damaged data set, when the graph is
    reached; `MissingPackage` without torch or PyTorch Geometric, when an epoch begins.
    """

    def __init__(
        self,
        dataset: Graphs | Sequence[Any],
        batch_size: int | None = 1,
        shuffle: bool = False,
        follow_batch: Iterable[str] | None = None,
        exclude_keys: Iterable[str] | None = None,
        *,
        max_nodes: int | None = None,
        max_edges: int | None = None,
        max_bytes: int | str | None = None,
        skip_too_big: bool = False,
        min_steps_per_epoch: int = 0,
        drop_last: bool = False,
        seed: int = 0,
        rank: int | None = None,
        num_replicas: int | None = None,
        pin_memory: bool = False,
        prefetch_factor: int | None = 2,
        as_numpy: bool = False,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[Iterable[int]] | None = None,
        **others: Any,
    ) -> None:
        others.pop("collate_fn", None)  # PyTorch Geometric ignores it too, for Lightning.
        self._graphs = as_graphs(dataset)
        if self._graphs is not None:
            others |= {"sampler": sampler, "batch_sampler": batch_sampler}
        self._processes = accept_loader_options(others)
        if self._graphs is None:
            _require_sequence(dataset, as_numpy, max_bytes)
        if batch_size is None and max_nodes is None and max_edges is None and max_bytes is None:
            raise UsageError("batch_size=None: expected a number, or one of max_nodes, max_edges and max_bytes")
        if sampler is not None:
            require_sampler("sampler", sampler, {"shuffle=True": shuffle, "batch_sampler": batch_sampler is not None})
        if batch_sampler is not None:
            limits = {"batch_size": batch_size != 1, "max_nodes": max_nodes is not None, "max_edges": max_edges is not None}
            others_given = {"shuffle=True": shuffle, "drop_last=True": drop_last, "min_steps_per_epoch": min_steps_per_epoch > 0}
            require_sampler("batch_sampler", batch_sampler, limits | others_given)
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.dataset = dataset
        self._has_x = self._graphs is not None and self._graphs.graph_set.num_node_features > 0
        self.follow_batch = texts("follow_batch", follow_batch or [])
        self.exclude_keys = texts("exclude_keys", exclude_keys or [])
        options = {
            "batch_size": _limit("batch_size", batch_size),
            "shuffle": bool(shuffle),
            "max_nodes": _limit("max_nodes", max_nodes),
            "max_edges": _limit("max_edges", max_edges),
            "max_bytes": None if max_bytes is None else _core.parse_size(str(max_bytes)),
            "skip_too_big": bool(skip_too_big),
            "min_steps_per_epoch": whole("min_steps_per_epoch", min_steps_per_epoch, 0),
            "drop_last": bool(drop_last),
            "seed": whole("seed", seed, 0, 2**64 - 1),
        }
        super().__init__(options, rank, num_replicas, pin_memory, prefetch_factor)
        self._numpy = bool(as_numpy)

    def _make(self) -> _core.Batches | ListBatches:
        if self._graphs is None:
            from torch_geometric.loader.dataloader import Collater

            collate = Collater(self.dataset, self.follow_batch or None, self.exclude_keys or None)
            return ListBatches(self.dataset, self._options, collate, self._processes, self.sampler, self.batch_sampler)
        batching = _core.Batching()
        options = self._options
        batching.graphs, batching.nodes, batching.edges, batching.bytes = (
            _NO_LIMIT if options[name] is None else options[name]
            for name in ("batch_size", "max_nodes", "max_edges", "max_bytes")
        )
        batching.skip_too_big, batching.shuffle = options["skip_too_big"], options["shuffle"]
        batching.drop_last, batching.min_steps = options["drop_last"], options["min_steps_per_epoch"]
        batching.seed = options["seed"]
        return _core.Batches(self._graphs.graph_set._mapping, self._indices(), self.exclude_keys, batching)

    def _finish(self, tensors: dict[str, Tensor]) -> Batch:
        if self._graphs is None:
            return tensors  # This is a batch already.
        from plimsoll.loaders.batch import to_batch

        return to_batch(tensors, self._has_x, self.follow_batch, self.exclude_keys)

    def _in_buffer(self, field: str) -> bool:
        from plimsoll.loaders.batch import FIELDS

        return self._graphs is not None and field in (*FIELDS, "batch", "ptr", "edge_ptr")

    def _closed(self) -> bool:
        return self._graphs is not None and self._graphs.graph_set.closed

    def _identity(self) -> str:
        if self._graphs is None:
            return f"{type(self.dataset).__name__} of {len(self.dataset)}"
        return _core.identity(self._graphs.graph_set._mapping, self._indices())

    def _indices(self) -> NDArray[np.int64]:
        assert self._graphs is not None
        indices = self._graphs.indices
        if isinstance(indices, range):
            return np.arange(indices.start, indices.stop, indices.step, dtype=np.int64)
        return np.asarray(indices, dtype=np.int64)

    def __repr__(self) -> str:
        source = f"{len(self.dataset)} of {type(self.dataset).__name__}" if self._graphs is None else repr(self._graphs)
        return f"DataLoader({source}, {self._given()})"


def _require_sequence(dataset: Any, as_numpy: bool, max_bytes: int | str | None) -> None:
    """Checks a dataset that has no graphs of a `GraphSet`, and the options for it. Errors: `UsageError`."""
    if is_data(dataset):
        raise UsageError(one_graph(dataset))
    if not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")):
        raise UsageError(
            f"dataset: is {type(dataset).__name__}, expected graphs of a plimsoll.GraphSet, or a list or data set of "
            "Data; plimsoll.from_pyg(dataset, path) makes a GraphSet from any iterable"
        )
    if as_numpy:
        raise UsageError("as_numpy works only with graphs of a plimsoll.GraphSet")
    if max_bytes is not None:
        raise UsageError("max_bytes works only with graphs of a plimsoll.GraphSet; give max_nodes or max_edges")


def _limit(name: str, value: int | None) -> int | None:
    return None if value is None else whole(name, value, 1)
