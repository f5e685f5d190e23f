"""What plimsoll.fit refuses."""

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from fit_models import classifier, made_up  # noqa: E402
from torch_geometric.data import Batch, Data  # noqa: E402

from plimsoll._fit.blocks import BlockLimits  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"graphs": made_up()[:0] or ()}, plimsoll.UsageError, "no graphs"),
        ({"batch_size": 0}, plimsoll.UsageError, "batch_size=0"),
        ({"block": BlockLimits(0)}, plimsoll.UsageError, "graphs=0"),
        ({"block": 4}, plimsoll.UsageError, "block=4: expected plimsoll.BlockLimits"),
        ({"block": (4, 100, 100, 100)}, plimsoll.UsageError, "expected plimsoll.BlockLimits"),
        ({"optimizer": 3}, plimsoll.UsageError, "optimizer=3"),
        ({"model": classifier().requires_grad_(False)}, plimsoll.UsageError, "every parameter of the model is frozen"),
        ({"budget": "1MiB"}, plimsoll.BudgetExceeded, "this process holds"),
        ({"budget": "much"}, plimsoll.UsageError, "much"),
        ({"loss": lambda out, y: out}, plimsoll.UsageError, "expected one number"),
        ({"model": classifier().to("meta")}, plimsoll.UsageError, "the model is on meta"),
        ({"epochs": 0}, plimsoll.UsageError, "epochs=0"),
        ({"seed": -1}, plimsoll.UsageError, "seed=-1"),
        ({"batch_size": "64"}, plimsoll.UsageError, "batch_size='64'"),
        ({"optimizer": torch.optim.Adam([torch.zeros(1)])}, plimsoll.UsageError, "not the model's, the first of shape \\(1,\\)"),
        ({"optimizer": torch.optim.LBFGS}, plimsoll.UsageError, "LBFGS"),
        ({"graphs": [Data(x=torch.zeros(2, 5), edge_index=torch.zeros(2, 1, dtype=torch.long))]}, plimsoll.UsageError, "graph 0: has no y"),
        ({"graphs": iter(made_up())}, plimsoll.UsageError, "expected graphs"),
        ({"graphs": made_up()[0]}, plimsoll.UsageError, r"is one graph; give \[data\], or use plimsoll.NeighborLoader"),
        ({"graphs": Batch.from_data_list(made_up(3))}, plimsoll.UsageError, "is one Batch; give batch.to_data_list"),
        ({"model": print}, plimsoll.UsageError, "expected torch.nn.Module"),
    ],
)
def test_a_bad_argument_is_refused_and_named(options, error, text):
    options = dict(options)
    model, graphs = options.pop("model", None) or classifier(), options.pop("graphs", made_up())
    with pytest.raises(error, match=text):
        plimsoll.fit(model, graphs, **options)
    assert torch.zeros(2).sum() == 0
