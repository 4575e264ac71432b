"""The strata of a partial review: what judging a random part of each says of all of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from regrade.core.arrays import BoolArray, FloatArray


@dataclass(frozen=True)
class Stratum:
    """Images of one stratum with their weights, a guess at the verdict on each, and the verdicts on some.

    ``verdicts`` are 1 for right and 0 for wrong or problematic, ``problems`` 1 for problematic, both not a number where
    no one has judged yet. Guesses are followed as far as ``slope`` says. Where what is right is ``settled`` and only
    problems are looked for, guesses are what is right, and ``problem_share`` is how many problems to reckon with.
    """

    weights: FloatArray
    guesses: FloatArray
    verdicts: FloatArray
    problems: FloatArray
    slope: float
    settled: bool = False
    problem_share: float = 0.0

    @property
    def size(self) -> int:
        """How many images it has."""
        return len(self.weights)

    @cached_property
    def judged(self) -> int:
        """How many of them are judged."""
        return int(np.count_nonzero(self._chosen))

    @property
    def unknown(self) -> float:
        """Half the weight of a stratum that no judgment speaks for."""
        return 0.0 if self.judged or self.settled else float(self.weights.sum()) / 2

    @property
    def total(self) -> float:
        """The weight of right predictions: guesses, corrected by what was judged."""
        if not self.judged and not self.settled:
            return self.unknown
        guessed = self.slope * float((self.weights * self.guesses).sum())
        beyond = float(self.residuals(0.0).sum())
        return guessed + beyond * (_ratio(self.weights, self._chosen) if self.settled else self.size / self.judged)

    @property
    def lost(self) -> float:
        """The weight of problematic images, as large a share of all weight as of that which was judged."""
        return _lost(self.weights, self.problems)

    @property
    def lost_squares(self) -> float:
        """The squared weights of problematic images, likewise."""
        return _lost(self.weights**2, self.problems)

    def residuals(self, accuracy: float) -> FloatArray:
        """What each judgment says beyond its guess: of the weight of right ones less the accuracy times all weight."""
        chosen = self._chosen
        found = self.verdicts[chosen] - self.slope * self.guesses[chosen] + accuracy * self.problems[chosen]
        return self.weights[chosen] * found

    def spread(self, accuracy: float) -> float:
        """The variance of one residual.

        One right and one wrong are added, so that it is never 0; where only problems are looked for, which are rare,
        it is at least that of as many as all strata together lead to reckon with.
        """
        residuals = self.residuals(accuracy)
        squares = float(((residuals - residuals.mean()) ** 2).sum()) if residuals.size else 0.0
        if self.settled:
            reckoned = self.problem_share * float(((self.weights * (accuracy - self.guesses)) ** 2).mean())
            return max(squares / max(self.judged - 1, 1), reckoned)
        typical = float((self.weights**2).mean())
        return (squares + typical / 2) / (self.judged + 1) if self.judged else typical / 4

    @cached_property
    def _chosen(self) -> BoolArray:
        return ~np.isnan(self.verdicts)


def _lost(weights: FloatArray, problems: FloatArray) -> float:
    if not np.count_nonzero(problems == 1):
        return 0.0
    chosen = ~np.isnan(problems)
    return float((weights * problems)[chosen].sum()) * _ratio(weights, chosen)


def _ratio(weights: FloatArray, chosen: BoolArray) -> float:
    """All weight over that of what was chosen; 0 where that weighs nothing."""
    known = float(weights[chosen].sum())
    return float(weights.sum()) / known if known else 0.0
