"""Runs recipes in this process: `plimsoll.train`, `evaluate` and `predict`."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from plimsoll import _torch
from plimsoll._fit.budget import budget as budget_of_process
from plimsoll._fit.budget import limit
from plimsoll._fit.process_group import group_name, ranks
from plimsoll.arguments import Budget, PathLike, Progress, texts, thread_count, whole
from plimsoll.data.predictions import Predictions
from plimsoll.errors import BudgetExceeded, UsageError

Request = TypeVar("Request", _torch.RunRequest, _torch.EvaluateRequest, _torch.PredictionRequest)
Done = TypeVar("Done")


@dataclass(frozen=True)
class TrainReport:
    """The result of a training run. If the stages that ran make no model that the run is about, `model` is `Path()`,
    `weights` None, `validation_loss` NaN, and `parameters` and `best_epoch` are 0.
    """

    run: Path  #: The folder of the run.
    model: Path  #: The model file; after a distillation the chosen detector.
    weights: str | None  #: Hash of the model's weights.
    parameters: int
    best_epoch: int
    validation_loss: float  #: Validation loss of the best epoch.
    trained_on: str  #: Text that names the training data.
    seconds: float
    stages: tuple[dict[str, Any], ...]  #: The stages as in the run's manifest (docs/formats/run.md).


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of a run. `print` shows its table."""

    splits: tuple[dict[str, Any], ...]  #: The splits as in `evaluate --json` (docs/command-line.md).
    findings: dict[str, Any]  #: The whole evaluation, including `splits`.
    table: str  #: The table as text.

    def __str__(self) -> str:
        return self.table


def train(
    recipe: PathLike | Mapping[str, Any],
    data: PathLike,
    run: PathLike,
    *,
    overrides: Mapping[str, Any] | None = None,
    seeds: int = 1,
    stages: Iterable[str] = (),
    teacher: PathLike | None = None,
    resume: bool = False,
    force: bool = False,
    allow_other_rounding: bool = False,
    budget: Budget = None,
    threads: int | None = None,
    progress: Progress = None,
) -> TrainReport:
    """Trains the model described by a recipe, as `plimsoll train` does, with the same weights and the same files in
    `run`.

    - `recipe`: a YAML file, the name of a recipe listed by `plimsoll recipes`, or a mapping of a recipe's sections
      (docs/recipe.md).
    - `data`: path of the data set.
    - `run`: folder of the run.
    - `overrides`: values for recipe keys such as "training.max_epochs".
    - `seeds`: number of seeds, 1 to 1000.
    - `stages`: run only these stages, using the results of earlier runs in `run`.
    - `teacher`: a model file to use as the teacher instead of training one.
    - `resume`: continue from the last checkpoint. A run that was rounded differently, by another level of kernels or
      another version of torch or Plimsoll, is refused unless `allow_other_rounding` is true.
    - `force`: replace an existing run. Not together with `resume`.
    - `budget`: limits the whole process while it trains, as in `plimsoll.budget`.
    - `threads`: as in `plimsoll.ingest`. torch uses one intra-op thread during the call.
    - `progress`: called with the done and total work of a stage. An exception it raises, or Ctrl-C, ends the run with
      a checkpoint.

    If torch.distributed is initialised, all processes of the default group, which must use gloo, call this with the
    same arguments and train together (docs/ranks.md). Rank 0 writes, and all ranks get its report. If the manifest of
    the finished run cannot be written, a `RuntimeWarning` reports this; a call with `resume` writes it.

    Errors: `UsageError`; `InputError`; `Failure`; `BudgetExceeded`, which names the smallest budget that works.
    """
    os.environ.setdefault("PLIMSOLL_PYTHON", sys.executable)  # For the process that sends the journal to run.trackers.
    request = _recipe_request(recipe, overrides)
    request.data = Path(data)
    request.folder = Path(run)
    request.seeds = whole("seeds", seeds, 1, 1000)
    request.stages = texts("stages", stages)
    if teacher is not None:
        request.teacher = Path(teacher)
    if resume and force:
        raise UsageError("resume and force: expected only one of them")
    request.resume, request.force = bool(resume), bool(force)
    request.allow_other_rounding = bool(allow_other_rounding)
    group = group_name()
    request.ranks = ranks()
    try:
        done = json.loads(_within(request, budget, threads, lambda: _torch.train(request, progress, group)))
    except BudgetExceeded as error:
        if not error.bytes_asked or "--resume" in str(error):
            raise  # The error names a budget that works already, or the run has started.
        raise _naming_smallest_budget(request) from error
    _warn_of(done["unsaved"])
    return _report(run, done)

def _recipe_request(recipe: PathLike | Mapping[str, Any], overrides: Mapping[str, Any] | None) -> _torch.RunRequest:
    """Returns a request that has the recipe with its overrides. Errors: `UsageError`, `InputError`."""
    request = _torch.RunRequest()
    if overrides is not None and not isinstance(overrides, Mapping):
        raise UsageError(f"overrides: is {type(overrides).__name__}, expected a mapping of keys such as training.max_epochs")
    given = [f"{key}={_text(value)}" for key, value in (overrides or {}).items()]
    if isinstance(recipe, Mapping):
        request.set_recipe(_json(recipe), "recipe", given)
    else:
        request.set_recipe(_read(recipe), os.fsencode(recipe).decode(errors="replace"), given)
    return request


