"""Adam on batches of rows: the solver of Richards et al. 2023 for last layers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch

from regrade.train.head.lbfgs import Minimum
from regrade.train.head.objective import HeadObjective


@dataclass(frozen=True)
class AdamSettings:
    """Passes over the rows, rows per batch, and the learning rate."""

    epochs: int = 100
    batch: int = 256
    learning_rate: float = 1e-4


def minimize_by_adam(
    objective: HeadObjective, start: Any, settings: AdamSettings, *, seed: int, tolerance: float
) -> Minimum:
    """Minimize the objective by Adam from ``start``; the seed decides the order of the rows.

    The gradient of a batch is that of the objective in expectation: rows keep their weights, which are scaled by the
    number of rows over the size of the batch.
    """
    generator = torch.Generator().manual_seed(seed)
    point = start.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([point], lr=settings.learning_rate)
    count, steps = len(objective.inputs), 0
    for _ in range(settings.epochs):
        for rows in torch.randperm(count, generator=generator).split(settings.batch):
            batch = batch_of(objective, rows.to(start.device))
            point.grad = batch(point.detach())[1]
            optimizer.step()
            steps += 1
    reached = point.detach()
    value, gradient = objective(reached)
    norm = float(gradient.norm())
    return Minimum(reached, value, norm, steps, steps + 1, norm <= tolerance)


def batch_of(objective: HeadObjective, rows: Any) -> HeadObjective:
    """The objective on some rows, with weights whose expectation is that of all rows."""
    scale = len(objective.inputs) / len(rows)
    return replace(
        objective,
        inputs=objective.inputs[rows],
        weights=objective.weights[rows] * scale,
        loss=objective.loss.at(rows),
        offsets=None if objective.offsets is None else objective.offsets[rows],
    )
