"""Reads from the environment of torchrun or SLURM which rank of a run this process is. See docs/ranks.md."""

from __future__ import annotations

import os
from dataclasses import dataclass

from plimsoll.errors import Failure


@dataclass(frozen=True)
class Place:
    """The rank of this process, and the address of the store through which the ranks communicate."""

    rank: int
    ranks: int
    local_ranks: int  #: Ranks on this machine.
    address: str
    port: int
    port_from: str  #: The environment variable with the port.
    serves: bool  #: Whether this rank serves the store. Otherwise another rank or the launcher serves it.
    rank_0_serves: bool
    attempt: str


def place() -> Place | None:
    """Returns the place that torchrun or SLURM assigned to this process; None if it is the only process.

    `src/cli/main.cc:is_a_rank` makes the same decision. Errors: `Failure` if the node of rank 0 is unknown.
    """
    env = os.environ
    if "RANK" in env and int(env.get("WORLD_SIZE", "1")) > 1:
        rank_0_serves = env.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
        return Place(
            rank=int(env["RANK"]),
            ranks=int(env["WORLD_SIZE"]),
            local_ranks=int(env.get("LOCAL_WORLD_SIZE", env["WORLD_SIZE"])),
            address=env.get("MASTER_ADDR", "127.0.0.1"),
            port=int(env.get("MASTER_PORT", "29500")),
            port_from="MASTER_PORT",
            serves=rank_0_serves and env["RANK"] == "0",
            rank_0_serves=rank_0_serves,
            attempt=env.get("TORCHELASTIC_RESTART_COUNT", "0"),
        )
    if "SLURM_PROCID" in env and int(env.get("SLURM_STEP_NUM_TASKS", "1")) > 1:
        port = env.get("MASTER_PORT") or str(20000 + (int(env["SLURM_JOB_ID"]) * 7 + int(env["SLURM_STEP_ID"])) % 10000)
        return Place(
            rank=int(env["SLURM_PROCID"]),
            ranks=int(env["SLURM_STEP_NUM_TASKS"]),
            local_ranks=_tasks_of_node(env["SLURM_STEP_TASKS_PER_NODE"], int(env.get("SLURM_NODEID", "0"))),
            address=env.get("MASTER_ADDR") or _first_host(env["SLURM_STEP_NODELIST"]),
            port=int(port),
            port_from="MASTER_PORT" if "MASTER_PORT" in env else "SLURM_JOB_ID",
            serves=env["SLURM_PROCID"] == "0",
            rank_0_serves=True,
            attempt=env.get("SLURM_RESTART_COUNT", "0"),
        )
    return None


def _tasks_of_node(text: str, node: int) -> int:
    """Returns the tasks of one node from SLURM's notation, such as "2(x3),1"."""
    counts: list[int] = []
    for part in text.split(","):
        count, _, times = part.partition("(x")
        counts += [int(count)] * int(times.rstrip(")") or 1)
    return counts[node]


def _first_host(nodes: str) -> str:
    """Returns the name of the first of these nodes, in SLURM's notation. Errors: `Failure`."""
    import subprocess

    try:
        shown = subprocess.run(["scontrol", "show", "hostnames", nodes], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure(f"the node of rank 0 is the first of '{nodes}', but scontrol cannot expand this: {error}; set MASTER_ADDR "
                      "to its host name or IP address") from error
    return shown.stdout.split()[0]
