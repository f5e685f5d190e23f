"""Batches of clusters of one graph that is larger than memory, for PyTorch Geometric."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plimsoll import _core
from plimsoll.arguments import Budget, accept_loader_options, budget_text, one_of, whole
from plimsoll.data.graph import Graph
from plimsoll.data.to_pyg import require_pyg
from plimsoll.errors import UsageError
from plimsoll.loaders.list_batches import ListBatches
from plimsoll.loaders.neighbours import NeighborLoader, graph_of

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

METHODS = ("stream", "metis")


class ClusterData:
    """Divides the nodes of a graph into `num_parts` parts with few edges between them, for `ClusterLoader`.

    `parts` is i32 [V], the part of each node, 0 .. num_parts-1. `cut_edges` is the number of edges between parts;
    every entry of `indices` counts as an edge.

    - `data`: a `Graph` or a `torch_geometric.data.Data`.
    - `method`: the partitioning algorithm, by default "stream" for a `Graph` and "metis" for a `Data`. "stream" reads
      the files of the graph, holds 8 bytes per node, and guarantees that no part has more than (1 + slack) V /
      num_parts nodes, rounded up (Stanton and Kliot, KDD 2012; Nishimura and Ugander, KDD 2013). It sees the
      neighbours in a node's row: only one direction of a directed graph. "metis" runs METIS_PartGraphKway (Karypis
      and Kumar, SIAM J. Sci. Comput. 1998), as torch_geometric.loader.ClusterData does, in a separate process. It
      mostly cuts fewer edges, but takes longer and needs about 70 bytes per node and per neighbour, in both
      directions; it only aims at the limit on nodes. At most 2^30 nodes and 2^29 edges.
    - `slack`: fraction by which a part may exceed its share of the nodes.
    - `keep_inter_cluster_edges`: whether `clusters[i]`, part `i` as a `Data`, also has the edges from other parts.
      Batches of `ClusterLoader` have the edges between their parts either way, as in PyTorch Geometric.
    - `parts`: an existing partition, whole numbers [V] below `num_parts`, used instead of making one.
    - `sparse_format`, `recursive`, `save_dir`, `filename`, `log`: arguments of PyTorch Geometric's `ClusterData`.
      `sparse_format` is the order of edges of a `Data`; the others are accepted and ignored. Nothing is saved: keep
      `parts`.
    - `budget`: for partitioning, as in `plimsoll.ingest.graph`, but by default the detected limit minus 64 MiB. The
      ledger counts `parts` under `columns`.

    For a `Data` it also has the attributes of PyTorch Geometric's class (`partition`, `clusters[i]`). Parts are the
    same on every machine (measurements: bench/results/clusters.md).

    Errors: `UsageError` for arguments, and graphs too large for METIS; `InputError` for a damaged graph;
    `BudgetExceeded`; `Failure` if METIS fails.
    """

    def __init__(
        self,
        data: Graph | Data,
        num_parts: int,
        recursive: bool = False,
        save_dir: str | None = None,
        filename: str | None = None,
        log: bool = True,
        keep_inter_cluster_edges: bool = False,
        sparse_format: str = "csr",
        *,
        method: str | None = None,
        slack: float = 0.1,
        parts: ArrayLike | None = None,
        budget: Budget = None,
    ) -> None:
        source, self.data = graph_of(data)
        self.num_parts = whole("num_parts", num_parts, 1, 2**31 - 1)
        self.keep_inter_cluster_edges = bool(keep_inter_cluster_edges)
        method = one_of("method", method or ("stream" if source is None else "metis"), METHODS)
        if parts is None:
            self.parts = _core.partition(self.data._mapping, self.num_parts, method, float(slack), budget_text(budget))
        else:
            self.parts = _given(parts, self.data.num_nodes, self.num_parts)
        self._of_pyg: Any = None
        if source is not None:
            self._of_pyg = _clusters_of_pyg(source, self, one_of("sparse_format", sparse_format, ("csr", "csc")))

    @property
    def cut_edges(self) -> int:
        """The number of the graph's edges between different parts. Reads all edges."""
        return _core.cut_edges(self.data._mapping, self.parts)

    def __len__(self) -> int:
        return self.num_parts

    def __getitem__(self, i: int) -> Data:
        """Returns part `i` as a `torch_geometric.data.Data`: its nodes in ascending order, and the edges between them.

        For a `Graph`, it has the fields of a batch of `ClusterLoader`. With `keep_inter_cluster_edges`, the nodes of
        the part, which are the first `batch_size`, are followed by the sources of edges from other parts. For a `Data`,
        the result is that of PyTorch Geometric. Errors: `IndexError`; `MissingPackage` without torch or PyTorch
        Geometric.
        """
        number = operator.index(i)
        if not 0 <= number < self.num_parts:
            raise IndexError(f"part {i} of {self.num_parts}")
        if self._of_pyg is not None:
            part: Data = self._of_pyg[number]
            return part
        nodes = np.flatnonzero(self.parts == number)
        hops = [-1] if self.keep_inter_cluster_edges else []
        kind = "directional" if self.keep_inter_cluster_edges else "induced"
        part = NeighborLoader(self.data, hops, nodes, subgraph_type=kind, batch_size=max(len(nodes), 1))(np.arange(len(nodes)))
        part.input_id = part.input_id.new_tensor([number])
        return part

    def __getattr__(self, name: str) -> Any:
        # For a Data, `partition` and everything else that PyTorch Geometric's class has.
        if name.startswith("__") or self.__dict__.get("_of_pyg") is None:
            raise AttributeError(f"'ClusterData' object has no attribute {name!r}")
        return getattr(self._of_pyg, name)

    def __repr__(self) -> str:
        return f"ClusterData({self.data!r}, num_parts={self.num_parts})"


