"""A small classifier of PyTorch Geometric and made-up graphs, as the tests of plimsoll.fit train them."""

import plimsoll
import torch
from plimsoll import _operators
from plimsoll._fit.blocks import BlockLimits
from pyg_models import Classifier, make_body
from torch_geometric.data import Data

# Before the first tensor, so that the ledger has all of them.
_operators.load()


def made_up(count=60, features=5):
    generator = torch.Generator().manual_seed(3)
    graphs = []
    for i in range(count):
        n, e = 6 + i % 7, 15 + i % 11
        graphs.append(
            Data(
                x=torch.randn(n, features, generator=generator) + i % 3,
                edge_index=torch.randint(n, (2, e), generator=generator),
                y=torch.tensor([i % 3]),
            )
        )
    return graphs


def classifier(body="GAT", graphs=None, **options):
    torch.manual_seed(5)
    return Classifier(make_body(body, 5, graphs or made_up(), width=16, layers=2, **options), 3)


def weights(model):
    return torch.cat([value.detach().double().cpu().flatten() for value in model.state_dict().values()])


def fitted(graphs=None, model=None, **options):
    model = model or classifier(dropout=0.3)
    options = {"epochs": 2, "batch_size": 32, "block": BlockLimits(8)} | options
    return model, plimsoll.fit(model, graphs or made_up(), optimizer=torch.optim.Adam(model.parameters(), 1e-2), **options)
