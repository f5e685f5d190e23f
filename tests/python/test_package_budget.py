"""plimsoll.budget: what it refuses, what it counts, and what is freed."""

import gc

import pytest
from package_data import plimsoll, python

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from plimsoll import _torch  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")
MIB = 1 << 20


def test_budgets():
    with plimsoll.budget("64GiB") as memory:
        held = torch.zeros(MIB)
        with pytest.raises(plimsoll.UsageError, match="already in force"), memory:
            pass
    assert memory.peak >= 4 * MIB and memory.peak_process > memory.peak and "64 GiB" in str(memory)
    del held
    outside = _torch.anonymous()
    with plimsoll.budget(outside + 64 * MIB):
        with pytest.raises(plimsoll.BudgetExceeded) as refusal:
            torch.zeros(64 * MIB)
        assert isinstance(refusal.value, MemoryError) and refusal.value.exit_code == 4
        weight = torch.zeros(1000, 1000, requires_grad=True)
        with pytest.raises(plimsoll.BudgetExceeded):  # in backward too
            (torch.stack([weight * i for i in range(7)]).square().sum() * 2).backward()
    torch.zeros(64 * MIB)


def test_a_budget_sees_what_others_take():
    """Memory that is not torch's lowers the cap."""
    import time

    import numpy as np

    gc.collect()
    with plimsoll.budget(_torch.anonymous() + 200 * MIB):
        torch.zeros(30 * MIB)  # 120 MiB
        taken = np.ones(15 * MIB)  # as much, of NumPy
        time.sleep(0.2)
        with pytest.raises(plimsoll.BudgetExceeded):
            torch.zeros(30 * MIB)
        assert taken.sum() == 15 * MIB


def test_a_refusal_counts_what_others_hold_beyond_the_budget():
    """The least by which the budget must grow is not the few bytes that were asked for."""
    import re
    import time

    import numpy as np

    gc.collect()
    with plimsoll.budget(_torch.anonymous() + 100 * MIB):
        taken = np.ones(75 * MIB)  # 600 MiB
        time.sleep(0.2)
        with pytest.raises(plimsoll.BudgetExceeded) as refusal:
            torch.zeros(42)
        assert taken.sum() == 75 * MIB
    missing = re.search(r"raise the budget by at least ([\d.]+) MiB", str(refusal.value))
    assert missing and 480 < float(missing[1]) < 620, refusal.value
    assert refusal.value.bytes_free == 0


def test_the_profiler_sees_tensors():
    """torch.profiler counts what a model allocates under a budget as it does without."""
    activity = torch.profiler.ProfilerActivity.CPU
    with plimsoll.budget("64GiB"), torch.profiler.profile(activities=[activity], profile_memory=True) as profile:
        held = torch.empty(MIB)
        del held
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    assert [event.nbytes() for event in events] == [4 * MIB, -4 * MIB]


def test_an_inner_budget_leaves_the_peak_of_the_outer():
    with plimsoll.budget("64GiB") as outer:
        torch.zeros(8 * MIB)
        with plimsoll.budget("64GiB"):
            pass
    assert outer.peak >= 32 * MIB


def test_peaks_of_budgets_that_overlap():
    """As those of several threads do: each has the peak since it was entered."""
    first, second, third = (plimsoll.budget("64GiB") for _ in range(3))
    with plimsoll.budget("64GiB") as around:
        held = _torch.held()
        first.__enter__()
        torch.zeros(16 * MIB)
        second.__enter__()
        torch.zeros(4 * MIB)
        third.__enter__()
        torch.zeros(8 * MIB)
        for each in (second, first, third):
            each.__exit__(None, None, None)
    peaks = [(each.peak - held) >> 20 for each in (around, first, second, third)]
    assert peaks == [64, 64, 32, 32]


