"""Ranks that a test starts by hand, as a launcher starts them."""

import os
import socket
import subprocess
import sys

LIMIT_S = 300


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(count, words_of, port=None, only=None, seconds=120, env=lambda rank: {}):
    """Starts `plimsoll` with words_of(rank) for each rank, or only for those in `only`."""
    port = port or free_port()
    processes = []
    for rank in only or range(count):
        place = {"RANK": rank, "WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
                 "PLIMSOLL_RANKS_TIMEOUT_S": seconds} | env(rank)
        processes.append(subprocess.Popen([sys.executable, "-m", "plimsoll", *map(str, words_of(rank))], text=True,
                                          env=os.environ | {key: str(value) for key, value in place.items()},
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    return processes


def ended(processes):
    """Waits for all processes. Returns (exit code, output, errors) of each."""
    done = []
    for process in processes:
        out, err = process.communicate(timeout=LIMIT_S)
        done.append((process.returncode, out, err))
    return done
