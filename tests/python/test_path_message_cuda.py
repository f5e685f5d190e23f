"""torch.ops.plimsoll.path_message on a CUDA device against all paths at once in float64 on the CPU. Skipped without a GPU."""

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device for torch", allow_module_level=True)
from path_graphs import GRAPHS, evaluate, expected, layer_of, relative_errors  # noqa: E402

pytestmark = pytest.mark.usefixtures("ops")
DEVICE = torch.device("cuda")
TOLERANCE = {torch.float64: 1e-11, torch.float32: 1e-3}


def found(layer, pos, edge_index, dtype, tile, mode="corrected", distances_only=False):
    edges = [tensor.to(DEVICE) for tensor in torch.ops.plimsoll.path_edges(edge_index, len(pos), "both")]

    def function(x, weights):
        there = [weight.to(DEVICE) for weight in weights]
        return torch.ops.plimsoll.path_message(x.to(DEVICE), pos.to(DEVICE, dtype), *edges, there, tile, 1.0, mode,
                                               distances_only, False).cpu()

    return evaluate(function, layer, len(pos), dtype)


@pytest.mark.parametrize("mode", ["corrected", "reference"])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", GRAPHS)
def test_same_as_all_paths_at_once(name, dtype, mode):
    layer = layer_of()
    pos, edge_index = GRAPHS[name]
    ours, theirs = found(layer, pos, edge_index, dtype, 256, mode), expected(layer, pos, edge_index, mode)
    if dtype == torch.float32:  # a ReLU that is open in one and shut in the other is much of a small gradient
        ours, theirs = ([values[0], torch.cat([value.flatten() for value in values[1:]])] for values in (ours, theirs))
    assert max(relative_errors(ours, theirs)) <= TOLERANCE[dtype]


@pytest.mark.parametrize("tile", [16, 100, 16384])
def test_any_tile_and_the_same_bits_again(tile):
    layer = layer_of()
    pos, edge_index = GRAPHS["kNN-8"]
    first, again = (found(layer, pos, edge_index, torch.float64, tile) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert max(relative_errors(first, expected(layer, pos, edge_index))) <= TOLERANCE[torch.float64]


def test_distances_alone():
    layer = layer_of(distances_only=True)
    pos, edge_index = GRAPHS["Barabasi-Albert"]
    ours = found(layer, pos, edge_index, torch.float64, 256, distances_only=True)
    assert max(relative_errors(ours, expected(layer, pos, edge_index, distances_only=True))) <= TOLERANCE[torch.float64]
