"""plimsoll.plan against what the ledger holds when the run takes place."""

import gc

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from pyg_models import BODIES, Classifier, make_body  # noqa: E402
from torch.utils.data import IterableDataset, RandomSampler, Subset  # noqa: E402
from torch_geometric.data import Batch, Data, Dataset  # noqa: E402
from torch_geometric.loader import DataLoader  # noqa: E402
from tu_sets import make_tu_set  # noqa: E402

from plimsoll import _operators  # noqa: E402

_operators.load()
import plimsoll.nn  # noqa: E402
from plimsoll import _torch  # noqa: E402
from plimsoll._fit.steps import by_names  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")

TU = ["PROTEINS", "MUTAG", "ENZYMES"]
MIB = 1 << 20


@pytest.fixture(scope="module")
def tu(data_dir, tmp_path_factory):
    """tu(name): a TU data set as a list of Data, as the package gives them."""
    sets = {}

    def read(name):
        if name not in sets:
            graphs = make_tu_set(data_dir, name, tmp_path_factory.mktemp("tu") / name)
            sets[name] = [graphs.to_pyg(i) for i in range(len(graphs))]
        return sets[name]

    return read


def made_up(count, nodes=12, edges=30, features=7, loops=0, seed=0):
    """Graphs of several sizes, self-loops among them."""
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for i in range(count):
        n, e = nodes + i % 5, edges + 3 * (i % 7)
        edge_index = torch.randint(n, (2, e), generator=generator)
        edge_index[1, : loops * (i % 3)] = edge_index[0, : loops * (i % 3)]
        graphs.append(Data(x=torch.randn(n, features, generator=generator), edge_index=edge_index, y=torch.tensor([i % 2])))
    return graphs


def classifier(body, graphs, **options):
    return Classifier(make_body(body, graphs[0].x.shape[1], graphs, **options), int(max(g.y for g in graphs)) + 1)


def test_a_loader_of_neighbours_stays_where_it_was(tmp_path):
    plimsoll.simulate.graph(tmp_path / "graph", nodes=3000, degree=8, features=6, classes=3, seed=1)
    loader = plimsoll.NeighborLoader(plimsoll.open(tmp_path / "graph"), [5, 3], "train", batch_size=64, shuffle=True)
    model = make_body("SAGE", 6, [], width=8, layers=2, out_channels=3)
    before = torch.get_rng_state()
    plan = plimsoll.plan(model, loader, loss=lambda out, y: torch.nn.functional.cross_entropy(out, y.clamp(min=0)))
    assert loader.state_dict()["epoch"] == 0 and torch.equal(torch.get_rng_state(), before)
    assert plan.exact and plan.largest_batch is None
    assert "estimated" not in str(plan) and "largest batch" not in str(plan)


def test_a_loader_that_shuffles_gives_the_batches_that_were_counted():
    graphs = made_up(40)
    generator = torch.Generator().manual_seed(3)
    before = generator.get_state()
    for options in ({"shuffle": True, "generator": generator}, {"sampler": RandomSampler(graphs, generator=generator)}):
        plan = plimsoll.plan(classifier("GCN", graphs), DataLoader(graphs, 8, **options))
        assert plan.exact and torch.equal(generator.get_state(), before)


def test_a_loader_is_rewound_after_an_error():
    graphs = made_up(40)
    generator = torch.Generator().manual_seed(3)
    before = generator.get_state()

    def forward(model, batch):
        raise LookupError("of the model")

    with pytest.raises(LookupError, match="of the model"):
        plimsoll.plan(classifier("GCN", graphs), DataLoader(graphs, 8, shuffle=True, generator=generator), forward=forward)
    assert torch.equal(generator.get_state(), before)


def run_epoch(model, loader, optimizer):
    """An epoch that keeps nothing from one step to the next."""
    model.train()
    for batch in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(by_names(model, batch), batch.y).backward()
        optimizer.step()
        optimizer.zero_grad()
        del batch


def measured(model, loader, optimizer):
    """Bytes that the ledger held at once during two epochs, beside what it held before, the model apart."""
    parameters = sum(_torch.tensor_bytes(p.untyped_storage().nbytes()) for p in (*model.parameters(), *model.buffers()))
    gc.collect()
    before = _torch.held()
    _torch.begin_peak()
    run_epoch(model, loader, optimizer)
    run_epoch(model, loader, optimizer)
    return _torch.peak() - before + parameters


