"""The loss of a batch that training minimizes: the mean over images, or the worst group's (GroupDRO)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regrade.core import InputError


class MeanLoss:
    """The mean over the images of a batch: empirical risk minimization."""

    def __call__(self, losses: Any, _positions: Any) -> Any:
        """The loss to minimize, from the losses (n,) of images at these positions (n,) of the training set."""
        return losses.mean()

    def to(self, _device: Any) -> None:
        """Move to the device of the losses."""

    def group_weights(self) -> tuple[float, ...]:
        """The present weight of each group; none without groups."""
        return ()

    def state(self) -> dict[str, Any]:
        """What has to be stored to resume a training: nothing."""
        return {}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""


class GroupDRO(MeanLoss):
    """Group distributionally robust optimization (Sagawa et al. 2020, Algorithm 1).

    For each batch, q_g is multiplied by exp(eta * (mean loss of group g + C / sqrt(n_g))) and normalized, where n_g is
    the number of training images of the group; then the loss is the sum over groups of q_g times the mean loss. A group
    without images in the batch has loss 0 and is normalized only. C changes q, and not the loss itself.
    """

    def __init__(self, groups: Any, *, step_size: float = 0.01, adjustment: float = 0.0) -> None:
        import torch

        self.groups = torch.as_tensor(groups)
        if len(self.groups) == 0 or int(self.groups.min()) < 0:
            raise InputError("GroupDRO needs a group number from 0 on for every training image")
        sizes = torch.bincount(self.groups)
        if int(sizes.min()) == 0:
            raise InputError(f"group {int(sizes.argmin())} has no training images")
        if not step_size > 0 or adjustment < 0:
            raise InputError("the step size of GroupDRO must be above 0, and the adjustment not negative")
        self.step_size = step_size
        self.bonus = adjustment / sizes.to(torch.float32).sqrt()
        self.weights = torch.full_like(self.bonus, 1 / len(sizes))

    def __call__(self, losses: Any, positions: Any) -> Any:
        """The weighted sum of the groups' mean losses; changes the weights of the groups."""
        import torch

        groups = self.groups[positions]
        zeros = torch.zeros_like(self.weights)
        counts = zeros.index_add(0, groups, torch.ones_like(losses))
        means = zeros.index_add(0, groups, losses) / counts.clamp(min=1)
        raised = self.weights * torch.exp(self.step_size * (means.detach() + self.bonus * (counts > 0)))
        self.weights.copy_(raised / raised.sum())  # in place: a captured CUDA graph writes to the same memory
        return (self.weights * means).sum()

    def to(self, device: Any) -> None:
        """Move the groups and their weights to a device."""
        self.groups, self.bonus, self.weights = (
            values.to(device) for values in (self.groups, self.bonus, self.weights)
        )

    def group_weights(self) -> tuple[float, ...]:
        """The weights q_g, which sum to 1."""
        return tuple(self.weights.tolist())

    def state(self) -> dict[str, Any]:
        """The weights of the groups."""
        return {"weights": self.weights.clone()}

    def resume(self, state: Mapping[str, Any]) -> None:
        """Continue with stored weights."""
        self.weights.copy_(state["weights"])
