"""Simulates CAN traffic (docs/simulator.md): `plimsoll.simulate.can`."""

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
    """Simulates the CAN buses of several vehicles, with labelled attacks, writes `frames` and opens them.

    - `out`: path of the data set.
    - `frames`: number of frames in all recordings together.
    - `seed`: random seed, 0 or more. The same `frames`, `seed`, `vehicles` and `attacks` give the same bytes.
    - `vehicles`: number of vehicles, 2 to 64. The last one is never used for training.
    - `attacks`: names of the attacks to simulate (docs/simulator.md#the-attacks), or none.
    - `force`, `budget`: as in `plimsoll.ingest`.
    - `progress`: as in `plimsoll.ingest`. Counts frames.

    Uses one thread. Errors: `UsageError`, `BudgetExceeded`, `Failure`.
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
