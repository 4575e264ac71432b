"""Tests on a test set that is asked again and again, by people who learn from its verdicts."""

from __future__ import annotations

import numpy as np
import scipy

from regrade.core.errors import InputError
from regrade.stats.paired import half_binomial_cdf


def adaptive_level(submission: int, passes: int, *, confidence: float = 0.95) -> float:
    """Return the level of a one-sided test after ``submission`` - 1 earlier verdicts, of which ``passes`` were PASS.

    If nothing but these verdicts is told, whoever prepares a submission has seen one of at most C(submission - 1,
    passes) sequences of verdicts, and each of them leads to one model that does not depend on the test set otherwise.
    The level is divided by their number, and 1 - confidence is spent on all submissions and all numbers of passes: over
    any number of submissions, chosen in any way, the probability of a wrong PASS is at most 1 - confidence. The idea is
    that of the ladder of Blum & Hardt (2015), with one bit per submission and exact tests.

    >>> [round(adaptive_level(number, 0), 5) for number in (1, 2, 10)]
    [0.025, 0.00625, 0.00025]
    >>> round(adaptive_level(10, 2), 8)  # 36 orders of two passes among nine verdicts
    1.16e-06
    """
    if submission < 1 or not 0 <= passes < submission:
        raise InputError(f"submission {submission} cannot follow {passes} passes")
    if not 0 < confidence < 1:
        raise InputError(f"the confidence must lie between 0 and 1, got {confidence:g}")
    spent = submission**2 * (passes + 1) * (passes + 2)
    orders = scipy.special.binom(submission - 1, passes)
    return float((1 - confidence) / spent / orders)


def better_p_value(only_first: float, only_second: float) -> float:
    """Return the one-sided p-value of McNemar's exact test that the first model is better than the second.

    ``only_first`` images are right for the first model only; effective counts of clustered images need not be integers.
    Without discordant images it is 1.

    >>> better_p_value(3, 0)
    0.125
    """
    if only_first < 0 or only_second < 0:
        raise InputError("counts of discordant images cannot be negative")
    return float(half_binomial_cdf(np.array(only_second), np.array(only_first + only_second)))


def smallest_passing_gain(images: int, disagreement: float, level: float) -> float | None:
    """Return the smallest difference that `better_p_value` finds at a level; None if even the largest is not enough.

    The two models disagree on the share ``disagreement`` of the images.

    >>> smallest_passing_gain(10_000, 0.05, 0.025)
    0.0046
    """
    discordant = round(disagreement * images)
    worse = np.arange(discordant // 2 + 1)
    passing = np.flatnonzero(half_binomial_cdf(worse, np.full(len(worse), discordant)) <= level)
    return float((discordant - 2 * worse[passing[-1]]) / images) if passing.size and discordant else None
