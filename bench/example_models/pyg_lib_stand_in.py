"""The operators of pyg-lib that search neighbours, by SciPy, where pyg-lib is missing. PyTorch Geometric calls them as its own.

Sources: `knn`, `radius` and `fps` of torch_geometric/nn/pool/__init__.py, which say what each gives.
"""

from __future__ import annotations

import numpy as np
import torch
import torch_geometric.typing
from scipy.spatial import cKDTree
from torch import Tensor

_SCHEMAS = (
    "knn(Tensor x, Tensor y, Tensor? ptr_x, Tensor? ptr_y, int k, bool cosine, int num_workers) -> Tensor",
    "radius(Tensor x, Tensor y, Tensor? ptr_x, Tensor? ptr_y, float r, int max_num_neighbors, int num_workers, bool ignore_same_index) -> Tensor",
    "fps(Tensor src, Tensor ptr, float ratio, bool random_start) -> Tensor",
)
_libraries: list[torch.library.Library] = []


def register() -> bool:
    """Registers them unless pyg-lib is there; gives whether they are stand-ins."""
    if torch_geometric.typing.WITH_PYG_LIB or _libraries:
        return bool(_libraries)
    library = torch.library.Library("pyg", "FRAGMENT")
    for schema, function in zip(_SCHEMAS, (_knn, _radius, _fps)):
        library.define(schema)
        library.impl(schema.partition("(")[0], function, "CompositeImplicitAutograd")
    _libraries.append(library)
    for name in ("WITH_KNN", "WITH_RADIUS", "WITH_FPS"):
        setattr(torch_geometric.typing, name, True)
    return True


def _parts(x: Tensor, ptr: Tensor | None) -> list[tuple[int, np.ndarray]]:
    """The rows of each graph, with the number of the first."""
    rows = x.detach().double().numpy()
    cuts = [0, len(rows)] if ptr is None else ptr.tolist()
    return [(first, rows[first:last]) for first, last in zip(cuts, cuts[1:])]


def _pairs(found: list[np.ndarray]) -> Tensor:
    return torch.from_numpy(np.concatenate([np.empty((2, 0), np.int64), *found], axis=1)).clone()


def _knn(x: Tensor, y: Tensor, ptr_x: Tensor | None, ptr_y: Tensor | None, k: int, cosine: bool, num_workers: int) -> Tensor:
    assert not cosine
    found = []
    for (first_x, rows_x), (first_y, rows_y) in zip(_parts(x, ptr_x), _parts(y, ptr_y)):
        count = min(k, len(rows_x))
        near = cKDTree(rows_x).query(rows_y, k=range(1, count + 1))[1]
        found.append(np.stack([np.repeat(np.arange(len(rows_y)), count) + first_y, near.ravel() + first_x]))
    return _pairs(found)


def _radius(
    x: Tensor, y: Tensor, ptr_x: Tensor | None, ptr_y: Tensor | None, r: float, max_num_neighbors: int, num_workers: int,
    ignore_same_index: bool,
) -> Tensor:  # fmt: skip
    found = []
    for (first_x, rows_x), (first_y, rows_y) in zip(_parts(x, ptr_x), _parts(y, ptr_y)):
        for i, near in enumerate(cKDTree(rows_x).query_ball_point(rows_y, r, return_sorted=True)):
            kept = [j for j in near if not (ignore_same_index and j == i)][:max_num_neighbors]
            found.append(np.stack([np.full(len(kept), i + first_y), np.array(kept, np.int64) + first_x]))
    return _pairs(found)


def _fps(src: Tensor, ptr: Tensor, ratio: float, random_start: bool) -> Tensor:
    found = []
    for first, rows in _parts(src, ptr):
        chosen = [int(torch.randint(len(rows), ())) if random_start else 0]
        distance = np.full(len(rows), np.inf)
        while len(chosen) < int(np.ceil(ratio * len(rows))):
            distance = np.minimum(distance, np.square(rows - rows[chosen[-1]]).sum(1))
            chosen.append(int(distance.argmax()))
        found.append(np.array(chosen) + first)
    return torch.from_numpy(np.concatenate(found)).clone()
