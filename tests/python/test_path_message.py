"""torch.ops.plimsoll.path_message against all paths at once in float64, values and gradients."""

import os
import subprocess
import sys
from itertools import product

import pytest

torch = pytest.importorskip("torch")
from path_graphs import (  # noqa: E402
    GRAPHS, both_ways, expected, found, jittered_grid, knn_edges, layer_of, relative_errors, third_order_paths, tree,
)

pytestmark = pytest.mark.usefixtures("ops", "threads")

TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-3}
OPCHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
every_mode = pytest.mark.parametrize("mode", ["corrected", "reference"])


def assert_same(ours, theirs, dtype=torch.float64):
    """In float32 the gradients together: a ReLU that is open in one and shut in the other is much of a small one."""
    assert all(value.dtype == dtype for value in ours)
    if dtype == torch.float32:
        ours, theirs = ([values[0], torch.cat([value.flatten() for value in values[1:]])] for values in (ours, theirs))
    assert max(relative_errors(ours, theirs)) <= TOLERANCE[dtype]


def by_hand(edge_index, nodes):
    """All paths of different nodes, by four loops."""
    out = [[int(b) for a, b in edge_index.t() if int(a) == n] for n in range(nodes)]
    paths = [(i, j, k, p) for i in range(nodes) for j in out[i] for k in out[j] for p in out[k]]
    return sorted(path for path in paths if len(set(path)) == 4)


@pytest.mark.parametrize("name", GRAPHS)
def test_paths_are_those_of_four_loops(name):
    pos, edge_index = GRAPHS[name]
    paths = by_hand(edge_index, len(pos))
    assert sorted(map(tuple, third_order_paths(edge_index, len(pos)).t().tolist())) == paths
    counts = torch.ops.plimsoll.path_counts(*torch.ops.plimsoll.path_edges(edge_index, len(pos)))
    assert counts.tolist() == [sum(path[0] == node for path in paths) for node in range(len(pos))]


@every_mode
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", GRAPHS)
def test_same_as_all_paths_at_once(name, dtype, mode):
    layer = layer_of()
    pos, edge_index = GRAPHS[name]
    assert_same(found(layer, pos, edge_index, mode, dtype=dtype), expected(layer, pos, edge_index, mode), dtype)


@pytest.mark.parametrize("tile", [16, 17, 100, 4096])
@pytest.mark.parametrize("name", ["kNN-8", "several graphs", "directed tree"])
def test_any_tile(name, tile):
    layer = layer_of()
    assert_same(found(layer, *GRAPHS[name], tile=tile), expected(layer, *GRAPHS[name]))


@pytest.mark.parametrize("hidden", [1, 5, 33, 64])
def test_any_width(hidden):
    layer = layer_of(hidden)
    assert_same(found(layer, *GRAPHS["Barabasi-Albert"]), expected(layer, *GRAPHS["Barabasi-Albert"]))


@every_mode
@pytest.mark.parametrize("name", ["kNN-8", "coincident points", "one path"])
def test_distances_only(name, mode):
    layer = layer_of(distances_only=True)
    assert_same(found(layer, *GRAPHS[name], mode, distances_only=True),
                expected(layer, *GRAPHS[name], mode, distances_only=True))


@every_mode
@pytest.mark.parametrize("tile", [16, 64, 4096])
def test_planar_points_share_what_does_not_depend_on_k(tile, mode):
    pos = jittered_grid(6, torch.Generator().manual_seed(1)).double()
    pos[:, 2] = 0.5
    pos[5] = pos[4]
    edge_index, layer = knn_edges(pos, 5), layer_of()
    theirs = expected(layer, pos, edge_index, mode)
    assert_same(found(layer, pos, edge_index, mode, tile=tile, planar=True), theirs)
    assert_same(found(layer, pos, edge_index, mode, tile=tile), theirs)


def test_torsions_tell_mirror_images_apart():
    pos, edge_index = GRAPHS["one path"]
    layer = layer_of()
    out, mirrored = (found(layer, pos * torch.tensor([1, 1, sign]), edge_index)[0] for sign in (1, -1))
    assert relative_errors([mirrored], [out])[0] > 1e-6


