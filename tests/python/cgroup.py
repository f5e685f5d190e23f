"""A memory cgroup of our own, v1 or v2, to run a program under a limit that the kernel enforces."""

import itertools
import os
from pathlib import Path

NUMBERS = itertools.count()


class MemoryCgroup:
    """A child of this process's group with a limit in bytes; removed on exit. Raises OSError where that is not allowed."""

    def __init__(self, limit):
        groups = [line.strip().split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
        v1 = [path for _, controllers, path in groups if "memory" in controllers.split(",")]
        root, limit_file = ("/sys/fs/cgroup/memory", "memory.limit_in_bytes") if v1 else ("/sys/fs/cgroup", "memory.max")
        own = Path(root + (v1 or [path for _, controllers, path in groups if not controllers])[0])
        # A container may show a path that its mount does not have.
        parent = own if own.is_dir() else Path(root)
        if not v1:
            (parent / "cgroup.subtree_control").write_text("+memory")
        self.folder = parent / f"plimsoll_test_{os.getpid()}_{next(NUMBERS)}"
        self.v1 = bool(v1)
        self.folder.mkdir()
        try:
            (self.folder / limit_file).write_text(str(limit))
        except OSError:
            self.folder.rmdir()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.rmdir()

    def join(self):
        """Moves the calling process in; for subprocess's preexec_fn."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def kills(self):
        """How many processes the kernel killed here for memory."""
        text = (self.folder / ("memory.oom_control" if self.v1 else "memory.events")).read_text()
        return int(dict(line.split() for line in text.splitlines()).get("oom_kill", 0))
