"""Trains a GIN with DeepSpeed's ZeRO on the CPU, and compares what a rank holds with what `plimsoll.plan` predicted.

    torchrun --nproc-per-node 2 examples/deepspeed_zero.py PROTEINS --stage 2 [--root tu]

Each rank reads its share of the graphs with `plimsoll.DataLoader`. In addition to the optimizer's state, DeepSpeed keeps a copy
of a rank's slice of the parameters, in any precision; it is printed separately. With stage 1 it frees the gradients of other
ranks once all are reduced; the plan counts them, because the backward pass holds them.
"""

import argparse
import os
import tempfile
from pathlib import Path

os.environ.setdefault("DS_ACCELERATOR", "cpu")

import deepspeed  # noqa: E402
import plimsoll  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch_geometric.datasets import TUDataset  # noqa: E402
from torch_geometric.nn import GIN, global_add_pool  # noqa: E402


class Classifier(torch.nn.Module):
    def __init__(self, features, classes, hidden):
        super().__init__()
        self.gin = GIN(features, hidden, num_layers=4)
        self.lin = torch.nn.Linear(hidden, classes)

    def forward(self, x, edge_index, batch):
        return self.lin(global_add_pool(self.gin(x, edge_index), batch))


def open_on_all(root, name, folder):
    """Returns the data set, which rank 0 makes."""
    if dist.get_rank() == 0:
        plimsoll.from_pyg(TUDataset(root, name, use_node_attr=True), folder)
    dist.barrier()
    return plimsoll.open(folder)


def held(engine):
    """Returns the bytes that this rank holds between the backward pass and the optimizer's step, from the second step on."""
    zero = engine.optimizer
    kept = {id(tensor): tensor for group in zero.averaged_gradients.values() for tensor in group or () if tensor is not None}
    kept |= {id(p.grad): p.grad for p in engine.module.parameters() if p.grad is not None}
    state = [tensor for values in zero.optimizer.state.values() for tensor in values.values() if isinstance(tensor, torch.Tensor)]
    return {
        "parameters": sum(tensor.nbytes for tensor in [*engine.module.parameters(), *engine.module.buffers()]),
        "gradients": sum(tensor.nbytes for tensor in kept.values()),
        "optimizer": sum(tensor.nbytes for tensor in state),
        "copy of the slice": sum(tensor.nbytes for tensor in zero.single_partition_of_fp32_groups),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="name of a TU data set, which is downloaded unless it is in the root")
    parser.add_argument("--root", default="tu", help="the folder of TU data sets")
    parser.add_argument("--stage", type=int, choices=(1, 2), default=2)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args()

    deepspeed.init_distributed(dist_backend="gloo", verbose=False)
    torch.set_num_threads(1)
    folder = Path(tempfile.gettempdir(), f"deepspeed-{os.environ['MASTER_PORT']}")
    graphs = open_on_all(options.root, options.name, folder)
    torch.manual_seed(0)
    model = Classifier(graphs.num_node_features, int(graphs.y.max()) + 1, options.hidden)
    loader = plimsoll.DataLoader(graphs, 64, shuffle=True, seed=1)
    planned = plimsoll.plan(model, loader, sharding=f"zero{options.stage}", ranks=dist.get_world_size())

    config = {"train_micro_batch_size_per_gpu": 64, "zero_optimization": {"stage": options.stage, "overlap_comm": False},
              "zero_allow_untested_optimizer": True, "zero_force_ds_cpu_optimizer": False}
    engine, *_ = deepspeed.initialize(model=model, optimizer=torch.optim.Adam(model.parameters()), config=config)
    found = {}
    for _ in range(options.epochs):
        total = 0.0
        for batch in loader:
            loss = torch.nn.functional.cross_entropy(engine(batch.x, batch.edge_index, batch.batch), batch.y)
            engine.backward(loss)
            found = held(engine)
            engine.step()
            total += float(loss.detach())
    for what, count in found.items():
        expected = getattr(planned, what, None)
        print(f"rank {dist.get_rank()}: {what}: {count} bytes" + (f", planned {expected}" if expected else ""), flush=True)
    print(f"rank {dist.get_rank()}: loss {total / len(loader):.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
