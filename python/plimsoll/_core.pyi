from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from plimsoll.arguments import Progress

if TYPE_CHECKING:
    from torch import Tensor

version: str

def kind_of(folder: Path) -> str: ...
def verify(folder: Path) -> list[str]: ...
def write_model(path: Path, tensors: dict[str, NDArray[Any]], metadata: dict[str, str]) -> None: ...
def read_model(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]: ...
def shuffled(count: int, seed: int, epoch: int) -> NDArray[np.int64]: ...

class Mapping:
    def __init__(self, folder: Path, kind: str) -> None: ...
    def close(self) -> None: ...
    def closed(self) -> bool: ...
    def manifest(self) -> str: ...
    def has_column(self, name: str) -> bool: ...
    def column(self, name: str) -> NDArray[Any]: ...
    def copy_x(self, first: int, out: NDArray[np.float32]) -> None: ...
    def file(self, column: str) -> tuple[str, int, int, int]: ...

class GraphWriter:
    def __init__(
        self,
        folder: Path,
        replace: bool,
        node_features: int,
        edge_features: int,
        targets: int,
        node_targets: int,
        budget: str,
    ) -> None: ...
    def append(
        self,
        nodes: int,
        x: NDArray[np.float32],
        edges: NDArray[np.int32],
        edge_attr: NDArray[np.float32],
        y: int,
        node_y: NDArray[np.int64] | None,
        target: NDArray[np.float32],
        node_target: NDArray[np.float32],
        pos: NDArray[np.float32] | None,
    ) -> None: ...
    def publish(self, tables: str, source: str) -> None: ...
    def abandon(self) -> None: ...

class GraphArrays:
    row_ends: NDArray[np.int64]
    indices: NDArray[np.uint32]
    edge_weight: NDArray[np.float32] | None
    edge_attr: NDArray[np.float32] | None
    edge_id: NDArray[np.int64] | None
    x: NDArray[np.float32] | None
    y: NDArray[np.int64] | None
    splits: Sequence[NDArray[np.int64] | None]
    classes: int
    def set_features(self, node: list[str], edge: list[str]) -> None: ...

def write_graph(folder: Path, force: bool, arrays: GraphArrays, source: str, budget: str) -> None: ...

class Batching:
    graphs: int
    nodes: int
    edges: int
    bytes: int
    skip_too_big: bool
    min_steps: int
    drop_last: bool
    shuffle: bool
    seed: int

class BatchStream:
    size: int

class Batches:
    live_bytes: int
    def __init__(
        self, mapping: Mapping, graphs: NDArray[np.int64], left_out: Sequence[str], batching: Batching
    ) -> None: ...
    def stream(self, epoch: int, rank: int, ranks: int, first: int, ahead: int) -> BatchStream: ...
    def next(self, stream: BatchStream, numpy: bool = False) -> dict[str, Tensor]: ...
    def batch_of(self, graphs: NDArray[np.int64]) -> dict[str, Tensor]: ...
    def steps(self, epoch: int, rank: int, ranks: int) -> int: ...

class NeighbourOptions:
    fan_outs: list[int]
    replace: bool
    weighted: bool
    disjoint: bool
    def set_subgraph(self, name: str) -> None: ...

class SeedBatching:
    batch_size: int
    drop_last: bool
    shuffle: bool
    seed: int

class NeighbourLoading:
    sampling: NeighbourOptions
    batching: SeedBatching
    columns: bool
    cache_bytes: int
    horizon: int
    def set_targets(self, pairs: NDArray[np.int64]) -> None: ...

class Neighbours:
    live_bytes: int
    @overload
    def __init__(self, mapping: Mapping, seeds: NDArray[np.int64] | None, loading: NeighbourLoading) -> None: ...
    @overload
    def __init__(self, mapping: Mapping, parts: NDArray[np.int32], loading: NeighbourLoading) -> None: ...
    def stream(self, epoch: int, rank: int, ranks: int, first: int, ahead: int) -> BatchStream: ...
    def steps(self, epoch: int, rank: int, ranks: int) -> int: ...
    def next(self, stream: BatchStream, numpy: bool = False) -> dict[str, Tensor]: ...
    def row_counters(self) -> dict[str, Any]: ...

class TypedColumns:
    def __init__(self) -> None: ...
    def add_nodes(self, nodes: int, time: NDArray[np.int64] | None) -> None: ...
    def add_edges(
        self,
        source: int,
        target: int,
        indptr: NDArray[np.int64],
        indices: NDArray[np.uint32],
        weights: NDArray[np.float32] | None,
        time_of: str,
        time: NDArray[np.int64] | None,
    ) -> None: ...

class TypedOptions:
    fan_outs: list[list[int]]
    replace: bool
    weighted: bool
    disjoint: bool
    before: bool
    window: int | None
    def set_strategy(self, name: str) -> None: ...

class TypedLoading:
    sampling: TypedOptions
    batching: SeedBatching
    seed_type: int
    def set_seeds(self, nodes: NDArray[np.int64]) -> None: ...
    def set_times(self, times: NDArray[np.int64]) -> None: ...

class TypedNeighbours:
    live_bytes: int
    def __init__(self, columns: TypedColumns, loading: TypedLoading) -> None: ...
    def stream(self, epoch: int, rank: int, ranks: int, first: int, ahead: int) -> BatchStream: ...
    def steps(self, epoch: int, rank: int, ranks: int) -> int: ...
    def next(self, stream: BatchStream, numpy: bool = False) -> dict[str, Tensor]: ...
    def sample(
        self, seeds: list[tuple[int, NDArray[np.int64], NDArray[np.int64] | None]], epoch: int
    ) -> dict[str, Tensor]: ...

