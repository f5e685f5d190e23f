"""plimsoll.plan of a rank that shards optimizer and gradients, against torch's Adam on a slice, and DeepSpeed's ZeRO."""

import os
import re
import subprocess
import sys

import pytest
from conftest import REPOSITORY
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from torch_geometric.data import Batch, Data  # noqa: E402
from torch_geometric.nn import GraphConv, global_add_pool  # noqa: E402
from tu_sets import archive_of, unpack  # noqa: E402

from plimsoll import _operators  # noqa: E402

_operators.load()
from plimsoll import _torch  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = GraphConv(7, 65)
        self.lin = torch.nn.Linear(65, 2)

    def forward(self, x, edge_index, batch):
        return self.lin(global_add_pool(self.conv(x, edge_index).relu(), batch))


@pytest.fixture(scope="module")
def batches():
    generator = torch.Generator().manual_seed(0)
    return [Batch.from_data_list([Data(x=torch.randn(9, 7, generator=generator),
                                       edge_index=torch.randint(9, (2, 20), generator=generator), y=torch.tensor([i % 2]))
                                  for i in range(8)])]


def bytes_of(tensors):
    return sum(_torch.tensor_bytes(tensor.nbytes) for tensor in tensors)


@pytest.mark.parametrize("optimizer", [torch.optim.Adam, lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)])
@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_a_rank_holds_what_its_slice_takes(batches, optimizer, ranks):
    model = Classifier()
    count = sum(parameter.numel() for parameter in model.parameters())
    part = torch.nn.Parameter(torch.zeros(-(-count // ranks)))
    made = optimizer([part])
    part.grad = torch.zeros_like(part)
    made.step()
    state = bytes_of([tensor for of in made.state.values() for tensor in of.values() if tensor is not None])
    whole = bytes_of([torch.zeros(count)])
    for sharding, gradients in (("zero1", whole), ("zero2", bytes_of([part.grad]))):
        plan = plimsoll.plan(model, batches, optimizer=optimizer, sharding=sharding, ranks=ranks)
        assert (plan.gradients, plan.optimizer) == (gradients, state), sharding
        assert plan.parameters == bytes_of(model.parameters())


def test_other_shardings_are_refused(batches):
    with pytest.raises(plimsoll.UsageError, match="sharding='zero3': expected one of zero1, zero2"):
        plimsoll.plan(Classifier(), batches, sharding="zero3", ranks=2)
    with pytest.raises(plimsoll.UsageError, match="ranks=2 without sharding"):
        plimsoll.plan(Classifier(), batches, ranks=2)


@pytest.mark.skipif(not os.environ.get("PLIMSOLL_SLOW"), reason="compiles a part of DeepSpeed; set PLIMSOLL_SLOW")
@pytest.mark.parametrize("stage", [1, 2])
def test_deepspeed_holds_what_was_planned(data_dir, tmp_path, stage):
    pytest.importorskip("deepspeed", reason="pip install deepspeed")
    unpack(archive_of(data_dir, "MUTAG"), tmp_path / "tu")
    done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
                           REPOSITORY / "examples" / "deepspeed_zero.py", "MUTAG", "--root", tmp_path / "tu", "--stage",
                           str(stage), "--epochs", "1"],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    said = re.findall(r"rank \d: (\w+): (\d+) bytes, planned (\d+)", done.stdout)
    assert sorted(what for what, *_ in said) == ["gradients"] * 2 + ["optimizer"] * 2 + ["parameters"] * 2
    for what, held, planned in said:
        if (stage, what) == (1, "gradients"):  # the others' are gone as soon as all are reduced
            assert int(held) <= int(planned)
            continue
        # What the heap has beside each of the 22 tensors, and DeepSpeed's padding.
        assert abs(int(held) - int(planned)) <= 22 * 128, (what, held, planned)
