"""A process of `plimsoll train` that is one of the ranks of a run: torchrun, srun or `--ranks` started it.

The process group is gloo's; the run itself is that of one process, over it (src/cluster). docs/ranks.md.
"""

from __future__ import annotations

import os
import socket
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from plimsoll.errors import Error, Failure, UsageError

_INTERRUPTED = 75
#: Seconds within which all ranks have to come.
_COMING = "PLIMSOLL_RANKS_TIMEOUT_S"
#: Seconds that a rank which is alive may take to say so when another is missed.
_ROLL_CALL_S = 5.0


@dataclass(frozen=True)
class Place:
    """Which rank this process is, and where the ranks meet."""

    rank: int
    ranks: int
    local_ranks: int  #: on this machine
    address: str
    port: int
    port_from: str  #: who chose it
    serves: bool  #: whether rank 0 serves the store; else the launcher does
    attempt: str


def place() -> Place | None:
    """As torchrun or SLURM say; None where this process is alone."""
    env = os.environ
    if "RANK" in env and "WORLD_SIZE" in env and int(env["WORLD_SIZE"]) > 1:
        served = env.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
        return Place(
            rank=int(env["RANK"]),
            ranks=int(env["WORLD_SIZE"]),
            local_ranks=int(env.get("LOCAL_WORLD_SIZE", env["WORLD_SIZE"])),
            address=env.get("MASTER_ADDR", "127.0.0.1"),
            port=int(env.get("MASTER_PORT", "29500")),
            port_from="MASTER_PORT",
            serves=not served and env["RANK"] == "0",
            attempt=env.get("TORCHELASTIC_RESTART_COUNT", "0"),
        )
    if int(env.get("SLURM_STEP_NUM_TASKS", "1")) > 1 and "SLURM_PROCID" in env:
        port = env.get("MASTER_PORT") or str(20000 + (int(env["SLURM_JOB_ID"]) * 7 + int(env["SLURM_STEP_ID"])) % 10000)
        return Place(
            rank=int(env["SLURM_PROCID"]),
            ranks=int(env["SLURM_STEP_NUM_TASKS"]),
            local_ranks=_tasks_of_node(env["SLURM_STEP_TASKS_PER_NODE"], int(env.get("SLURM_NODEID", "0"))),
            address=env.get("MASTER_ADDR") or _first_host(env["SLURM_STEP_NODELIST"]),
            port=int(port),
            port_from="MASTER_PORT" if "MASTER_PORT" in env else "SLURM_JOB_ID",
            serves=env["SLURM_PROCID"] == "0",
            attempt=env.get("SLURM_RESTART_COUNT", "0"),
        )
    return None