def hgt_sample(
    columns: TypedColumns, counts: list[list[int]], type: int, seeds: NDArray[np.int64], seed: int
) -> dict[str, Tensor]: ...

class Walker:
    def __init__(self, mapping: Mapping, length: int, walks_per_node: int, p: float, q: float, seed: int) -> None: ...
    def walk(self, starts: NDArray[np.int64], epoch: int) -> NDArray[np.int64]: ...

def partition(mapping: Mapping, parts: int, method: str, slack: float, budget: str) -> NDArray[np.int32]: ...
def cut_edges(mapping: Mapping, parts: NDArray[np.int32]) -> int: ...
def identity(mapping: Mapping, chosen: NDArray[np.int64]) -> str: ...
def parse_size(text: str) -> int: ...
def batch_buffer_bytes(asked: int) -> int: ...

class FormatOptions:
    name: str
    payload: int
    channel: str
    channel_names: dict[str, str]
    merge_channels: bool
    benign: bool
    refuse_truncated: bool
    attack_labels: list[str]
    columns: list[str]
    separator: str
    quote: str
    decimal_id: bool
    decimal_bytes: bool
    time: str
    length_in_bits: bool

class IngestOptions:
    sources: list[Path]
    out: Path
    force: bool
    split: str
    format: FormatOptions
    skip_errors: bool
    skip_limit: int
    threads: int
    def set_shard(self, text: str) -> None: ...

class PointsOptions:
    source: Path
    out: Path
    neighbours: int
    dimensions: int
    labels: Path
    targets: Path
    force: bool

class WindowsOptions:
    frames: Path
    out: Path
    force: bool
    threads: int
    features: str
    vocabulary_from: list[str]
    calibrate: int
    def set_shard(self, text: str) -> None: ...
    def set_lengths(self, window: str, stride: str) -> None: ...

class MergeOptions:
    shards: list[Path]
    out: Path
    force: bool

class SimulateOptions:
    out: Path
    frames: int
    seed: int
    vehicles: int
    force: bool
    def set_attacks(self, names: str) -> None: ...

class EdgeListOptions:
    files: list[Path]
    source: str
    target: str
    weight: str
    features: list[str]
    header: bool | None
    comments: str
    layout: str

class NodeTableOptions:
    table: str  # a path or "", like feature_array and label_array
    header: bool | None
    missing: float | None
    feature_layout: tuple[str, list[int]]
    link: bool
    id: str
    label: str
    split: str
    features: list[str]
    unlabelled: str
    feature_array: str
    label_array: str

class GraphOptions:
    edges: EdgeListOptions
    nodes: NodeTableOptions
    splits: list[str]  # paths of train, valid and test, each may be ""
    node_count: int
    ids: str
    direction: str
    undirected: bool
    dedup: bool
    self_loops: str
    order: str
    features_dtype: str
    append: str  # path, may be ""
    out: Path
    threads: int
    force: bool

class GraphSimulation:
    nodes: int
    degree: float
    features: int
    features_dtype: str
    classes: int
    seed: int
    out: Path
    threads: int
    force: bool

class EdgeSplitOptions:
    graph: Path
    out: Path
    valid: float
    test: float
    train: float
    seed: int
    force: bool

class EdgeSplitResult:
    already_there: bool
    undirected: bool
    nodes: int
    edges: int
    pairs: list[int]

def make_edge_split(options: EdgeSplitOptions, budget: str, progress: Progress) -> EdgeSplitResult: ...
class TableSpec:
    key: list[str]
    time: str
    time_unit: str
    meanings: dict[str, str]
    as_edge: bool
    edge: str
    def __init__(self, name: str) -> None: ...
    def add_foreign_key(self, columns: list[str], table: str) -> None: ...
    def set_stream(self, capsule: object) -> None: ...

def make_tables(
    tables: list[TableSpec], reverse: bool, out: Path, force: bool, budget: str, progress: Progress
) -> None: ...
def make_graph(options: GraphOptions, given: list[str], budget: str, progress: Progress) -> list[str]: ...
def make_communities(options: GraphSimulation, budget: str, progress: Progress) -> None: ...
def make_frames(options: IngestOptions, budget: str, progress: Progress) -> None: ...
def make_points(options: PointsOptions, budget: str, progress: Progress) -> None: ...
def nearest_neighbours(pos: NDArray[np.float32], k: int) -> NDArray[np.int32]: ...
def make_merged(options: MergeOptions, budget: str, progress: Progress) -> None: ...
def make_windows(options: WindowsOptions, budget: str, progress: Progress) -> None: ...
def make_traffic(options: SimulateOptions, budget: str, progress: Progress) -> None: ...

class Verdict:
    number: int
    first_frame: int
    frames: int
    time_ns: int
    score: float
    alarm: bool
    parts: dict[str, float]
    attack: bool | None

class Detector:
    threshold: float

    def __init__(
        self, model: Path, window: str, stride: str, threshold: float | None, false_alarms: float | None, adopt: list[str]
    ) -> None: ...
    def begin(self, has_time: bool, has_payload: bool, width: int, channels: list[str]) -> None: ...
    def add(
        self,
        time_ns: NDArray[np.int64],
        can_id: NDArray[np.uint32],
        length: NDArray[np.uint8],
        data: NDArray[np.uint8],
        label: NDArray[np.uint8],
        channel: NDArray[np.uint8] | None,
    ) -> list[Verdict]: ...
    def end(self) -> list[Verdict]: ...
