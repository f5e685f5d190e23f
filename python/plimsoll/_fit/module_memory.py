"""Memory of a model's modules during a step."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from plimsoll import _torch
from plimsoll.arguments import PathLike


@dataclass(frozen=True)
class ModuleMemory:
    """Bytes by module during the step of one batch, as returned by `Plan.by_module`. `print` shows it.

    The bytes of a module are those that it allocates, and those that the gradients of its operations allocate. Names
    are those of `named_modules`; "loss" and "optimizer" are the steps of training, and "" is memory that belongs to no
    module.
    """

    peak: int  #: Bytes at the peak; equals `Plan.step` if the plan is exact.
    operation: str  #: torch's operation at the peak.
    held: tuple[tuple[str, int], ...]  #: Bytes by module at the peak, the largest first; their sum is `peak`.
    events: int  #: Number of allocations and frees in the step.
    at: tuple[int, ...]  #: The event at each point of the timeline, each the highest in its interval.
    modules: tuple[str, ...]  #: The modules of the timeline, the last one "others".
    timeline: tuple[tuple[int, ...], ...]  #: Bytes, [modules][points].
    savings: tuple[tuple[str, int], ...]  #: Changes that need less memory, and the bytes that each saves at the peak.
    snapshot: bytes = field(repr=False)  #: For pytorch.org/memory_viz, in the format of `torch.cuda.memory._dump_snapshot`.

    def save_snapshot(self, path: PathLike) -> None:
        """Writes `snapshot` to a file, which pytorch.org/memory_viz opens."""
        Path(path).write_bytes(self.snapshot)

    def __str__(self) -> str:
        size = _torch.format_bytes
        lines = [f"{module or '(no module)':<40} {size(count):>10} {count / self.peak:>7.1%}" for module, count in self.held]
        lines.append(f"{'peak of the step, at ' + self.operation:<40} {size(self.peak):>10}")
        lines += [f"{change + ' would save':<40} {size(count):>10}" for change, count in self.savings]
        return "\n".join(lines)


def module_memory(
    profile: _torch.Profile, savings: tuple[tuple[str, int], ...] = (), snapshot: bytes = b""
) -> ModuleMemory:
    peak, operation, held, events, at, modules, timeline = profile
    points = tuple(map(tuple, timeline))
    return ModuleMemory(peak, operation, tuple(held), events, tuple(at), tuple(modules), points, savings, snapshot)
