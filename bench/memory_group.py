"""Runs a program in a memory group of the kernel with a limit, and says how it ended and what it took."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))
from cgroup import MemoryCgroup  # noqa: E402

LOOKS_PER_SECOND = 20


def anonymous_bytes(group):
    """Memory of the group that the kernel cannot drop, in bytes: without page cache."""
    stat = dict(line.split() for line in (group.folder / "memory.stat").read_text().splitlines())
    return int(stat["total_rss"] if group.v1 else stat["anon"])


def kill_all(group):
    for line in (group.folder / "cgroup.procs").read_text().split():
        os.kill(int(line), signal.SIGKILL)


def watch(group, done, seconds, found):
    """Reads the memory of the group until `done` is set, and kills its processes after `seconds`."""
    begin = time.perf_counter()
    while not done.wait(1 / LOOKS_PER_SECOND):
        found["peak_anonymous"] = max(found["peak_anonymous"], anonymous_bytes(group))
        if time.perf_counter() - begin > seconds:
            found["stopped"] = True
            kill_all(group)


def run_in_group(command, limit, seconds, log, environment=None):
    """Runs `command` in a group of `limit` bytes, for at most `seconds`; stderr goes to the file `log`. Returns a dictionary:
    outcome (finished, killed, stopped, or failed), code, output, wall and cpu in seconds, peaks of the group in bytes."""
    found, done = {"peak_anonymous": 0, "stopped": False}, threading.Event()
    with MemoryCgroup(limit) as group, open(log, "w") as errors:
        watcher = threading.Thread(target=watch, args=(group, done, seconds, found))
        begin = time.perf_counter()
        with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=errors, text=True,
                              preexec_fn=group.join, env={**os.environ, **(environment or {})}) as process:
            watcher.start()
            output = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        wall, kills = time.perf_counter() - begin, group.kills()
        done.set()
        watcher.join()
        kill_all(group)
        time.sleep(0.2)
        peak = group.folder / ("memory.max_usage_in_bytes" if group.v1 else "memory.peak")
        charged = int(peak.read_text()) if peak.exists() else None
    code = process.returncode
    outcome = "stopped" if found["stopped"] else "killed" if kills else "finished" if code == 0 else "failed"
    return {"outcome": outcome, "code": code, "output": output, "wall_s": wall, "cpu_s": usage.ru_utime + usage.ru_stime,
            "peak_anonymous": found["peak_anonymous"], "peak_with_cache": charged}
