"""Sums over the blocks of a batch in an order that several processes can share, as in src/engine/blocks/lane_tree.h.

Lane l of L has the blocks l B / L .. (l + 1) B / L - 1 of B and adds them in order. Lanes are added by a binary tree,
(0 + 1) + (2 + 3). A rank has consecutive lanes and adds them up to the tree nodes inside its range. Each rank then
adds up one slice of the numbers over the nodes of all ranks, and sends it to the others.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist

from plimsoll._fit import process_group
from plimsoll._fit.blocks import BlockList
from plimsoll.arguments import whole
from plimsoll.errors import UsageError

#: Maximum number of lanes, equal to kMaxLanes of the engine.
MAX_LANES = 64

Item = TypeVar("Item")


@dataclass
class Node:
    """The sum of `lanes` lanes, starting at lane `first`."""

    first: int
    lanes: int
    sums: Sequence[torch.Tensor] = ()  #: The sums, in the parameters' shapes.
    row: torch.Tensor | None = None  #: [N], the memory of `sums`; only with several ranks.
    loss: float = 0.0

    def is_left_of(self, right: Node) -> bool:
        return self.lanes == right.lanes and self.first % (2 * self.lanes) == 0


class LaneSums:
    """The gradients of parameters and the loss, summed over a batch on all ranks.

    Errors: `UsageError` for parameters of several dtypes with several ranks.
    """

    def __init__(self, parameters: Sequence[torch.Tensor], lanes: int) -> None:
        self.lanes = lanes
        self._ranks = process_group.ranks()
        self._rank = dist.get_rank() if self._ranks > 1 else 0
        self._has = [False] * len(parameters)
        self._open: list[Node] = []
        max_open, _ = _tree(self._range(self._rank))
        if self._ranks == 1:
            self._free = [Node(0, 1, [torch.zeros_like(parameter) for parameter in parameters]) for _ in range(max_open)]
            return
        dtypes = {parameter.dtype for parameter in parameters}
        if len(dtypes) != 1:
            raise UsageError(f"parameters have the dtypes {', '.join(sorted(map(str, dtypes)))}; expected one dtype for "
                             "several ranks")
        self._slice = -(-sum(parameter.numel() for parameter in parameters) // self._ranks)
        self._free = [_in_a_row(parameters, self._slice * self._ranks) for _ in range(max_open)]
        self._nodes = [_tree(self._range(rank))[1] for rank in range(self._ranks)]
        self._received = torch.empty(sum(map(len, self._nodes)), self._slice, dtype=dtypes.pop())

    @staticmethod
    def bytes_for(parameters: Sequence[torch.Tensor], lanes: int) -> int:
        """Returns the bytes that a `LaneSums` holds: a row per open sum and, with several ranks, a slice of each node."""
        ranks = process_group.ranks()
        ranges = [_range(lanes, rank, ranks) for rank in range(ranks)]
        rows = max(_tree(lanes_of)[0] for lanes_of in ranges)
        if ranks == 1:
            return rows * int(sum(parameter.numel() * parameter.element_size() for parameter in parameters))
        nodes = sum(len(_tree(lanes_of)[1]) for lanes_of in ranges)
        count = sum(parameter.numel() for parameter in parameters)
        size = max((parameter.element_size() for parameter in parameters), default=4)
        return int(size * -(-count // ranks) * (rows * ranks + nodes))

    def shares(self, blocks: Sequence[Item]) -> Iterator[Sequence[Item]]:
        """Yields the blocks of each lane of this rank, from those of a batch."""
        count = len(blocks)
        self._has = [False] * len(self._has)
        for lane in self._range(self._rank):
            node = self._free.pop()
            node.first, node.lanes, node.loss = lane, 1, 0.0
            for total in node.sums:
                total.zero_()
            self._open.append(node)
            yield blocks[lane * count // self.lanes : (lane + 1) * count // self.lanes]
            _fold(self._open, self._free)

    def add(self, gradients: Sequence[torch.Tensor | None]) -> None:
        """Adds the gradients of a block to the open lane."""
        for i, gradient in enumerate(gradients):
            if gradient is not None:
                self._open[-1].sums[i].add_(gradient)
                self._has[i] = True

    def add_loss(self, loss: float) -> None:
        """Adds the loss of a block to the open lane."""
        self._open[-1].loss += loss

    def add_up(self) -> tuple[list[torch.Tensor | None], float]:
        """Returns the gradients of the whole batch, None for a parameter without any, and its loss, on every rank."""
        loss = self._over_ranks() if self._ranks > 1 else self._open[0].loss
        gradients = [total if has else None for total, has in zip(self._open[0].sums, self._has)]
        self._free += self._open
        self._open = []
        return gradients, loss

    def free(self) -> None:
        """Frees the sums. No batch can be added afterwards."""
        self._free, self._open = [], []
        if self._ranks > 1:
            self._received = torch.empty(0)

    def _over_ranks(self) -> float:
        """Exchanges the nodes between ranks and returns the loss. The first node's row then has the whole sum."""
        max_nodes = max(map(len, self._nodes))
        record = torch.zeros(max_nodes + len(self._has), dtype=torch.float64)
        record[: len(self._open)] = torch.tensor([node.loss for node in self._open], dtype=torch.float64)
        record[max_nodes:] = torch.tensor(self._has)
        records = [torch.empty_like(record) for _ in range(self._ranks)]
        dist.all_gather(records, record)
        self._has = (torch.stack(records)[:, max_nodes:] > 0).any(0).tolist()
        self._exchange_slices()
        nodes: list[Node] = []
        place = 0
        for of_rank, losses in zip(self._nodes, records):
            for node, loss in zip(of_rank, losses.tolist()):
                nodes.append(Node(node.first, node.lanes, [self._received[place]], None, loss))
                _fold(nodes, [])
                place += 1
        row = self._open[0].row
        assert row is not None
        dist.all_gather(list(row.view(self._ranks, self._slice).unbind()), self._received[0])
        return nodes[0].loss

    def _exchange_slices(self) -> None:
        works = []
        place = 0
        for rank, nodes in enumerate(self._nodes):
            for i in range(len(nodes)):
                if rank == self._rank:
                    row = self._open[i].row
                    assert row is not None
                    self._received[place] = row.view(self._ranks, self._slice)[rank]
                else:
                    works.append(dist.P2POp(dist.irecv, self._received[place], rank))
                place += 1
        for node in self._open:
            assert node.row is not None
            parts = node.row.view(self._ranks, self._slice)
            works += [dist.P2POp(dist.isend, parts[rank], rank) for rank in range(self._ranks) if rank != self._rank]
        for work in dist.batch_isend_irecv(works):
            work.wait()

    def _range(self, rank: int) -> range:
        return _range(self.lanes, rank, self._ranks)


