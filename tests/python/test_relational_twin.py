"""Blocks, outputs and gradients of models of linked tables against NumPy's and PyTorch Geometric's."""

import json
import subprocess

import numpy as np
import pytest

from relational_data import CUTS, DAY, START, orders_table, write_folder, write_recipe
from relational_recommendation import write_visits

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from safetensors.torch import load_file  # noqa: E402
from torch_geometric.nn import GATv2Conv, GINConv, HeteroConv, HGTConv, RGCNConv, SAGEConv  # noqa: E402

F = torch.nn.functional
SEEDS = sum(len(cuts) for cuts in CUTS.values()) * 40
FULL = "training_history: full"
FIRST_VALIDATION = len(CUTS["train"]) * 40  # Seeds are numbered split after split.


@pytest.fixture(scope="module")
def data(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("twin")
    orders = orders_table(np.random.default_rng(3), 40, 5, 3000)
    write_visits(write_folder(folder / "tables", orders), orders)
    run("plimsoll", "ingest", "tables", folder / "tables", "--reverse", "--out", folder / "graph")
    return folder / "graph", orders


@pytest.fixture
def twin(bin_dir, data, tmp_path):
    """twin(task, more, first, count): a block of seeds, the model, and what it makes of them."""

    def call(task, more="", first=FIRST_VALIDATION, count=24):
        program = bin_dir / "relational_twin"
        if not program.exists():
            pytest.skip("relational_twin is not built: cmake --build build/release --target relational_twin")
        recipe, out = write_recipe(tmp_path / "recipe.yaml", task, more), tmp_path / "out.safetensors"
        done = subprocess.run([program, data[0], recipe, str(first), str(count), out], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return load_file(out)

    return call


def parts(tensors, prefix):
    return {name[len(prefix):]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def encode(param, name, numbers, codes):
    """The encoder of a node type in plain torch."""
    of = lambda part: (param[f"encoders.{name}.{part}.weight"], param[f"encoders.{name}.{part}.bias"])  # noqa: E731
    x = F.linear(numbers, *of("lin"))
    for column in range(codes.shape[0]):
        x = x + param[f"encoders.{name}.embeddings.{column}.weight"][codes[column].long()]
    norm = lambda h, part: F.layer_norm(h, h.shape[1:], *of(part))  # noqa: E731
    h = norm(F.linear(x, *of("lin1")), "norm1").relu()
    return (norm(F.linear(h, *of("lin2")), "norm2") + x).relu()


def conv_of(param, layer, edge_types, aggregation):
    """HeteroConv with the weights of a layer. Its first SAGEConv into a type has the weight of the type's own nodes."""
    convs, seen = {}, set()
    for edge_type in edge_types:
        name = f"convs.{layer}.convs.{'___'.join(edge_type)}.lin_l"
        if f"{name}.weight" not in param:
            continue
        root = edge_type[2] not in seen
        seen.add(edge_type[2])
        conv = SAGEConv((8, 8), 8, aggr=aggregation, root_weight=root).double()
        del conv.lin_l._parameters["weight"], conv.lin_l._parameters["bias"]
        conv.lin_l.weight, conv.lin_l.bias = param[f"{name}.weight"], param[f"{name}.bias"]
        if root:
            del conv.lin_r._parameters["weight"]
            conv.lin_r.weight = param[f"convs.{layer}.roots.{edge_type[2]}.weight"]
        convs[edge_type] = conv
    return HeteroConv(convs, aggr="sum")


class NoSelf(torch.nn.Module):
    """A convolution that does not read the features of targets."""

    def __init__(self, conv):
        super().__init__()
        self.conv = conv

    def forward(self, x, edge_index):
        size = (x[0].shape[0], x[1].shape[0])
        return self.conv((x[0], x[1]), edge_index, torch.zeros(edge_index.shape[1], dtype=torch.long)) if size[1] else x[1]


def replaced(module, name, value):
    del module._parameters[name]
    setattr(module, name, value)


def gin_of(param, prefix, aggregation):
    mlp = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))
    conv = GINConv(mlp, aggr=aggregation)  # It initialises the network.
    for place in (0, 2):
        for part in ("weight", "bias"):
            replaced(mlp[place], part, param[f"{prefix}nn.{place}.{part}"])
    return conv


def rgcn_of(param, layer, prefix, aggregation):
    bases = param[f"convs.{layer}.bases"]
    conv = RGCNConv((8, 8), 8, num_relations=1, num_bases=len(bases), aggr=aggregation, root_weight=False, bias=False)
    replaced(conv, "weight", bases)
    replaced(conv, "comp", param[f"{prefix}comp"])
    return NoSelf(conv)


def gatv2_of(param, prefix):
    heads = param[f"{prefix}att"].shape[1]
    conv = GATv2Conv((8, 8), 8 // heads, heads=heads, add_self_loops=False)
    for module, names in ((conv.lin_l, ("weight", "bias")), (conv.lin_r, ("weight", "bias")), (conv, ("att", "bias"))):
        for name in names:
            replaced(module, name, param[f"{prefix}{'' if module is conv else 'lin_l.' if module is conv.lin_l else 'lin_r.'}{name}"])
    return conv


def sage_of(param, prefix, aggregation):
    conv = SAGEConv((8, 8), 8, aggr=aggregation, root_weight=False)
    for part in ("weight", "bias"):
        replaced(conv.lin_l, part, param[f"{prefix}lin_l.{part}"])
    return conv


def other_convs(param, layer, edge_types, kind, aggregation, combine):
    """HeteroConv with the weights of a layer, without the weights of a type's own nodes."""
    convs = {}
    for edge_type in edge_types:
        prefix = f"convs.{layer}.convs.{'___'.join(edge_type)}."
        if not any(name.startswith(prefix) for name in param):
            continue
        convs[edge_type] = (gin_of(param, prefix, aggregation) if kind == "gin" else rgcn_of(param, layer, prefix, aggregation) if kind == "rgcn"
                            else gatv2_of(param, prefix) if kind == "gatv2" else sage_of(param, prefix, aggregation))
    return HeteroConv(convs, aggr=combine)


def hgt_of(param, layer, h, edges):
    """The outputs of HGTConv with the weights of a layer, for the types that the layer computes."""
    prefix = f"convs.{layer}."
    edges = {edge_type: index for edge_type, index in edges.items() if f"{prefix}k_rel.{'___'.join(edge_type)}" in param}
    types, names = list(h), ["___".join(edge_type) for edge_type in edges]
    heads = param[f"{prefix}k_rel.{names[0]}"].shape[0]
    conv = HGTConv(8, 8, (types, list(edges)), heads)
    zeros = {"weight": torch.zeros(8, 8, dtype=torch.double), "bias": torch.zeros(8, dtype=torch.double)}
    for name in types:  # A type may be only a source, or only a target.
        for part in ("weight", "bias"):
            third = [param.get(f"{prefix}{of}_lin.{name}.{part}", zeros[part]) for of in "kqv"]
            replaced(conv.kqv_lin.lins[name], part, torch.cat(third))
            if name in conv.out_lin.lins:
                replaced(conv.out_lin.lins[name], part, param.get(f"{prefix}out_lin.{name}.{part}", zeros[part]))
    for of in "kv":
        rows = torch.stack([param[f"{prefix}{of}_rel.{name}"] for name in names], 1)  # [heads, edge types, D, D]
        replaced(getattr(conv, f"{of}_rel"), "weight", rows.flatten(0, 1))
    del conv.p_rel, conv.skip
    conv.p_rel = {edge_type: param[f"{prefix}p_rel.{name}"] for edge_type, name in zip(edges, names, strict=True)}
    conv.skip = {name: param.get(f"{prefix}skip.{name}", torch.ones(1, dtype=torch.double)) for name in types}
    out = conv(h, edges)
    return {name: x for name, x in out.items() if f"{prefix}out_lin.{name}.weight" in param}


def reached_scores(param, places, encoded, layer, edges, shape):
    """Scores of the shops in the samples of their seeds, at their places among all scores; the last place is padding's."""
    h, counts = F.linear(encoded, param["reached.root.weight"]), []
    for (source, name, target), index in edges.items():
        if source != "shops":
            continue
        sums = torch.zeros_like(encoded).index_add(0, index[0], layer[target][index[1]])
        prefix = f"reached.convs.{source}___{name}___{target}.lin_l"
        h = h + F.linear(sums, param[f"{prefix}.weight"], param[f"{prefix}.bias"])
        counts.append(torch.bincount(index[0], minlength=len(encoded)).double().log1p())
    h = F.layer_norm(h, h.shape[1:], param["reached.norm.weight"], param["reached.norm.bias"]).relu()
    scores = F.linear(h, param["reached.out.weight"], param["reached.out.bias"])[:, 0]
    scores = scores + torch.stack(counts, 1) @ param["reached.counts.weight"][0]
    assert len(set(places[places < shape.numel()].tolist())) == (places < shape.numel()).sum() > shape[0]
    return torch.zeros(shape.numel() + 1, dtype=torch.double).index_add(0, places, scores)[:-1].reshape(shape)


def run_torch(tensors, aggregation, kind="sage", combine="sum"):
    """Outputs and parameters of the model over the whole block: nodes that a layer need not compute do not matter."""
    param = {name: value.double().requires_grad_() for name, value in parts(tensors, "param.").items()}
    codes = parts(tensors, "codes.")
    h = encoded = {name: encode(param, name, numbers.double(), codes[name]) for name, numbers in parts(tensors, "numbers.").items()}
    layers = []
    edges = {tuple(name.split("___")): index.long() for name, index in parts(tensors, "edges.").items()}
    for layer in range(2):
        if kind == "hgt":
            out = hgt_of(param, layer, h, edges)
        else:
            plain = kind == "sage" and combine == "sum"
            conv = conv_of(param, layer, edges, aggregation) if plain else other_convs(param, layer, edges, kind, aggregation, combine)
            out = conv(h, {edge_type: index for edge_type, index in edges.items() if edge_type in conv.convs})
            if not plain:
                out = {name: x + F.linear(h[name], param[f"convs.{layer}.roots.{name}.weight"]) for name, x in out.items()}
        h = {name: F.layer_norm(x, (8,), param[f"norms.{layer}.{name}.weight"], param[f"norms.{layer}.{name}.bias"]).relu()
             for name, x in out.items()}
        layers.append(h)
    seeds = len(tensors["out"])
    out = F.linear(h["users"][:seeds], param["head.weight"], param["head.bias"])
    if "reached" in tensors:
        out = out + reached_scores(param, tensors["reached"], encoded["shops"], layers[0], edges, out.shape)
    if "target.mean" in param:
        out = out * param["target.scale"].detach() + param["target.mean"].detach()
    return out, param


@pytest.mark.parametrize("task, more", [("busy", ""), ("busy", "aggregation: mean"), ("count", ""), ("count", "loss: squared"),
                                        ("visits", ""), ("visits", "aggregation: mean"), ("visits", "layer: gin"),
                                        ("busy", "layer: gin"), ("busy", "layer: gin, aggregation: mean"),
                                        ("busy", "layer: rgcn, bases: 3"), ("busy", "layer: rgcn, bases: 3, aggregation: mean"),
                                        ("busy", "combine: mean"), ("busy", "layer: gin, combine: mean"),
                                        ("busy", "layer: rgcn, bases: 2, combine: mean, aggregation: mean"),
                                        ("busy", "layer: gatv2"), ("busy", "layer: gatv2, heads: 1"), ("busy", "layer: gatv2, heads: 8, combine: mean"),
                                        ("visits", "layer: gatv2, heads: 2"), ("count", "layer: gatv2"),
                                        ("busy", "layer: hgt"), ("busy", "layer: hgt, heads: 1"), ("visits", "layer: hgt, heads: 2"), ("count", "layer: hgt")])
def test_outputs_and_gradients_equal_pytorch_geometric(twin, task, more):
    tensors = twin(task, more, first=0 if task == "visits" else FIRST_VALIDATION)
    kind = next((kind for kind in ("gin", "rgcn", "gatv2", "hgt") if kind in more), "sage")
    out, param = run_torch(tensors, "mean" if "aggregation: mean" in more else "sum", kind, "mean" if "combine: mean" in more else "sum")
    torch.testing.assert_close(tensors["out"].double(), out.detach(), rtol=1e-4, atol=1e-5)
    if task == "busy":
        loss = F.cross_entropy(out, tensors["y"], reduction="sum")
    elif task == "visits":
        shares = tensors["y"].double() / tensors["y"].double().sum(1, keepdim=True)
        loss = F.cross_entropy(out, shares, reduction="sum")
    else:
        error = (out - tensors["y"].double()) / param["target.scale"].detach()
        loss = (error.square() if "squared" in more else error.abs()).sum()
    loss.backward()
    gradients = parts(tensors, "grad.")
    assert len(gradients) > 40
    for name, gradient in gradients.items():
        scale = param[name].grad.abs().max().item() + 1e-6
        torch.testing.assert_close(gradient.double(), param[name].grad, rtol=1e-3, atol=2e-5 * scale + 1e-6, msg=lambda text: f"{name}: {text}")


def test_numbers_and_codes_equal_numpy(data, twin):
    """Standardised by the rows known at the training cut; times relative to the seed; no order later than its seed."""
    seed, cut = FIRST_VALIDATION + 40, CUTS["val"][1]  # The first user at the second validation cut.
    tensors = twin("busy", "neighbours: latest", first=seed, count=1)
    orders = data[1]
    at, user = np.array(orders["at"].cast("int64")), np.array(orders["user"].fill_null(-1))
    now = START + cut * DAY
    known = at <= START + CUTS["train"][-1] * DAY
    price = orders["price"].to_numpy().astype(float)
    mean, deviation = np.nanmean(price[known]), np.nanstd(price[known])
    latest = np.flatnonzero((user == 0) & (at <= now))[-6:]
    rows = parts(tensors, "numbers.")["orders"][:len(latest)].numpy()
    expected = np.nan_to_num((price[latest] - mean) / deviation)
    assert np.allclose(rows[:, 0], expected, atol=1e-5)
    assert np.array_equal(rows[:, 1], np.isnan(price[latest]))
    days = (now - at[latest]) / DAY
    assert np.all(days >= 0)
    for wave in range(8):
        frequency = 10000 ** (-wave / 8)
        assert np.allclose(rows[:, 2 + 2 * wave], np.sin(days * frequency), atol=1e-5)
        assert np.allclose(rows[:, 3 + 2 * wave], np.cos(days * frequency), atol=1e-5)
    assert np.allclose(rows[:, 18], np.log1p(days), atol=1e-5)
    codes = parts(tensors, "codes.")["orders"][:, :len(latest)].numpy()
    colours = np.array(orders["colour"])
    seen = sorted(set(colours[known]))
    assert codes[0].tolist() == [1 + seen.index(colour) for colour in colours[latest]]
    when = at[latest].astype("datetime64[s]")
    assert codes[1].tolist() == ((at[latest] // 3600) % 24 + 1).tolist()
    assert codes[2].tolist() == ((at[latest] // DAY + 4) % 7 + 1).tolist()
    assert codes[3].tolist() == (when.astype("datetime64[M]").astype(int) % 12 + 1).tolist()


def test_colour_that_was_not_seen_at_the_cut_is_unknown(run, bin_dir, tmp_path):
    pa = pytest.importorskip("pyarrow")
    orders = orders_table(np.random.default_rng(3), 40, 5, 3000)
    at = np.array(orders["at"].cast("int64"))
    new = at > START + CUTS["train"][-1] * DAY
    orders = orders.set_column(6, "colour", pa.array(np.where(new, "a new one", np.array(orders["colour"]))))
    run("plimsoll", "ingest", "tables", write_folder(tmp_path / "tables", orders), "--reverse", "--out", tmp_path / "graph")
    recipe, out = write_recipe(tmp_path / "recipe.yaml", "busy", "neighbours: latest"), tmp_path / "out.safetensors"
    run("relational_twin", tmp_path / "graph", recipe, FIRST_VALIDATION + 40, 8, out)
    tensors = load_file(out)
    assert tensors["param.encoders.orders.embeddings.0.weight"].shape[0] == 4  # Unknown and three colours.
    assert (tensors["codes.orders"][0] == 0).sum() > 2
    manifest = json.loads((tmp_path / "graph" / "manifest.json").read_text())
    assert next(column for entry in manifest["node_types"] if entry["name"] == "orders" for column in entry["columns"]
                if column["name"] == "colour")["distinct"] == 4


@pytest.mark.parametrize("distinct", [5, 90])
def test_lists_of_categories_equal_numpy(run, tmp_path, distinct):
    """A number for each of the 64 values in the most lists known at the training cut; a later value is counted as unknown."""
    pa = pytest.importorskip("pyarrow")
    random = np.random.default_rng(3)
    orders = orders_table(random, 40, 5, 3000)
    at, user = np.array(orders["at"].cast("int64")), np.array(orders["user"].fill_null(-1))
    known = at <= START + CUTS["train"][-1] * DAY
    tags = [[f"t{int(value):02}" for value in distinct * random.random(random.integers(0, 5)) ** 2] for _ in at]
    tags = [[*row, *row[:1]] if row_known else [*row, "future"] for row, row_known in zip(tags, known, strict=True)]  # Repeated; planted.
    missing = random.random(len(at)) < 0.1
    column = pa.array([None if gone else row for row, gone in zip(tags, missing, strict=True)], pa.list_(pa.string()))
    tags = [[] if gone else row for row, gone in zip(tags, missing, strict=True)]
    run("plimsoll", "ingest", "tables", write_folder(tmp_path / "tables", orders.append_column("tags", column)), "--reverse",
        "--out", tmp_path / "graph")
    recipe, out = write_recipe(tmp_path / "recipe.yaml", "busy", "neighbours: latest"), tmp_path / "out.safetensors"
    run("relational_twin", tmp_path / "graph", recipe, FIRST_VALIDATION + 40, 1, out)
    seen = sorted({value for row, row_known in zip(tags, known, strict=True) if row_known for value in row})
    lists = [sum(value in row for row, row_known in zip(tags, known, strict=True) if row_known) for value in seen]
    values = sorted(np.array(seen)[np.argsort([-count for count in lists], kind="stable")[:64]])
    assert "future" not in values and len(values) == min(distinct, 64)
    latest = np.flatnonzero((user == 0) & (at <= START + CUTS["val"][1] * DAY))[-6:]
    expected = [[*(value in tags[row] for value in values), np.log1p(sum(value not in values for value in tags[row])), missing[row]]
                for row in latest]
    rows = parts(load_file(out), "numbers.")["orders"][:len(latest)].numpy()
    assert np.allclose(rows[:, 2:4 + len(values)], np.array(expected, float), atol=1e-6)
    assert rows.shape[1] == 4 + len(values) + 2 * 17 + 1 and rows[:, 2 + len(values)].max() > 0


def test_sample_of_a_seed_is_a_function_of_seed_and_epoch(twin):
    """Whatever else its block has; and of the seed alone if the latest neighbours are sampled, without lags."""
    rows = lambda tensors: {name: parts(tensors, "numbers.")[name] for name in ("users", "orders")}  # noqa: E731
    alone, among = twin("busy", FULL, first=3, count=1), twin("busy", FULL, first=0, count=8)
    orders = rows(alone)["orders"][:6]  # The first hop, before the padding.
    assert sum(bool((row == rows(among)["orders"]).all(1).any()) for row in orders) == len(orders)
    later = twin("busy", FULL, first=SEEDS + 3, count=1)
    assert torch.equal(rows(alone)["users"][:1], rows(later)["users"][:1])
    assert not torch.equal(orders, rows(later)["orders"][:6])
    assert torch.equal(rows(later)["orders"], rows(twin("busy", FULL, first=SEEDS + 3, count=1))["orders"])
    same = [rows(twin("busy", f"{FULL}, neighbours: latest", first=first, count=1))["orders"] for first in (3, SEEDS + 3)]
    assert torch.equal(*same)
