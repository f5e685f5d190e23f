"""Models of PyTorch Geometric's and OGB's examples, with made-up data of the same fields. `bench/models.py` trains them."""

from example_models import molecules, nodes, ogb, points, pools
from example_models.case import Case

CASES: list[Case] = [*ogb.CASES, *molecules.CASES, *pools.CASES, *nodes.CASES, *points.CASES]

#: Examples over lists of graphs that are left out, with the reason.
SKIPPED = {
    "examples/faust.py": "SplineConv needs spline_basis of pyg-lib",
    "examples/mnist_graclus.py": "SplineConv and graclus need pyg-lib",
    "examples/mnist_nn_conv.py": "graclus needs pyg-lib",
    "examples/mnist_voxel_grid.py": "SplineConv and grid_cluster need pyg-lib",
    "examples/qm9_pretrained_dimenet.py": "evaluates weights that it downloads, and trains nothing",
    "examples/randlanet_classification.py": "decimates points at random, so that no two passes can be compared",
}
