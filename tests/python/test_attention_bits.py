"""Attention gives the same bits for any number of threads, and the same numbers at every level of instructions."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from attention_cases import (  # noqa: E402
    alpha_rows, both_kinds, dropout_of, large_graph, random_inputs, random_weights, small_graphs,
)
from attention_twin import LAYERS, evaluate, make_conv  # noqa: E402

pytestmark = pytest.mark.usefixtures("ops", "threads")


def results_by_threads(threads, kind, graph, conv, keep_projection):
    """What evaluate() gives, for 1 to 4 threads."""
    nodes, edge_index = graph
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], conv.in_channels, conv.edge_dim, torch.float32)
    weights = random_weights(conv, nodes, alpha_rows(conv, edge_index, nodes), torch.float32)
    for number in (1, 2, 3, 4):
        threads(number)
        yield evaluate(LAYERS[kind].run, conv, x, edge_index, edge_attr, weights, **dropout_of(0.2),
                       keep_projection=keep_projection)


def assert_same_bits(results):
    first, *others = results
    differing = [(number, name) for number, other in enumerate(others, 2) for name, value in other.items()
                 if not torch.equal(value, first[name])]
    assert not differing, "(threads, tensor) that differ from one thread"


@both_kinds
@pytest.mark.parametrize("keep_projection", [True, False])
@pytest.mark.parametrize("graphs", [20, 150, 800])
def test_closed_pieces_have_the_same_bits_for_any_number_of_threads(kind, graphs, keep_projection, threads):
    """Numbers of columns that vectors do not divide: a BLAS may cut them by its number of threads."""
    conv = make_conv(kind, 37, 33, torch.float32, heads=3, edge_dim=3)
    assert_same_bits(results_by_threads(threads, kind, small_graphs(graphs), conv, keep_projection))


@both_kinds
@pytest.mark.parametrize("keep_projection", [True, False])
def test_one_large_graph_has_the_same_bits_for_any_number_of_threads(kind, keep_projection, threads):
    conv = make_conv(kind, 37, 33, torch.float32, heads=3, edge_dim=3)
    assert_same_bits(results_by_threads(threads, kind, large_graph(), conv, keep_projection))


# Levels of the processor's instructions.


def python_with_level(level, *arguments):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "PLIMSOLL_SIMD": level, "OMP_NUM_THREADS": "1"})


CALL = """
import sys, torch
torch.ops.load_library(sys.argv[1])
order = torch.ops.plimsoll.edge_order(torch.tensor([[0], [1]]), 2, 2, True, True)
one = torch.ones(1, 1)
torch.ops.plimsoll.gat(torch.ones(2, 1), one, one, one, None, order, None, None, None, None, None, 1, 0.2, True,
                       "mean", 0.0, 0.0, True, False)
"""


@pytest.mark.parametrize("level", ["portable", "avx2"])
def test_same_as_pyg_at_level(level, ops_library):
    done = python_with_level(level, "-c", CALL, ops_library)
    if "this processor supports at most" in done.stderr:
        pytest.skip(f"this processor lacks {level}")
    assert done.returncode == 0, done.stderr
    done = python_with_level(level, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k",
                             "for_sizes and 11 or for_options and large or with_dropout or bf16_for_sizes and 3",
                             *(Path(__file__).parent / f"test_attention{part}.py" for part in ("", "_dropout", "_bf16")))
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout and "skipped" not in done.stdout


def test_unknown_level(ops_library):
    done = python_with_level("sse9", "-c", CALL, ops_library)
    assert done.returncode != 0 and "RuntimeError: PLIMSOLL_SIMD='sse9' is not" in done.stderr
