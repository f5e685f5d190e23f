"""Calls a model with a batch, and computes the loss of a training step."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData

from plimsoll.errors import BudgetExceeded, UsageError

Forward: TypeAlias = Callable[[torch.nn.Module, Data], Tensor]
Loss: TypeAlias = Callable[[Tensor, Tensor], Tensor]

# Words in the name of a parameter that receives the whole batch, as in OGB's batched_data.
_WHOLE_BATCH = {"data", "batch", "batched", "graphs", "graph"}


def by_names(model: torch.nn.Module, batch: Data) -> Tensor:
    """Calls a model with the arguments its `forward` asks for and returns its output.

    These are the batch itself, if that is the only parameter, or the batch's fields with the names of its parameters
    (`x`, `edge_index`, `edge_attr`, `batch`, ...; `batch_size` is the number of graphs). Errors: `UsageError` for a
    parameter without default that the batch has no field for.
    """
    parameters = [
        parameter
        for parameter in inspect.signature(_written(model).forward).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    if not parameters:
        raise UsageError(f"{type(model).__name__}.forward() names no parameters; give forward=lambda model, batch: ...")
    needed = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
    if len(needed) == 1 and _is_whole_batch(needed[0], batch):
        return model(batch)
    fields: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.name in ("batch_size", "num_graphs"):
            fields[parameter.name] = batch.num_graphs if "ptr" in batch else 1
        elif (value := _field(batch, parameter.name)) is not None:
            fields[parameter.name] = value
        elif parameter.name == "batch":
            fields[parameter.name] = None  # PyTorch Geometric's pooling treats None as one graph.
        elif parameter.default is parameter.empty:
            raise UsageError(
                f"{type(model).__name__}.forward() needs {parameter.name!r}, which the batch does not have (it has "
                f"{', '.join(batch.keys())}); give forward=lambda model, batch: ..."
            )
    try:
        return model(**fields)
    except BudgetExceeded:
        raise
    except Exception as error:
        error.add_note(
            f"{type(model).__name__} was called with the batch's {', '.join(fields)}; "
            "give forward=lambda model, batch: ... to call it differently"
        )
        raise


def _is_whole_batch(name: str, batch: Data) -> bool:
    return name in _WHOLE_BATCH or (name not in batch and not _WHOLE_BATCH.isdisjoint(name.split("_")))


def _field(batch: Data, name: str) -> Any:
    """Returns a field of the batch, but not another attribute of that name, such as a method."""
    if name in batch:
        return batch[name]
    return batch.num_nodes if name == "num_nodes" else None


def _written(model: torch.nn.Module) -> torch.nn.Module:
    """Returns the user's model, without wrappers of torch such as torch.compile or DataParallel."""
    for name in ("_orig_mod", "module"):
        if isinstance(inner := getattr(model, name, None), torch.nn.Module) and type(model).__module__.startswith("torch."):
            return _written(inner)
    return model


def loss_of(model: torch.nn.Module, batch: Data, forward: Forward, loss: Loss) -> Tensor:
    """Returns the loss of a batch, or the sum if it returns a sum and a count. Errors: `UsageError` if it is not one
    number.
    """
    let_compiled_sizes_vary(model, batch)
    value = loss(forward(model, batch), _targets_of(batch))
    return one_number(value[0] if isinstance(value, tuple) and value else value)


def _targets_of(batch: Data | HeteroData) -> Tensor:
    if not isinstance(batch, HeteroData):
        return batch.y
    if batch.input_type is None:
        raise UsageError("batches gave a HeteroData without seeds; expected batches of plimsoll.NeighborLoader")
    seeds = batch[batch.input_type]
    if not isinstance(batch.input_type, str) or "y" not in seeds:
        raise UsageError("batches gave a HeteroData whose seeds have no y; give forward and loss functions that accept such batches")
    return seeds.y[: seeds.batch_size]


def one_number(value: Any) -> Tensor:
    """Returns the result of a loss. Errors: `UsageError` if it is not one number."""
    if not isinstance(value, Tensor) or value.numel() != 1:
        raise UsageError(f"loss returned {getattr(value, 'shape', value)!r}; expected one number for the batch")
    return value


def is_compiled(module: torch.nn.Module) -> bool:
    """Returns whether a module is compiled by torch.compile or torch.jit."""
    by_torch = isinstance(module, torch.jit.ScriptModule) or type(module).__module__.startswith("torch._dynamo")
    return by_torch or getattr(module, "_compiled_call_impl", None) is not None


def let_compiled_sizes_vary(model: torch.nn.Module, batch: Data) -> None:
    """Makes torch.compile generate code once for batches of all sizes, instead of again for each new size."""
    if not any(map(is_compiled, model.modules())):
        return
    for name, value in batch.to_dict().items():
        if isinstance(value, Tensor) and value.dim():
            torch._dynamo.maybe_mark_dynamic(value, batch.__cat_dim__(name, value) % value.dim())


def require_cpu(model: torch.nn.Module) -> None:
    """Checks that a model is on the CPU. Errors: `UsageError`."""
    if not isinstance(model, torch.nn.Module):
        raise UsageError(f"model: is {type(model).__name__}, expected torch.nn.Module")
    if any(torch.nn.parameter.is_lazy(parameter) for parameter in model.parameters()):
        raise UsageError("the model has parameters of unknown sizes; run one batch through it first: model(...)")
    devices = {tensor.device for tensor in (*model.parameters(), *model.buffers())}
    if any(device.type != "cpu" for device in devices):
        raise UsageError(
            f"the model is on {', '.join(sorted(map(str, devices)))}, expected the CPU: model.cpu(); "
            'with device="cuda" its blocks run on a GPU'
        )
