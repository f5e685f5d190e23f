"""Runs steps of training on a copy of the model to measure their memory."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple, TypeAlias, TypeVar

import torch
from torch import Tensor
from torch.utils.hooks import RemovableHandle
from torch_geometric.data import Data, HeteroData

from plimsoll import _core, _torch
from plimsoll._fit.budget import settle
from plimsoll._fit.callers_random import CallersRandom
from plimsoll._fit.device import generators, loss_on, moved, on_device
from plimsoll.errors import BudgetExceeded, UsageError
from plimsoll.data.sizes import Size, size_of
from plimsoll._fit.steps import Forward, Loss, loss_of

T = TypeVar("T")
R = TypeVar("R")
Optimizer: TypeAlias = torch.optim.Optimizer | Callable[[Iterable[Tensor]], torch.optim.Optimizer]
#: Makes a context that determines how random numbers are drawn.
Draws: TypeAlias = Callable[[], AbstractContextManager[None]]


class Tape(NamedTuple):
    """The memory of a step on one batch in addition to the batch, in bytes as the ledger counts them."""

    size: Size
    recording: _torch.Recording
    batch: int  #: Bytes of the batch's tensors.
    buffers: dict[str, int] = {}  #: Bytes of each field that is in a buffer of a loader.

    @property
    def step(self) -> int:
        return self.recording.peak()[0]


def require_plain_step(optimizer: torch.optim.Optimizer) -> None:
    """Checks that an optimizer steps without arguments and with dense gradients. Errors: `UsageError`."""
    if isinstance(optimizer, torch.optim.LBFGS | torch.optim.SparseAdam):
        raise UsageError(f"{type(optimizer).__name__}: needs a closure, or sparse gradients; expected an optimizer that needs "
                         "neither")


class Trial:
    """A copy of a model and its optimizer on which steps are tried; the caller's are not changed.

    The generators of torch, Python and NumPy are restored after each step. With a `device` the copies are on it. Not
    thread-safe. Errors: `UsageError` if model and optimizer cannot be copied.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: Optimizer,
        forward: Forward,
        loss: Loss,
        training: bool = True,
        device: _torch.Device | None = None,
        in_buffer: Callable[[str], bool] | None = None,
    ) -> None:
        """`in_buffer` returns whether a field of a batch is in a buffer of a loader."""
        self.forward, self._loss, self.training, self._device = forward, loss, training, device
        self.on_device = device is not None
        self.draws: Draws = nullcontext  #: Decides how steps draw random numbers.
        self._in_buffer = in_buffer
        with self._on_device():
            if isinstance(optimizer, torch.optim.Optimizer):
                self.model, self.optimizer = copied((model, optimizer))
            else:
                self.model = copied(model)
                # Prediction needs no optimizer, and its model may have no parameters.
                self.optimizer = optimizer(self.model.parameters() if training else [torch.nn.Parameter(torch.empty(0))])
            require_plain_step(self.optimizer)
            _keep_weights(self.optimizer)
            self.optimizer.zero_grad(set_to_none=True)
            if device is not None:
                self._loss = loss_on(loss, device)
                self.model.to(device.torch)
                self.optimizer.load_state_dict(self.optimizer.state_dict())  # Moves the state to its parameters' device.
        self._stepped = False
        self.optimizer_step = 0  #: Temporary bytes of the optimizer in a step after the first.

    @property
    def parameters(self) -> int:
        """Bytes of parameters and buffers."""
        return self.bytes_of([*self.model.parameters(), *self.model.buffers()])

    @property
    def optimizer_state(self) -> int:
        """Bytes that the optimizer keeps between steps; 0 before the first step."""
        return self.bytes_of(list(tensors_in(self.optimizer.state)))

    def bytes_of(self, tensors: list[Tensor]) -> int:
        """Returns the bytes of tensors as the ledger counts them, or as allocated on the device."""
        if self._device is None:
            return bytes_of(tensors)
        return bytes_of([tensor for tensor in tensors if str(tensor.device) == self._device.torch], on_device_bytes)

    def _on_device(self) -> AbstractContextManager[None]:
        return nullcontext() if self._device is None else on_device(self._device)

    def record(self, batch: Data, draws: Draws | None = None) -> Tape:
        """Returns the tape of a step on this batch. `draws` decides how its random numbers are drawn.

        Errors: `BudgetExceeded`; what the model or the loss raises.
        """
        # The backward pass has to run in this thread, which is the one that is recorded.
        in_thread = nullcontext() if self._device is None else torch.autograd.set_multithreading_enabled(False)
        draws = draws or self.draws
        with CallersRandom(generators(self._device)), torch.enable_grad(), self._on_device(), in_thread:
            if self._device is not None:
                batch = moved(batch, self._device)
            if self.training and not self._stepped:  # Make the optimizer's state first.
                with draws():
                    self._step(batch)
                self._stepped = True
            recording = _torch.Recording()
            hooks = list(self._name_modules())
            try:
                with draws():
                    recording.begin(self._device)
                    self._step(batch)
            finally:
                recording.end()
                for hook in hooks:
                    hook.remove()
                self.optimizer.zero_grad(set_to_none=True)
                # Steps on batches of other sizes would not reuse the memory that the tensors of this step leave.
                settle()
        if self._device is not None:
            return Tape(size_of(batch), recording, self.bytes_of(list(tensors_in(batch.to_dict()))))
        buffers = {} if self._in_buffer is None else buffers_in(batch, self._in_buffer)
        return Tape(size_of(batch), recording, batch_bytes(batch), buffers)

    def _name_modules(self) -> Iterator[RemovableHandle]:
        # Each module reports when it is entered and left, also after an error. Parts of a fused layer have no hooks,
        # because with hooks the layer would run PyTorch Geometric's code, which needs more memory.
        whole = ""
        for name, module in self.model.named_modules():
            if whole and name.startswith(whole):
                continue
            if type(module).__module__.startswith("plimsoll.nn") and hasattr(module, "propagate"):
                whole = f"{name}."
            if not name:
                continue
            yield module.register_forward_pre_hook(lambda *_, name=name: _torch.enter_module(name))
            yield module.register_forward_hook(lambda *_: _torch.leave_module(), always_call=True)

    def _step(self, batch: Data) -> None:
        self.model.train(self.training)
        if not self.training:
            with torch.no_grad():
                self.forward(self.model, batch)
            return
        self.optimizer.zero_grad(set_to_none=True)
        loss = loss_of(self.model, batch, self.forward, within("loss", self._loss))
        if not loss.requires_grad:
            raise UsageError("the loss requires no gradient; expected a model with parameters that require one, and a loss of "
                             "its output")
        loss.backward()
        if not any(parameter.grad is not None for parameter in self.model.parameters()):
            raise UsageError("no parameter of the model has a gradient; expected forward to use the model passed to it")
        self._step_optimizer()

    def _step_optimizer(self) -> None:
        outer, before = _torch.begin_peak(), _torch.held()
        try:
            within("optimizer", self.optimizer.step)()
        finally:
            self.optimizer_step = _torch.peak() - before
            _torch.end_peak(outer)


