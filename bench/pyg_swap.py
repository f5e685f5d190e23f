"""A plugin of pytest for PyTorch Geometric's own test files: our classes in the place of theirs (bench/pyg_tests.py).

Tests that its package skips without pyg-lib's or torch-sparse's sampler run, as ours needs neither. What happened to each
test goes as JSON into the file that PYG_SWAP names. With PYG_PLAIN their classes stay.
"""

import json
import os
import sys

import plimsoll
import plimsoll.nn
import pytest
import torch_geometric.loader
import torch_geometric.nn
import torch_geometric.nn.models.basic_gnn
import torch_geometric.testing
import torch_geometric.typing

_LOADERS = ("DataLoader", "NeighborLoader", "LinkNeighborLoader", "HGTLoader", "ClusterData", "ClusterLoader", "DynamicBatchSampler")
_LAYERS = ("GATConv", "GATv2Conv", "GCNConv", "SAGEConv", "GINConv")
_FLAGS = ("WITH_PYG_LIB", "WITH_WEIGHTED_NEIGHBOR_SAMPLE", "WITH_EDGE_TIME_NEIGHBOR_SAMPLE")
_with_package = torch_geometric.testing.withPackage
_flags = {name: getattr(torch_geometric.typing, name) for name in _FLAGS}
_done = {}


def _with_our_sampler(*names):
    test_file = os.path.basename(sys._getframe(1).f_globals.get("__file__", ""))
    ours = names == ("pyg_lib",) or (names == ("torch_sparse",) and test_file == "test_hgt_loader.py")
    return _with_package(*(() if ours else names))


def _swap():
    for name in _LOADERS:
        setattr(torch_geometric.loader, name, getattr(plimsoll, name))
    for name in _LAYERS:
        for module in (torch_geometric.nn, torch_geometric.nn.conv, torch_geometric.nn.models.basic_gnn):
            if hasattr(module, name):
                setattr(module, name, getattr(plimsoll.nn, name))
    torch_geometric.testing.withPackage = _with_our_sampler
    torch_geometric.testing.onlyNeighborSampler = torch_geometric.testing.withMETIS = lambda test: test
    for name in _FLAGS:  # test files copy them when they are imported; the package itself must not see them
        setattr(torch_geometric.typing, name, True)


if "PYG_PLAIN" not in os.environ:
    _swap()


def pytest_collection_finish(session):
    for name, value in _flags.items():
        setattr(torch_geometric.typing, name, value)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" or report.outcome != "passed":
        why = "" if call.excinfo is None else str(call.excinfo.value).strip().partition("\n")[0]
        _done[item.nodeid] = [report.outcome, why]


def pytest_sessionfinish(session):
    with open(os.environ["PYG_SWAP"], "w") as file:
        json.dump(_done, file)
