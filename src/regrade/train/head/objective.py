"""The objective of a linear head: the weighted mean loss and an L2 penalty, with its gradient, in blocks of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch

_BLOCK_BYTES = {"cpu": 1 << 23, "cuda": 1 << 30}
"""The size of a block of logits: on a CPU it should stay in the cache, on a GPU a kernel should be busy."""
_CURVATURE_ROWS = 4096


class RowLoss(Protocol):
    """The loss of rows of logits."""

    def losses_and_slopes(self, logits: Any, rows: slice) -> tuple[Any, Any]:
        """The losses (m,) of the logits (m, c) of these rows, and their derivatives (m, c), which may reuse memory."""

    def at(self, rows: Any) -> RowLoss:
        """The loss of these rows only."""


@dataclass(frozen=True, eq=False)
class CrossEntropy:
    """-log p of the label, from ``labels`` (n,)."""

    labels: Any

    def losses_and_slopes(self, logits: Any, rows: slice) -> tuple[Any, Any]:
        """The losses (m,), and p minus the indicator of the label (m, c), in the memory of the logits."""
        labels = self.labels[rows, None]
        logits.sub_(logits.amax(dim=1, keepdim=True))
        picked = logits.gather(1, labels)
        total = logits.exp_().sum(dim=1, keepdim=True)
        logits.div_(total)
        logits.scatter_add_(1, labels, torch.full_like(picked, -1.0))
        return (total.log() - picked)[:, 0], logits

    def at(self, rows: Any) -> CrossEntropy:
        """The loss of these rows only."""
        return CrossEntropy(self.labels[rows])


@dataclass(frozen=True, eq=False)
class MappedLoss:
    """-log of the sum of p over the accepted classes: ``accepts`` (t, c) for each label, ``labels`` (n,) below t."""

    accepts: Any
    labels: Any

    def losses_and_slopes(self, logits: Any, rows: slice) -> tuple[Any, Any]:
        """The losses (m,), and p minus p given that the class is accepted (m, c)."""
        accepted = logits.masked_fill(~self.accepts[self.labels[rows]], float("-inf"))
        total, inside = (values.logsumexp(dim=1, keepdim=True) for values in (logits, accepted))
        slopes = logits.sub_(total).exp_().sub_(accepted.sub_(inside).exp_())
        return (total - inside)[:, 0], slopes

    def at(self, rows: Any) -> MappedLoss:
        """The loss of these rows only."""
        return MappedLoss(self.accepts, self.labels[rows])


@dataclass(frozen=True, eq=False)
class HeadObjective:
    """f(B) = sum of w_i loss(o_i + x_i B) + sum of penalty_j / 2 |B_j|^2, for parameters B (p, c).

    ``inputs`` (n, p) include the column of ones, ``weights`` (n,) sum to 1, and ``offsets`` (n, c) are the base model's
    logits, None for a head from scratch. Logits have the precision of the inputs; sums over blocks and the parameters
    are float64.
    """

    inputs: Any
    weights: Any
    loss: RowLoss
    penalty: Any
    offsets: Any = None

    def __call__(self, parameters: Any) -> tuple[float, Any]:
        """The value, and the gradient (p, c)."""
        single = parameters.to(self.inputs.dtype)
        value = torch.zeros((), dtype=torch.float64, device=parameters.device)
        gradient = self.penalty[:, None] * parameters
        for rows, logits in self._blocks(single):
            losses, slopes = self.loss.losses_and_slopes(logits, rows)
            weights = self.weights[rows]
            value += losses.double() @ weights
            slopes.mul_(weights[:, None].to(slopes.dtype))
            gradient += self.inputs[rows].T @ slopes
        value += (self.penalty @ parameters.square().sum(dim=1)) / 2
        return float(value), gradient

    def mean_loss(self, parameters: Any) -> float:
        """The weighted mean loss, without the penalty."""
        single = parameters.to(self.inputs.dtype)
        blocks = (
            self.loss.losses_and_slopes(logits, rows)[0].double() @ self.weights[rows]
            for rows, logits in self._blocks(single)
        )
        return float(sum(blocks))

    def curvatures(self, parameters: Any) -> Any:
        """Shape (c,): the mean of p (1 - p) of each class over the first rows, at least a hundredth of their mean."""
        rows, total = slice(0, _CURVATURE_ROWS), self.weights[:_CURVATURE_ROWS].sum()
        logits = self._logits(rows, parameters.to(self.inputs.dtype))
        shares = logits.softmax(dim=1).double()
        curvatures = (self.weights[rows] / total) @ (shares * (1 - shares))
        return curvatures.clamp_min(curvatures.mean() / 100)

    def _blocks(self, parameters: Any) -> Iterator[tuple[slice, Any]]:
        size = parameters.element_size() * parameters.shape[1]
        step = max(256, _BLOCK_BYTES[parameters.device.type] // size)
        for start in range(0, len(self.inputs), step):
            rows = slice(start, start + step)
            yield rows, self._logits(rows, parameters)

    def _logits(self, rows: slice, parameters: Any) -> Any:
        if self.offsets is None:
            return self.inputs[rows] @ parameters
        return torch.addmm(self.offsets[rows].to(parameters.dtype), self.inputs[rows], parameters)
