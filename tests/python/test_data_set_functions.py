"""Functions that make data sets: the bytes of the command line, budgets, threads, interruptions."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from made_up import random_frames, write_capture
from package_data import FRAMES, plimsoll, python


@pytest.fixture(scope="module")
def capture(tmp_path_factory):
    folder = tmp_path_factory.mktemp("captures")
    rng = np.random.default_rng(1)
    for split, share in (("train", 0.0), ("test", 0.3)):
        write_capture(folder / split / "drive.csv.gz", random_frames(rng, 4000, [0x100, 0x2C0, 0x3F1], share))
    return folder


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    return plimsoll.simulate.can(tmp_path_factory.mktemp("made") / "frames", frames=FRAMES)


def same_files(one, other):
    names = sorted(os.listdir(one))
    assert names == sorted(os.listdir(other))
    for name in names:
        with open(os.path.join(one, name), "rb") as a, open(os.path.join(other, name), "rb") as b:
            assert a.read() == b.read(), name


def test_the_bytes_are_those_of_the_command_line(run, capture, frames, tmp_path):
    made = plimsoll.ingest.can(capture, tmp_path / "can", threads=2)
    run("plimsoll", "ingest", "can", capture, "--out", tmp_path / "can-line")
    same_files(made, tmp_path / "can-line")

    plimsoll.windows(made, tmp_path / "w", window=50, stride=25, vocabulary_from=["train"])
    run("plimsoll", "windows", made.path, "--out", tmp_path / "w-line", "--window", "50", "--stride", "25",
        "--vocabulary-from", "train")
    same_files(tmp_path / "w", tmp_path / "w-line")

    plimsoll.windows(frames, tmp_path / "b", features="behaviour", window="50ms", calibrate=4)
    run("plimsoll", "windows", frames.path, "--out", tmp_path / "b-line", "--features", "behaviour", "--window", "50ms",
        "--calibrate", "4")
    same_files(tmp_path / "b", tmp_path / "b-line")

    run("plimsoll", "simulate", "can", "--out", tmp_path / "s-line", "--frames", str(FRAMES))
    same_files(frames, tmp_path / "s-line")

    np.save(tmp_path / "points.npy", np.random.default_rng(1).normal(size=(6, 30, 3)).astype(np.float32))
    plimsoll.ingest.points(tmp_path / "points.npy", tmp_path / "p")
    run("plimsoll", "ingest", "points", tmp_path / "points.npy", "--out", tmp_path / "p-line")
    same_files(tmp_path / "p", tmp_path / "p-line")


def test_a_described_table(tmp_path):
    (tmp_path / "drive.txt").write_text("1.5;256;1;7\n1.6;257;2;8,9\n".replace(",", ";"))
    made = plimsoll.ingest.can([tmp_path / "drive.txt"], tmp_path / "out", separator=";", id="dec",
                               columns=["time", "id", "length", "bytes"])
    assert [(frame.can_id, frame.data) for frame in (made[0], made[1])] == [(256, b"\x07"), (257, b"\x08\x09")]


def test_an_output_that_exists(capture, tmp_path):
    made = plimsoll.ingest.can(capture, tmp_path / "can")
    again = plimsoll.ingest.can(capture, tmp_path / "can")
    assert len(again) == len(made)
    other = plimsoll.ingest.can(capture, tmp_path / "other")
    with pytest.raises(plimsoll.Failure, match="exists already.*force=True") as caught:
        plimsoll.windows(other, tmp_path / "can")
    assert isinstance(caught.value, RuntimeError) and caught.value.exit_code == 1
    with pytest.raises(plimsoll.Failure, match="is an input, and would be replaced"):
        plimsoll.windows(made, tmp_path / "can", force=True)
    plimsoll.windows(other, tmp_path / "can", force=True)
    assert len(made[:10]) == 10, "what is open stays readable when its folder is replaced"


def test_bad_arguments(capture, frames, tmp_path):
    out = tmp_path / "out"
    for call in (
        lambda: plimsoll.ingest.can(capture, out, format="csv"),
        lambda: plimsoll.ingest.can(capture, out, payload=12),
        lambda: plimsoll.ingest.can(capture, out, columns="time"),
        lambda: plimsoll.ingest.can(capture, out, on_error="ignore"),
        lambda: plimsoll.ingest.can(capture, out, budget="plenty"),
        lambda: plimsoll.ingest.can(capture, out, budget=-1),
        lambda: plimsoll.ingest.can(capture, out, threads=0),
        lambda: plimsoll.ingest.can(capture, out, threads="2"),
        lambda: plimsoll.ingest.can(capture, out, threads=1.5),
        lambda: plimsoll.ingest.can(capture, out, payload="8"),
        lambda: plimsoll.ingest.can(capture, out, on_error="skip", skip_limit=-1),
        lambda: plimsoll.ingest.can(capture, out, skip_limit="few"),
        lambda: plimsoll.windows(frames, out, window=1),
        lambda: plimsoll.windows(frames, out, window="50ms", features="behaviour", stride=10),
        lambda: plimsoll.windows(frames, out, features="fancy"),
        lambda: plimsoll.windows(frames, out, calibrate=-1),
        lambda: plimsoll.windows(frames, out, vocabulary_from=["nowhere"]),
        lambda: plimsoll.simulate.can(out, frames=0),
        lambda: plimsoll.simulate.can(out, frames=9000, attacks=["boarding"]),
        lambda: plimsoll.simulate.can(out, frames=9000, vehicles=1),
        lambda: plimsoll.simulate.can(out, frames=9000, seed=-1),
        lambda: plimsoll.windows(frames, out, calibrate=1.5),
        lambda: plimsoll.ingest.points(capture, out, knn=0),
    ):
        with pytest.raises(plimsoll.UsageError) as caught:
            call()
        assert isinstance(caught.value, ValueError) and caught.value.exit_code == 2
    for call in (
        lambda: plimsoll.ingest.can(tmp_path / "nowhere", out),
        lambda: plimsoll.ingest.points(tmp_path / "nowhere.npy", out),
        lambda: plimsoll.windows(tmp_path, out),
        lambda: plimsoll.verify(tmp_path),
    ):
        with pytest.raises(plimsoll.InputError):
            call()
    assert os.listdir(tmp_path) == []


def test_a_bad_line_is_named(tmp_path):
    write_capture(tmp_path / "drive.csv", [("100", "00", 0), ("1G0", "00", 0)])
    with pytest.raises(plimsoll.InputError, match=r"drive.csv:3:") as caught:
        plimsoll.ingest.can(tmp_path / "drive.csv", tmp_path / "out")
    assert caught.value.exit_code == 3


def test_a_budget_too_small_is_an_exception(capture, frames, tmp_path):
    with pytest.raises(plimsoll.BudgetExceeded, match="out of budget") as caught:
        plimsoll.ingest.can(capture, tmp_path / "out", budget="1MiB")
    error = caught.value
    assert isinstance(error, MemoryError) and error.exit_code == 4
    assert error.bytes_asked > error.bytes_free and error.tag in ("ingest", "output", "columns", "blocks")
    with pytest.raises(plimsoll.BudgetExceeded):
        plimsoll.windows(frames, tmp_path / "out", budget=100_000)
    assert os.listdir(tmp_path) == []
    assert len(plimsoll.ingest.can(capture, tmp_path / "out", budget="24MiB")) == 8000


def test_a_budget_is_beside_what_the_process_holds(capture, tmp_path):
    python(f"""
