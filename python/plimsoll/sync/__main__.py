"""Runs `python -m plimsoll.sync`; see `--help`."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from plimsoll.sync import mlflow, mlflow_store, tensorboard
from plimsoll.sync.tracker import Refused, Tracker

LOOK = 0.5  # seconds between two reads of the journal
FIRST_WAIT = 0.25
LONGEST_WAIT = 10.0  # seconds between two tries


class Refusal(Exception):
    """An error that the user has to fix."""


def open_tracker(text: str, run: Path) -> Tracker:
    """Opens the tracker named "tensorboard", "tensorboard:DIR", "mlflow" or "mlflow:URI". Errors: `Refusal`."""
    kind, _, target = text.partition(":")
    try:
        if kind == "tensorboard":
            return tensorboard.TensorBoard(run, target)
        if kind == "mlflow":
            return mlflow.MLflow(run, target)
    except ImportError as error:
        if find_spec(kind) is not None:
            raise Refusal(f"run.trackers: {kind} is installed for {sys.executable}, but cannot be loaded: {error}") from error
        pip = tensorboard.PIP if kind == "tensorboard" else mlflow_store.PIP
        raise Refusal(f"run.trackers: {kind} needs a package that {sys.executable} does not have ({error}); {pip}") from error
    except ValueError as error:
        raise Refusal(f"run.trackers: {error}") from error
    raise Refusal(f"run.trackers: '{text}', expected tensorboard, tensorboard:DIR, mlflow or mlflow:URI")


class Followed:
    """A tracker, and the time of its next try."""

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self.done = False  # Whether everything was sent, or the tracker refused the data.
        self.refused = False
        self._again = 0.0
        self._wait = FIRST_WAIT
        self._silent = False

    def advance(self, ended: bool) -> None:
        """Sends the new events. If the run has `ended`, also finishes the tracker."""
        if self.done or time.monotonic() < self._again:
            return
        try:
            while self.tracker.advance():
                pass
            if ended:
                self.tracker.finish()
                self.done = True
        except Refused as error:
            say(f"{self.tracker.name} rejects the data: {error}")
            self.done = self.refused = True
            return
        except Exception as error:  # Errors of a tracker's library must not end the other trackers.
            if not self._silent:
                say(f"{self.tracker.name} does not answer; trying again: {error}")
            self._silent = True
            self._again = time.monotonic() + self._wait
            self._wait = min(2 * self._wait, LONGEST_WAIT)
            return
        if self._silent:
            say(f"{self.tracker.name} answers again")
        self._silent, self._wait = False, FIRST_WAIT


def say(text: str) -> None:
    """Prints a line with the time to stderr."""
    print(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def alone(run: Path, takes_over: bool) -> Iterator[None]:
    """Holds the lock that lets one process at a time follow a run. With `takes_over` ends the process that holds it.

    Errors: `Refusal`.
    """
    (run / "sync").mkdir(exist_ok=True)
    with open(run / "sync" / "lock", "a+") as lock:
        for _ in range(100):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                lock.seek(0)
                holder = lock.read().strip()
                if not takes_over:
                    raise Refusal(f"{run} is already followed by process {holder}") from None
                with contextlib.suppress(ValueError, OSError):
                    os.kill(int(holder), signal.SIGTERM)
                time.sleep(0.1)
        else:
            raise Refusal(f"{run}: another process follows this run and does not end")
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        yield


def pipe_is_open() -> bool:
    """Returns whether the process that started this one is alive. Waits up to `LOOK` seconds."""
    ready, _, _ = select.select([sys.stdin], [], [], LOOK)
    return not (ready and os.read(sys.stdin.fileno(), 4096) == b"")


def is_trained(run: Path) -> bool:
    """Returns whether a process holds the lock of the run. Waits `LOOK` seconds first."""
    time.sleep(LOOK)
    try:
        with open(run / "run.lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def follow(trackers: list[Followed], trainer_lives: Callable[[], bool], patience: float) -> bool:
    """Sends events until the trainer has ended and everything is sent.

    Returns False if a tracker refused, or if not everything was sent within `patience` seconds after the trainer
    ended.
    """
    lives = True
    give_up = time.monotonic() + patience
    while True:
        lives = lives and trainer_lives()
        if lives:
            give_up = time.monotonic() + patience
        for tracker in trackers:
            tracker.advance(ended=not lives)
        if all(tracker.done for tracker in trackers):
            return not any(tracker.refused for tracker in trackers)
        if not lives:
            if time.monotonic() > give_up:
                return False
            time.sleep(LOOK)


def beside_training(run: Path, texts: list[str]) -> int:
    """Follows a run for `plimsoll train`: reports on stdout that the packages are installed, then waits for the run's
    folder.
    """
    try:
        run_trackers = [open_tracker(text, run) for text in texts]
    except Refusal as error:
        print(f"error {error}", flush=True)
        return 2
    print("ready", flush=True)
    if os.read(sys.stdin.fileno(), 16) == b"":
        return 0  # `plimsoll train` refused to start.
    os.nice(10)
    (run / "sync").mkdir(exist_ok=True)
    log = os.open(run / "sync" / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    with alone(run, takes_over=True):
        # The record of what an earlier process sent is reliable only while this process holds the lock.
        run_trackers = [open_tracker(text, run) for text in texts]
        if follow([Followed(tracker) for tracker in run_trackers], pipe_is_open, patience=600):
            say(f"all sent; {time.process_time():.2f} s of processor time, at most {max_memory() >> 20} MiB")
            return 0
    say(f"not everything was sent; run `plimsoll sync {run}` to send the rest")
    return 1


def max_memory() -> int:
    """Returns the maximum resident bytes of this process. `getrusage` would include those of its parent at the time of
    the fork.
    """
    found = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 if found else 0


def trackers_of(run: Path) -> list[str]:
    """Returns the names of the trackers in the recipe of a run."""
    from plimsoll.sync.mlflow import recipe_values

    text = recipe_values(run).get("run.trackers", "[]").strip("[]")
    return [name.strip().strip("\"'") for name in text.split(",") if name.strip()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `plimsoll sync` and returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="plimsoll sync",
        description="Send the journal of a run to TensorBoard and MLflow. Events that the tracker already has are not sent again.",
        epilog="Example: plimsoll sync runs/gat --tracker mlflow:http://127.0.0.1:5000",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument(
        "--tracker",
        action="append",
        metavar="NAME",
        help="send to this tracker: tensorboard, tensorboard:DIR, mlflow or mlflow:URI; may be repeated; default: run.trackers "
             "of the recipe",
    )
    parser.add_argument("--wait", type=float, default=60, metavar="SECONDS", help="wait up to SECONDS for a server that does not answer")
    parser.add_argument("--beside-training", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    run = Path(os.path.abspath(given.run))
    if given.beside_training:
        return beside_training(run, given.tracker or [])
    try:
        if not (run / "manifest.json").exists():
            raise Refusal(f"{given.run} is not a run; expected a folder with a manifest.json")
        texts = given.tracker or trackers_of(run)
        if not texts:
            raise Refusal("no tracker: the run's recipe has none; give --tracker")
        with alone(run, takes_over=False):
            trackers = [Followed(open_tracker(text, run)) for text in texts]
            if follow(trackers, lambda: is_trained(run), given.wait):
                return 0
        raise Refusal("not everything was sent; try again when the server answers")
    except Refusal as error:
        print(f"plimsoll: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
