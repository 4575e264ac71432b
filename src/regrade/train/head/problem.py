"""The training images of a head as the solver sees them: centered, rotated embeddings, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from regrade.core import InputError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.train.head.adam import AdamSettings, minimize_by_adam
from regrade.train.head.lbfgs import Minimum, minimize
from regrade.train.head.objective import CrossEntropy, HeadObjective, MappedLoss, RowLoss

_ROWS = 1 << 14  # that are converted at a time


@dataclass(frozen=True, eq=False)
class EmbeddingBasis:
    """Coordinates in which the embeddings are uncorrelated: (x - mean) / scale, rotated.

    ``scale`` is one number, the root mean square of the centered embeddings, so that a penalty means the same for every
    model; ``spread`` (d,) are the variances of the rotated coordinates, which precondition the solver. The penalty is
    the same in all rotated coordinates.
    """

    mean: Any
    scale: float
    rotation: Any
    spread: Any

    @classmethod
    def of(cls, embeddings: FloatArray, device: str = "cpu") -> EmbeddingBasis:
        """The basis of the rows of embeddings (n, d)."""
        width, squares = embeddings.shape[1], 0.0
        products = torch.zeros((width, width), dtype=torch.float64, device=device)
        mean = torch.from_numpy(np.mean(embeddings, axis=0, dtype=np.float64)).to(device)
        for start in range(0, len(embeddings), _ROWS):
            rows = _tensor(embeddings[start : start + _ROWS], torch.float64, device) - mean
            squares += float(rows.square().sum())
            single = rows.float()
            products += single.T @ single
        products /= len(embeddings)
        scale = (squares / embeddings.size) ** 0.5
        if not scale > 0:
            raise InputError("all embeddings of the training images are equal: nothing can be learned from them")
        spread, rotation = torch.linalg.eigh(products / scale**2)
        return cls(mean, scale, rotation, spread.clamp_min(0))

    def inputs(self, embeddings: FloatArray, dtype: Any = torch.float32) -> Any:
        """Shape (n, d + 1): the coordinates of the embeddings, and a column of ones."""
        device = self.mean.device
        inputs = torch.ones((len(embeddings), embeddings.shape[1] + 1), dtype=dtype, device=device)
        shift, turned = self.mean.to(dtype), (self.rotation / self.scale).to(dtype)
        for start in range(0, len(embeddings), _ROWS):
            rows = slice(start, start + _ROWS)
            inputs[rows, :-1] = (_tensor(embeddings[rows], dtype, device) - shift) @ turned
        return inputs

    def weight_and_bias(self, parameters: Any) -> tuple[FloatArray, FloatArray]:
        """The weight (d, c) and the bias (c,) of the stored embeddings, for parameters (d + 1, c)."""
        weight = self.rotation @ parameters[:-1] / self.scale
        bias = parameters[-1] - self.mean @ weight
        return weight.float().cpu().numpy(), bias.float().cpu().numpy()


@dataclass(frozen=True, eq=False)
class HeadTargets:
    """What the head should predict: ``labels`` (n,), and for a head that keeps the base model's classes, two more.

    ``accepts`` (t, c) are the classes that are accepted for each label, and ``offsets`` (n, c) the base model's logits.
    """

    labels: IntArray
    classes: int
    accepts: BoolArray | None = None
    offsets: FloatArray | None = None

    def right(self, scores: FloatArray, rows: IntArray) -> BoolArray:
        """Whether the best class is accepted, for the scores (m, c) of these rows."""
        best, labels = scores.argmax(axis=1), self.labels[rows]
        right: BoolArray = best == labels if self.accepts is None else self.accepts[labels, best]
        return right


@dataclass(frozen=True)
class SolverSettings:
    """How the objective is minimized: L-BFGS until the gradient is small compared with that at zero, or Adam."""

    tolerance: float = 1e-5
    most_iterations: int = 1000
    adam: AdamSettings | None = None


class HeadProblem:
    """All training images of a head, on the device of the solver."""

    def __init__(
        self, embeddings: FloatArray, targets: HeadTargets, *, device: str = "cpu", dtype: Any = torch.float32
    ) -> None:
        self.targets = targets
        self.basis = EmbeddingBasis.of(embeddings, device)
        self.inputs = self.basis.inputs(embeddings, dtype)
        self._labels = torch.from_numpy(np.asarray(targets.labels, dtype=np.int64)).to(device)
        self._accepts = None if targets.accepts is None else torch.from_numpy(targets.accepts).to(device)
        self._offsets = None if targets.offsets is None else torch.from_numpy(np.asarray(targets.offsets)).to(device)

    @property
    def keeps_classes(self) -> bool:
        """Whether the head adds to the base model's logits."""
        return self._offsets is not None

    def start(self) -> Any:
        """Shape (d + 1, c): zeros, which are the base model itself or equal scores of all classes."""
        shape = self.inputs.shape[1], self.targets.classes
        return torch.zeros(shape, dtype=torch.float64, device=self.inputs.device)

    def objective(self, rows: IntArray, weights: FloatArray, l2: float) -> HeadObjective:
        """The objective on some rows with weights (m,) that sum to 1.

        The bias of a head from scratch has no penalty. That of a head that keeps the base model's classes has the same
        penalty as the weights: without it, classes that no training image has would be pushed down without limit.
        """
        chosen = torch.from_numpy(rows).to(self.inputs.device)
        penalty = torch.full((self.inputs.shape[1],), l2, dtype=torch.float64, device=self.inputs.device)
        if not self.keeps_classes:
            penalty[-1] = 0.0
        everything = len(rows) == len(self.inputs) and bool((np.diff(rows) == 1).all())
        labels = self._labels[chosen]
        loss: RowLoss = CrossEntropy(labels) if self._accepts is None else MappedLoss(self._accepts, labels)
        return HeadObjective(
            self.inputs if everything else self.inputs[chosen],
            torch.from_numpy(np.asarray(weights, dtype=np.float64)).to(self.inputs.device),
            loss,
            penalty,
            None if self._offsets is None else self._offsets if everything else self._offsets[chosen],
        )

    def minimize(self, objective: HeadObjective, start: Any, settings: SolverSettings, *, seed: int) -> Minimum:
        """Minimize an objective from ``start``, until its gradient is ``tolerance`` times that at zero."""
        tolerance = settings.tolerance * float(objective(self.start())[1].norm())
        if settings.adam is not None:
            return minimize_by_adam(objective, start, settings.adam, seed=seed, tolerance=tolerance)
        spread = torch.cat([self.basis.spread, self.basis.spread.new_ones(1)])

        def diagonal_at(point: Any) -> Any:
            return 1 / (spread[:, None] * objective.curvatures(point) + objective.penalty[:, None])

        noise = 4 * torch.finfo(self.inputs.dtype).eps
        reached = minimize(
            objective, start, diagonal_at, tolerance=tolerance, most_iterations=settings.most_iterations, noise=noise
        )
        if not self.keeps_classes:
            reached.point[-1] -= reached.point[-1].mean()  # a constant in all biases changes nothing
        return reached

    def scores(self, rows: IntArray, parameters: Any) -> FloatArray:
        """Shape (m, c): the scores of some rows."""
        chosen = torch.from_numpy(rows).to(self.inputs.device)
        scores = self.inputs[chosen] @ parameters.to(self.inputs.dtype)
        if self._offsets is not None:
            scores += self._offsets[chosen]
        array: FloatArray = scores.cpu().numpy()
        return array


def _tensor(values: FloatArray, dtype: Any, device: str | torch.device) -> Any:
    return torch.from_numpy(np.ascontiguousarray(values)).to(device).to(dtype)
