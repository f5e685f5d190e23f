"""Holds out edges of a graph for link prediction: `plimsoll.split_edges`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from plimsoll import _core
from plimsoll.arguments import Budget, PathLike, Progress, budget_text, whole
from plimsoll.data.graph import Graph


@dataclass(frozen=True)
class EdgeSplit:
    """The result of `split_edges`. `graph` has the remaining edges, and the pairs of each split in `edge_splits`."""

    graph: Graph
    already_there: bool  #: Whether the output already held this split, so that nothing was done.
    undirected: bool | None  #: Whether every edge is stored in both directions and counts as one pair; None if `already_there`.
    nodes: int
    edges: int  #: Number of remaining edges.
    train_edges: int  #: Number of training pairs.
    valid_edges: int  #: Number of validation pairs.
    test_edges: int  #: Number of test pairs.


def split_edges(
    graph: PathLike | Graph,
    out: PathLike,
    *,
    valid: float = 0.05,
    test: float = 0.05,
    train: float = 1,
    seed: int = 42,
    force: bool = False,
    budget: Budget = None,
    progress: Progress = None,
) -> EdgeSplit:
    """Holds edges of a graph out for link prediction, writes the remaining graph and opens it.

    - `graph`: a `graph` data set or its path.
    - `out`: path of the new data set.
    - `valid`, `test`: fractions of the pairs of nodes with an edge that are held out, with the edges in both
      directions.
    - `train`: fraction of the remaining pairs used for training.
    - `seed`: random seed, 0 or more. Whether a pair is held out depends only on the seed and its two nodes, so the
      fractions hold on average.
    - `force`: replace an existing output.
    - `budget`: as in `plimsoll.ingest.graph`.
    - `progress`: as in `plimsoll.ingest`. Counts edges, in two passes.

    Self-loops remain in the graph and are not pairs. Options and output bytes are the same as those of `plimsoll
    split-edges` (docs/giant-graphs.md).

    Errors: `InputError` if `graph` is not a graph, or has rows that do not ascend or repeat a neighbour; `UsageError`
    for the fractions; `BudgetExceeded`; `Failure`.
    """
    options = _core.EdgeSplitOptions()
    options.graph, options.out = Path(graph), Path(out)
    options.valid, options.test, options.train = valid, test, train
    options.seed = whole("seed", seed, 0, 2**64 - 1)
    options.force = force
    made = _core.make_edge_split(options, budget_text(budget), progress)
    undirected = None if made.already_there else made.undirected
    return EdgeSplit(Graph(out), made.already_there, undirected, made.nodes, made.edges, *made.pairs)
