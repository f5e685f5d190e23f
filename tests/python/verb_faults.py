"""Runs a verb of verb_table.py on a disk that is full from its k-th write on, in a folder that is read-only, or until a signal
stops it, and looks at what it says and leaves."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from verb_table import VERBS, Inputs

CRASHES = re.compile(r"Traceback|terminate called|what\(\):|core dumped|Aborted|Segmentation|AddressSanitizer")
REMEDIES = re.compile(r"make room|choose a|choose another|name another|give |set |raise |delete |run again|goes on|run the same|resume")
LONGEST = 60  # seconds, in which any verb stops


@dataclass(frozen=True)
class Point:
    """What happens to a verb: at which write, or at which part of the time that it takes, from 0 to 1."""

    kind: str
    at: float = 0
    existing: bool = False  #: there is an output already, which --force replaces

    def __str__(self):
        return f"{self.kind} {self.at:g}{', --force' if self.existing else ''}"


def content(folder: Path) -> dict[str, bytes]:
    """All files below a folder, and empty folders, by name; but for files of locks, which go with their process."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = os.fsdecode(path.relative_to(folder))
        if path.is_file():
            found[name] = path.read_bytes()
        elif not any(path.iterdir()):
            found[name + "/"] = b""
    return {name: data for name, data in found.items() if not name.endswith(("run.lock", ".boot"))}


def below(files: dict[str, bytes], out: str) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name == out or name.startswith(out + "/")}


@dataclass
class Ended:
    code: int
    out: str
    err: str
    writes: int = 0
    seconds: float = 0


