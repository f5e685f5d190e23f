"""The attention weights of a detector, window by window (docs/formats/attention.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll.arguments import PathLike
from plimsoll.data.data_set import DataSet
from plimsoll.errors import Failure, MissingPackage
from plimsoll.replacing import new_file

_WINDOWS_AT_ONCE = 4096


class Attention(DataSet):
    """An `attention` data set: W windows with N nodes and E edges in total, from a GAT with L layers and H heads."""

    _kind = "attention"

    @property
    def window(self) -> NDArray[np.int64]:
        """i64 [W]: the number of each window in the data."""
        return self._column("window")

    @property
    def score(self) -> NDArray[np.float32]:
        """f32 [W]: log-odds of an attack."""
        return self._column("score")

    @property
    def y(self) -> NDArray[np.int64]:
        """i64 [W]: 1 if the window has a frame labelled as an attack, else 0, also without labels."""
        return self._column("y")

    @property
    def node_ptr(self) -> NDArray[np.int64]:
        """i64 [W+1]: window w has the nodes node_ptr[w] .. node_ptr[w+1]-1."""
        return self._column("node_ptr")

    @property
    def edge_ptr(self) -> NDArray[np.int64]:
        """i64 [W+1]: window w has the edges edge_ptr[w] .. edge_ptr[w+1]-1."""
        return self._column("edge_ptr")

    @property
    def can_id(self) -> NDArray[np.uint32]:
        """u32 [N]: the CAN ID of each node, SocketCAN's flags included."""
        return self._column("can_id")

    @property
    def channel(self) -> NDArray[np.uint8] | None:
        """u8 [N]: index of the node's channel in the manifest's `channels`, 64 or more for channels not listed there;
        None unless channels are merged.
        """
        return self._column("channel") if "channel" in self.manifest["columns"] else None

    @property
    def known(self) -> NDArray[np.uint8]:
        """u8 [N]: 1 if the ID is in the detector's vocabulary."""
        return self._column("known")

    @property
    def edges(self) -> NDArray[np.int32]:
        """i32 [E, 2]: source and target of each edge, numbered within the window."""
        return self._column("edges")

    @property
    def attention(self) -> NDArray[np.float32]:
        """f32 [E, L, H]: attention weight of each edge; 0 for a self-loop."""
        return self._column("attention")

    @property
    def own(self) -> NDArray[np.float32]:
        """f32 [N, L, H]: attention weight of each node for itself. It and the weights of the edges into the node sum to 1."""
        return self._column("own")

    @property
    def node_share(self) -> NDArray[np.float32]:
        """f32 [N]: share of the window's information that came from the node. The shares of a window sum to 1."""
        return self._column("node_share")

    @property
    def edge_share(self) -> NDArray[np.float32]:
        """f32 [E]: share of the window's information that passed through the edge, averaged over layers."""
        return self._column("edge_share")

    def __len__(self) -> int:
        return int(self.manifest["windows"])

    def to_parquet(self, path: PathLike, *, force: bool = False) -> None:
        """Writes a Parquet file with one row per edge.

        Columns are `window`, `score`, `y`, the CAN IDs `source` and `target`, `share`, and `attention_L_H` for each
        layer and head. 4,096 windows are in memory at a time. `force` replaces an existing file. Errors:
        `MissingPackage` without pyarrow; `Failure`.
        """
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError as error:
            raise MissingPackage(f"to_parquet: {error}; install it: pip install pyarrow") from error
        path = Path(path)
        if path.exists() and not force:
            raise Failure(f"{path} already exists; give force=True to replace it")
        writer: Any = None
        with new_file(path) as made:
            for first in range(0, max(len(self), 1), _WINDOWS_AT_ONCE):
                table = pa.table(self._rows(first, min(first + _WINDOWS_AT_ONCE, len(self))))
                writer = writer or pq.ParquetWriter(made, table.schema)
                writer.write_table(table)
            writer.close()

    def _rows(self, first: int, end: int) -> dict[str, NDArray[Any]]:
        edges = slice(self.edge_ptr[first], self.edge_ptr[end])
        counts = np.diff(self.edge_ptr[first : end + 1])
        ends = self.edges[edges] + np.repeat(self.node_ptr[first:end], counts)[:, np.newaxis]
        rows: dict[str, NDArray[Any]] = {
            name: np.repeat(self._column(name)[first:end], counts) for name in ("window", "score", "y")
        }
        rows["source"], rows["target"] = self.can_id[ends].T
        rows["share"] = np.array(self.edge_share[edges])
        for layer in range(self.manifest["layers"]):
            for head in range(self.manifest["heads"]):
                rows[f"attention_{layer}_{head}"] = np.array(self.attention[edges, layer, head])
        return rows

    def _text(self) -> str:
        return f"windows={len(self)}, layers={self.manifest['layers']}, heads={self.manifest['heads']}"
