"""All verbs of the command line that write, take long or print a result: how each is called, and what it leaves.

`place` is an empty folder in which a verb may write; `inputs` makes what it reads, once.
"""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

DETECTION = """
task: detection
data: {features: behaviour, without: [id_index, known_transition]}
training: {max_epochs: 1, batch_size: 64}
gat: {hidden: 4, heads: 1, layers: 1, learning_rate: 0.002}
"""
NODES = """
task: node_classification
gnn: {hidden: 8, layers: 2}
sampling: {fan_outs: [3, 3]}
training: {max_epochs: 1}
"""
DBC = """VERSION ""
BU_: ECU
BO_ 291 Engine: 8 ECU
 SG_ Speed : 7|16@0+ (0.01,0) [0|250] "km/h" ECU
"""
SWC = "1 1 0 0 0 5 -1\n2 3 1 0 0 1 1\n3 3 2 1 0 1 2\n4 3 2 -1 0 1 2\n"


class Inputs:
    """What verbs read, made by the programs when it is asked for."""

    def __init__(self, program: Path, folder: Path):
        self.program = program
        self.folder = folder

    def call(self, *words):
        done = subprocess.run([str(word) for word in (self.program, *words)], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, f"{words}: exit code {done.returncode}\n{done.stderr}"

    def made(self, name, *words):
        self.call(*words, "--out", self.folder / name)
        return self.folder / name

    def text(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    @cached_property
    def captures(self):
        return self.made("captures", "simulate", "can", "--format", "csv", "--frames", 20_000, "--seed", 5)

    @cached_property
    def benign(self):
        return self.made("benign", "simulate", "can", "--format", "csv", "--frames", 12_000, "--attacks", "none")

    @cached_property
    def capture(self):
        return sorted(self.benign.rglob("*.csv"))[0]

    @cached_property
    def frames(self):
        return self.made("frames", "ingest", "can", self.captures)

    @cached_property
    def windows(self):
        return self.made("windows", "windows", self.frames)

    @cached_property
    def shards(self):
        return [self.made(f"shard-{i}", "ingest", "can", self.captures, "--shard", f"{i}/2") for i in (1, 2)]

    @cached_property
    def graph(self):
        return self.made("graph", "simulate", "graph", "--nodes", 3000, "--features", 6, "--classes", 3)

    @cached_property
    def edges(self):
        np.save(self.folder / "edges.npy", np.random.default_rng(3).integers(0, 2000, (20_000, 2)))
        return self.folder / "edges.npy"

    @cached_property
    def points(self):
        np.save(self.folder / "points.npy", np.random.default_rng(1).normal(size=(8, 60, 3)).astype(np.float32))
        return self.folder / "points.npy"

    @cached_property
    def table(self):
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        table = arrow.table({"id": np.arange(3000) * 3, "value": np.random.default_rng(2).normal(size=3000)})
        parquet.write_table(table, self.folder / "users.parquet")
        return self.folder / "users.parquet"

    @cached_property
    def trees(self):
        (self.folder / "trees").mkdir()
        for i in range(3):
            (self.folder / "trees" / f"{i}.swc").write_text(SWC)
        return self.folder / "trees"

    @cached_property
    def dbc(self):
        return self.text("bus.dbc", DBC)

    @cached_property
    def detection(self):
        return self.text("detection.yaml", DETECTION)

    @cached_property
    def nodes(self):
        return self.text("nodes.yaml", NODES)

    def trained(self, name, recipe, data):
        self.call("train", recipe, "--data", data, "--run", self.folder / name, "--threads", 1)
        return self.folder / name

    @cached_property
    def run(self):
        return self.trained("run", self.detection, self.frames)

    @cached_property
    def giant_run(self):
        return self.trained("giant", self.nodes, self.graph)

    @cached_property
    def detector(self):
        return self.run / "detector.safetensors"


Words = Callable[[Inputs, Path], list]


@dataclass(frozen=True)
class Verb:
    """A call of a verb. Each of `outs`, a file or a folder below the place, is there whole or not at all."""

    words: Words
    outs: tuple[str, ...] = ()
    prints: bool = False  #: stdout is a result that must not be lost with the files beside it
    force: bool = True  #: takes --force, which replaces what is there
    prepare: Callable[[Inputs, Path], object] = field(default=lambda inputs, place: None)
    same_bytes: bool = True  #: the same call makes the same files; else there is a time in them
    trains: bool = False  #: leaves a run that can be resumed
    plans: bool = False  #: plans a run, which a signal interrupts in order
    keeps: tuple[str, ...] = ()  #: what may stay of a call that failed, for the next one to go on from


def with_run(inputs, place):
    shutil.copytree(inputs.run, place / "run")


def with_giant_run(inputs, place):
    shutil.copytree(inputs.giant_run, place / "run")


VERBS = {
    "ingest can": Verb(lambda i, p: ["ingest", "can", i.captures, "--out", p / "out"], ("out",)),
    "ingest points": Verb(lambda i, p: ["ingest", "points", i.points, "--out", p / "out"], ("out",)),
    "ingest swc": Verb(lambda i, p: ["ingest", "swc", i.trees, "--out", p / "out"], ("out",)),
    "ingest graph": Verb(lambda i, p: ["ingest", "graph", "--edges", i.edges, "--out", p / "out"], ("out",)),
    "ingest tables": Verb(lambda i, p: ["ingest", "tables", "--table", f"users={i.table}:key=id", "--out", p / "out"],
                          ("out",)),
    "simulate can": Verb(lambda i, p: ["simulate", "can", "--frames", 9000, "--out", p / "out"], ("out",)),
    "simulate can csv": Verb(
        lambda i, p: ["simulate", "can", "--frames", 9000, "--format", "csv", "--out", p / "out"], ("out",)),
    "simulate can inject": Verb(lambda i, p: ["simulate", "can", "--inject", i.frames, "--out", p / "out"], ("out",)),
    "simulate graph": Verb(lambda i, p: ["simulate", "graph", "--nodes", 5000, "--out", p / "out"], ("out",)),
    "split-edges": Verb(lambda i, p: ["split-edges", i.graph, "--out", p / "out"], ("out",)),
    "walks": Verb(lambda i, p: ["walks", i.graph, "--out", p / "out"], ("out",)),
    "windows": Verb(lambda i, p: ["windows", i.frames, "--out", p / "out"], ("out",)),
    "merge": Verb(lambda i, p: ["merge", *i.shards, "--out", p / "out"], ("out",)),
    "convert frames": Verb(lambda i, p: ["convert", i.frames, "--to", "candump", "--out", p / "out"], ("out",)),
    "convert capture": Verb(lambda i, p: ["convert", i.capture, "--to", "candump", "--out", p / "drive.log"], ("drive.log",)),
    "stage": Verb(lambda i, p: ["stage", i.frames, "--to", p / "cache"], force=False, keeps=("cache",)),
    "compare": Verb(lambda i, p: ["compare", i.run, i.run, "--page", p / "page.html"], ("page.html",), prints=True,
                    force=False),
    "calibrate": Verb(lambda i, p: ["calibrate", i.detector, "--benign", i.capture, "--out", p / "car.safetensors"],
                      ("car.safetensors",)),
    "calibrate merge": Verb(
        lambda i, p: ["calibrate", p / "car.safetensors", "--merge", p / "other.safetensors", "--out", p / "both.safetensors"],
        ("both.safetensors",),
        prepare=lambda i, p: [i.call("calibrate", i.detector, "--benign", capture, "--out", p / f"{name}.safetensors")
                              for name, capture in zip(("car", "other"), sorted(i.benign.rglob("*.csv")))]),
    "plan": Verb(lambda i, p: ["plan", i.detection, "--data", i.frames, "--threads", 1, "--profile", "--snapshot",
                               p / "snapshot.pickle"], ("snapshot.pickle",), prints=True, force=False),
    "train": Verb(lambda i, p: ["train", i.detection, "--data", i.frames, "--run", p / "run", "--threads", 1], ("run",),
                  same_bytes=False, trains=True),
    "train giant": Verb(lambda i, p: ["train", i.nodes, "--data", i.graph, "--run", p / "run", "--threads", 1], ("run",),
                        same_bytes=False, trains=True),
    "import config": Verb(lambda i, p: ["import", "config", i.detection, "--out", p / "recipe.yaml"], ("recipe.yaml",)),
    "slurm": Verb(lambda i, p: ["slurm", i.detection, "--data", i.frames, "--run", p / "runs/run", "--threads", 1, "--trial",
                                0], ("runs",), prints=True, force=False, plans=True),
    "evaluate": Verb(lambda i, p: ["evaluate", p / "run", "--data", i.frames, "--threads", 1, "--scores", p / "scores.csv",
                                   "--attention", p / "attention"],
                     ("run/evaluation.json", "run/report.html", "scores.csv", "attention"), prints=True, force=False,
                     prepare=with_run, same_bytes=False),
    "evaluate giant": Verb(lambda i, p: ["evaluate", p / "run", "--data", i.graph, "--threads", 1],
                           ("run/evaluation.json", "run/report.html"), force=False, prepare=with_giant_run,
                           same_bytes=False),
    "predict": Verb(lambda i, p: ["predict", i.run, "--data", i.frames, "--out", p / "out", "--csv", "--threads", 1],
                    ("out",)),
    "predict giant": Verb(lambda i, p: ["predict", p / "run", "--data", i.graph, "--out", p / "out", "--threads", 1],
                          ("out",), prepare=with_giant_run),
    "inspect": Verb(lambda i, p: ["inspect", i.frames]),
    "verify": Verb(lambda i, p: ["verify", i.frames]),
    "recipes": Verb(lambda i, p: ["recipes"]),
    "job-report": Verb(lambda i, p: ["job-report", i.run]),
    "top": Verb(lambda i, p: ["top", i.run, "--once"]),
    "check": Verb(lambda i, p: ["check", i.dbc, i.capture]),
    "detect": Verb(lambda i, p: ["detect", i.detector, i.capture]),
    "detector": Verb(lambda i, p: ["detector", i.capture, "--out", p / "car.safetensors", "--threads", 1, "-O",
                                   "training.max_epochs=1"], ("car.safetensors",), same_bytes=False, plans=True,
                     keeps=("car.safetensors.work",)),
}

# Calls that take minutes, and stop long before.
LONG = {
    "plan": lambda i, p: ["plan", i.detection, "--data", i.frames, *many_epochs()],
    "train": lambda i, p: ["train", i.detection, "--data", i.frames, "--run", p / "run", *many_epochs()],
    "slurm": lambda i, p: ["slurm", i.detection, "--data", i.frames, "--run", p / "run", "--trial", 0, *many_epochs()],
    "detector": lambda i, p: ["detector", i.capture, "--out", p / "car.safetensors", *many_epochs()],
    "simulate can": lambda i, p: ["simulate", "can", "--frames", 500_000_000, "--out", p / "out"],
    "simulate graph": lambda i, p: ["simulate", "graph", "--nodes", 20_000_000, "--out", p / "out"],
    "walks": lambda i, p: ["walks", i.graph, "--walks", 100_000, "--out", p / "out"],
}


def many_epochs():
    """Of batches of one window: planning looks at each."""
    return ["--threads", 1, "-O", "training.max_epochs=1000000", "-O", "training.patience=1000000", "-O", "training.batch_size=1"]
