"""The steps that a plan tries leave the weights as they were."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from fit_models import classifier, made_up, weights  # noqa: E402
from plimsoll._fit.steps import by_names  # noqa: E402
from plimsoll._fit.trial import Trial  # noqa: E402
from torch_geometric.data import Batch  # noqa: E402


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop])
@pytest.mark.parametrize("rate", [1e6, torch.tensor(1e6)], ids=["number", "tensor"])
def test_steps_leave_the_weights_as_they_are(optimizer, rate):
    if optimizer is torch.optim.RMSprop and not isinstance(rate, float):
        pytest.skip("torch's RMSprop takes a tensor with capturable=True alone")
    model = classifier("SAGE")
    trial = Trial(model, lambda parameters: optimizer(parameters, lr=rate, foreach=False), by_names, torch.nn.functional.cross_entropy)
    for count in (2, 5):
        trial.record(Batch.from_data_list(made_up()[:count]))
    assert torch.equal(weights(trial.model), weights(model))


@pytest.mark.parametrize("name", ["data", "batch", "batched_data", "graph_batch"])
def test_a_model_that_takes_the_whole_batch(name):
    scope = {"torch": torch}
    exec(f"class Whole(torch.nn.Module):\n    def forward(self, {name}):\n        return {name}.num_graphs", scope)
    assert by_names(scope["Whole"](), Batch.from_data_list(made_up()[:3])) == 3
