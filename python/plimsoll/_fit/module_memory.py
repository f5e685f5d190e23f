"""What the modules of a model hold of memory during a step."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from plimsoll import _torch
from plimsoll.arguments import PathLike


@dataclass(frozen=True)
class ModuleMemory:
    """Bytes by module over the step of one batch, as `Plan.by_module` gives it. `print` shows it.

    A module holds what it allocates, and what the gradients of its operations allocate; names are those of
    `named_modules`, "loss" and "optimizer" are steps of training, and "" is what belongs to none.
    """

    peak: int  #: at the worst moment: `Plan.step` where the plan is exact
    operation: str  #: of torch, that comes to it
    held: tuple[tuple[str, int], ...]  #: at the peak by module, the largest first; their sum is `peak`
    events: int  #: allocations and frees of the step
    at: tuple[int, ...]  #: events of the timeline's points, each the highest of its stretch
    modules: tuple[str, ...]  #: that the timeline tells apart, the last of them "others"
    timeline: tuple[tuple[int, ...], ...]  #: [modules][points], bytes
    savings: tuple[tuple[str, int], ...]  #: changes that need less, and the bytes that each saves at the peak
    snapshot: bytes = field(repr=False)  #: for pytorch.org/memory_viz, as `torch.cuda.memory._dump_snapshot` writes it

    def save_snapshot(self, path: PathLike) -> None:
        """Writes `snapshot`, which pytorch.org/memory_viz opens."""
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