def _report(run: PathLike, done: dict[str, Any]) -> TrainReport:
    """Returns the report of a run from the JSON that `_torch.train` returned."""
    return TrainReport(
        run=Path(run),
        model=Path(run) / done["model"] if done["model"] else Path(),
        weights=done.get("weights"),
        parameters=done.get("parameters", 0),
        best_epoch=done.get("best_epoch", 0),
        validation_loss=done.get("validation_loss", float("nan")),
        trained_on=done["trained_on"],
        seconds=done["seconds"],
        stages=tuple(done["stages"]),
    )


def evaluate(
    run: PathLike,
    data: PathLike,
    *,
    split: str | None = None,
    scores: PathLike | None = None,
    attention: PathLike | None = None,
    calibrate: int | None = None,
    budget: Budget = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Evaluation:
    """Evaluates a run on every split it was not trained on, as `plimsoll evaluate` does, and returns the results.

    - `run`, `data`: folder of the run and path of the data set.
    - `split`: evaluate only this split.
    - `scores`: write the score of every window to this file, as CSV.
    - `attention`: write the IDs, edges and attention weights of a GAT to this folder (docs/formats/attention.md).
    - `calibrate`: number of first benign windows of each recording to calibrate on, which are not evaluated; 0 for
      none, None for the number in the recipe.
    - `budget`, `threads`, `progress`: as in `train`.

    Processes of an initialised torch.distributed share the work, as in `train`. A `RuntimeWarning` names files that
    cannot be written, such as evaluation.json in a read-only folder. Errors: as in `train`.
    """
    request = _torch.EvaluateRequest(Path(run), Path(data))
    if split is not None:
        request.set_split(split)
    if scores is not None:
        request.set_scores(Path(scores))
    if attention is not None:
        request.set_attention(Path(attention))
    if calibrate is not None:
        request.set_calibrate(whole("calibrate", calibrate, 0))
    group = group_name()
    try:
        done = json.loads(_within(request, budget, threads, lambda: _torch.evaluate(request, progress, group)))
    except BudgetExceeded as error:
        if not error.bytes_asked and "smallest budget" not in str(error):
            raise  # The process itself exceeds the budget.
        raise _naming_smallest_budget(request) from error
    _warn_of(done["unsaved"])
    return Evaluation(tuple(done["findings"]["splits"]), done["findings"], done["table"])


def predict(
    run: PathLike,
    data: PathLike,
    out: PathLike,
    *,
    nodes: PathLike | None = None,
    embeddings: bool = False,
    csv: bool = False,
    force: bool = False,
    budget: Budget = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Predictions:
    """Predicts graphs, windows or nodes of an unlabelled data set with the model of a run.

    Writes the predictions to `out` and opens it (docs/formats/predictions.md).

    - `run`, `data`: folder of the run and path of the data set.
    - `nodes`: a file with the nodes of a giant graph to predict, one name or ID per line; None for all.
    - `embeddings`: also write the inputs of the model's last layer.
    - `csv`: also write a CSV table.
    - `force`: replace an existing output.
    - `budget`, `threads`, `progress`: as in `train`.

    Processes of an initialised torch.distributed share the work, as in `train`. Errors: as in `train`.
    """
    request = _torch.PredictionRequest(Path(run), Path(data), Path(out))
    if nodes is not None:
        request.nodes = Path(nodes)
    request.embeddings, request.csv, request.force = bool(embeddings), bool(csv), bool(force)
    group = group_name()
    try:
        _within(request, budget, threads, lambda: _torch.predict(request, progress, group))
    except BudgetExceeded as error:
        if not error.bytes_asked and "smallest budget" not in str(error):
            raise  # The process itself exceeds the budget.
        raise _naming_smallest_budget(request) from error
    return Predictions(out)


def _naming_smallest_budget(request: Request) -> BudgetExceeded:
    minimum = _torch.smallest_budget(request)
    return BudgetExceeded(f"the smallest budget that works is {minimum} bytes ({_torch.format_bytes(minimum)})")


def _within(request: Request, budget: Budget, threads: int | None, work: Callable[[], Done]) -> Done:
    count = thread_count(threads)
    request.set_threads(count)
    own = _torch.OwnThreads(count)
    try:
        with budget_of_process(budget):
            request.set_budget(limit(), _torch.outside() + _torch.slack(limit()))
            return work()
    finally:
        del own


def _warn_of(unsaved: str) -> None:
    if unsaved:
        warnings.warn(f"not saved: {unsaved}", RuntimeWarning, stacklevel=3)


def _text(value: Any) -> str:
    """Returns a value as text in the form that recipes use. Errors: `UsageError` for types that recipes do not have."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, list | tuple | np.ndarray):
        return json.dumps(value, default=_plain)
    return str(value)


def _plain(value: Any) -> Any:
    """Returns a number or an array of NumPy, or a path, as JSON has it. Errors: `UsageError` for other types."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise UsageError(f"recipe: {value!r} is {type(value).__name__}, expected numbers, texts, lists and mappings")


def _json(recipe: Mapping[str, Any]) -> str:
    """Returns a recipe as JSON. Numbers of NumPy become plain numbers. Errors: `UsageError` for types that recipes do
    not have.
    """
    try:
        return json.dumps(recipe, default=_plain)
    except (TypeError, ValueError) as error:  # For keys that are not text, and mappings that contain themselves.
        raise error if isinstance(error, UsageError) else UsageError(f"recipe: {error}") from error


def _read(path: PathLike) -> str:
    try:
        return Path(path).read_text()
    except (FileNotFoundError, IsADirectoryError):
        return _torch.read_recipe(Path(path))  # Reads a recipe by name, or raises InputError.
    except (OSError, UnicodeDecodeError) as error:
        from plimsoll.errors import InputError

        raise InputError(f"no such recipe: {os.fspath(path)} ({error})") from error