def run(arguments: Sequence[str], where: Place) -> int:
    """Runs `plimsoll train ...` as one of the ranks; gives the exit code."""
    import torch.distributed as dist

    from plimsoll import _operators

    _operators.load()
    from plimsoll import _torch

    if not dist.is_available() or not dist.is_gloo_available():
        raise UsageError("this torch has no gloo, which ranks talk by; install torch from PyPI, or train in one process")
    store = _meet(where)
    dist.init_process_group("gloo", store=store, rank=where.rank, world_size=where.ranks, timeout=timedelta(days=1))
    dist.barrier()  # what gloo sets up belongs to the floor
    roll = _Roll(store, where)
    code: int = _torch.command(list(arguments), dist.group.WORLD.group_name, where.local_ranks, roll.call)
    if code == 0:
        try:
            dist.barrier()
            dist.destroy_process_group()
            return 0
        except RuntimeError as error:
            print(f"plimsoll: rank {where.rank}: {roll.call()} ({error})", file=sys.stderr)
            code = _INTERRUPTED
    else:
        roll.leave(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # gloo's threads wait for ranks that are gone


def plan(arguments: Sequence[str]) -> int:
    """`plimsoll plan --ranks` in this process, whose floor is that of a rank; gives the exit code."""
    from plimsoll import _operators

    _operators.load()
    from plimsoll import _torch

    code: int = _torch.command(list(arguments), "", 1, str)
    return code


class _Roll:
    """Finds out which rank is gone: those that are alive say so."""

    def __init__(self, store: object, where: Place) -> None:
        self._store, self._where = store, where

    def leave(self, code: int) -> None:
        """This rank ends, and has said why."""
        try:
            self._store.set(f"left/{self._where.rank}", str(code))  # type: ignore[attr-defined]
        except RuntimeError:
            pass

    def call(self) -> str:
        where = self._where
        try:
            self._store.set(f"alive/{where.rank}", "1")  # type: ignore[attr-defined]
            end = time.monotonic() + _ROLL_CALL_S
            others = [rank for rank in range(where.ranks) if rank != where.rank]
            gone = [self._told(rank) for rank in others if not self._is_alive(rank, end - time.monotonic())]
        except RuntimeError:
            gone = ["rank 0"]  # it serves the store
        if not gone:
            return "a rank does not answer; --resume goes on from the last checkpoint"
        return f"{', '.join(gone)} has ended; --resume goes on from the last checkpoint"

    def _is_alive(self, rank: int, seconds: float) -> bool:
        try:
            self._store.wait([f"alive/{rank}"], timedelta(seconds=max(seconds, 0.1)))  # type: ignore[attr-defined]
            return True
        except RuntimeError:
            return bool(self._store.check([f"alive/{rank}"]))  # type: ignore[attr-defined]

    def _told(self, rank: int) -> str:
        said = self._store.get(f"here/{rank}").decode()  # type: ignore[attr-defined]
        left = f"left/{rank}"
        if self._store.check([left]):  # type: ignore[attr-defined]
            return f"rank {rank} ({said}, with exit code {self._store.get(left).decode()})"  # type: ignore[attr-defined]
        return f"rank {rank} ({said})"


def _meet(where: Place) -> object:
    """The store of this attempt, once all ranks are there. Errors: `Failure`."""
    from torch.distributed import PrefixStore, TCPStore

    text = os.environ.get(_COMING, "300")
    try:
        limit = float(text)
    except ValueError:
        raise UsageError(f"{_COMING}={text!r}: expected seconds") from None
    wait = timedelta(seconds=limit)
    try:
        tcp = TCPStore(where.address, where.port, where.ranks, where.serves, wait, wait_for_workers=False)
    except RuntimeError as error:
        if "EADDRINUSE" in str(error):
            raise Failure(f"port {where.port} of {where.port_from} is taken; set MASTER_PORT to one that is free") from None
        raise Failure(
            f"rank {where.rank} does not reach the others at {where.address}:{where.port} within {limit:g} s; MASTER_ADDR and "
            "MASTER_PORT say where rank 0 is"
        ) from None
    store = PrefixStore(f"plimsoll/{where.attempt}", tcp)
    store.set(f"here/{where.rank}", f"process {os.getpid()} on {socket.gethostname()}")
    for rank in range(where.ranks):
        try:
            store.wait([f"here/{rank}"], wait)
        except RuntimeError:
            raise Failure(f"rank {rank} of {where.ranks} did not come within {limit:g} s ({_COMING})") from None
    return store


def _tasks_of_node(text: str, node: int) -> int:
    """Of SLURM's "2(x3),1"."""
    counts: list[int] = []
    for part in text.split(","):
        count, _, times = part.partition("(x")
        counts += [int(count)] * int(times.rstrip(")") or 1)
    return counts[node]


def _first_host(nodes: str) -> str:
    import subprocess

    shown = subprocess.run(["scontrol", "show", "hostnames", nodes], capture_output=True, text=True, check=True)
    return shown.stdout.split()[0]


def launch(ranks: int, arguments: Sequence[str]) -> int:
    """Starts `plimsoll train ...` in so many processes of this machine by torch's launcher; gives the exit code."""
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

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
        # What a rank says of the run, before what the others say of its end.
        return next((code for code in (2, 3, 4, 1) if code in codes), _INTERRUPTED)
    return 0


def ranks_asked(arguments: Sequence[str]) -> int:
    """The number that `--ranks` has on a command line; 1 without, or where the command line is wrong."""
    for i, argument in enumerate(arguments):
        value = argument.removeprefix("--ranks=") if argument.startswith("--ranks=") else None
        if argument == "--ranks" and i + 1 < len(arguments):
            value = arguments[i + 1]
        if value is not None and value.isdigit():
            return int(value)
    return 1


def told(error: Error) -> int:
    """Says what is wrong, as the programs do."""
    print(f"plimsoll: {error}", file=sys.stderr)
    return error.exit_code
