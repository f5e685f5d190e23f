"""Runs several blocks of a batch at once, each in its own thread and memory."""

from __future__ import annotations

import random
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, Generic, NamedTuple, TypeVar
from unittest import mock

import numpy as np
import torch
from torch_geometric.data import Data

from plimsoll import _torch
from plimsoll._fit import other_random
from plimsoll._fit.batch_statistics import is_batch_norm, uncounted
from plimsoll._fit.steps import Forward, Loss, is_compiled, loss_of
from plimsoll._fit.trial import copied
from plimsoll.errors import BudgetExceeded

T = TypeVar("T")
R = TypeVar("R")

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
#: Bytes that a thread needs in addition to its block: its stack and its heap arena.
THREAD_BYTES = 2 << 20
#: Maximum items of a list, or keys and values of a dictionary, that are checked for changes.
_MAX_ITEMS = 1000


class Apart(NamedTuple):
    """Whether blocks of a model are independent of each other. Depends on model and loss, never on the budget."""

    random: bool = False  #: Each block can draw its random numbers from its own generator.
    at_once: bool = False  #: Blocks may run in several threads, each operation in one thread.


def runs_apart(model: torch.nn.Module, data: Data, forward: Forward, loss: Loss, batch_norm: bool = False) -> Apart:
    """Runs a trial step on these graphs with a copy of the model and returns how independent its blocks are.

    With `batch_norm`, blocks run in several passes, which leave the counters of batch norm unchanged. Blocks must not
    run in parallel if a step changes the model or the loss, such as running statistics, or draws from Python's `random`
    or NumPy, if there are hooks, or within autocast. Blocks draw from torch's default generator, which all threads
    share, if the model is compiled or reads the generator's state, as torch.utils.checkpoint does.
    """
    if any(map(is_compiled, model.modules())):
        return Apart()
    copy = copied(model).train()
    if batch_norm:
        uncounted(filter(is_batch_norm, copy.modules()))
    before = _left_in(copy, loss)
    asked = mock.Mock(wraps=torch.get_rng_state)
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        drawn = torch.default_generator.get_state()
        try:
            with mock.patch.object(torch, "get_rng_state", asked), drawing(0):
                loss_of(copy, data, forward, loss).backward()
        except BudgetExceeded:
            raise
        except Exception:
            return Apart()  # Training will raise the same error.
        if asked.called or not torch.equal(drawn, torch.default_generator.get_state()):
            return Apart()
    hooked = any(getattr(module, hooks) for module in model.modules() for hooks in _HOOKS) or any(
        getattr(parameter, "_post_accumulate_grad_hooks", None) for parameter in model.parameters()
    )
    return Apart(True, not hooked and not _around() and _left_in(copy, loss) == before)


@contextmanager
def drawing(seed: int) -> Iterator[None]:
    """Makes this thread's random numbers from torch depend only on the seed, whatever other threads draw."""
    random = _torch.BlockRandom()
    random.begin(seed)
    try:
        yield
    finally:
        random.end()


def _around() -> bool:
    """Returns whether the caller's thread has torch state that other threads would lack."""
    return bool(torch.is_autocast_enabled("cpu") or torch._C._len_torch_function_stack() or torch._C._len_torch_dispatch_stack())


def _left_in(model: torch.nn.Module, loss: Loss) -> Any:
    """Returns what a step may change: attributes of modules with their parameters and buffers, and Python's and NumPy's
    generators.
    """
    modules = [*model.modules(), *(loss.modules() if isinstance(loss, torch.nn.Module) else ())]
    return [_state(vars(module)) for module in modules], other_random.state()


def _state(value: Any, depth: int = 4) -> Any:
    """Returns a value that compares equal until the object is changed in place or replaced."""
    if isinstance(value, torch.Tensor):
        return id(value), 0 if value.is_inference() else value._version, _hash(value)
    if isinstance(value, np.ndarray):
        return id(value), _sum_of(value)
    if isinstance(value, torch.Generator):
        return id(value), value.get_state().numpy().tobytes()
    if isinstance(value, np.random.Generator):
        return str(value.bit_generator.state)
    if isinstance(value, random.Random | np.random.RandomState):
        return str(value.getstate() if isinstance(value, random.Random) else value.get_state(legacy=False))
    if isinstance(value, dict | list | tuple | set | deque) and depth:
        inside = chain.from_iterable(value.items()) if isinstance(value, dict) else value
        return id(value), len(value), [_state(item, depth - 1) for item in islice(inside, _MAX_ITEMS)]
    return value if isinstance(value, int | float | str) else id(value)


def _hash(tensor: torch.Tensor) -> int:
    """Returns a checksum of a tensor's numbers, because `tensor.data` changes them without a new version."""
    if tensor.layout is not torch.strided or tensor.device.type != "cpu" or tensor.is_quantized:
        return 0
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return zlib.crc32(plain.view(-1).view(torch.uint8).numpy())


def _sum_of(array: np.ndarray[Any, Any]) -> int:
    """Returns a checksum of an array's numbers, copying only small parts at a time."""
    if array.dtype.hasobject:
        return 0
    found = 0
    items = 1 + (1 << 18) // (array.itemsize + 1)
    for piece in np.nditer(array, ["external_loop", "buffered", "zerosize_ok"], order="C", buffersize=items):
        found = zlib.crc32(np.asarray(piece).tobytes(), found)
    return found


class InOrder(Generic[R]):
    """Threads for the blocks of a run, each with one torch thread. `run` returns results in the order of its items.

    A thread calls `work(memory, ...)` with its own memory. At most one item waits for a thread.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._memories = [_torch.BlockMemory() for _ in range(workers)]
        self._own = threading.local()
        self._pool = ThreadPoolExecutor(workers, "block", initializer=self._start)

    def run(self, items: Iterable[T], work: Callable[[_torch.BlockMemory, T], R]) -> Iterator[tuple[T, R | BudgetExceeded]]:
        """Yields each item with the result of `work`, or with the error if memory was refused; by then all other items
        have ended.
        """
        going: deque[tuple[T, Future[R | BudgetExceeded]]] = deque()
        try:
            for item in items:
                going.append((item, self._pool.submit(self._call, work, item)))
                if len(going) > self.workers:
                    yield self._next(going)
            while going:
                yield self._next(going)
        finally:
            for _, future in going:
                future.cancel()
            wait([future for _, future in going])

    def close(self) -> None:
        """Ends the threads."""
        self._pool.shutdown()

    def _next(self, going: deque[tuple[T, Future[R | BudgetExceeded]]]) -> tuple[T, R | BudgetExceeded]:
        item, future = going.popleft()
        done = future.result()
        if isinstance(done, BudgetExceeded):
            wait([other for _, other in going])
        return item, done

    def _call(self, work: Callable[[_torch.BlockMemory, T], R], item: T) -> R | BudgetExceeded:
        try:
            return work(self._own.memory, item)
        except BudgetExceeded as error:
            return error.alone()

    def _start(self) -> None:
        self._own.memory = self._memories.pop()
        torch.set_num_threads(1)