def checked_lanes(lanes: int) -> int:
    """Returns `lanes` if it is valid.

    Errors: `UsageError` for a number that is not a power of two, for more ranks than lanes, and without gloo.
    """
    lanes = whole("lanes", lanes, 1, MAX_LANES)
    if lanes & (lanes - 1):
        raise UsageError(f"lanes: is {lanes}, expected a power of two up to {MAX_LANES}")
    process_group.group_name()
    if process_group.ranks() > lanes:
        raise UsageError(f"{process_group.ranks()} ranks, but lanes is {lanes}; give fit more lanes, up to {MAX_LANES}, on all ranks")
    return lanes


def require_agreement(model: torch.nn.Module, blocks: BlockList, more: dict[str, object]) -> None:
    """Checks that all ranks start with the same weights, data and options. Errors: `UsageError` naming the difference."""
    if process_group.ranks() == 1:
        return
    weights = hashlib.sha256()
    for value in model.state_dict().values():
        weights.update(value.detach().contiguous().view(-1).view(torch.uint8).numpy())
    mine = {
        "weights at the start": weights.hexdigest()[:16],
        "sizes of the graphs": hashlib.sha256(blocks.sizes.tobytes()).hexdigest()[:16],
        "batch_size": blocks.batch_size,
        "seed": blocks.seed,
        "shuffle": blocks.shuffle,
        "order of the graphs": hashlib.sha256(blocks.order.of(blocks.first_epoch).tobytes()).hexdigest()[:16],
        **more,
    }
    of_all: list[dict[str, object]] = [{}] * process_group.ranks()
    dist.all_gather_object(of_all, mine)
    for rank, other in enumerate(of_all):
        for what, value in of_all[0].items():
            if other[what] != value:
                raise UsageError(f"the ranks differ in the {what}: rank 0 has {value}, rank {rank} has {other[what]}; give all "
                                 "ranks the same")


def require_unchanged(model: torch.nn.Module, before: Sequence[torch.Tensor]) -> None:
    """Checks that a block has not changed buffers if there are several ranks, which do not share them. Errors:
    `UsageError`.
    """
    if process_group.ranks() == 1:
        return
    for (name, buffer), was in zip(model.named_buffers(), before):
        if not torch.equal(buffer, was):
            raise UsageError(f"training changes the buffer '{name}', which ranks do not share; train in one process")


def _range(lanes: int, rank: int, ranks: int) -> range:
    """Returns the lanes of a rank."""
    return range(-(-rank * lanes // ranks), -(-(rank + 1) * lanes // ranks))


def _in_a_row(parameters: Sequence[torch.Tensor], count: int) -> Node:
    row = torch.zeros(count, dtype=parameters[0].dtype)
    sums, first = [], 0
    for parameter in parameters:
        sums.append(row[first : first + parameter.numel()].view(parameter.shape))
        first += parameter.numel()
    return Node(0, 1, sums, row)


def _fold(nodes: list[Node], free: list[Node]) -> None:
    """Adds the last two nodes while they are the halves of a node of the tree."""
    while len(nodes) > 1 and nodes[-2].is_left_of(nodes[-1]):
        right = nodes.pop()
        for total, more in zip(nodes[-1].sums, right.sums):
            total += more
        nodes[-1].loss += right.loss
        nodes[-1].lanes *= 2
        free.append(right)


def _tree(lanes: range) -> tuple[int, list[Node]]:
    """Returns the maximum number of open sums for these lanes, and the remaining nodes."""
    open_nodes: list[Node] = []
    max_open = 0
    for lane in lanes:
        open_nodes.append(Node(lane, 1))
        max_open = max(max_open, len(open_nodes))
        _fold(open_nodes, [])
    return max_open, open_nodes