@pytest.mark.parametrize("stored", ["one way", "both ways", "the other way"])
def test_directions_of_a_tree(stored):
    """Children have higher numbers; paths go down or up, however edges are stored."""
    down, layer, pos = tree(60), layer_of(), GRAPHS["tree"][0][:60]
    edge_index = {"one way": down, "both ways": both_ways(down), "the other way": down.flip(0)}[stored]
    assert_same(found(layer, pos, edge_index, direction="descendant"), expected(layer, pos, down))
    assert_same(found(layer, pos, edge_index, direction="ancestor"), expected(layer, pos, down.flip(0)))
    assert_same(found(layer, pos, edge_index, direction="both"), expected(layer, pos, edge_index))


@every_mode
@pytest.mark.parametrize("name", ["coincident points", "all points in one", "a line", "no nodes"])
def test_no_gradient_is_nan(name, mode):
    for dtype in TOLERANCE:
        assert all(value.isfinite().all() for value in found(layer_of(), *GRAPHS[name], mode, dtype=dtype))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("parameter", ["mlps_dist.0.0.bias", "mlps_dist.1.0.weight", "mlps_dist.2.2.weight",
                                       "combine.0.weight", "combine.2.bias"])
def test_a_weight_that_is_no_number_shows(parameter, dtype):
    layer = layer_of()
    with torch.no_grad():
        layer.get_parameter(parameter)[0] = torch.nan
    for planar in (False, True):
        pos, edge_index = GRAPHS["several graphs"]
        pos = pos * torch.tensor([1.0, 1.0, 0.0 if planar else 1.0])
        ours = found(layer, pos, edge_index, dtype=dtype, planar=planar)[0].isnan()
        assert ours.any() and torch.equal(ours, expected(layer, pos, edge_index)[0].isnan())


def test_messages_of_what_is_no_number_are_none():
    pos, edge_index = GRAPHS["several graphs"]
    x, _, row_begin, target, weights, *options = arguments("several graphs", hidden=16)
    with torch.no_grad():
        x[7] = torch.nan
    out = torch.ops.plimsoll.path_message(x, pos, row_begin, target, weights, *options)
    paths = third_order_paths(edge_index, len(pos))
    touched = sorted(set(paths[0, (paths == 7).any(0)].tolist()))
    assert out.isnan().any(1).nonzero().flatten().tolist() == touched
    (gradient,) = torch.autograd.grad(out.nansum(), [weights[14]])
    assert gradient.isnan().any()


def arguments(name="triangles", hidden=3, dtype=torch.float64):
    """Of the operator; x and weights want gradients."""
    pos, edge_index = GRAPHS[name]
    layer = layer_of(hidden).to(dtype)
    x = torch.randn(len(pos), hidden, generator=torch.Generator().manual_seed(2)).to(dtype).requires_grad_()
    return (x, pos.to(dtype), *torch.ops.plimsoll.path_edges(edge_index, len(pos)), list(layer.parameters()), 16, 1.0)


@pytest.mark.parametrize("name", ["triangles", "coincident points"])
def test_gradcheck(name):
    x, pos, row_begin, target, weights, *options = arguments(name, hidden=2)
    leaves = (x, *weights)
    assert torch.autograd.gradcheck(
        lambda x, *weights: torch.ops.plimsoll.path_message(x, pos, row_begin, target, weights, *options), leaves,
        fast_mode=True)


def test_second_derivatives_are_refused():
    x, pos, row_begin, target, weights, *options = arguments()
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.gradgradcheck(
            lambda x: torch.ops.plimsoll.path_message(x, pos, row_begin, target, weights, *options), (x,))


def test_opcheck():
    torch.library.opcheck(torch.ops.plimsoll.path_message.default, arguments(), test_utils=OPCHECKS)
    plain = [value.detach() if isinstance(value, torch.Tensor) else value for value in arguments()]
    plain[4] = [weight.detach() for weight in plain[4]]
    grad = torch.ones_like(plain[0])
    torch.library.opcheck(torch.ops.plimsoll.path_message_backward.default, (grad, *plain), test_utils=OPCHECKS)
    torch.library.opcheck(torch.ops.plimsoll.path_edges.default, (GRAPHS["triangles"][1], 5), test_utils=OPCHECKS)
    torch.library.opcheck(torch.ops.plimsoll.path_counts.default, plain[2:4], test_utils=OPCHECKS)


