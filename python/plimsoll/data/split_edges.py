"""Edges of a graph held out of training: `plimsoll.split_edges`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from plimsoll import _core
from plimsoll.arguments import Budget, PathLike, Progress, budget_text, whole
from plimsoll.data.graph import Graph


@dataclass(frozen=True)
class EdgeSplit:
    """What `split_edges` made: `graph` is without the edges held out, and has the pairs as `edge_splits`."""

    graph: Graph
    already_there: bool  # the output held just this split: nothing was done
    undirected: bool | None  # every edge stands both ways, and is a pair once; None: already there, nobody looked
    nodes: int
    edges: int  # that stay
    train_edges: int  # pairs of each split
    valid_edges: int
    test_edges: int


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
    """Holds edges of a `graph` out, to train link prediction; the rest is written to another one, which is opened.

    `graph` is a data set or its path. `valid` and `test` are the shares of pairs of nodes with an edge that validate and
    test, both ways of a pair; `train` is the share of those that stay that trains. Which pairs are held out depends on
    `seed` and their nodes alone, so that shares are met on average. Self-loops stay, and are no pairs. The options are
    those of `plimsoll split-edges` (docs/giant-graphs.md), and so are the bytes; `force` replaces an existing output,
    `budget` is that of `plimsoll.ingest.graph`. Progress counts edges, of two passes.
    Errors: `InputError` (no graph; rows that do not ascend or have a neighbour twice), `UsageError` (shares),
    `BudgetExceeded`, `Failure`.
    """
    options = _core.EdgeSplitOptions()
    options.graph, options.out = Path(graph), Path(out)
    options.valid, options.test, options.train = valid, test, train
    options.seed = whole("seed", seed, 0, 2**64 - 1)
    options.force = force
    made = _core.make_edge_split(options, budget_text(budget), progress)
    undirected = None if made.already_there else made.undirected
    return EdgeSplit(Graph(out), made.already_there, undirected, made.nodes, made.edges, *made.pairs)