class Harness:
    """The programs on a disk of tests/support/full_disk.c, and how each verb ends undisturbed."""

    def __init__(self, program: Path, library: Path, folder: Path):
        self.program = program
        self.library = library
        self.folder = folder
        self.inputs = Inputs(program, folder)
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        self.number = 0
        self.reference = cache(self._reference)

    def empty_place(self) -> Path:
        self.number += 1
        place = self.folder / f"place-{self.number}"
        place.mkdir()
        return place

    def place(self, name: str) -> Path:
        """A new folder, as the verb wants it."""
        place = self.empty_place()
        VERBS[name].prepare(self.inputs, place)
        return place

    def command(self, name: str, place: Path) -> list[str]:
        return [str(word) for word in (self.program, *VERBS[name].words(self.inputs, place))]

    def start(self, command: list[str], place: Path, write: float = 0, number: int = 0, counter: str = "writes") -> subprocess.Popen:
        """`write`: the disk is full from this one on, or it sends the signal `number`. Processes that run at the same time
        need counters of their own: with one, a process could reach its write again."""
        (self.folder / f"{place.name}.{counter}").write_bytes(bytes(8))
        disk = {"LD_PRELOAD": str(self.library), "FULL_DISK_UNDER": str(place),
                "FULL_DISK_COUNTER": str(self.folder / f"{place.name}.{counter}")}
        if write:
            disk["FULL_DISK_FROM"] = str(int(write))
        if number:
            disk["FULL_DISK_SIGNAL"] = str(int(number))
        environment = {**os.environ, **disk, "TMPDIR": str(self.scratch), "PLIMSOLL_CACHE": ""}
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)

    def end(self, process: subprocess.Popen, place: Path) -> Ended:
        begin = time.monotonic()
        try:
            out, err = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise AssertionError(f"does not end within {LONGEST} s") from None
        writes = int.from_bytes((self.folder / f"{place.name}.writes").read_bytes(), "little")
        return Ended(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"), writes,
                     time.monotonic() - begin)

    def run(self, command: list[str], place: Path, write: float = 0, number: int = 0) -> Ended:
        return self.end(self.start(command, place, write, number), place)

    def _reference(self, name: str) -> tuple[Ended, dict[str, bytes]]:
        place = self.place(name)
        done = self.run(self.command(name, place), place)
        assert done.code == 0, f"{name}: exit code {done.code}\n{done.err}"
        return done, content(place)

    def points(self, name: str) -> list[Point]:
        """All that can happen to a verb."""
        verb = VERBS[name]
        writes = range(1, self.reference(name)[0].writes + 1)
        points = [Point("stopped at time", part / 10) for part in range(11)]
        if not verb.outs and not verb.keeps:
            return points
        for kind in ("full", "stopped", "killed"):
            points += [Point(kind, k, existing) for existing in ((False, True) if verb.force else (False,)) for k in writes]
        points += [Point("busy", k) for k in writes[1::max(1, len(writes) // 5)]]
        places = ["taken", "mounted"] if verb.outs else []
        return points + [Point(kind) for kind in ["read-only", *places] if kind == "taken" or can_mount()]


UNSHARE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]


@cache
def can_mount() -> bool:
    return subprocess.run([*UNSHARE, "mount", "--bind", "/tmp", "/tmp"], capture_output=True).returncode == 0


def with_mounts(command: list[str], mounts: str) -> list[str]:
    """The command in a namespace of its own, where these commands were run before."""
    return [*UNSHARE, "sh", "-c", f'{mounts} && exec "$@"', "sh", *command]


LEFT_BY_KILLED = re.compile(r"(.*/)?\.[^/]+\.(tmp|old)\.[0-9.]+(/|$)")


class Trial:
    """One point of one verb: what is in its place before, what happens, and what has to be true after it."""

    def __init__(self, harness: Harness, name: str, point: Point):
        self.harness, self.name, self.point, self.verb = harness, name, point, VERBS[name]
        self.done, self.new = harness.reference(name)
        self.place = harness.place(name)
        self.command = harness.command(name, self.place)
        if point.existing:
            self.command.append("--force")
            for out, data in self.new.items():
                if any(below({out: data}, unit) for unit in self.verb.outs):
                    (self.place / out).parent.mkdir(parents=True, exist_ok=True)
                    (self.place / out).write_bytes(b"old" if out in self.verb.outs else data)
        self.before = content(self.place)

    def run(self) -> None:
        happens = {"stopped at time": self.stopped_at_time, "full": self.full, "stopped": self.stopped, "killed": self.killed,
                   "busy": self.busy, "read-only": self.read_only, "mounted": self.mounted, "taken": self.taken}
        try:
            happens[self.point.kind]()
            assert not list(self.harness.scratch.iterdir()), "something is left in TMPDIR"
        except AssertionError as error:
            raise AssertionError(f"{self.name}, {self.point}: {shlex.join(self.command)}\n{error}") from error
        shutil.rmtree(self.place)

    def full(self):
        ended = self.harness.run(self.command, self.place, write=self.point.at)
        self.expect_error(ended)
        self.expect_old_or_new(ended)
        self.expect_result_printed(ended)
        self.expect_success_now()

    def stopped(self):
        self.end_by_signal(self.harness.run(self.command, self.place, self.point.at, signal.SIGTERM))

    def killed(self):
        ended = self.harness.run(self.command, self.place, self.point.at, signal.SIGKILL)
        assert ended.code in (0, 1, -signal.SIGKILL), f"exit code {ended.code}\n{ended.err}"
        self.expect_success_now()

    def stopped_at_time(self):
        process = self.harness.start(self.command, self.place)
        time.sleep(self.point.at * self.done.seconds)
        process.send_signal(signal.SIGTERM)
        self.end_by_signal(self.harness.end(process, self.place))

    def end_by_signal(self, ended: Ended):
        codes = {0, -signal.SIGTERM} | ({75} if self.verb.trains or self.verb.plans else set())
        assert ended.code in codes, f"exit code {ended.code}\n{ended.err}"
        assert not CRASHES.search(ended.err), ended.err
        self.expect_old_or_new(ended)
        self.expect_success_now()

    def busy(self):
        """Another process is amid the same work, and goes on after this one."""
        other = self.harness.start(self.command, self.place, self.point.at, signal.SIGSTOP, counter="others")
        while (state := Path(f"/proc/{other.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]) not in "TZ":
            time.sleep(0.01)
        process = self.harness.start(self.command, self.place)
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:  # some wait for the other one
            pass
        if state == "T":
            other.send_signal(signal.SIGCONT)
        both = [self.harness.end(one, self.place) for one in (process, other)]
        for ended in both:
            self.expect_error(ended)
        assert 0 in (both[0].code, both[1].code), f"both failed\n{both[0].err}\n{both[1].err}"
        self.expect_success_now()

    def read_only(self):
        place = shlex.quote(str(self.place))
        command = with_mounts(self.command, f"mount --bind {place} {place} && mount -o remount,bind,ro {place}")
        ended = self.harness.run(command, self.place)
        self.expect_error(ended)
        assert content(self.place) == self.before
        self.expect_result_printed(ended)
        self.expect_success_now()

    def mounted(self):
        """The output is the place of a mount, which cannot be renamed."""
        out = self.place / self.verb.outs[0]
        out.parent.mkdir(parents=True, exist_ok=True)
        is_file = self.verb.outs[0] in self.new
        out.touch() if is_file else out.mkdir(exist_ok=True)
        self.before = content(self.place)
        command = with_mounts([*self.command, *(["--force"] if self.verb.force else [])],
                              f"mount --bind {shlex.quote(str(out))} {shlex.quote(str(out))}")
        ended = self.harness.run(command, self.place)
        self.expect_error(ended)
        self.expect_old_or_new(ended)
        self.expect_result_printed(ended)

    def taken(self):
        """A folder is where a file should be, or a file where a folder should be."""
        out = self.place / self.verb.outs[0]
        if out.exists():
            return
        out.parent.mkdir(parents=True, exist_ok=True)
        if self.verb.outs[0] in self.new:
            out.mkdir()
            (out / "precious").write_text("precious")
        else:
            out.write_text("precious")
        self.before = content(self.place)
        ended = self.harness.run([*self.command, *(["--force"] if self.verb.force else [])], self.place)
        assert ended.code == 1, f"exit code {ended.code}\n{ended.err}"
        self.expect_error(ended)
        self.expect_old_or_new(ended)
        self.expect_result_printed(ended)

    def expect_error(self, ended: Ended):
        assert ended.code in (0, 1), f"exit code {ended.code}\n{ended.err}"
        assert not CRASHES.search(ended.err), ended.err
        if ended.code == 1:
            assert str(self.place) in ended.err, f"the message does not name the path\n{ended.err}"
            assert REMEDIES.search(ended.err), f"the message has no remedy\n{ended.err}"

    def expect_result_printed(self, ended: Ended):
        if self.verb.prints:
            assert ended.out.splitlines()[:1] == self.done.out.splitlines()[:1], f"the result is not printed\n{ended.err}"

    def expect_old_or_new(self, ended: Ended):
        """All of an output is as before, or all of it is new; there is nothing else."""
        found = content(self.place)
        others = {}
        for name, data in found.items():
            if not any(below({name: data}, out) for out in (*self.verb.outs, *self.verb.keeps)):
                others[name] = data
        for out in self.verb.outs:
            its, old, new = below(found, out), below(self.before, out), below(self.new, out)
            if its != old and not (self.verb.trains and ended.code != 0):
                assert self.is_same(its, new), f"{out} is neither old nor new: {sorted(its)}\n{ended.err}"
        if self.point.kind == "killed":  # nobody was left to remove it, and messages of a full disk say that it may go
            others = {name: data for name, data in others.items() if not LEFT_BY_KILLED.match(name)}
        before = {name for name in self.before if not any(below({name: b""}, out) for out in self.verb.outs)}
        assert set(others) - {""} == before, f"is left: {sorted(set(others) ^ before)}\n{ended.err}"

    def is_same(self, found: dict[str, bytes], new: dict[str, bytes]) -> bool:
        if self.verb.same_bytes:
            return found == new
        models = {name: data for name, data in new.items() if name.endswith(".safetensors") and "step-" not in name}
        return set(found) >= set(new) - {name for name in new if "step-" in name} and all(found[name] == models[name] for name in models)

    def expect_success_now(self):
        again = [*self.command, *(["--resume"] if self.verb.trains and not self.point.existing else [])]
        ended = self.harness.run(again, self.place)
        if ended.code == 1 and self.verb.force and not self.point.existing and "--force" in ended.err:
            ended = self.harness.run([*again, "--force"], self.place)
        assert ended.code == 0, f"the same command fails afterwards: exit code {ended.code}\n{ended.err}"
        self.expect_old_or_new(ended)
        for out in (*self.verb.outs, *(self.verb.keeps if self.verb.same_bytes else ())):
            assert self.is_same(below(content(self.place), out), below(self.new, out)), f"{out} is not the same"