@pytest.mark.parametrize("name", TU)
@pytest.mark.parametrize("body", BODIES)
def test_exact_on_tu(tu, name, body):
    graphs = tu(name)
    model = classifier(body, graphs, dropout=0.2)
    loader = DataLoader(graphs, batch_size=64)
    optimizer = torch.optim.Adam(model.parameters())
    plan = plimsoll.plan(model, loader, optimizer=optimizer)
    assert plan.exact and plan.difference == ""
    assert plan.tensors == measured(model, loader, optimizer)


@pytest.mark.parametrize("loops", [0, 2])
@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.Adam, lambda p: torch.optim.SGD(p, momentum=0.9)])
def test_exact_with_optimizers_and_loops(make, loops):
    graphs = made_up(80, loops=loops)
    model = classifier("GAT", graphs, norm="BatchNorm")
    loader = DataLoader(graphs, batch_size=16)
    optimizer = make(model.parameters())
    plan = plimsoll.plan(model, loader, optimizer=make)
    assert plan.tensors == measured(model, loader, optimizer)


@pytest.mark.parametrize("count", [300, 301])
def test_buffers_of_the_loader_are_counted_as_they_are_taken(tmp_path, count):
    """Tensors of 64 KiB and more are rounded up."""
    graphs = plimsoll.from_pyg(made_up(count, nodes=40, edges=90), tmp_path / "graphs")
    model = classifier("GCN", [graphs.to_pyg(i) for i in range(2)])
    loader = plimsoll.DataLoader(graphs, 60, shuffle=True, prefetch_factor=0)
    plan = plimsoll.plan(model, loader)
    assert plan.exact
    needed = 0
    optimizer = torch.optim.Adam(model.parameters())
    for batch in loader:
        needed = max(needed, loader.live_bytes)
        del batch
    assert needed <= plan.batch <= needed * 1.05
    loader.set_epoch(0)
    with plimsoll.budget(plan.smallest_budget):
        run_epoch(model, loader, optimizer)


def test_smaller_batches_tell_of_larger_ones():
    """What is not run is worked out to the byte."""
    graphs = made_up(96, loops=1)
    model = classifier("GATv2", graphs)
    from plimsoll._fit.planner import Needs
    from plimsoll.data.sizes import size_of
    from plimsoll._fit.trial import Trial

    needs = Needs(Trial(model, torch.optim.Adam, by_names, torch.nn.functional.cross_entropy))
    needs.run_parts(Batch.from_data_list(graphs[:32]))
    large = Batch.from_data_list(graphs)
    told = needs.of(size_of(large))
    needs.run(large)
    run = needs.of(size_of(large))
    assert (told.step, told.batch, told.operation) == (run.step, run.batch, run.operation)
    assert not told.run and run.run


def test_leaves_everything_as_it_was():
    graphs = made_up(20)
    model = classifier("GCN", graphs, norm="BatchNorm")
    optimizer = torch.optim.Adam(model.parameters())
    run_epoch(model, [Batch.from_data_list(graphs)], optimizer)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    state, generator = optimizer.state_dict(), torch.get_rng_state()
    model.eval()
    plimsoll.plan(model, DataLoader(graphs, batch_size=5), optimizer=optimizer)
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())
    assert str(optimizer.state_dict()) == str(state)
    assert torch.equal(torch.get_rng_state(), generator)
    assert not model.training and all(p.grad is None for p in model.parameters())


def test_breakdown_adds_up():
    graphs = made_up(20)
    model = classifier("GIN", graphs)
    plan = plimsoll.plan(model, Batch.from_data_list(graphs))
    assert plan.optimizer > 2 * plan.parameters  # Adam: two moments and a counter each
    assert sum(count for _, count in plan.held_at_peak) == plan.step
    assert plan.peak == plan.outside + plan.parameters + plan.optimizer + plan.batch + plan.step
    assert plan.smallest_budget % MIB == 0 and plan.fits and plan.budget is None
    for part in ("smallest budget", "20 graphs", plan.operation):
        assert part in str(plan)


def test_inference_needs_less():
    graphs = made_up(20)
    model = classifier("GAT", graphs)
    batch = Batch.from_data_list(graphs)
    assert plimsoll.plan(model, batch, training=False).step < plimsoll.plan(model, batch).step / 2


