"""Fixtures: layers of plimsoll.nn beside PyTorch Geometric's of the same parameters."""

import copy

import pytest

torch = pytest.importorskip("torch")
from attention_twin import make_conv  # noqa: E402


@pytest.fixture(scope="module")
def nn(ops):
    import plimsoll.nn

    return plimsoll.nn


@pytest.fixture
def fused(nn):
    """fused(conv): a copy with the class of plimsoll.nn."""

    def make(conv):
        conv = copy.deepcopy(conv)
        assert nn.replace(conv).replaced == 1
        return conv

    return make


def pair(kind, nn, *arguments, **how):
    """A layer of each with the same parameters."""
    theirs = make_conv(kind, *arguments, **how)
    ours = {"gat": nn.GATConv, "gatv2": nn.GATv2Conv}[kind](*arguments, **how).to(torch.float64)
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def doubled(*arguments):
    """A hook that doubles what its place gives."""
    return 2 * arguments[-1]
