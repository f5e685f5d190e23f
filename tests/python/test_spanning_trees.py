"""torch.ops.plimsoll.spanning_path_edges: trees of SciPy's kind, whatever the order of edges and the block."""

from collections import Counter

import pytest

torch = pytest.importorskip("torch")
from path_graphs import GRAPHS, both_ways, pairs  # noqa: E402
from scipy.sparse import coo_matrix  # noqa: E402
from scipy.sparse.csgraph import connected_components  # noqa: E402

pytestmark = pytest.mark.usefixtures("ops", "threads")


def keys_of(nodes, graph=0, first=0):
    return torch.stack([torch.full((nodes,), graph), torch.arange(nodes) + first])


def walked(edge_index, keys, seed=1, epoch=0, tree=0, direction="both"):
    """The pairs of edges that are walked, in order."""
    row_begin, target = torch.ops.plimsoll.spanning_path_edges(edge_index, keys, seed, epoch, tree, direction)
    assert len(target) == keys.shape[1] * (2 if direction == "both" else 1)
    sources = torch.arange(keys.shape[1]).repeat_interleave(row_begin.diff())
    return list(zip(sources.tolist(), target[:row_begin[-1]].tolist(), strict=True))


@pytest.mark.parametrize("key", [{"epoch": 2**32}, {"tree": 2**32}, {"tree": -1}])
def test_numbers_beyond_32_bits_are_refused(key):
    with pytest.raises(Exception, match="expected 0 to 4294967295"):
        walked(GRAPHS["triangles"][1], keys_of(5), **key)


def parts(edges, nodes):
    i, j = torch.tensor(list(edges), dtype=torch.long).reshape(-1, 2).t().numpy()
    return connected_components(coo_matrix((i * 0 + 1, (i, j)), shape=(nodes, nodes)), directed=False)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_tree_spans_each_part(name):
    pos, edge_index = GRAPHS[name]
    nodes = len(pos)
    if nodes == 0:
        return
    made = walked(edge_index, keys_of(nodes))
    stored = {frozenset(edge) for edge in edge_index.t().tolist()}
    assert all(frozenset(edge) in stored and (edge[1], edge[0]) in made for edge in made)
    assert made == sorted(set(made))
    count, labels = parts(edge_index.t().tolist(), nodes)
    of_tree, labels_of_tree = parts(made, nodes)
    assert len(made) == 2 * (nodes - count) and of_tree == count and (labels == labels_of_tree).all()
    down = walked(edge_index, keys_of(nodes), direction="descendant")
    assert down == [edge for edge in made if edge[0] < edge[1]]
    assert walked(edge_index, keys_of(nodes), direction="ancestor") == [edge for edge in made if edge[0] > edge[1]]


def test_a_tree_depends_on_its_graph_and_key_alone():
    pos, edge_index = GRAPHS["kNN-8"]
    nodes = len(pos)
    made = walked(edge_index, keys_of(nodes, graph=7))
    shuffled = edge_index[:, torch.randperm(edge_index.shape[1], generator=torch.Generator().manual_seed(1))]
    assert walked(shuffled, keys_of(nodes, graph=7)) == made
    assert walked(both_ways(edge_index).flip(0), keys_of(nodes, graph=7)) == made
    # As the second graph of a block.
    block = torch.cat([torch.tensor([[0, 1], [1, 2]]), edge_index + 3], 1)
    keys = torch.cat([keys_of(3, graph=2), keys_of(nodes, graph=7)], 1)
    assert [(i - 3, j - 3) for i, j in walked(block, keys) if i >= 3] == made
    others = [walked(edge_index, keys_of(nodes, graph=8))] + [
        walked(edge_index, keys_of(nodes, graph=7), **{name: 2}) for name in ("seed", "epoch", "tree")]
    assert all(other != made for other in others)


def test_edges_of_a_cycle_are_left_out_equally_often():
    cycle = pairs((0, 1), (1, 2), (2, 3), (3, 0))
    left_out = Counter()
    for epoch in range(400):
        made = walked(cycle, keys_of(4), epoch=epoch)
        left_out[next(edge for edge in cycle.t().tolist() if tuple(edge) not in made)[0]] += 1
    assert all(70 < left_out[n] < 130 for n in range(4))


def test_what_is_wrong_is_said():
    for bad in (pairs((0, 5)), pairs((-1, 2))):
        with pytest.raises(RuntimeError, match="edge 0 has nodes .* expected 0 to 4"):
            walked(bad, keys_of(5))
    with pytest.raises(RuntimeError, match="tree 65536"):
        walked(pairs((0, 1)), keys_of(2), tree=65536)
    torch.library.opcheck(torch.ops.plimsoll.spanning_path_edges.default, (GRAPHS["triangles"][1], keys_of(5), 1, 2, 3),
                          test_utils=("test_schema", "test_faketensor"))
