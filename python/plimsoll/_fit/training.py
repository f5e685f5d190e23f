"""Examines a model before `plimsoll.fit` trains it, and plans its steps. Plans again if parameters are frozen or
unfrozen."""

from __future__ import annotations

import warnings
from contextlib import nullcontext

import numpy as np
import torch
from numpy.typing import NDArray

from plimsoll import _torch
from plimsoll._fit.apart import Apart, drawing, runs_apart
from plimsoll._fit.batch_parts import parts_of
from plimsoll._fit.batch_statistics import with_given_statistics
from plimsoll._fit.block_plan import Room, plan_blocks, plan_on_device
from plimsoll._fit.block_steps import Steps
from plimsoll._fit.blocks import BlockList
from plimsoll._fit.budget import limit
from plimsoll._fit.coupling import Couplings, couplings
from plimsoll._fit.loss import try_split
from plimsoll._fit.loss_shares import LossShares
from plimsoll._fit.on_device import OnDevice
from plimsoll._fit.process_group import ranks
from plimsoll._fit.result import Fit
from plimsoll._fit.steps import Forward, Loss, is_compiled, loss_of
from plimsoll._fit.trial import copied
from plimsoll._fit.tries import Tries
from plimsoll.errors import BudgetExceeded, UsageError
from plimsoll.journal import RunJournal


