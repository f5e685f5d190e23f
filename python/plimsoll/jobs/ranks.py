"""Runs one rank of `plimsoll train`, `evaluate` or `predict`, started by torchrun, srun or `--ranks`.

The process group uses gloo. The run is the same as that of one process, spread over the group (src/cluster). See
docs/ranks.md.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, NoReturn

from plimsoll.errors import Error, UsageError
from plimsoll.jobs.heartbeat import stall_timeout
from plimsoll.jobs.rank_place import Place, place
from plimsoll.jobs.roll import INTERRUPTED, Roll, meet

if TYPE_CHECKING:
    from plimsoll._torch import RankWatch


def take(arguments: Sequence[str]) -> None:
    """Runs a verb that has several ranks and ends the process. Returns for all other arguments."""
    if arguments[:1] not in (["train"], ["plan"], ["evaluate"], ["predict"]):
        return
    ranks = _ranks_asked(arguments)
    try:
        if arguments[0] == "plan":
            if ranks > 1:
                sys.exit(_command(arguments, "", 1))
        elif where := place():
            _run(arguments, where)
        elif ranks > 1:
            sys.exit(_launch(ranks, arguments))
    except Error as error:
        print(f"plimsoll: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def _command(arguments: Sequence[str], group: str, sharers: int, roll: Roll | None = None, watch: RankWatch | None = None) -> int:
    """Runs a verb in this process and returns its exit code."""
    from plimsoll import _operators

    _operators.load()
    from plimsoll import _torch

    return _torch.command(["plimsoll", *arguments], group, sharers, roll.call if roll else str, watch)


def _require_gloo() -> None:
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_gloo_available():
        raise UsageError("this torch has no gloo, through which ranks communicate; install torch from PyPI, or train in one "
                         "process")


def _run(arguments: Sequence[str], where: Place) -> NoReturn:
    """Runs `plimsoll VERB ...` as one rank and ends the process."""
    import torch.distributed as dist

    from plimsoll import _operators

    _require_gloo()
    timeout = stall_timeout()
    _operators.load()
    from plimsoll import _torch

    store = meet(where)
    watch = _torch.RankWatch()
    watch.begin_wait()
    roll = Roll(store, where, watch, timeout, has_checkpoints=arguments[0] == "train")
    # gloo's own timeout would also end ranks that wait for a long stage of another rank; the roll distinguishes the two.
    dist.init_process_group("gloo", store=store, rank=where.rank, world_size=where.ranks, timeout=timedelta(days=1))
    dist.barrier()  # The memory gloo allocates here counts as part of the floor.
    watch.end_wait()
    code = _command(arguments, dist.group.WORLD.group_name, where.local_ranks, roll, watch)
    if code == 0:
        try:
            watch.begin_wait()
            dist.barrier()
            roll.stop()
            dist.destroy_process_group()
        except RuntimeError as error:
            print(f"plimsoll: rank {where.rank}: {roll.call()} ({error})", file=sys.stderr)
            code = INTERRUPTED
    if code != 0:
        roll.leave(code)
    sys.stdout.flush()
    sys.stderr.flush()
    # Skip the interpreter's shutdown: it would abort while the roll's thread waits for a store that ended with rank 0,
    # and gloo's threads would keep it waiting for ranks that are gone.
    os._exit(code)


def _launch(ranks: int, arguments: Sequence[str]) -> int:
    """Starts `plimsoll VERB ...` in several processes on this machine with torch's launcher and returns the exit code."""
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    _require_gloo()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=ranks,
        run_id=str(uuid.uuid4()),
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",
        max_restarts=0,
        monitor_interval=0.1,
    )
    try:
        elastic_launch(config, sys.executable)("-m", "plimsoll", *arguments)
    except ChildFailedError as error:
        codes = {failure.exitcode for failure in error.failures.values()}
        # Print a rank's own error before the errors with which the other ranks report its end.
        return next((code for code in (2, 3, 4, 1) if code in codes), INTERRUPTED)
    except SignalException:
        return INTERRUPTED  # The ranks also got the signal and have printed where they stopped.
    return 0


def _ranks_asked(arguments: Sequence[str]) -> int:
    """Returns the number after `--ranks`; 1 if it is missing or invalid."""
    for i, argument in enumerate(arguments):
        value = argument.removeprefix("--ranks=") if argument.startswith("--ranks=") else None
        if argument == "--ranks" and i + 1 < len(arguments):
            value = arguments[i + 1]
        if value is not None and value.isdigit():
            return int(value)
    return 1