class ClusterLoader(NeighborLoader):
    """Iterates over the parts of `ClusterData` in batches of whole parts, with all edges between their nodes.

    `for batch in loader` is one epoch (Chiang et al., "Cluster-GCN", KDD 2019). A batch is a
    `torch_geometric.data.Data` with the fields of `torch_geometric.loader.ClusterLoader`: `x` f32 [N, F],
    `edge_index` i64 [2, M], `edge_attr` f32 [M, K], `y` i64 [N] and `edge_weight` f32 [M] if the graph has them; and
    `n_id` i64 [N] and `e_id` i64 [M], the nodes and edges of the graph, and `input_id` i64 [B], the parts. Nodes are
    ordered by part, ascending within each. An edge leads from a neighbour to the node in whose row of `indices` it is.

    - `cluster_data`: a `ClusterData`.
    - `batch_size`: parts per batch.
    - `transform`, `shuffle`, `drop_last`, `seed`, `cache_bytes`, `horizon`, `rank`, `num_replicas`, `pin_memory`,
      `prefetch_factor`: as in `plimsoll.NeighborLoader`.

    The parts in a batch depend on `seed` and the epoch. For a `Graph`, empty parts after the last one with nodes are
    skipped. Memory, epochs, `state_dict`, pickling, `fork()`, thread safety and errors are those of
    `plimsoll.NeighborLoader`. The ledger counts 8 bytes per node for the nodes of parts under `columns`.
    """

    def __init__(
        self,
        cluster_data: ClusterData,
        *,
        transform: Callable[[Data], Data] | None = None,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        seed: int = 0,
        cache_bytes: int | str | None = None,
        horizon: int | None = None,
        rank: int | None = None,
        num_replicas: int | None = None,
        pin_memory: bool = False,
        prefetch_factor: int | None = 2,
        **others: Any,
    ) -> None:
        others.pop("collate_fn", None)
        self._processes = accept_loader_options(others)
        if not isinstance(cluster_data, ClusterData):
            raise UsageError(f"cluster_data: is {type(cluster_data).__name__}, expected a plimsoll.ClusterData")
        self.cluster_data = cluster_data
        super().__init__(
            cluster_data.data,
            [],
            subgraph_type="induced",
            transform=transform,
            batch_size=batch_size,
            shuffle=shuffle,
            drop_last=drop_last,
            seed=seed,
            cache_bytes=cache_bytes,
            horizon=horizon,
            rank=rank,
            num_replicas=num_replicas,
            pin_memory=pin_memory,
            prefetch_factor=prefetch_factor,
        )

    def _make(self) -> _core.Neighbours | ListBatches:  # type: ignore[override]
        of_pyg = self.cluster_data._of_pyg
        if of_pyg is not None:
            from torch_geometric.loader.cluster import ClusterLoader as OfPyg

            return ListBatches(range(len(of_pyg)), self._options, OfPyg(of_pyg)._collate, self._processes)
        return _core.Neighbours(self.data._mapping, self.cluster_data.parts, self._loading())

    def _finish(self, tensors: dict[str, Tensor]) -> Data:
        if self.cluster_data._of_pyg is not None:
            given: Any = tensors  # This is a batch already.
            return given if self.transform is None else self.transform(given)
        batch = self._data_of(tensors)
        return batch if self.transform is None else self.transform(batch)

    def _in_buffer(self, field: str) -> bool:
        return self.cluster_data._of_pyg is None

    def _identity(self) -> str:
        return _core.identity(self.data._mapping, self.cluster_data.parts.astype(np.int64))

    def __repr__(self) -> str:
        return f"ClusterLoader({self.cluster_data!r}, {self._given()})"


def _clusters_of_pyg(data: Data, clusters: ClusterData, sparse_format: str) -> Any:
    """Returns PyTorch Geometric's `ClusterData` with these parts."""
    require_pyg("ClusterData")
    import torch
    from torch_geometric.loader.cluster import ClusterData as OfPyg

    class Parts(OfPyg):  # type: ignore[misc]
        def _metis(self, edge_index: Tensor, num_nodes: int) -> Tensor:
            return torch.from_numpy(clusters.parts.astype(np.int64))

    made = Parts(
        data, clusters.num_parts, log=False, keep_inter_cluster_edges=clusters.keep_inter_cluster_edges, sparse_format=sparse_format
    )
    made.__class__ = OfPyg  # This class can be pickled, and the parts are made already.
    return made


def _given(parts: ArrayLike, nodes: int, num_parts: int) -> NDArray[np.int32]:
    given: NDArray[Any] = np.asarray(parts)
    if given.shape != (nodes,) or given.dtype.kind not in "iu":
        raise UsageError(
            f"parts: is {given.dtype} of shape {given.shape}, expected whole numbers of shape [{nodes}], one per node"
        )
    if nodes and not 0 <= int(given.min()) <= int(given.max()) < num_parts:
        raise UsageError(f"parts: found {given.min()} to {given.max()}, expected 0 to {num_parts - 1}")
    return np.ascontiguousarray(given, dtype=np.int32)