def _keep_weights(optimizer: torch.optim.Optimizer) -> None:
    """Sets learning rates to zero, so that the weights stay the caller's: the operations of a model may depend on
    them.
    """
    for group in optimizer.param_groups:
        if isinstance(rate := group.get("lr"), Tensor):
            group["lr"] = torch.zeros_like(rate)
        elif rate is not None:
            group["lr"] = 0.0


def within(module: str, function: Callable[..., R]) -> Callable[..., R]:
    """Returns the function, recorded as a module of this name."""

    def call(*arguments: Any) -> R:
        _torch.enter_module(module)
        try:
            return function(*arguments)
        finally:
            _torch.leave_module()

    return call


def copied(value: T) -> T:
    """Returns a deep copy of a model, or of a model and its optimizer, with tensors counted by the ledger. Errors:
    `UsageError`.
    """
    # torch copies storages that do not belong to parameters without its allocator, unless they are in the memo.
    storages = {tensor.untyped_storage()._cdata: tensor.untyped_storage() for tensor in _without_parameters(value)}
    memo: dict[Any, Any] = {"torch": {key: _in_ledger(storage) for key, storage in storages.items()}}
    try:
        return copy.deepcopy(value, memo)
    except BudgetExceeded:
        raise
    except (RuntimeError, TypeError) as error:
        raise UsageError(f"planning works on a copy of the model, which cannot be made: {error}") from error


