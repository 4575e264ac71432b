"""The quality of workers: their answers to planted controls, when to stop trusting one, and a model of their errors."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import scipy

from regrade.build.frequencies import TileAnswers
from regrade.build.tasks import TileRole
from regrade.core import Estimate, InputError, UndefinedError
from regrade.core.arrays import FloatArray
from regrade.stats import proportion

_MAX_ITERATIONS = 500
_CONVERGED = 1e-9
_PRIOR = 1.0  # pseudo-answers of each kind per worker, so that no error rate is 0 or 1


@dataclass(frozen=True)
class WorkerQuality:
    """One worker's answers to controls; a rate is None if the worker saw no such control.

    ``hits`` is the share of positive controls that were selected, ``rejections`` the share of negative controls that
    were not, and ``control_accuracy`` the share of right answers to both.
    """

    worker: str
    tasks_answered: int
    hits: Estimate | None
    rejections: Estimate | None
    control_accuracy: Estimate | None
    selected_share: float


def worker_qualities(answers: TileAnswers) -> tuple[WorkerQuality, ...]:
    """The quality of every worker, in alphabetical order."""
    size = len(answers.workers)
    counts = {}
    for role in (TileRole.POSITIVE, TileRole.NEGATIVE):
        chosen = answers.of_role(role)
        right = np.bincount(answers.worker[chosen], answers.correct_control[chosen], size).astype(int)
        counts[role] = right, np.bincount(answers.worker[chosen], minlength=size)
    shown = np.bincount(answers.worker, minlength=size)
    selected = np.bincount(answers.worker, answers.selected, size)
    rows = []
    for number in sorted(range(size), key=lambda i: answers.workers[i]):
        (hit, positives), (rejected, negatives) = (
            (int(right[number]), int(total[number])) for right, total in counts.values()
        )
        rows.append(
            WorkerQuality(
                answers.workers[number],
                int(answers.tasks_answered[number]),
                _share(hit, positives),
                _share(rejected, negatives),
                _share(hit + rejected, positives + negatives),
                float(selected[number] / shown[number]),
            )
        )
    return tuple(rows)


def _share(successes: int, trials: int) -> Estimate | None:
    return proportion(successes, trials) if trials else None


class Standing(StrEnum):
    """What follows from a worker's answers to controls."""

    GOOD = "good"
    WARNED = "warned"
    EXCLUDED = "excluded"


@dataclass(frozen=True)
class Gate:
    """When to warn and when to exclude a worker, by the answers to controls.

    A worker is warned if the control accuracy is below ``lowest``, and excluded once it is proven to be below: however
    often one looks, at most a share of ``false_exclusions`` of the workers at or above it is ever excluded.
    """

    lowest: float = 0.8
    false_exclusions: float = 0.01

    def __post_init__(self) -> None:
        if not (0 < self.lowest < 1 and 0 < self.false_exclusions < 1):
            raise InputError("the lowest control accuracy and the share of false exclusions must be between 0 and 1")

    def standing(self, right: int, controls: int) -> Standing:
        """The standing of a worker with so many right answers to controls.

        >>> Gate().standing(30, 30), Gate().standing(23, 30), Gate().standing(15, 30)
        (<Standing.GOOD: 'good'>, <Standing.WARNED: 'warned'>, <Standing.EXCLUDED: 'excluded'>)
        """
        if evidence_against(right, controls, self.lowest) >= 1 / self.false_exclusions:
            return Standing.EXCLUDED
        return Standing.WARNED if right < self.lowest * controls else Standing.GOOD


def evidence_against(right: int, controls: int, lowest: float) -> float:
    """How much likelier the answers are for a worker below ``lowest`` than for one just at it.

    The average over all accuracies below ``lowest`` of the likelihood ratio to ``lowest``. For a worker at or above it,
    this is a supermartingale that starts at 1, so the chance that it ever reaches 1/a is at most a (Ville 1939).

    >>> round(evidence_against(0, 1, 0.5), 3)  # the average of (1 - p) / (1 - 0.5) over p below 0.5
    1.5
    """
    wrong = controls - right
    area = scipy.special.betainc(right + 1, wrong + 1, lowest)
    log_area = np.log(max(float(area), np.finfo(float).tiny)) + scipy.special.betaln(right + 1, wrong + 1)
    log_likelihood = right * np.log(lowest) + wrong * np.log1p(-lowest)
    return float(np.exp(min(log_area - np.log(lowest) - log_likelihood, 700.0)))


@dataclass(frozen=True, eq=False)
class WorkerModel:
    """Dawid and Skene's model of the answers, with two outcomes: an image contains the class or does not.

    ``probability`` (n,) is the posterior probability for each entry of the answers; ``sensitivity`` and
    ``specificity`` (w,) are each worker's rates of right answers to images with and without the class.
    """

    probability: FloatArray
    sensitivity: FloatArray
    specificity: FloatArray
    share: float


def dawid_skene(answers: TileAnswers) -> WorkerModel:
    """Fit the model by expectation maximization; the classes of controls are known and stay fixed.

    Entries without answers get the share of all candidates. Every worker has one more right and one more wrong answer
    of each kind (a uniform prior), so that no rate is exactly 0 or 1.
    """
    if not len(answers.entry):
        raise UndefinedError("a model of workers needs answers")
    size, people = len(answers.entries), len(answers.workers)
    fixed = np.array([{TileRole.POSITIVE: 1.0, TileRole.NEGATIVE: 0.0}.get(role, np.nan) for role in answers.roles])
    free = np.isnan(fixed)
    answered = np.bincount(answers.entry, minlength=size)
    probability = np.where(free, np.bincount(answers.entry, answers.selected, size) / np.maximum(answered, 1), fixed)
    for _ in range(_MAX_ITERATIONS):
        share = float(np.clip(probability[free & (answered > 0)].mean(), 1e-6, 1 - 1e-6)) if free.any() else 0.5
        weight = probability[answers.entry]
        sensitivity = _rate(weight * answers.selected, weight, answers, people)
        specificity = _rate((1 - weight) * ~answers.selected, 1 - weight, answers, people)
        evidence = np.where(
            answers.selected,
            np.log(sensitivity / (1 - specificity))[answers.worker],
            np.log((1 - sensitivity) / specificity)[answers.worker],
        )
        log_odds = np.bincount(answers.entry, evidence, size) + scipy.special.logit(share)
        updated = np.where(free, scipy.special.expit(log_odds), fixed)
        change = float(np.abs(updated - probability).max())
        probability = updated
        if change < _CONVERGED:
            break
    return WorkerModel(probability, sensitivity, specificity, share)


def _rate(successes: FloatArray, trials: FloatArray, answers: TileAnswers, people: int) -> FloatArray:
    rate: FloatArray = (np.bincount(answers.worker, successes, people) + _PRIOR) / (
        np.bincount(answers.worker, trials, people) + 2 * _PRIOR
    )
    return rate