def test_largest_batch_fits_and_one_more_may_not():
    graphs = made_up(200, nodes=300, edges=900)
    model = classifier("GATv2", graphs)
    loader = DataLoader(graphs, batch_size=4)
    base = plimsoll.plan(model, loader)
    budget = base.smallest_budget + 40 * MIB
    plan = plimsoll.plan(model, loader, budget=budget)
    assert plan.fits and 4 <= plan.largest_batch < 200
    by_size = sorted(graphs, key=lambda g: g.num_nodes + g.num_edges, reverse=True)
    largest = plimsoll.plan(model, Batch.from_data_list(by_size[: plan.largest_batch]))
    assert largest.tensors + plan.outside <= budget
    assert plimsoll.plan(model, loader, budget=budget + 40 * MIB).largest_batch > plan.largest_batch
    with plimsoll.budget(budget):
        around = plimsoll.plan(model, loader)
    assert around.budget == budget and abs(around.largest_batch - plan.largest_batch) < 20


def test_largest_batch_is_of_all_graphs():
    """Of a list, torch's parts of one, a data set of PyTorch Geometric, and batches in a list; None where nothing has them."""
    graphs = made_up(60, nodes=400, edges=2000) + made_up(2, nodes=4000, edges=20000)
    model = classifier("GAT", graphs)
    budget = plimsoll.plan(model, Batch.from_data_list(graphs[-2:])).smallest_budget + 8 * MIB

    class Made(Dataset):
        def len(self):
            return len(graphs)

        def get(self, i):
            return graphs[i]

    def largest(batches):
        return plimsoll.plan(model, batches, budget=budget).largest_batch

    of_list = largest(DataLoader(graphs, 4))
    assert 1 <= of_list < 40
    for dataset in (Subset(graphs, range(len(graphs))), Subset(Made(), range(len(graphs))), Made()):
        assert abs(largest(DataLoader(dataset, 4)) - of_list) <= 1
    assert abs(largest(list(DataLoader(graphs, 4))) - of_list) <= 1

    class Batches:
        def __iter__(self):
            return iter(DataLoader(graphs, 4))

    class Stream(IterableDataset):
        def __len__(self):
            return len(graphs)

        def __iter__(self):
            return iter(graphs)

    class Named(torch.utils.data.Dataset):
        def __len__(self):
            return len(graphs)

        def __getitem__(self, name):
            return {f"graph {i}": graph for i, graph in enumerate(graphs)}[name]

    names = [f"graph {i}" for i in range(len(graphs))]
    for batches in (Batches(), DataLoader(Stream(), 4), DataLoader(Named(), 4, sampler=names)):
        assert largest(batches) is None


def test_a_budget_too_small_for_the_batch_is_planned_without_it():
    """Planning keeps within the budget: it works the batch out from its parts."""
    graphs = made_up(120, nodes=400, edges=2000)
    model = classifier("GATv2", graphs)
    loader = DataLoader(graphs, batch_size=120)
    whole = plimsoll.plan(model, loader)
    budget = whole.smallest_budget - whole.step // 2
    plan = plimsoll.plan(model, loader, budget=budget)
    assert not plan.exact and not plan.fits and plan.step == whole.step
    assert abs(plan.smallest_budget - whole.smallest_budget) < 32 * MIB
    assert "does not fit" in str(plan) and "estimated" in str(plan)


@pytest.mark.parametrize(
    "batches, text",
    [([], "returned nothing"), ([1], "gave int"), (iter([]), "returned nothing")],
)
def test_nothing_to_plan_for(batches, text):
    model = classifier("GCN", made_up(2))
    with pytest.raises(plimsoll.UsageError, match=text):
        plimsoll.plan(model, batches)


@pytest.mark.parametrize("body", ["GAT", "GATv2", "SAGE", "GIN"])
def test_fused_layers_are_planned_as_they_run(body):
    graphs = made_up(64, nodes=200, edges=800)
    batch = Batch.from_data_list(graphs)
    model = classifier(body, graphs)
    plain = plimsoll.plan(model, batch)
    plimsoll.nn.replace(model)
    plan = plimsoll.plan(model, batch)
    held = _torch.held()
    optimizer = torch.optim.Adam(model.parameters())
    with plimsoll.budget() as memory:
        for _ in range(2):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(by_names(model, batch), batch.y).backward()
            optimizer.step()
    measured = memory.peak - held + plan.batch + plan.parameters
    assert plan.tensors < 0.8 * plain.tensors
    assert measured == pytest.approx(plan.tensors, rel=0.1)


