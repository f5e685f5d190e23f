"""Trains 30 models of PyTorch Geometric's and OGB's examples by `plimsoll.fit`, and compares each with one whole batch.

    OMP_NUM_THREADS=1 PYTHONPATH=python .venv/bin/python bench/models.py [--only TEXT]

Each model of bench/example_models is planned, and trained for one step of SGD over 40 graphs in blocks of at most 7, both in
float32. The same step in float64 is compared with plain PyTorch on one batch of all graphs: the difference is the norm of the
difference of the updates of all parameters and running statistics, relative to the norm of plain PyTorch's. A row is right
below 1e-4, and so is a refusal if the loss of the batch is not the mean of the losses of its graphs.
Widths are smaller than in the examples, and dropout and random starts are off, so that two runs draw nothing.
"""

from __future__ import annotations

import argparse
import copy
import math
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import plimsoll
import torch
from plimsoll._fit.steps import by_names
from torch import Tensor
from torch_geometric.data import Batch

sys.path.insert(0, str(Path(__file__).parent))

from example_models import CASES, SKIPPED, points, pyg_lib_stand_in  # noqa: E402
from example_models.case import Case  # noqa: E402

LIMIT = 1e-4
BLOCK = plimsoll.BlockLimits(7)


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def made(case: Case) -> tuple[torch.nn.Module, list[Any]]:
    graphs = case.graphs()
    torch.manual_seed(5)
    return case.model(graphs), graphs


def state(model: torch.nn.Module) -> dict[str, Tensor]:
    return {name: value.detach().double().clone() for name, value in model.state_dict().items() if value.is_floating_point()}


def update(before: dict[str, Tensor], model: torch.nn.Module) -> Tensor:
    return torch.cat([(value - before[name]).flatten() for name, value in state(model).items()])


def plain_update(case: Case, model: torch.nn.Module, graphs: list[Any]) -> Tensor:
    """The update of one step on all graphs in one batch."""
    model, forward = copy.deepcopy(model).train(), case.options.get("forward", by_names)
    before, batch = state(model), Batch.from_data_list(graphs)
    optimizer = torch.optim.SGD([parameter for parameter in model.parameters() if parameter.requires_grad], 1.0)
    case.loss(forward(model, batch), batch.y).backward()
    optimizer.step()
    return update(before, model)


def fitted_update(case: Case, model: torch.nn.Module, graphs: list[Any], block: plimsoll.BlockLimits = BLOCK) -> Tensor:
    before = state(model)
    optimizer = torch.optim.SGD([parameter for parameter in model.parameters() if parameter.requires_grad], 1.0)
    plimsoll.fit(model, graphs, case.loss, optimizer, batch_size=len(graphs), block=block, shuffle=False, **case.options)
    return update(before, model)


def couples_graphs(case: Case, model: torch.nn.Module, graphs: list[Any]) -> bool:
    """Whether the loss of some graphs is not the mean of their own, where batch norm has its running statistics."""
    model, forward = copy.deepcopy(model).eval(), case.options.get("forward", by_names)
    shares = case.options.get("weights", lambda batch: len(batch.y))

    def loss(some: list[Any]) -> tuple[float, float]:
        batch = Batch.from_data_list([graph.clone() for graph in some])
        share = float(shares(batch))
        value = float(case.loss(forward(model, batch), batch.y)) if share else 0.0
        return (0.0, 0.0) if math.isnan(value) else (value, share)  # The loss of ignored labels alone is NaN.

    with torch.no_grad():
        whole, alone = loss(graphs[:9])[0], [loss([graph]) for graph in graphs[:9]]
    mean = sum(value * share for value, share in alone) / sum(share for _, share in alone)
    return abs(mean - whole) > 1e-6 * abs(whole)


def relative_difference(case: Case, model: torch.nn.Module, graphs: list[Any]) -> float:
    wanted = plain_update(case, model, graphs)
    return float((fitted_update(case, model, graphs) - wanted).norm() / wanted.norm())


def in_double(function: Callable[..., Any], case: Case) -> Any:
    """What a function of a case, its model and its graphs gives where all are in float64."""
    with default_dtype(torch.float64):
        return function(case, *made(case))


def shown(number: float) -> str:
    return f"{number:.0e}" if math.isfinite(number) else str(number)


def row(case: Case) -> tuple[bool, str]:
    """Whether the case is right, and its row of the table."""
    planned = fitted = "no"
    difference = "-"
    right = False
    try:
        model, graphs = made(case)
        options = {name: case.options[name] for name in ("forward",) if name in case.options}
        plan = plimsoll.plan(model, Batch.from_data_list(graphs[:9]), loss=case.loss, optimizer=torch.optim.SGD, **options)
        planned = "exact" if plan.exact else "bound"
        fitted_update(case, model, graphs)
        fitted = "yes"
        number = in_double(relative_difference, case)
        difference, right = shown(number), number < LIMIT
    except plimsoll.UsageError as refusal:
        difference = f"refused: {str(refusal)[:400]}"
        right = in_double(couples_graphs, case)
    except Exception as error:
        difference = f"{type(error).__name__}: {str(error)[:150]}"
        traceback.print_exc()
    return right, f"| {case.name} | `{case.path}` | {planned} | {fitted} | {difference} | {'right' if right else 'WRONG'} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="train only models whose names contain TEXT", metavar="TEXT")
    only = parser.parse_args().only
    warnings.filterwarnings("ignore", message=".*sparse.*tensor support is in beta.*")
    cases = [case for case in CASES if only in case.name]
    print("| model | example | planned | fitted | difference, or refusal | |\n|---|---|---|---|---|---|")
    right = 0
    for case in cases:
        is_right, text = row(case)
        right += is_right
        print(text, flush=True)
    print(f"\n{right} of {len(cases)} right")
    if pyg_lib_stand_in.register():
        print(f"pyg-lib is not installed: SciPy searched neighbours for {', '.join(case.name for case in points.CASES)}")
    for path, reason in SKIPPED.items():
        print(f"skipped {path}: {reason}")
    sys.exit(right < len(cases))


if __name__ == "__main__":
    main()
