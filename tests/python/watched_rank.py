"""A rank whose main thread does as the test says, under the roll of a real one: watched_rank.py DOES [without-checkpoints]

DOES is work, work-in-step or wait-in-step; what it does has no end. A step took .05 s before.
"""

import signal
import sys
import time

from plimsoll.jobs.heartbeat import stall_timeout
from plimsoll.jobs.rank_place import place
from plimsoll.jobs.roll import Roll, meet


class Watch:
    """In place of plimsoll._torch.RankWatch."""

    longest_step_s = 0.05

    def __init__(self, does):
        self.in_step, self.stopping = does.endswith("in-step"), False
        self._since = time.monotonic() if does.startswith("wait") else None

    @property
    def waiting_s(self):
        return 0.0 if self._since is None else time.monotonic() - self._since

    def stop(self, *_):
        self.stopping = True


where = place()
store = meet(where)
watch = Watch(sys.argv[1])
signal.signal(signal.SIGTERM, watch.stop)
Roll(store, where, watch, stall_timeout(), has_checkpoints=sys.argv[2:] == [])
print("begins", flush=True)
while True:
    time.sleep(0.1)