def test_a_model_on_another_device():
    model = classifier("GCN", made_up(2)).to("meta")
    with pytest.raises(plimsoll.UsageError, match='model is on meta.*model.cpu.*device="cuda"'):
        plimsoll.plan(model, made_up(2))


def test_a_field_that_batches_lack():
    class Wants(torch.nn.Module):
        def forward(self, x, pos):
            return x

    with pytest.raises(plimsoll.UsageError, match="needs 'pos'.*forward=lambda"):
        plimsoll.plan(Wants(), made_up(2), optimizer=lambda p: torch.optim.SGD([torch.zeros(1)]))


def test_errors_of_the_model_come_through():
    class Broken(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = torch.nn.Linear(3, 2)

        def forward(self, x):
            return self.lin(x)

    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        plimsoll.plan(Broken(), made_up(2))
    assert torch.zeros(3).sum() == 0  # nothing is left recording
    plimsoll.plan(classifier("GCN", made_up(2)), made_up(4))


def odd(nodes, edges, features=8, self_loops=0, seed=1):
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(nodes, (2, edges), generator=generator)
    return Data(x=torch.randn(nodes, features, generator=generator), edge_index=edge_index, y=torch.tensor([seed % 2]))


def test_batches_whose_counts_say_too_little():
    """Few batches of one number of graphs: what depends on which count has to be found out by running them."""
    sizes = [(8000, 8000), (1000, 32000), (7900, 31900)]
    graphs = [odd(*size, seed=i) for size in sizes for i in range(8)]
    model = classifier("GAT", graphs)
    loader = DataLoader(graphs, batch_size=8)
    plan = plimsoll.plan(model, loader, optimizer=torch.optim.Adam)
    assert plan.exact
    assert plan.tensors == measured(model, loader, torch.optim.Adam(model.parameters()))


def test_batches_without_edges():
    graphs = [odd(10, 20, seed=i) for i in range(8)] + [odd(3000, 0)]
    model = classifier("GCN", graphs)
    loader = DataLoader(graphs, batch_size=1)
    plan = plimsoll.plan(model, loader)
    assert plan.exact and plan.worst.nodes == 3000
    assert plan.tensors == measured(model, loader, torch.optim.Adam(model.parameters()))


def test_data_without_any_edges():
    class Points(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = torch.nn.Linear(3, 2)

        def forward(self, x):
            return self.lin(x).mean(0, keepdim=True)

    assert plimsoll.plan(Points(), Data(x=torch.randn(50, 3), y=torch.tensor([1]))).exact


def test_a_compiled_model_is_called_by_its_names():
    graphs = made_up(4)
    model = torch.compile(classifier("GCN", graphs), backend="eager")
    plimsoll.plan(model, Batch.from_data_list(graphs))


def test_a_model_that_is_frozen():
    graphs = made_up(4)
    model = classifier("GCN", graphs).requires_grad_(False)
    with pytest.raises(plimsoll.UsageError, match="every parameter of the model is frozen; expected at least one .* or training=False"):
        plimsoll.plan(model, Batch.from_data_list(graphs))
    assert plimsoll.plan(model, Batch.from_data_list(graphs), training=False).optimizer == 0


def test_a_forward_that_uses_another_model():
    graphs = made_up(4)
    model = classifier("GCN", graphs)
    with pytest.raises(plimsoll.UsageError, match="no parameter of the model has a gradient"):
        plimsoll.plan(model, Batch.from_data_list(graphs), forward=lambda _, b: by_names(classifier("GCN", graphs), b))


@pytest.mark.parametrize("made", [False, True])
def test_an_optimizer_that_wants_a_closure(made):
    graphs = made_up(2)
    model = classifier("GCN", graphs)
    optimizer = torch.optim.LBFGS(model.parameters()) if made else torch.optim.LBFGS
    with pytest.raises(plimsoll.UsageError, match="LBFGS: needs a closure"):
        plimsoll.plan(model, graphs, optimizer=optimizer)


def test_lazy_parameters():
    with pytest.raises(plimsoll.UsageError, match="unknown sizes"):
        plimsoll.plan(Classifier(make_body("GCN", -1, made_up(2)), 2), made_up(2))
