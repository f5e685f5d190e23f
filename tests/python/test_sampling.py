"""Sampled neighbours against neighbourhoods by SciPy and the subgraph types of PyTorch Geometric."""

import json

import numpy as np
import pytest
import scipy.sparse
from arcs import read_lists

CNR_NODES = 325_557


def made_up(nodes=3000):
    """Neighbour lists with a few long ones."""
    rng = np.random.default_rng(4)
    degrees = np.minimum(rng.zipf(1.6, nodes) - 1, nodes // 2)
    lists = [np.sort(rng.choice(nodes, degree, replace=False)) for degree in degrees]
    return np.concatenate(([0], np.cumsum(degrees))), np.concatenate(lists).astype(np.int64)


@pytest.fixture(scope="module", params=["made up", "cnr-2000"])
def graph(request):
    """(indptr, indices, seeds)"""
    if request.param == "made up":
        indptr, indices = made_up()
    else:
        folder = request.getfixturevalue("data_dir") / "graph-cnr2000"
        if not folder.is_dir():
            pytest.skip(f"no graph at {folder} (set PLIMSOLL_DATA)")
        indptr, indices = read_lists(folder / "cnr-2000.arcs.tsv.zst", CNR_NODES)
    return indptr, indices, np.random.default_rng(5).permutation(indptr.size - 1)[:40].astype(np.int64)


@pytest.fixture
def sample(run, graph, tmp_path):
    """sample(type, fan_outs, disjoint): a batch as arrays."""

    def sample_batch(subgraph_type, fan_outs, disjoint=False):
        for name, column in zip(("indptr", "indices", "seeds"), graph):
            np.save(tmp_path / f"{name}.npy", column)
        shared = "disjoint" if disjoint else "shared"
        batch = json.loads(run("sampling_twin", tmp_path, subgraph_type, shared, *fan_outs))
        return {name: np.array(column, dtype=np.int64) for name, column in batch.items()}

    return sample_batch


def matrix(indptr, indices):
    """Row v has the neighbours of v; what stands there is the edge, from 1."""
    size = indptr.size - 1
    return scipy.sparse.csr_array((np.arange(1, indices.size + 1), indices, indptr), shape=(size, size))


def test_a_full_fan_out_is_the_neighbourhood(graph, sample):
    indptr, indices, seeds = graph
    batch = sample("directional", [-1, -1, -1])
    links = matrix(indptr, indices)
    reached = np.zeros(indptr.size - 1, bool)
    reached[seeds] = True
    counts = [seeds.size]
    for _ in range(3):
        further = reached.copy()
        further[links[np.flatnonzero(reached)].indices] = True
        expanded, reached = reached, further
        counts.append(int(further.sum() - expanded.sum()))
    assert np.array_equal(batch["nodes_per_hop"], counts)
    assert np.array_equal(np.sort(batch["node"]), np.flatnonzero(reached))
    edges = np.sort(links[np.flatnonzero(expanded)].data - 1)
    assert np.array_equal(np.sort(batch["edge"]), edges)
    assert batch["edges_per_hop"].sum() == edges.size


@pytest.mark.parametrize("disjoint", [False, True])
def test_sampled_edges_are_edges_of_the_graph(graph, sample, disjoint):
    indptr, indices, seeds = graph
    batch = sample("directional", [15, 10, 5], disjoint)
    node, row, col, edge = (batch[name] for name in ("node", "row", "col", "edge"))
    assert np.array_equal(node[:seeds.size], seeds)
    assert np.array_equal(indices[edge], node[row])
    assert np.all((indptr[node[col]] <= edge) & (edge < indptr[node[col] + 1]))
    degrees = np.diff(indptr)[node]
    hop = np.repeat(np.arange(4), batch["nodes_per_hop"])
    fan_out = np.array([15, 10, 5, 0])[hop]
    assert np.array_equal(np.bincount(col, minlength=node.size), np.minimum(degrees, fan_out))
    assert np.unique(np.stack([col, edge]), axis=1).shape[1] == edge.size
    names = np.stack([node, batch["batch"] if disjoint else 0 * node])
    assert np.unique(names, axis=1).shape[1] == node.size


def test_induced_is_the_submatrix(graph, sample):
    indptr, indices, _ = graph
    batch = sample("induced", [5, 5])
    expected = matrix(indptr, indices)[batch["node"]][:, batch["node"]]
    size = batch["node"].size
    found = scipy.sparse.csr_array((batch["edge"] + 1, (batch["col"], batch["row"])), shape=(size, size))
    assert (found != expected).nnz == 0
    assert batch["edge"].size == expected.nnz


def test_bidirectional_is_that_of_pytorch_geometric(sample):
    torch = pytest.importorskip("torch")
    utils = pytest.importorskip("torch_geometric.sampler.utils")
    sampled = {name: torch.from_numpy(column) for name, column in sample("directional", [5, 5]).items()}
    row, col, _ = utils.to_bidirectional(sampled["row"], sampled["col"], sampled["row"], sampled["col"])
    both = sample("bidirectional", [5, 5])
    assert np.array_equal(both["row"], row)
    assert np.array_equal(both["col"], col)
    # An edge is one that was sampled between the two, in either direction.
    ends = {edge: {row, col} for row, col, edge in zip(*(sampled[name].tolist() for name in ("row", "col", "edge")))}
    assert all(ends[edge] == {row, col} for row, col, edge in zip(both["row"], both["col"], both["edge"]))
