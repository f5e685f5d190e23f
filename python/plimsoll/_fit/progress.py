"""Shows the progress of `plimsoll.fit`."""

from __future__ import annotations

import sys
from types import TracebackType

from tqdm import tqdm

from plimsoll._fit.result import Fit
from plimsoll.arguments import Progress


class FitProgress:
    """Calls the caller's function, or shows a bar on a terminal and a table at the end."""

    def __init__(self, progress: Progress, graphs: int, epochs: range) -> None:
        self._progress, self._graphs, self._epochs = progress, graphs, epochs
        self._done, self._bar = 0, None
        if progress is None and sys.stderr.isatty():
            self._bar = tqdm(total=graphs * len(epochs), unit=" graphs", unit_scale=True, leave=False)

    def __enter__(self) -> FitProgress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.close()

    def add(self, graphs: int) -> None:
        """Counts graphs that have been trained on."""
        self._done += graphs
        if self._progress is not None:
            self._progress(self._done, self._graphs * len(self._epochs))
        elif self._bar is not None:
            self._bar.update(graphs)

    def epoch(self, epoch: int, loss: float, seconds: float) -> None:
        """Shows the loss of an epoch."""
        if self._bar is not None:
            self._bar.set_description(f"epoch {epoch + 1} of {self._epochs.stop}, loss {loss:.4g}, {seconds:.1f} s")

    def table(self, found: Fit) -> None:
        """Prints the report on a terminal, as `print(run)` does."""
        if self._bar is not None:
            print(found, file=sys.stderr)