def _without_parameters(value: object) -> Iterator[Tensor]:
    """Yields the tensors of models or optimizers that are on the CPU and are not parameters."""
    for part in value if isinstance(value, tuple) else (value,):
        if isinstance(part, torch.nn.Module):
            found = list(part.buffers())
        else:
            found = list(tensors_in(part.state)) if isinstance(part, torch.optim.Optimizer) else []
        yield from (tensor for tensor in found if tensor.layout is torch.strided and tensor.device.type == "cpu")


def _in_ledger(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    """Returns a copy of a storage made with torch's allocator."""
    copied_storage = torch.empty(storage.nbytes(), dtype=torch.uint8).untyped_storage()
    copied_storage.copy_(storage)
    return copied_storage


def bytes_of(tensors: Iterable[Tensor], storage_bytes: Callable[[int], int] = _torch.tensor_bytes) -> int:
    """Returns the bytes of tensors as the ledger counts them. Shared storages count once."""
    tensors = [part for tensor in tensors for part in dense_parts(tensor)]
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in tensors}
    return sum(map(storage_bytes, storages.values()))


def dense_parts(tensor: Tensor) -> list[Tensor]:
    """Returns the tensor itself, or the dense tensors that make up a sparse one."""
    if tensor.layout is torch.strided:
        return [tensor]
    if tensor.layout is torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    raise UsageError(f"a tensor of layout {tensor.layout} cannot be planned; expected edge_index, or a sparse tensor in COO, CSR or CSC")


def on_device_bytes(asked: int) -> int:
    """Returns the bytes that a tensor needs on a device, whose allocations are aligned to 256 bytes."""
    return -(-asked // 256) * 256


def batch_bytes(batch: Data) -> int:
    """Returns the bytes of a batch's fields, and of the data that a `Batch` stores so that it can be split again."""
    remembered = [] if isinstance(batch, HeteroData) else [getattr(batch, name, None) for name in ("_slice_dict", "_inc_dict")]
    return bytes_of(list(tensors_in([batch.to_dict(), *remembered])))


def buffers_in(batch: Data, in_buffer: Callable[[str], bool]) -> dict[str, int]:
    """Returns the bytes of a batch's fields that are in buffers of a loader, and of the offsets of each graph's edges."""
    if isinstance(batch, HeteroData):
        return _buffers_of_types(batch, in_buffer)
    fields = batch.to_dict()
    fields["edge_ptr"] = (getattr(batch, "_slice_dict", None) or {}).get("edge_index")
    return {
        name: value.untyped_storage().nbytes() for name, value in fields.items() if isinstance(value, Tensor) and in_buffer(name)
    }


def _buffers_of_types(batch: HeteroData, in_buffer: Callable[[str], bool]) -> dict[str, int]:
    """Returns the bytes of the buffers of a batch with types, which its types share, by the first field in each.

    The first fields of several buffers may have one name, so each name is followed by the number of its buffer.
    """
    found: dict[int, tuple[str, int]] = {}
    buffers: Counter[str] = Counter()
    for store in batch.stores:
        for name, value in store.items():
            if not isinstance(value, Tensor) or not in_buffer(name):
                continue
            storage = value.untyped_storage()
            if storage.data_ptr() not in found:
                found[storage.data_ptr()] = (f"{name} {buffers[name]}", storage.nbytes())
                buffers[name] += 1
    return dict(found.values())


def rounding(asked: int) -> int:
    """Returns how many bytes more the ledger counts for a tensor in a loader's buffer than for one of torch."""
    return max(_core.batch_buffer_bytes(asked) - _torch.tensor_bytes(asked), 0)


def tensors_in(value: Any) -> Iterable[Tensor]:
    """Yields the tensors in dictionaries and lists, at any depth."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(item)
