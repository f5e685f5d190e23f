"""`plimsoll.train`, `evaluate` and `predict`: runs of recipes, in this process."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from plimsoll import _torch
from plimsoll._fit.budget import budget as budget_of_process
from plimsoll._fit.budget import limit
from plimsoll._fit.process_group import group_name, ranks
from plimsoll.arguments import Budget, PathLike, Progress, texts, thread_count, whole
from plimsoll.data.predictions import Predictions
from plimsoll.errors import BudgetExceeded, UsageError

Request = TypeVar("Request", _torch.TrainRequest, _torch.EvaluateRequest, _torch.PredictionRequest)
Done = TypeVar("Done")


@dataclass(frozen=True)
class TrainReport:
    """What a run has done."""

    run: Path  #: the folder
    model: Path  #: the model file, of a distillation the detector that was chosen
    weights: str | None  #: hash of its weights; None where stages ran that leave no such model
    parameters: int
    best_epoch: int
    validation_loss: float  #: of the best epoch
    trained_on: str  #: in words
    seconds: float
    stages: tuple[dict[str, Any], ...]  #: as the run's manifest has them (docs/formats/run.md)


@dataclass(frozen=True)
class Evaluation:
    """The verdicts on a run. `print` shows them."""

    splits: tuple[dict[str, Any], ...]  #: as `evaluate --json` has them (docs/command-line.md)
    findings: dict[str, Any]  #: all of it
    table: str

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
    """Trains what a recipe says, as `plimsoll train` does: the same weights, and the same run in the folder `run`.

    `recipe` is a YAML file, the name of one that `plimsoll recipes` lists, or a mapping of its sections (docs/recipe.md);
    `overrides` are keys such as
    "training.max_epochs". `stages` runs these alone, with what earlier runs left; `teacher` is a model file in place of a
    trained teacher. `budget` is for the whole process while it trains, as of `plimsoll.budget`. `progress` is called with
    what is done of a stage and what there is to do; an exception of it, or Ctrl-C, ends the run with a checkpoint, from
    which `resume` goes on. A run that another level of kernels, torch or version has rounded in another way is refused unless
    `allow_other_rounding` is true. torch has one intra-op thread meanwhile.
    Where torch.distributed is initialised, all processes of the default group, which must be gloo's, call it with the same
    arguments and train together (docs/ranks.md); rank 0 writes, and all get its report.
    If the manifest of the finished run cannot be written, a `RuntimeWarning` says so; `resume` writes it.
    Errors: `UsageError`, `InputError`, `Failure`; `BudgetExceeded`, which names the smallest budget that works.
    """
    os.environ.setdefault("PLIMSOLL_PYTHON", sys.executable)  # of the process that follows it for run.trackers
    request = _torch.TrainRequest()
    if overrides is not None and not isinstance(overrides, Mapping):
        raise UsageError(f"overrides: is {type(overrides).__name__}, expected a mapping of keys such as training.max_epochs")
    given = [f"{key}={_text(value)}" for key, value in (overrides or {}).items()]
    if isinstance(recipe, Mapping):
        request.set_recipe(_json(recipe), "recipe", given)
    else:
        request.set_recipe(_read(recipe), os.fsencode(recipe).decode(errors="replace"), given)
    request.set_data(Path(data))
    request.folder = Path(run)
    request.seeds = whole("seeds", seeds, 1, 1000)
    request.stages = texts("stages", stages)
    if teacher is not None:
        request.set_teacher(Path(teacher))
    if resume and force:
        raise UsageError("resume and force: expected one of them")
    request.resume, request.force = bool(resume), bool(force)
    request.allow_other_rounding = bool(allow_other_rounding)
    group = group_name()
    request.set_ranks(ranks())
    try:
        done = json.loads(_within(request, budget, threads, lambda: _torch.train(request, progress, group)))
    except BudgetExceeded as error:
        if not error.bytes_asked or "--resume" in str(error):
            raise  # it says what works, or has begun
        raise _naming_smallest_budget(request) from error
    _warn_of(done["unsaved"])
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
    """Judges a run on every split that did not train it, as `plimsoll evaluate` does, or on one `split` alone.

    `scores` is a file for the score of every window, `attention` a folder for its IDs, edges and the attention of a GAT
    (docs/formats/attention.md), `calibrate` how many of its first benign windows each recording
    is compared with; the other arguments are those of `train`. Processes of an initialised torch.distributed share the work,
    as of `train`. Files that cannot be written, such as evaluation.json in a folder that is read-only, are named in a
    `RuntimeWarning`. Errors: as of `train`.
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
            raise  # the process alone is too large
        raise _naming_smallest_budget(request) from error
    _warn_of(done["unsaved"])
    return Evaluation(tuple(done["findings"]["splits"]), done["findings"], done["table"])


def predict(
    run: PathLike,
    data: PathLike,
    out: PathLike,
    *,
    embeddings: bool = False,
    csv: bool = False,
    force: bool = False,
    budget: Budget = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Predictions:
    """Asks the model of a run about every graph, window or node of a data set that nobody has labelled, and writes what it
    says to `out`, which is opened (docs/formats/predictions.md).

    `embeddings` adds what the last layer reads, `csv` a table for people; `force` replaces an output that exists; the other
    arguments are those of `train`. Processes of an initialised torch.distributed share the work, as of `train`. Errors: as
    of `train`.
    """
    request = _torch.PredictionRequest(Path(run), Path(data), Path(out))
    request.embeddings, request.csv, request.force = bool(embeddings), bool(csv), bool(force)
    group = group_name()
    try:
        _within(request, budget, threads, lambda: _torch.predict(request, progress, group))
    except BudgetExceeded as error:
        if not error.bytes_asked and "smallest budget" not in str(error):
            raise  # the process alone is too large
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
    """As a recipe has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return json.dumps(list(value))
    return str(value)


def _json(recipe: Mapping[str, Any]) -> str:
    """Numbers of NumPy are numbers. Errors: `UsageError` for what no recipe has."""

    def plain(value: Any) -> Any:
        if hasattr(value, "tolist"):
            return value.tolist()
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        raise UsageError(f"recipe: {value!r} is {type(value).__name__}, expected numbers, texts, lists and mappings")

    try:
        return json.dumps(recipe, default=plain)
    except (TypeError, ValueError) as error:  # keys that are no texts, and mappings that hold themselves
        raise error if isinstance(error, UsageError) else UsageError(f"recipe: {error}") from error


def _read(path: PathLike) -> str:
    try:
        return Path(path).read_text()
    except (FileNotFoundError, IsADirectoryError):
        return _torch.read_recipe(Path(path))  # of that name; an InputError if there is none
    except (OSError, UnicodeDecodeError) as error:
        from plimsoll.errors import InputError

        raise InputError(f"no such recipe: {os.fspath(path)} ({error})") from error
