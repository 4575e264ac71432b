"""Strata of a partial review: totals and variances estimated from a random sample of judgments in each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray


@dataclass(frozen=True)
class Stratum:
    """Images of one stratum with their weights, a guess at each judgment, and the judgments on some.

    ``judgments`` are 1 for right and 0 for wrong or problematic, ``problems`` 1 for problematic, both NaN where nobody
    has judged yet. ``slope`` is the weight of the guesses. If the outcomes are ``settled`` and only problems are
    reviewed, the guesses are the known outcomes and ``problem_share`` is the expected share of problems.
    """

    weights: FloatArray
    guesses: FloatArray
    judgments: FloatArray
    problems: FloatArray
    slope: float
    settled: bool = False
    problem_share: float = 0.0

    @property
    def size(self) -> int:
        """Number of images."""
        return len(self.weights)

    @cached_property
    def judged(self) -> int:
        """Number of judged images."""
        return int(np.count_nonzero(self._chosen))

    @property
    def unknown(self) -> float:
        """Half the weight of a stratum without judgments; 0 otherwise."""
        return 0.0 if self.judged or self.settled else float(self.weights.sum()) / 2

    @property
    def total(self) -> float:
        """The weight of right predictions: the guesses, corrected by the judgments."""
        if not self.judged and not self.settled:
            return self.unknown
        guessed = self.slope * float((self.weights * self.guesses).sum())
        beyond = float(self.residuals(0.0).sum())
        return guessed + beyond * (_ratio(self.weights, self._chosen) if self.settled else self.size / self.judged)

    @property
    def lost(self) -> float:
        """Estimated weight of problematic images, scaled up from the judged ones."""
        return _lost(self.weights, self.problems)

    @property
    def lost_squares(self) -> float:
        """Estimated sum of squared weights of problematic images."""
        return _lost(self.weights**2, self.problems)

    def residuals(self, accuracy: float) -> FloatArray:
        """Residuals of the judgments from their guesses, for (weight of right ones) - accuracy * (all weight)."""
        chosen = self._chosen
        differences = self.judgments[chosen] - self.slope * self.guesses[chosen] + accuracy * self.problems[chosen]
        return self.weights[chosen] * differences

    def spread(self, accuracy: float) -> float:
        """The variance of one residual.

        One right and one wrong judgment are added, so that it is never 0. If only problems are reviewed, which are
        rare, it is at least the variance at the share of problems over all strata.
        """
        residuals = self.residuals(accuracy)
        squares = float(((residuals - residuals.mean()) ** 2).sum()) if residuals.size else 0.0
        if self.settled:
            expected = self.problem_share * float(((self.weights * (accuracy - self.guesses)) ** 2).mean())
            return max(squares / max(self.judged - 1, 1), expected)
        typical = float((self.weights**2).mean())
        return (squares + typical / 2) / (self.judged + 1) if self.judged else typical / 4

    @cached_property
    def _chosen(self) -> BoolArray:
        return ~np.isnan(self.judgments)


def _lost(weights: FloatArray, problems: FloatArray) -> float:
    if not np.count_nonzero(problems == 1):
        return 0.0
    chosen = ~np.isnan(problems)
    return float((weights * problems)[chosen].sum()) * _ratio(weights, chosen)


def _ratio(weights: FloatArray, chosen: BoolArray) -> float:
    """Total weight divided by the weight of the chosen images; 0 if that is 0."""
    chosen_weight = float(weights[chosen].sum())
    return float(weights.sum()) / chosen_weight if chosen_weight else 0.0
