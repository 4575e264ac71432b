"""Fit a head: a path of penalties from strong to weak, the choice among them, and predictions out of fold."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core.arrays import FloatArray, IntArray
from regrade.train.head.lbfgs import Minimum
from regrade.train.head.problem import HeadProblem, SolverSettings
from regrade.train.head.result import PenaltyTrial
from regrade.train.head.splits import Balance, balanced_weights, cluster_parts


@dataclass(frozen=True, eq=False)
class TrainingDesign:
    """How training images are used: their ``clusters`` (n,) and ``groups`` (n,), balance, penalties and parts.

    One of ``folds`` parts is held out for the choice of the penalty.
    """

    clusters: IntArray
    groups: IntArray | None
    balance: Balance
    penalties: tuple[float, ...]
    folds: int


@dataclass(frozen=True, eq=False)
class FittedHead:
    """The solver's parameters at the chosen penalty, and the whole path."""

    parameters: Any
    chosen: PenaltyTrial
    path: tuple[PenaltyTrial, ...]


class HeadFitter:
    """Fits heads on any rows of a problem, by one design."""

    def __init__(self, problem: HeadProblem, design: TrainingDesign, settings: SolverSettings) -> None:
        self.problem, self.design, self.settings = problem, design, settings

    def fit(self, rows: IntArray, seed: int) -> FittedHead:
        """Choose the penalty on a part that is held out, then fit all rows with it; a single penalty is not chosen."""
        penalties = self.design.penalties
        if len(penalties) == 1:
            ((l2, minimum),) = self._path(rows, penalties, seed)
            trial = _trial(l2, minimum)
            return FittedHead(minimum.point, trial, (trial,))
        held_out = self._parts(rows, seed) == 0
        fits = list(self._path(rows[~held_out], penalties, seed))
        path = tuple(self._judged(l2, minimum, rows[held_out]) for l2, minimum in fits)
        best = min(range(len(path)), key=lambda place: self._rank(path[place]))
        ((l2, minimum),) = self._path(rows, (penalties[best],), seed, fits[best][1].point)
        return FittedHead(minimum.point, _trial(l2, minimum, path[best]), path)

    def out_of_fold(self, rows: IntArray, seed: int) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield the rows of each fold and their scores (m, c), by a head that was fitted and chosen without them."""
        fold_of = self._parts(rows, seed)
        for fold in range(self.design.folds):
            fitted = self.fit(rows[fold_of != fold], seed)
            inside = rows[fold_of == fold]
            yield inside, self.problem.scores(inside, fitted.parameters)

    def _parts(self, rows: IntArray, seed: int) -> IntArray:
        strata = self.problem.targets.labels if self.design.groups is None else self.design.groups
        rng = np.random.default_rng(seed)
        return cluster_parts(self.design.clusters[rows], strata[rows], self.design.folds, rng=rng)

    def _path(
        self, rows: IntArray, penalties: tuple[float, ...], seed: int, start: Any = None
    ) -> Iterator[tuple[float, Minimum]]:
        """The minimum for each penalty, each started from the one before."""
        point, weights = self.problem.start() if start is None else start, self._weights(rows)
        for l2 in penalties:
            minimum = self.problem.minimize(self.problem.objective(rows, weights, l2), point, self.settings, seed=seed)
            point = minimum.point
            yield l2, minimum

    def _weights(self, rows: IntArray) -> FloatArray:
        parts = {Balance.NONE: None, Balance.CLASS: self.problem.targets.labels, Balance.GROUP: self.design.groups}
        chosen = parts[self.design.balance]
        return balanced_weights(None if chosen is None else chosen[rows], len(rows))

    def _judged(self, l2: float, minimum: Minimum, rows: IntArray) -> PenaltyTrial:
        """A penalty with its loss and its worst group on rows that were held out."""
        loss = self.problem.objective(rows, self._weights(rows), l2).mean_loss(minimum.point)
        worst = None
        if self.design.groups is not None:
            right = self.problem.targets.right(self.problem.scores(rows, minimum.point), rows)
            _, place = np.unique(self.design.groups[rows], return_inverse=True)
            worst = float((np.bincount(place, right) / np.bincount(place)).min())
        return PenaltyTrial(
            l2, loss, worst, minimum.value, minimum.iterations, minimum.gradient_norm, minimum.converged
        )

    def _rank(self, trial: PenaltyTrial) -> tuple[float, float]:
        """Lower is better: with balanced groups the accuracy of the worst one counts, then the loss."""
        assert trial.held_out_loss is not None
        worst = trial.held_out_worst_group if self.design.balance is Balance.GROUP else None
        return -(worst or 0.0), trial.held_out_loss


def _trial(l2: float, minimum: Minimum, judged: PenaltyTrial | None = None) -> PenaltyTrial:
    return PenaltyTrial(
        l2,
        None if judged is None else judged.held_out_loss,
        None if judged is None else judged.held_out_worst_group,
        minimum.value,
        minimum.iterations,
        minimum.gradient_norm,
        minimum.converged,
    )
