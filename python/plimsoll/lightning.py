"""A Lightning callback that writes the journal of a run, as `plimsoll train` does (docs/seeing.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll.arguments import PathLike
from plimsoll.errors import MissingPackage
from plimsoll.journal import RunJournal

try:
    from lightning.pytorch import Callback
except ImportError:
    try:
        from pytorch_lightning import Callback
    except ImportError as error:
        raise MissingPackage("plimsoll.lightning needs Lightning: pip install lightning") from error


class JournalCallback(Callback):  # type: ignore[misc]  # Lightning may be missing where types are checked
    """Writes the journal of a training run into the folder `run`, which `plimsoll top`, `compare` and `sync` read.

        trainer = lightning.Trainer(callbacks=[JournalCallback("runs/mine", trackers=["tensorboard"])])

    Each epoch records the mean loss of its training steps weighted by graphs, every number the module logged, the
    learning rate of the first optimizer, time and memory. `settings` are shown by `compare`, together with the
    hyperparameters of the module. The other arguments are those of `RunJournal`. Only global rank 0 writes.
    """

    def __init__(
        self,
        run: PathLike,
        *,
        settings: Mapping[str, object] | None = None,
        trackers: Sequence[str] = (),
        resume: bool = False,
    ) -> None:
        self._run, self._settings, self._trackers, self._resume = run, dict(settings or {}), list(trackers), resume
        self._journal: RunJournal | None = None
        self._graphs = 0  # graphs per epoch
        self._loss, self._done = 0.0, 0  # summed loss and graphs of this epoch so far

    def setup(self, trainer: Any, module: Any, stage: str) -> None:
        if stage != "fit" or not trainer.is_global_zero:
            return
        settings = {"model": type(module).__name__, **dict(module.hparams), **self._settings}
        self._journal = RunJournal(self._run, settings=settings, trackers=self._trackers, resume=self._resume)

    def on_train_start(self, trainer: Any, module: Any) -> None:
        if self._journal is None:
            return
        epochs = trainer.max_epochs if trainer.max_epochs and trainer.max_epochs > 0 else 0
        self._graphs = _graphs_of(trainer)
        self._journal.start(
            total=epochs * self._graphs,
            max_epochs=epochs,
            training=self._graphs,
            epoch=trainer.current_epoch + 1,
            step=trainer.global_step,
            parameters=sum(parameter.numel() for parameter in module.parameters()),
        )

    def on_train_epoch_start(self, trainer: Any, module: Any) -> None:
        self._loss, self._done = 0.0, 0
        if self._journal is not None:
            self._journal.begin_epoch()

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, index: int) -> None:
        if self._journal is None:
            return
        graphs = _count(batch)
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        parts = trainer.accumulate_grad_batches if module.automatic_optimization else 1  # Lightning has divided the loss by this.
        self._loss += math.nan if loss is None else float(loss) * parts * graphs
        self._done += graphs
        self._journal.progress(trainer.current_epoch + 1, index + 1, trainer.current_epoch * self._graphs + self._done)

    def on_train_epoch_end(self, trainer: Any, module: Any) -> None:
        if self._journal is None or trainer.sanity_checking:
            return
        metrics = {name: float(value) for name, value in trainer.callback_metrics.items() if name not in ("epoch", "graphs")}
        for name in ("val_loss", "valid_loss"):  # The journal calls it validation_loss.
            if name in metrics:
                metrics["validation_loss"] = metrics.pop(name)
        metrics["training_loss"] = self._loss / self._done if self._done else math.nan
        if trainer.optimizers:
            metrics["learning_rate"] = float(trainer.optimizers[0].param_groups[0]["lr"])
        self._journal.epoch(trainer.current_epoch + 1, self._done, **metrics)

    def on_train_end(self, trainer: Any, module: Any) -> None:
        if self._journal is not None and not trainer.interrupted:
            self._journal.end()

    def teardown(self, trainer: Any, module: Any, stage: str) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def on_exception(self, trainer: Any, module: Any, exception: BaseException) -> None:
        self.teardown(trainer, module, "fit")


def _count(batch: Any) -> int:
    graphs = getattr(batch, "num_graphs", None)
    if graphs is not None:
        return int(graphs)
    first = batch[0] if isinstance(batch, (list, tuple)) and batch else batch
    return len(first) if hasattr(first, "__len__") else 1


def _graphs_of(trainer: Any) -> int:
    """Returns the number of graphs in an epoch, or of batches if the data set has no length; 0 if neither is known."""
    dataset = getattr(trainer.train_dataloader, "dataset", None)
    if dataset is not None and hasattr(dataset, "__len__"):
        return len(dataset)
    batches = trainer.num_training_batches
    return int(batches) if math.isfinite(batches) else 0
