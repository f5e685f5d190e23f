"""Made-up traffic (docs/simulator.md): `plimsoll.simulate.can`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from plimsoll import _core
from plimsoll.arguments import Budget, PathLike, Progress, budget_text, texts, whole
from plimsoll.can.frames import Frames

_ATTACKS = ("DoS", "fuzzing", "spoofing", "replay", "suppression", "masquerade")


def can(
    out: PathLike,
    *,
    frames: int,
    seed: int = 1,
    vehicles: int = 3,
    attacks: Iterable[str] = _ATTACKS,
    force: bool = False,
    budget: Budget = None,
    progress: Progress = None,
) -> Frames:
    """A CAN bus of made-up vehicles, with labelled attacks, to `frames`, which is opened.

    `frames` is how many there are in all recordings together; the same of `frames`, `seed`, `vehicles` and
    `attacks` give the same bytes. The last vehicle never trains. It works on one thread; progress counts frames.
    The other arguments are those of `plimsoll.ingest`. Errors: `UsageError`, `BudgetExceeded`, `Failure`.
    """
    options = _core.SimulateOptions()
    options.out = Path(out)
    options.frames = whole("frames", frames, 1)
    options.seed = whole("seed", seed, 0, 2**64 - 1)
    options.vehicles = whole("vehicles", vehicles, 2, 64)
    options.set_attacks(",".join(texts("attacks", attacks)) or "none")
    options.force = force
    _core.make_traffic(options, budget_text(budget), progress)
    return Frames(out)