def test_autocast_computes_in_float32():
    x, pos, row_begin, target, weights, *options = arguments(dtype=torch.float32)
    plain = torch.ops.plimsoll.path_message(x, pos, row_begin, target, weights, *options)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(torch.ops.plimsoll.path_message(x, pos, row_begin, target, weights, *options), plain)


@pytest.mark.parametrize("planar", [False, True])
def test_same_bits_again_and_for_any_number_of_threads(planar, threads):
    pos = jittered_grid(8, torch.Generator().manual_seed(1), planar=planar)
    edge_index, layer = knn_edges(pos, 6), layer_of(37)
    first = found(layer, pos, edge_index, dtype=torch.float32, planar=planar)
    for number in (1, 2, 4):
        threads(number)
        again = found(layer, pos, edge_index, dtype=torch.float32, planar=planar)
        assert all(torch.equal(a, b) for a, b in zip(again, first, strict=True)), number


def test_inputs_may_lie_in_any_way():
    x, pos, row_begin, target, weights, *options = arguments("kNN-8")
    plain = torch.ops.plimsoll.path_message(x, pos, row_begin, target, weights, *options)
    strided = [tensor.detach().t().contiguous().t() for tensor in (x, pos)]
    columns = [weight.detach().t().contiguous().t() for weight in weights]
    assert torch.equal(torch.ops.plimsoll.path_message(*strided, row_begin, target, columns, *options), plain)


@pytest.mark.parametrize("level", ["portable", "avx2", "avx512"])
def test_every_level_of_instructions(level):
    """The same tests in a process of that level."""
    names = "same_as_all_paths_at_once and (kNN-8 or several or coincident) or planar_points or any_width"
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__, "-k", names],
                          capture_output=True, text=True, timeout=600, env={**os.environ, "PLIMSOLL_SIMD": level})
    if f"PLIMSOLL_SIMD={level}: this processor supports at most" in done.stdout + done.stderr:
        pytest.skip(f"no {level} here")
    assert done.returncode == 0, done.stdout + done.stderr


# Memory.


