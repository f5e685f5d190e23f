"""A detector's windows one by one in PyTorch Geometric, on one thread: what is in memory becomes tensors, the model runs. Prints
the latencies as JSON; bench/detect.py runs it.

    detect.py DETECTOR GRAPH_SET SPLIT/RECORDING
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "python"))
from gat_with_jk import GATWithJK  # noqa: E402


def load(path):
    with safe_open(path, "pt") as file:
        model = GATWithJK(**json.loads(file.metadata()["plimsoll.config"]))
        names = model.state_dict().keys()
        model.load_state_dict({name: file.get_tensor(name) for name in names})
    return model.eval()


def windows(folder, recording):
    """(x, edge_index, edge_attr) as NumPy arrays of each window."""
    manifest = json.loads((folder / "manifest.json").read_text())
    place = next(r for r in manifest["recordings"] if f"{r['split']}/{r['name']}" == recording)
    node_ptr, edge_ptr, x, edges, edge_attr = (np.load(folder / f"{name}.npy", mmap_mode="r")
                                               for name in ("node_ptr", "edge_ptr", "x", "edges", "edge_attr"))
    for g in range(place["first_graph"], place["first_graph"] + place["graphs"]):
        nodes, rows = slice(*node_ptr[g:g + 2]), slice(*edge_ptr[g:g + 2])
        yield np.array(x[nodes]), np.ascontiguousarray(edges[rows].T.astype(np.int64)), np.array(edge_attr[rows])


def main():
    torch.set_num_threads(1)
    model = load(sys.argv[1])
    batch = torch.zeros(4096, dtype=torch.int64)
    spans = []
    with torch.inference_mode():
        for x, edge_index, edge_attr in windows(Path(sys.argv[2]), sys.argv[3]):
            begin = time.perf_counter_ns()
            logits = model(torch.from_numpy(x), torch.from_numpy(edge_index), batch[:len(x)], torch.from_numpy(edge_attr))
            float(logits[0, 1] - logits[0, 0])
            spans.append(time.perf_counter_ns() - begin)
    spans = spans[20:]  # the first ones also set torch up
    p50, p99, p99_9 = (float(value) for value in np.quantile(spans, [0.5, 0.99, 0.999]))
    print(json.dumps({"windows": len(spans), "p50": p50, "p99": p99, "p99_9": p99_9}))


if __name__ == "__main__":
    main()
