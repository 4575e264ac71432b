"""Two models on the same images: their difference, the tests of it, and a summary sentence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from regrade.core import Estimate
from regrade.core.amounts import amount


@dataclass(frozen=True)
class McNemarTests:
    """Two-sided p-values of every variant of McNemar's test for one pair."""

    exact: float
    mid_p: float
    chi_square: float
    chi_square_corrected: float


class PairResult(StrEnum):
    """The conclusion of the tests of one pair; "no difference detected" does not mean that the models are equal."""

    DIFFERENT = "different"
    NOT_DETECTED = "no difference detected"
    EQUIVALENT = "equivalent within the margin"
    SLIGHTLY_DIFFERENT = "different, but within the margin"

    @classmethod
    def of(cls, difference: float, equivalence: float | None, level: float) -> PairResult:
        """The conclusion from the corrected p-values of the tests of difference and, if done, of equivalence."""
        within = equivalence is not None and equivalence <= level
        if difference <= level:
            return cls.SLIGHTLY_DIFFERENT if within else cls.DIFFERENT
        return cls.EQUIVALENT if within else cls.NOT_DETECTED


@dataclass(frozen=True)
class Pair:
    """Two models on the same images; ``difference`` is the first's accuracy minus the second's.

    ``holm`` and ``benjamini_hochberg`` correct the exact p-value for all pairs that were compared.
    ``images_needed`` is the number of images with which the exact test, corrected by Holm, has 80% power if the
    measured difference is the true one; None if it is 0. ``smallest_difference`` is the smallest true difference that
    the available images detect with the same power; None if they are too few. ``equivalence`` is the p-value of
    equivalence within a margin, corrected by Holm for all pairs, and ``result`` the conclusion of both tests.
    ``lowest`` and ``highest`` bound the difference over all possible judgments of novel predictions, which count as
    wrong here; without novel predictions they equal the difference. ``anytime`` is the difference on these images that
    a complete review would give, with an interval that is valid at any stopping point.
    """

    first: str
    second: str
    first_accuracy: Estimate
    second_accuracy: Estimate
    difference: Estimate
    only_first: int
    only_second: int
    p_values: McNemarTests
    holm: float
    benjamini_hochberg: float
    images_needed: int | None
    smallest_difference: float | None
    equivalence: float | None
    result: PairResult
    lowest: float
    highest: float
    anytime: Estimate | None = None

    def in_words(self, level: float, *, margin: float | None = None) -> str:
        """The conclusion at a significance level, with the interval of the difference, in one sentence."""
        ahead, behind, sign = (
            (self.first, self.second, 1) if self.difference.value >= 0 else (self.second, self.first, -1)
        )
        low, high = sorted(100 * sign * bound for bound in (self.difference.low, self.difference.high))
        if low > 0 and self.holm <= level:
            within = f", within ±{100 * margin:g} points" if margin and self._within(level) else ""
            return f"{ahead} is ahead of {behind} by {low:.2f} to {high:.2f} points{within}{self._if_novel(sign)}"
        between = f"({ahead} is between {_points(-low, 'behind')} and {high:.2f} ahead)"
        images = amount(self.difference.n, "image")
        if margin and self._within(level):
            return (
                f"{self.first} and {self.second} are equivalent within ±{100 * margin:g} points on {images} {between}"
            )
        needed = f"; about {amount(self.images_needed, 'image')} for 80% power" if self.images_needed else ""
        return f"no difference detected between {self.first} and {self.second} on {images} {between}{needed}"

    def _within(self, level: float) -> bool:
        return self.equivalence is not None and self.equivalence <= level

    def _if_novel(self, sign: int) -> str:
        """Whether judgments of novel predictions could reverse the conclusion."""
        if self.lowest == self.highest:
            return ""
        worst = min(sign * self.lowest, sign * self.highest)
        if worst > 0:
            return ", however the novel predictions are judged"
        return ", but judging the novel predictions could reverse it"


def _points(value: float, direction: str) -> str:
    """A number of points with a direction; a negative number of points behind is ahead."""
    return f"{value:.2f} points {direction}" if value >= 0 else f"{-value:.2f} points ahead"
