"""A model whose blocks run on a device. Weights, gradients, their sums and the optimizer stay on the host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from plimsoll import _torch
from plimsoll._fit.device import generators, loss_on, moved, on_device, seed
from plimsoll._fit.steps import Forward, Loss, loss_of
from plimsoll._fit.trial import Draws, Optimizer, Tape, Trial, within
from plimsoll.data.sizes import size_of
from plimsoll.errors import UsageError


class OnDevice:
    """Copies of a model's parameters and buffers on the device, which replace the model's own while blocks run."""

    def __init__(self, model: torch.nn.Module, device: _torch.Device, loss: Loss) -> None:
        self.device = device
        self._model = model
        self._parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self._buffers = {id(buffer) for buffer in model.buffers()}
        self._own = [*model.parameters(), *model.buffers()]
        with on_device(device):
            self._copies = [moved(tensor.detach(), device) for tensor in self._own]
            self._loss = loss_on(loss, device)

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Puts the model on the device inside the block; changes of its buffers are copied back."""
        before = [tensor.data for tensor in self._own]
        names = [(module, name, buffer) for module in self._model.modules() for name, buffer in module._buffers.items()]
        try:
            for tensor, here, copied in zip(self._own, before, self._copies):
                copied.copy_(here)
                tensor.data = copied
            yield
        finally:
            self._bring_home(before, names)

    def _bring_home(self, before: list[Tensor], names: list[tuple[torch.nn.Module, str, Tensor | None]]) -> None:
        # Do first what cannot fail, because no copy works after an error of the GPU.
        changed = [(here, tensor.data) for tensor, here in zip(self._own, before) if id(tensor) in self._buffers]
        for tensor, here in zip(self._own, before):
            tensor.data, tensor.grad = here, None
        new = []
        for module, name, buffer in names:
            found = module._buffers[name]
            if found is None or found is buffer:
                continue
            module._buffers[name] = buffer
            if buffer is None:
                new.append((module, name, found))
            else:  # Another tensor has replaced the buffer.
                changed.append((buffer.data, found))
        for on_host, on_gpu in changed:
            on_host.copy_(on_gpu)
        for module, name, on_gpu in new:
            module._buffers[name] = on_gpu.to("cpu", copy=True)

    def step(
        self, batch: Data, forward: Forward, weight: float, random: int, recording: _torch.Recording | None = None
    ) -> tuple[list[Tensor | None], float]:
        """Returns the gradients of the weighted loss, on the host, and the loss. Call it inside `placed`."""
        seed(self.device, random)
        with on_device(self.device):
            if recording is not None:
                recording.begin(self.device)
            try:
                named = self._loss if recording is None else within("loss", self._loss)
                loss = loss_of(self._model, moved(batch, self.device), forward, named)
                if not loss.requires_grad:
                    raise UsageError(
                        "the loss requires no gradient; expected a model with parameters that require one, and a loss of its "
                        "output"
                    )
                (loss * weight).backward()
            finally:
                if recording is not None:
                    recording.end()
        home = [None if parameter.grad is None else parameter.grad.to("cpu", copy=True) for parameter in self._parameters]
        for parameter in self._parameters:
            parameter.grad = None
        return home, float(loss.detach())


class DeviceTrial(Trial):
    """Tries blocks on a device, with a copy of the model."""

    def __init__(
        self, model: torch.nn.Module, optimizer: Optimizer, forward: Forward, loss: Loss, device: _torch.Device
    ) -> None:
        super().__init__(model, optimizer, forward, loss)
        self.on_device = True
        self._on = OnDevice(self.model, device, loss)

    def record(self, batch: Data, draws: Draws | None = None) -> Tape:
        """Returns the tape of a block on the device, including the batch. Ignores `draws`."""
        recording = _torch.Recording()
        with torch.random.fork_rng(devices=generators(self._on.device)), torch.enable_grad():
            self.model.train()
            if not self._stepped:  # Make the optimizer's state first.
                self._step_on_host(self._gradients(batch))
                self._stepped = True
            hooks = list(self._name_modules())
            try:
                self._gradients(batch, recording)
            finally:
                for hook in hooks:
                    hook.remove()
                self.optimizer.zero_grad(set_to_none=True)
        return Tape(size_of(batch), recording, 0)

    def _gradients(self, batch: Data, recording: _torch.Recording | None = None) -> Sequence[Tensor | None]:
        with self._on.placed():
            return self._on.step(batch, self.forward, 1.0, 0, recording)[0]

    def _step_on_host(self, gradients: Sequence[Tensor | None]) -> None:
        if all(gradient is None for gradient in gradients):
            raise UsageError("no parameter of the model has a gradient; expected forward to use the model passed to it")
        parameters = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient
        for _ in range(2):  # The first step makes the optimizer's state.
            self._step_optimizer()
        self.optimizer.zero_grad(set_to_none=True)
