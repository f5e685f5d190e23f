"""The predictions of a model for unlabelled data (docs/formats/predictions.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll.data.data_set import DataSet


class Predictions(DataSet):
    """A `predictions` data set: R rows, one for each graph, window, node or seed, in the order of the data or of `nodes`.

    Missing columns are None.
    """

    _kind = "predictions"

    @property
    def classes(self) -> NDArray[np.int64] | None:
        """i64 [R]: the most likely class of each row."""
        return self._optional("class")

    @property
    def probability(self) -> NDArray[np.float32] | None:
        """f32 [R, C]: probability of each class, whose rows sum to 1; or of each of several labels."""
        return self._optional("probability")

    @property
    def value(self) -> NDArray[np.float32] | None:
        """f32 [R, T]: predicted numbers of a model without classes."""
        return self._optional("value")

    @property
    def destination(self) -> NDArray[np.int64] | None:
        """i64 [R, K]: the recommended nodes of each row, the best first."""
        return self._optional("destination")

    @property
    def score(self) -> NDArray[np.float32] | None:
        """f32 [R, K]: the scores of the recommended nodes."""
        return self._optional("score")

    @property
    def embedding(self) -> NDArray[np.float32] | None:
        """f32 [R, W]: the inputs of the model's last layer."""
        return self._optional("embedding")

    @property
    def items(self) -> str:
        """The kind of the rows: graphs, windows, nodes or seeds."""
        return str(self.manifest["items"])

    def __len__(self) -> int:
        return int(self.manifest["rows"])

    def _optional(self, name: str) -> NDArray[Any] | None:
        return self._column(name) if self._mapping.has_column(name) else None

    def _text(self) -> str:
        return f"rows={len(self)}, items={self.items}, columns={', '.join(self.manifest['columns'])}"
