"""Trains LightGBM on columns of history, and predicts the seeds of all splits that were not used for training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from plimsoll.baseline.history import DAY, Floats, own_columns
from plimsoll.baseline.run import BaselineRun
from plimsoll.errors import MissingPackage
from plimsoll.replacing import new_file

TREES, LEAVES, RATE, PATIENCE = 600, 31, 0.05, 30
LAGGED_COPIES = 3  # Copies of each training seed, with a lag each, if the run's histories are lagged.


def train_baseline(run: Path, data: Path, *, threads: int = 1) -> None:
    """Writes predictions of LightGBM for the labelled validation and test seeds of a run of the task `relational` to
    RUN/baseline/SPLIT.npy, which `plimsoll evaluate --baseline` reads.

    Seeds see the rows that the run's rules let them see. Validation seeds decide when to stop. Needs memory for all columns of
    all training seeds, outside of any budget. Errors: `MissingPackage` without LightGBM; `UsageError`, `InputError`, `Failure`.
    """
    try:
        import lightgbm
    except ImportError as error:
        raise MissingPackage(f"baseline: {error}; install it: pip install plimsoll[baseline]") from error
    described = BaselineRun(run, data)
    booster = _train(lightgbm, described, threads)
    for split in described.splits:
        _write(described, split, booster.predict(_columns(described, split), num_iteration=booster.best_iteration))


def _train(lightgbm: Any, run: BaselineRun, threads: int) -> Any:
    """Returns the booster with the best validation score."""
    copies = LAGGED_COPIES if run.is_lagged else 1
    labels = run.labels("train")
    columns = np.concatenate([_columns(run, "train", copy) for copy in range(copies)])
    training = lightgbm.Dataset(columns, np.tile(labels, copies))
    validation = lightgbm.Dataset(_columns(run, "val"), run.labels("val"), reference=training)
    options = {**run.objective(), "learning_rate": RATE, "num_leaves": LEAVES, "num_threads": threads, "seed": run.seed,
               "deterministic": True, "force_row_wise": True, "verbose": -1}
    return lightgbm.train(options, training, TREES, valid_sets=[validation],
                          callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)])


def _columns(run: BaselineRun, split: str, copy: int = 0) -> Floats:
    """Returns f32 [seeds, columns] for the labelled seeds of a split."""
    nodes, times = run.seeds(split)
    ends = run.ends(split, times, copy)
    columns = own_columns(run.graph, run.task.entity, nodes, run.hidden)
    for history in run.histories:
        columns.extend(history.columns(nodes, ends, run.days))
    columns.append(((times - ends) / DAY).astype(np.float32))
    return np.stack(columns, 1)


def _write(run: BaselineRun, split: str, found: Any) -> None:
    """Writes probabilities [seeds, classes], or values [seeds], as float32."""
    outputs = np.asarray(found, np.float32)
    if run.task.type == "binary_classification":
        outputs = np.stack([1 - outputs, outputs], 1)
    run.folder.mkdir(exist_ok=True)
    with new_file(run.folder / f"{split}.npy") as path, path.open("wb") as file:
        np.save(file, outputs)
