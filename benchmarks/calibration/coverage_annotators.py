"""Coverage of the accuracies of reviewers, from votes without known answers."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import coverage_check, repeated
from regrade.core import Estimate
from regrade.stats import VoteArrays, reviewer_accuracies

_ACCURACIES = np.array([0.9, 0.8, 0.7, 0.85])


def votes_on(rng: np.random.Generator, items: int, shares: tuple[float, ...]) -> VoteArrays:
    """Four reviewers vote on all items, whose right answers have these shares; errors are equally frequent."""
    truth = rng.choice(len(shares), items, p=shares)
    wrong = rng.random((4, items)) > _ACCURACIES[:, None]
    answers = (truth + wrong * rng.integers(1, len(shares), (4, items))) % len(shares)
    reviewers, numbers = np.indices(answers.shape)
    return VoteArrays(numbers.ravel(), reviewers.ravel(), answers.ravel())


def third_reviewer(rng: np.random.Generator) -> Estimate:
    return reviewer_accuracies(votes_on(rng, 60, (0.6, 0.3, 0.1)), rng=rng)[2]


coverage_check(
    "accuracy of a reviewer",
    maker="stats.annotators.reviewer_accuracies",
    case="4 reviewers, 3 answers, an accuracy of 0.7",
    n=60,
    draw=repeated(third_reviewer, float(_ACCURACIES[2])),
    least=0.92,
)
