"""A real SLURM on this machine, by the tool of the test data's folder; tests skip where there is none."""

import os
import re
import subprocess
import time
from pathlib import Path

TOOL = Path(__file__).resolve().parents[3] / "shared" / "tools" / "slurm-one-node"


def reason_to_skip():
    if os.geteuid() != 0:
        return "a SLURM of our own needs root"
    return None if TOOL.exists() else f"no {TOOL} to start a SLURM with"


class Slurm:
    """Started on entry, stopped on exit; everything lies in `folder`, which others can look into and whose name is short."""

    def __init__(self, folder, *options):
        self.folder = Path(folder)
        self.options = options
        self.env = {key: value for key, value in os.environ.items() if not key.startswith("SLURM")}
        self.env["SLURM_CONF"] = str(self.folder / "slurm.conf")

    def __enter__(self):
        done = subprocess.run([TOOL, "start", self.folder, *self.options], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return self

    def __exit__(self, *_):
        subprocess.run([TOOL, "stop", self.folder], capture_output=True, timeout=120)

    def call(self, *words):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=self.env, timeout=120)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def submit(self, script, *options):
        return self.call("sbatch", "--parsable", *options, script).strip()

    def facts(self, job):
        """What scontrol says of a job, by key."""
        return dict(re.findall(r"(\w+)=(\S*)", self.call("scontrol", "show", "job", job)))

    def wait_for(self, job, states, seconds):
        """The facts of a job once its state is one of these; a job that waits to run again starts at once."""
        end = time.monotonic() + seconds
        while True:
            facts = self.facts(job)
            if facts["JobState"] in states:
                return facts
            assert time.monotonic() < end, f"job {job} is {facts['JobState']} after {seconds} s, expected {states}"
            time.sleep(0.3)
