"""plimsoll.nn.replace: whole models, compiled, copied, in processes, and what the report says."""

import copy
import pickle
import subprocess
import sys

import pytest
from package_data import python
from test_package_import import BLOCKED

torch = pytest.importorskip("torch")
tg = pytest.importorskip("torch_geometric.nn")
from attention_cases import both_kinds, mixed, random_inputs  # noqa: E402
from attention_twin import make_conv  # noqa: E402
from fused_layers import doubled, nn  # noqa: E402, F401

pytestmark = pytest.mark.usefixtures("ops", "threads")


def test_subclasses_keep_their_own_code(nn):
    class Mine(nn.GATConv):
        def message(self, x_j, alpha):
            return x_j

    torch.manual_seed(1)
    mine = Mine(6, 5, heads=2)
    nodes, edge_index = mixed()
    x = torch.randn(nodes, 6)
    plain = nn.GATConv(6, 5, heads=2)
    plain.load_state_dict(mine.state_dict())
    assert "Mine" in nn.why_not(mine, x, edge_index)
    assert not torch.allclose(mine(x, edge_index), plain(x, edge_index))

    class Doubles(nn.SAGEConv):
        def message(self, x_j):
            return 2 * x_j

    torch.manual_seed(1)
    doubles, sage = Doubles(6, 5), nn.SAGEConv(6, 5)
    sage.load_state_dict(doubles.state_dict())
    assert not torch.allclose(doubles(x, edge_index), sage(x, edge_index))


@both_kinds
def test_replacing_in_a_compiled_model_takes_effect(kind, nn):
    torch._dynamo.reset()
    conv = make_conv(kind, 6, 5, heads=2)
    code = []

    def backend(module, inputs):
        code.append(module.code)
        return module

    compiled = torch.compile(conv, backend=backend)
    nodes, edge_index = mixed()
    x = random_inputs(nodes, 0, 6, None)[0]
    before = compiled(x, edge_index)
    assert nn.replace(compiled).replaced == 1 and not any("plimsoll" in text for text in code)
    torch.testing.assert_close(compiled(x, edge_index), before)
    assert "plimsoll" in code[-1]


@pytest.mark.parametrize("v2", [False, True])
def test_replace_in_a_model_of_pyg(v2, nn):
    torch.manual_seed(8)
    model = tg.models.GAT(6, 8, num_layers=3, out_channels=4, v2=v2, heads=2, edge_dim=3, jk="cat").double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    theirs = copy.deepcopy(model)
    report = nn.replace(model)
    assert [(layer.name, layer.kind, layer.replaced) for layer in report] == [
        ("dropout", "Dropout", True), *((f"convs.{i}", "GATv2Conv" if v2 else "GATConv", True) for i in range(3))]
    nodes, edge_index = mixed()
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, 3)
    for each, step in ((theirs, torch.optim.SGD(theirs.parameters(), lr=0.1)), (model, optimizer)):
        each(x, edge_index, edge_attr=edge_attr).square().sum().backward()
        step.step()
    for one, other in zip(model.parameters(), theirs.parameters()):
        torch.testing.assert_close(one, other)


def test_the_report_says_of_every_layer_what_became_of_it(nn):
    class Own(tg.GATConv):
        pass

    model = torch.nn.ModuleDict({
        "mlp": tg.MLP([6, 8, 8]), "gat": tg.GATConv(8, 8), "reversed": tg.GATConv(8, 8, flow="target_to_source"),
        "own": Own(8, 8), "ours": nn.GATv2Conv(8, 8), "cheb": tg.ChebConv(8, 8, 2), "hooked": tg.GATv2Conv(8, 8)})
    model["hooked"].register_propagate_forward_hook(doubled)
    report = nn.replace(model)
    assert report.replaced == 2 and len(report) == 6
    assert str(report).splitlines() == [
        "2 of 6 layers replaced",
        "gat: GATConv replaced",
        "reversed: GATConv left alone: flow='target_to_source' is not fused",
        "own: Own left alone: it is a subclass, which may compute something else",
        "ours: GATv2Conv left alone: it is a fused layer already",
        "cheb: ChebConv left alone: there is no fused layer for ChebConv",
        "hooked: GATv2Conv replaced: runs PyTorch Geometric's code while it has message-passing hooks",
    ]
    assert type(model["reversed"]) is tg.GATConv and type(model["gat"]) is nn.GATConv
    assert "left alone" in str(nn.replace(model)).splitlines()[1]


def test_the_package_alone_imports_neither_layers_nor_torch():
    assert python("import plimsoll, sys; print('plimsoll.nn' in sys.modules)").strip() == "False"
    assert "pip install torch torch_geometric" in python(BLOCKED + """
import plimsoll
try:
    import plimsoll.nn
except plimsoll.MissingPackage as error:
    print(error)
""")


def test_a_replaced_model_is_copied_and_pickled(nn):
    model = tg.models.GAT(6, 8, num_layers=2, heads=2)
    nn.replace(model)
    x, edges = torch.randn(5, 6), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert [type(conv) for conv in other.convs] == [nn.GATConv] * 2
        assert torch.equal(other.eval()(x, edges), model.eval()(x, edges))


def test_distributed_data_parallel(nn, tmp_path):
    """Two processes sum the gradients of the fused layers, which are those of both halves together."""
    code = """
import sys, torch, torch_geometric.nn, plimsoll.nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank = int(sys.argv[1]) if len(sys.argv) > 1 else RANK
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch_geometric.nn.GAT(6, 8, num_layers=2, heads=2, out_channels=3).double()
plimsoll.nn.replace(model)
inputs = [(torch.randn(7, 6).double(), torch.randint(7, (2, 20))) for _ in range(2)]
dist.init_process_group("gloo", init_method="file://RENDEZVOUS", rank=rank, world_size=2)
parallel = DistributedDataParallel(model)
parallel(*inputs[rank]).square().mean().backward()
gradients = [parameter.grad.clone() for parameter in model.parameters()]
model.zero_grad()
(sum(model(*given).square().mean() for given in inputs) / 2).backward()
for mine, parameter in zip(gradients, model.parameters()):
    torch.testing.assert_close(mine, parameter.grad)
print("equal")
dist.destroy_process_group()
"""
    code = code.replace("int(sys.argv[1]) if len(sys.argv) > 1 else RANK", "int(sys.argv[1])")
    command = [sys.executable, "-c", code.replace("RENDEZVOUS", str(tmp_path / "meet"))]
    ranks = [subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE, text=True) for rank in range(2)]
    assert [process.communicate(timeout=240)[0].strip() for process in ranks] == ["equal"] * 2
