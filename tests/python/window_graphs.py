"""Fixtures: a set of window graphs for the tests of `plimsoll.DataLoader`."""

import pytest
from package_data import FRAMES, plimsoll


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loader")
    frames = plimsoll.simulate.can(folder / "frames", frames=FRAMES, seed=3)
    plimsoll.windows(frames, folder / "graphs", features="compat", window=100, stride=100)
    return folder / "graphs"


@pytest.fixture
def graphs(folder):
    with plimsoll.open(folder) as graphs:
        yield graphs


def as_data(graphs):
    return [graphs.to_pyg(i) for i in range(len(graphs))]


def labels(loader):
    return [batch.y.tolist() for batch in loader]
