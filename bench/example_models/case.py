"""An example of others: its model, data of the fields of its data set, and its loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch_geometric.data import Data


@dataclass(frozen=True)
class Case:
    """`path` is the file of the example, in PyTorch Geometric's repository or after `ogb:` in OGB's."""

    name: str
    path: str
    model: Callable[[list[Data]], torch.nn.Module]
    graphs: Callable[[], list[Data]]
    loss: Callable[[Any, Any], torch.Tensor]
    options: dict[str, Any] = field(default_factory=dict)  #: for `plimsoll.fit`
