"""Classes of the nodes of one web graph with Graph Flow (dgf): the peer of bench/beside.py for a giant graph.

    web_dgf.py FOLDER [--steps 1000]

FOLDER is that of bench/peers/web_pyg.py. One call of the Simple API with its own defaults (2 hops of 15 neighbours, batches
of 32, 128 channels), but with fewer steps, with the splits of the data, and along links only: against them it would see the
links that the classes count. Prints the accuracy of 10,000 test pages and the checksum of the weights as JSON; what dgf
prints goes to stderr.
"""

import argparse
import contextlib
import hashlib
import json
import sys
from pathlib import Path

import dgf
import jax
import numpy as np
from dgf.src.data import in_memory_graph as graphs
from dgf.src.data import schema as schemas


def read(folder):
    """The graph as dgf takes it, with its schema."""
    x, y = np.load(folder / "x.npy"), np.load(folder / "y.npy").astype(np.int64)
    indptr, indices = (np.load(folder / "edges" / f"{name}.npy").astype(np.int64) for name in ("indptr", "indices"))
    links = np.stack([np.repeat(np.arange(len(y)), np.diff(indptr)), indices])
    graph = graphs.InMemoryGraph({"nodes": graphs.InMemoryNodeSet(len(y), {"x": x.astype(np.float32), "y": y})},
                                 {"links": graphs.InMemoryEdgeSet(links)})
    of_x = schemas.FeatureSchema(schemas.FeatureFormat.FLOAT_32, schemas.FeatureSemantic.EMBEDDING, shape=(x.shape[1],))
    of_y = schemas.FeatureSchema(schemas.FeatureFormat.INTEGER_64, schemas.FeatureSemantic.CATEGORICAL, shape=(),
                                 num_categorical_values=int(y.max()) + 1)
    return graph, schemas.GraphSchema({"nodes": schemas.NodeSchema({"x": of_x, "y": of_y})},
                                      {"links": schemas.EdgeSchema("nodes", "nodes")})


def run(folder, steps):
    graph, schema = read(folder)
    plan = dgf.sampling.simple_sampling_config_to_sampling_plan(
        dgf.sampling.SimpleSamplingConfig("nodes", num_hops=2, hop_width=15, reverse=False), schema)
    train, valid, test = (np.load(folder / f"{name}.npy") for name in ("train", "valid", "test"))
    model = dgf.learning.train_node_model(
        graph, schema, "y", target_nodeset="nodes", train_seed_nodes=train, valid_seed_nodes=valid,
        num_train_steps=steps, sampling_plan=plan, evaluate_final_model=False)
    some = test[np.random.default_rng(0).permutation(len(test))[:10_000]]
    result = model.evaluate(graph, seed_node_idxs=some, num_eval_steps=None)
    leaves = jax.tree_util.tree_leaves(model.data().model_params)
    digest = hashlib.sha256(b"".join(np.asarray(leaf).tobytes() for leaf in leaves)).hexdigest()
    return {"weights": digest[:32], "test": float(result.accuracy)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=1000)
    options = parser.parse_args()
    with contextlib.redirect_stdout(sys.stderr):
        result = run(options.folder, options.steps)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