class Training:
    """A model with its optimizer, data and loss. Call `look`, then `plan`; train with its steps until `is_outdated`."""

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        blocks: BlockList,
        forward: Forward,
        loss: Loss,
        shares: LossShares,
        lanes: int,
        found: Fit,
        gpu: _torch.Device | None,
        tries: Tries,
    ) -> None:
        self._model, self._optimizer, self._blocks = model, optimizer, blocks
        self._forward, self._loss, self._shares, self._lanes = forward, loss, shares, lanes
        self._found, self._gpu, self._tries = found, gpu, tries
        self._batch_norms = 0
        self._planned_for: list[object] = []
        self._steps: Steps | None = None

    def look(self, couples: str) -> None:
        """Tries the model and the loss on a few graphs. Errors: `UsageError` if the result of blocks would differ from
        that of the batch.
        """
        self._find_min_graphs(own_statistics=couples == "allow")
        found = self._couplings()
        if couples == "allow":
            self._allow(found)
        else:
            self._require_exact(found)
        self._shares = try_split(self._model, self._blocks, self._forward, self._loss, self._shares)
        if self._shares.known_late and ranks() > 1:
            raise UsageError("weights, and a loss that returns a sum and a count, work only with one process; expected neither "
                             "with several ranks")
        if self._shares.known_late and self._gpu is not None:
            raise UsageError('weights, and a loss that returns a sum and a count, work only on the CPU; remove device="cuda", or '
                             "give a loss that is a mean over the rows of y, or a sum")

    def plan(self, epochs: range, threads: int, journal: RunJournal | None) -> Steps:
        """Plans these epochs for the parameters that require gradients now, and returns their steps.

        Errors: `BudgetExceeded`, `UsageError`.
        """
        self.close()
        self._planned_for = self._trained()
        if not any(parameter.requires_grad for parameter in self._model.parameters()):
            raise UsageError("every parameter of the model is frozen; expected at least one with requires_grad=True")
        model, loss, found, tries = self._model, self._loss, self._found, self._tries
        forward = with_given_statistics(self._forward) if self._batch_norms else self._forward
        apart, on = Apart(), None
        arguments = (model, self._optimizer, self._blocks, epochs, forward, loss, found, limit(), self._lanes)
        if self._gpu is not None:
            room: Room = plan_on_device(*arguments, tries.peak, self._gpu)
            self._gpu.warm_up()
            on = OnDevice(model, self._gpu, loss)
        else:
            apart = tries.run(lambda: self._runs_apart(forward), apart)
            torch.set_num_threads(1 if apart.at_once else threads)
            with drawing(0) if apart.random else nullcontext():
                room = plan_blocks(*arguments, tries.peak, threads if apart.at_once else 1)
            found.workers = max(1, min(room.blocks, threads if apart.at_once else 1))
        tries.require()
        self._steps = Steps(
            model, self._optimizer, self._blocks, self._forward, loss, self._shares, found, room, apart, self._lanes, journal, on,
            self._batch_norms,
        )
        return self._steps

    def is_outdated(self) -> bool:
        """Returns whether parameters were frozen or unfrozen since the plan."""
        return self._trained() != self._planned_for

    def close(self) -> None:
        """Ends the steps, and frees what they hold."""
        if self._steps is not None:
            self._steps.close()
            self._steps = None

    def _trained(self) -> list[object]:
        groups = [id(parameter) for group in self._optimizer.param_groups for parameter in group["params"]]
        return [groups, [(id(parameter), parameter.requires_grad) for parameter in self._model.parameters()]]

    def _runs_apart(self, forward: Forward) -> Apart:
        few = self._blocks.graphs_to_try(2)[:2]
        if len(few) == 2 and (self._blocks.sizes[few, :3].sum(axis=0) > self._blocks.limits).any():
            few = few[:1]  # The two together do not fit into a block.
        if len(few) < self._blocks.min_graphs:
            return Apart()
        return runs_apart(self._model, self._blocks.load(few), forward, self._loss, bool(self._batch_norms))

    def _find_min_graphs(self, own_statistics: bool) -> None:
        """Sets the minimum graphs of a block to two if the model or its loss cannot run on one graph but can on two.

        With `own_statistics` batch norm uses the statistics of the block. Errors: `UsageError` if a batch then has
        one graph.
        """
        few = self._blocks.graphs_to_try(2)[:2]
        given = self._forward if own_statistics else with_given_statistics(self._forward)
        if len(few) < 2:
            return
        if not self._runs_on(few[:1], given) and self._runs_on(few, given):
            self._blocks.min_graphs = 2
        count, batch_size = self._blocks.order.length(self._blocks.first_epoch), self._blocks.batch_size
        if batch_size > 1 and count % batch_size != 1:
            return
        if not self._runs_on(few[:1], self._forward) and self._runs_on(few, self._forward):
            raise UsageError(
                f"batch_size={batch_size}: {count} graphs leave a batch of one graph, on which the model or its loss does not run; "
                "choose another batch_size, or leave a graph out"
            )

    def _runs_on(self, graphs: NDArray[np.int64], forward: Forward) -> bool:
        copy = copied(self._model).train()
        try:
            with torch.random.fork_rng(devices=[]), torch.no_grad():
                loss_of(copy, self._blocks.load(graphs), forward, self._loss)
        except BudgetExceeded:
            raise
        except Exception:
            return False
        return True

    def _couplings(self) -> Couplings:
        units = self._units()
        if len(units) < 2:
            return Couplings([], [])
        try:
            together = self._blocks.load(np.concatenate(units))
            return couplings(self._model, parts_of(together, map(len, units)), together, self._forward)
        except UsageError:
            raise
        except Exception as error:
            if isinstance(error, BudgetExceeded):
                raise
            warnings.warn(f"could not determine whether results of modules depend on several graphs: {error}", stacklevel=6)
            return Couplings([], [])

    def _units(self) -> list[NDArray[np.int64]]:
        """Returns two groups of the minimum number of graphs, of different sizes if possible."""
        size = self._blocks.min_graphs
        order = self._blocks.graphs_to_try(2 * size)
        if len(order) < 2 * size:
            return []
        middle = min(len(order) - size, max(size, len(order) // 2))
        return [order[:size], order[middle : middle + size]]

    def _allow(self, found: Couplings) -> None:
        self._found.couples = [*found.batch_norm, *found.others]
        if self._found.couples:
            warnings.warn(
                f"{', '.join(self._found.couples)}: results depend on all graphs that run together, which are those of a block "
                f"(at most {self._blocks.limits.graphs} graphs), not of the batch",
                stacklevel=5,
            )

    def _require_exact(self, found: Couplings) -> None:
        whole_batches = all(len(batch) == 1 for batch in self._blocks.batches(self._blocks.first_epoch))
        remedy = "give block=plimsoll.BlockLimits(...) that holds a whole batch"
        if found.others and not whole_batches:
            raise UsageError(
                f"{', '.join(found.others)}: results depend on all graphs that run together, which would be those of a block, not of the "
                f'batch; {remedy}, or couples="allow" to train anyway'
            )
        if not found.calls:
            return
        if not whole_batches:
            self._require_passes(found, remedy)
        self._found.batch_norm = found.batch_norm
        self._batch_norms = found.calls

    def _require_passes(self, found: Couplings, remedy: str) -> None:
        """Checks that batch norm can run in passes over the blocks of a batch. Errors: `UsageError`."""
        reasons = {
            'device="cuda"': self._gpu is not None,
            "several ranks": ranks() > 1,
            f"lanes={self._lanes}": self._lanes > 1,
            "a compiled model": any(map(is_compiled, self._model.modules())),
        }
        for reason, holds in reasons.items():
            if holds:
                raise UsageError(
                    f"{', '.join(found.batch_norm)}: with {reason} batch norm would have the statistics of a block, not of the batch; "
                    f'{remedy}, or couples="allow" to train anyway'
                )
