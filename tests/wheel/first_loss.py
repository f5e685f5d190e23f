"""README's section for users of PyTorch Geometric, on made-up graphs: prints the first loss, or with a torch for which the
wheel has no part what it says."""

import re
import sys
from pathlib import Path

import torch
from torch_geometric.data import Data
from torch_geometric.nn import GIN, global_add_pool

import plimsoll
from plimsoll import _operators


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gin = GIN(8, 16, num_layers=2)
        self.lin = torch.nn.Linear(16, 2)

    def forward(self, x, edge_index, batch):
        return self.lin(global_add_pool(self.gin(x, edge_index), batch))


def ring(label):
    """A ring of 20 nodes, whose features have the mean `label`."""
    source = torch.arange(20)
    edges = torch.stack([source, (source + 1) % 20])
    return Data(x=torch.randn(20, 8) + label, edge_index=edges, y=torch.tensor([label]))


assert str(Path(plimsoll.__file__)).startswith(sys.prefix), "plimsoll is not the one of the wheel"
if ".".join(torch.__version__.split(".")[:2]) not in _operators.versions():
    try:
        plimsoll.budget("1GiB")
    except plimsoll.MissingPackage as error:
        assert f"torch=={_operators.versions()[-1]}" in str(error)
        print(f"torch {torch.__version__}: {error}")
        sys.exit()

torch.manual_seed(0)
dataset, model = [ring(i % 2) for i in range(5000)], Classifier()
readme = (Path(sys.argv[1]) / "README.md").read_text()
code = re.search(r"## You use PyTorch Geometric\n+```python\n(.*?)```", readme, re.S)[1]
assert code.count("plimsoll.fit(") == 1
exec(code.replace("plimsoll.fit(", "run = plimsoll.fit("))
print(f"torch {torch.__version__}: first loss {run.losses[0]:.4f}")  # noqa: F821
