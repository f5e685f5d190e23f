"""What a model says of unlabelled data (docs/formats/predictions.md)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll.data.data_set import DataSet


class Predictions(DataSet):
    """A `predictions` data set: R rows, one for each graph, window or node of the data, in its order.

    Columns that it does not have are None.
    """

    _kind = "predictions"

    @property
    def classes(self) -> NDArray[np.int64] | None:
        """i64 [R]: the most likely class of each row."""
        return self._optional("class")

    @property
    def probability(self) -> NDArray[np.float32] | None:
        """f32 [R, C]: of each class; they add up to 1."""
        return self._optional("probability")

    @property
    def value(self) -> NDArray[np.float32] | None:
        """f32 [R, T]: of what is no class."""
        return self._optional("value")

    @property
    def embedding(self) -> NDArray[np.float32] | None:
        """f32 [R, W]: what the last layer reads."""
        return self._optional("embedding")

    @property
    def items(self) -> str:
        """What rows are: graphs, windows or nodes."""
        return str(self.manifest["items"])

    def __len__(self) -> int:
        return int(self.manifest["rows"])

    def _optional(self, name: str) -> NDArray[Any] | None:
        return self._column(name) if self._mapping.has_column(name) else None

    def _text(self) -> str:
        return f"rows={len(self)}, items={self.items}, columns={', '.join(self.manifest['columns'])}"
