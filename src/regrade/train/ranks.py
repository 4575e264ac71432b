"""The processes of a distributed training: which images each one scores, and how their scores come together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core import InputError
from regrade.core.arrays import FloatArray


@dataclass(frozen=True)
class ProcessRank:
    """One of ``count`` processes; it scores the images ``number``, ``number + count``, and so on."""

    number: int = 0
    count: int = 1

    @classmethod
    def current(cls) -> ProcessRank:
        """The rank of this process; the only one if the training is not distributed."""
        import torch.distributed as processes

        if not (processes.is_available() and processes.is_initialized()):
            return cls()
        return cls(processes.get_rank(), processes.get_world_size())

    @property
    def is_first(self) -> bool:
        """Whether this process writes."""
        return self.number == 0

    def check(self) -> None:
        """Raise if the processes have changed since."""
        if ProcessRank.current() != self:
            raise InputError("call regrade.capture after torch.distributed.init_process_group, in every process")

    def has_part(self, rows: int, start: int) -> bool:
        """Whether this process has rows in a batch of so many rows that begins at image ``start``."""
        return (self.number - start) % self.count < rows

    def part(self, batch: Any, start: int) -> Any:
        """The rows of this process in a batch that begins at image ``start``: a tensor, or a mapping of them."""
        rows = slice((self.number - start) % self.count, None, self.count)
        return {key: value[rows] for key, value in batch.items()} if isinstance(batch, dict) else batch[rows]

    def agreed(self, decision: Any) -> Any:
        """The decision of the first process, in all of them."""
        if self.count == 1:
            return decision
        import torch.distributed as processes

        shared = [decision]
        processes.broadcast_object_list(shared, src=0)
        return shared[0]

    def whole(self, scores: FloatArray | None) -> FloatArray:
        """Shape (n, c): the scores of all processes in the order of the images; None is the part without images."""
        if scores is not None and self.count == 1:
            return scores
        import torch.distributed as processes

        gathered: list[Any] = [None] * self.count
        processes.all_gather_object(gathered, scores)
        parts = [part for part in gathered if part is not None]
        whole = np.empty((sum(map(len, parts)), parts[0].shape[1]), dtype=parts[0].dtype)
        for number, part in enumerate(parts):
            whole[number :: self.count] = part
        return whole
