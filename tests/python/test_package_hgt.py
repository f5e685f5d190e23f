"""`HGTLoader`: PyTorch Geometric's batches, without torch-sparse."""

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from temporal_graphs import EDGE_TYPES, random_hetero  # noqa: E402


def test_batches_have_the_edges_between_their_nodes():
    data = random_hetero(1)
    loader = plimsoll.HGTLoader(data, {"user": [4, 2], "order": [6, 0]}, "order", batch_size=20, seed=1)
    assert len(loader) == 6
    for batch, again in zip(loader, loader, strict=True):
        assert batch["order"].num_nodes == 26 and batch["user"].num_nodes == 6 and batch["order"].batch_size == 20
        assert torch.equal(batch["user"].x, data["user"].x[batch["user"].n_id])
        assert torch.equal(batch["user"].n_id, again["user"].n_id)
        for edge_type in EDGE_TYPES:
            ends, store = data[edge_type].edge_index, batch[edge_type]
            inside = torch.isin(ends[0], batch[edge_type[0]].n_id) & torch.isin(ends[1], batch[edge_type[2]].n_id)
            assert sorted(store.e_id.tolist()) == inside.nonzero().view(-1).tolist()
            found = torch.stack([batch[edge_type[0]].n_id[store.edge_index[0]], batch[edge_type[2]].n_id[store.edge_index[1]]])
            assert torch.equal(found, ends[:, store.e_id]) and torch.equal(store.edge_attr, data[edge_type].edge_attr[store.e_id])


def test_refuses_by_name():
    data = random_hetero(1)
    for arguments, text in (
        ((data, {"user": [1]}, "user"), "num_samples: is for"),
        ((data, [-1], "user"), "num_samples=-1"),
        (([data], [1], "user"), "expected a HeteroData"),
    ):
        with pytest.raises(plimsoll.UsageError, match=text):
            plimsoll.HGTLoader(*arguments)
    for name in ("input_time", "time_attr", "custom_cls", "input_id", "transform_sampler_output"):
        with pytest.raises(plimsoll.UsageError, match=f"{name}: is not supported"):
            plimsoll.HGTLoader(data, [1], "user", **{name: torch.zeros(40, dtype=torch.long)})
        plimsoll.HGTLoader(data, [1], "user", **{name: None})