import numpy, plimsoll
ballast = numpy.ones(100 << 17)
plimsoll.ingest.can({str(capture)!r}, {str(tmp_path / "out")!r}, budget="24MiB")
""")


def test_calls_in_threads(capture, frames, tmp_path):
    made, errors = [], []

    def work(i):
        try:
            made.append(len(plimsoll.ingest.can(capture, tmp_path / f"can-{i}", budget="24MiB", threads=1)))
            made.append(len(plimsoll.windows(frames, tmp_path / f"graphs-{i}", budget="24MiB", threads=1)))
        except plimsoll.Error as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and len(set(made)) == 2 and len(made) == 8


def test_progress_reaches_the_end_and_may_call_back(frames, tmp_path):
    seen = []

    def progress(done, total):
        assert threading.current_thread() is threading.main_thread()
        seen.append((done, total))
        if len(seen) == 1:
            plimsoll.windows(frames, tmp_path / "inner")

    graphs = plimsoll.windows(frames, tmp_path / "outer", progress=progress)
    assert seen[-1] == (len(graphs), len(graphs)) and seen == sorted(seen)
    assert len(plimsoll.open(tmp_path / "inner")) == len(graphs)


def test_an_exception_of_progress_ends_the_call(tmp_path):
    class Enough(Exception):
        pass

    def progress(done, total):
        raise Enough

    with pytest.raises(Enough):
        plimsoll.simulate.can(tmp_path / "frames", frames=20_000_000, progress=progress)
    assert os.listdir(tmp_path) == []


@pytest.fixture
def interrupts():
    """Shells have what they start in the background ignore SIGINT, and Python leaves it at that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_the_call(tmp_path, interrupts):
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        plimsoll.simulate.can(tmp_path / "frames", frames=200_000_000)
    timer.join()
    assert time.monotonic() - begin < 20
    assert os.listdir(tmp_path) == []


def test_other_threads_go_on(tmp_path):
    steps, stop = [], threading.Event()

    def count():
        while not stop.wait(0.01):
            steps.append(time.monotonic())

    thread = threading.Thread(target=count)
    thread.start()
    begin = time.monotonic()
    plimsoll.simulate.can(tmp_path / "frames", frames=2_000_000)
    seconds = time.monotonic() - begin
    stop.set()
    thread.join()
    assert len([step for step in steps if step < begin + seconds]) > 5 * seconds


def test_the_cap_is_lifted_afterwards(capture, tmp_path):
    for i in range(3):
        with pytest.raises(plimsoll.BudgetExceeded):
            plimsoll.ingest.can(capture, tmp_path / "out", budget="64KiB")
    assert len(plimsoll.ingest.can(capture, tmp_path / "out")) == 8000