def test_what_was_freed_is_no_others():
    """Sampling in the middle of taking and giving back does not lower the cap."""
    with plimsoll.budget(_torch.anonymous() + 400 * MIB):
        for _ in range(30):
            held = torch.ones(40 * MIB // 4)
            del held
        torch.zeros(300 * MIB // 4)


def test_a_refusal_has_its_figures():
    with plimsoll.budget(_torch.anonymous() + 64 * MIB), pytest.raises(plimsoll.BudgetExceeded) as refusal:
        torch.zeros(64 * MIB)
    assert refusal.value.tag == "other" and refusal.value.bytes_asked >= 256 * MIB > refusal.value.bytes_free > 0


def test_a_refusal_gives_back_what_its_calls_held():
    def step():
        held = torch.zeros(8 * MIB)  # 32 MiB
        torch.zeros(64 * MIB)
        return held

    gc.collect()
    with plimsoll.budget(_torch.anonymous() + 96 * MIB):
        before = _torch.held()
        try:
            step()
        except plimsoll.BudgetExceeded as error:
            assert _torch.held() - before >= 32 * MIB
            error.free_frames()
            assert _torch.held() - before < MIB
    with pytest.raises(plimsoll.BudgetExceeded) as refusal, plimsoll.budget(_torch.anonymous() + 96 * MIB):
        before = _torch.held()
        step()
    assert _torch.held() - before < MIB and "budget of the process" in refusal.value.__notes__[0]


def test_a_budget_for_every_call():
    @plimsoll.budget(_torch.anonymous() + 256 * MIB)
    def nested(depth):
        if depth:
            return nested(depth - 1)
        with pytest.raises(plimsoll.BudgetExceeded):
            torch.zeros(256 * MIB)
        return "done"

    assert nested(2) == nested(0) == "done"


def test_a_child_of_fork_leaves_the_budget(tmp_path):
    assert "left" in python(
        """
import os, plimsoll, torch
with plimsoll.budget("64GiB"):
    pid = os.fork()
    torch.zeros(1 << 10)
if pid == 0:
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
print("left")
"""
    )


def test_what_malloc_keeps_gives_way_to_a_tensor():
    """Freed pieces of under 256 KiB stay in malloc's heap, between others, and in no count of the ledger."""
    out = python("""
import ctypes, time
import torch, plimsoll
from plimsoll import _operators, _torch
_operators.load()
libc = ctypes.CDLL("libc.so.6")
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
MIB, SIZE = 1 << 20, 20_000
room = 64 * MIB
need = _torch.outside() + _torch.held() + room + 6 * MIB
with plimsoll.budget(need + _torch.slack(need + _torch.slack(need))):
    pieces = []
    while len(pieces) < 4000:  # slowly, so that it is not trimmed on the way
        pieces += [libc.malloc(SIZE) for _ in range(8)]
        for piece in pieces[-8:]:
            ctypes.memset(piece, 1, SIZE)
        time.sleep(0.005)
    for i, piece in enumerate(pieces):
        if i % 50:
            libc.free(piece)
    time.sleep(2)
    kept = _torch.outside()
    torch.ones(room // 4)
    print((kept - _torch.outside()) // MIB)
""")
    assert int(out) > 60


def test_a_budget_that_is_named_works():
    """To try next, as what follows may need more; where memory outside of the ledger has passed the budget, too."""
    out = python("""
import re, time
import numpy as np
import plimsoll, torch
from plimsoll import _operators, _torch
from plimsoll._fit.budget import naming_a_budget
_operators.load()
MIB = 1 << 20
def tries(first, outside, pieces):
    taken, budget = None, _torch.anonymous() + first
    for number in range(1, 9):
        try:
            with plimsoll.budget(budget) as memory, naming_a_budget():
                if taken is None:
                    taken = np.ones(outside, np.uint8)
                    time.sleep(0.2)
                held = [torch.ones(piece // 4) for piece in pieces]
                print(number)
                return
        except plimsoll.BudgetExceeded as refused:
            budget = int(re.search("give a budget of at least (\\d+) MiB", str(refused))[1]) * MIB
tries(64 * MIB, 0, [700 * MIB])
tries(64 * MIB, 400 * MIB, [30 * MIB])
tries(64 * MIB, 0, [100 * MIB, 200 * MIB])
""")
    assert len(out.split()) == 3 and max(map(int, out.split())) <= 4


def test_a_refusal_says_which_budget_it_was():
    """The one that refused, where others are around it; no other is named."""
    from plimsoll._fit.budget import naming_a_budget

    small = _torch.anonymous() + 64 * MIB
    with pytest.raises(plimsoll.BudgetExceeded) as refusal, plimsoll.budget("3GiB"), naming_a_budget(), plimsoll.budget(small):
        torch.zeros(64 * MIB)
    assert len(refusal.value.__notes__) == 1 and "MiB" in refusal.value.__notes__[0]
    assert "give a budget of" not in str(refusal.value)


def test_garbage_may_leave_a_budget_while_another_is_entered():
    """And a child of fork enters one, whatever threads of its parent did then."""
    assert "entered" in python("""
import os, signal, threading
import plimsoll
from plimsoll._fit import budget
signal.alarm(60)
def abandoned():
    with plimsoll.budget("64GiB"):
        yield
generator = abandoned()
next(generator)
with plimsoll.budget("64GiB"):
    with budget._moves:  # as entering has it
        generator.close()
ended = threading.Event()
def holds():
    with budget._moves:
        held.set()
        ended.wait()
held = threading.Event()
threading.Thread(target=holds).start()
held.wait()
if (pid := os.fork()) == 0:
    signal.alarm(20)
    with plimsoll.budget("64GiB"):
        os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
ended.set()
print("entered")
""")