def peak_bytes(function):
    """The most that function() holds at once of what it allocates, and its result."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        result = function()
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most, result


def test_memory_does_not_depend_on_the_number_of_paths():
    layer = layer_of(8)
    peaks = set()
    for neighbours in (1, 3, 12):
        pos = GRAPHS["tree"][0][:100]
        edges = torch.ops.plimsoll.path_edges(knn_edges(pos, neighbours), 100)
        x = torch.ones(100, 8, dtype=torch.float64, requires_grad=True)
        weights = [parameter.detach().requires_grad_() for parameter in layer.parameters()]
        forward, out = peak_bytes(
            lambda: torch.ops.plimsoll.path_message(x, pos, *edges, weights, 64, 1.0))  # noqa: B023
        backward, _ = peak_bytes(lambda: torch.autograd.grad(out, [x, *weights], torch.ones_like(out)))  # noqa: B023
        peaks.add((forward, backward))
    assert len(peaks) == 1


def test_nothing_is_kept_for_backward_but_what_was_given():
    x, *rest = arguments("kNN-8")
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: kept.append(tensor.data_ptr()) or tensor, lambda t: t):
        torch.ops.plimsoll.path_message(x, *rest)
    given = [x, *rest[:3], *rest[3]]
    assert set(kept) <= {tensor.data_ptr() for tensor in given}


# Errors.


@pytest.mark.parametrize("change, text", [
    (lambda a: a.update(tile=15), "a tile of 15 paths, expected 16 to"),
    (lambda a: a.update(cutoff=0.0), "a cutoff of 0"),
    (lambda a: a.update(cutoff=float("nan")), "a cutoff of nan"),
    (lambda a: a.update(mode="other"), "mode: found 'other', expected corrected or reference"),
    (lambda a: a.update(planar=True), "z must be equal for all nodes, but is"),
    (lambda a: a.update(distances_only=True), "MLPs with 50, 56 and 68 inputs"),
    (lambda a: a.update(x=a["x"].half()), "x f32 or f64"),
    (lambda a: a.update(pos=a["pos"].float()), "pos .N, 3. of x's dtype"),
    (lambda a: a.update(pos=a["pos"][:, :2]), "pos .N, 3."),
    (lambda a: a["pos"].__setitem__((3, 1), float("nan")), "pos of node 3 has nan at y"),
    (lambda a: a["pos"].__setitem__((4, 2), float("inf")), "pos of node 4 has inf at z"),
    (lambda a: a["pos"].requires_grad_(), "pos is data and has no gradient"),
    (lambda a: a.update(weights=a["weights"][:17]), "17 weights, expected 18"),
    (lambda a: a["weights"].__setitem__(12, a["weights"][12][:, 1:]), "combine.0.weight"),
    (lambda a: a["row_begin"].__setitem__(1, 10**12), "not those that path_edges makes"),
    (lambda a: a["target"].__setitem__(0, 77), "not those that path_edges makes"),
    (lambda a: a["target"].__setitem__(0, -1), "not those that path_edges makes"),
    (lambda a: a.update(row_begin=a["row_begin"][:-1]), "row_begin i64"),
    (lambda a: a.update(row_begin=a["row_begin"].int()), "row_begin i64"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(change, text):
    names = ("x", "pos", "row_begin", "target", "weights", "tile", "cutoff")
    given = dict(zip(names, arguments(), strict=True))
    given["pos"] = given["pos"].clone()
    change(given)
    with pytest.raises(RuntimeError, match=text):
        torch.ops.plimsoll.path_message(**given)


@pytest.mark.parametrize("edge_index, nodes, text", [
    (torch.tensor([[0, 1], [1, 5]]), 5, "edge 1 has node 5, expected one of 0 to 4"),
    (torch.tensor([[0, -1], [1, 0]]), 5, "edge 1 has node -1"),
    (torch.zeros(3, 2, dtype=torch.long), 5, "edge_index i64"),
    (torch.zeros(2, 2), 5, "edge_index i64"),
    (torch.zeros(2, 0, dtype=torch.long), -1, "-1 nodes"),
    (torch.zeros(2, 0, dtype=torch.long), 2**31, "2147483648 nodes"),
])  # fmt: skip
def test_edges_that_are_none(edge_index, nodes, text):
    with pytest.raises(RuntimeError, match=text):
        torch.ops.plimsoll.path_edges(edge_index, nodes)
    with pytest.raises(RuntimeError, match="direction: found 'up', expected both, ancestor or descendant"):
        torch.ops.plimsoll.path_edges(torch.zeros(2, 0, dtype=torch.long), 1, "up")


def test_counts_beyond_64_bits_are_refused():
    """A million nodes to one, as many edges from it to another, and from there to a million: 2^60 or so times 8."""
    many = 2**21
    leaves = torch.arange(2, many + 2)
    edge_index = torch.cat([torch.stack([leaves, torch.zeros_like(leaves)]), torch.tensor([[0], [1]]).expand(2, many),
                            torch.stack([torch.ones_like(leaves), leaves])], dim=1)
    with pytest.raises(RuntimeError, match="2\\^63 or more walks of three edges"):
        torch.ops.plimsoll.path_edges(edge_index, many + 2)
    some = edge_index[:, : 2 * many]
    assert torch.ops.plimsoll.path_edges(some, many + 2)[0][-1] == 2 * many


def test_hubs_have_as_many_paths_as_they_have():
    """Paths through two hubs, counted beyond 32 bits without walking them."""
    leaves = 1000
    ends = torch.arange(2, leaves + 2)
    hub = both_ways(torch.stack([torch.zeros_like(ends), ends]))
    other = both_ways(torch.stack([torch.ones_like(ends), ends + leaves]))
    edge_index = torch.cat([hub, other, torch.tensor([[0, 1], [1, 0]])], dim=1)
    counts = torch.ops.plimsoll.path_counts(*torch.ops.plimsoll.path_edges(edge_index, 2 * leaves + 2))
    assert int(counts.sum()) == 2 * leaves * leaves
