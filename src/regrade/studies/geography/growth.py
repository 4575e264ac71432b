"""Growth of disparity: the best models' disparity divided by the weakest models', tested against a factor of 3."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import BoolArray, IntArray
from regrade.core.record import Record
from regrade.stats import Ratio, group_shares, range_ratio, share_range

TIMES = 3.0
"""The claim of Richards et al. 2023: the best models' disparity is at least this many times that of the weakest."""


class GrowthVerdict(Enum):
    """Whether the interval of the ratio supports the claim."""

    SUPPORTED = "supported"
    NOT_SETTLED = "not settled"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True)
class DisparityGrowth(Record):
    """The disparity of the ``best`` models, that of the ``weakest``, and their ratio.

    Several models are combined by their mean accuracy in each group. Intervals are over images, for these models.
    """

    best: tuple[str, ...]
    weakest: tuple[str, ...]
    best_disparity: Estimate
    weakest_disparity: Estimate
    ratio: Ratio
    chosen: str

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the claim and the verdict on it."""
        fields = super().json_fields()
        chosen = fields.pop("chosen")
        return {**fields, "at_least": TIMES, "verdict": self.verdict, "chosen": chosen}

    @property
    def verdict(self) -> GrowthVerdict:
        """Whether the ratio is at least 3."""
        if self.ratio.low is not None and self.ratio.low >= TIMES:
            return GrowthVerdict.SUPPORTED
        if self.ratio.high is not None and self.ratio.high < TIMES:
            return GrowthVerdict.CONTRADICTED
        return GrowthVerdict.NOT_SETTLED

    def in_words(self) -> str:
        """Describe the claim and the result."""
        return (
            f"disparity at least tripled: {self.verdict.value}; {self.chosen}: {self.best_disparity} against "
            f"{self.weakest_disparity}, ratio {self.ratio}"
        )


def disparity_growth(
    right: BoolArray,
    groups: IntArray,
    clusters: IntArray | None,
    *,
    best: dict[str, int],
    weakest: dict[str, int],
    chosen: str,
    confidence: float,
) -> DisparityGrowth:
    """Compare the disparities of two sets of models, from ``right`` (m, n) on images that count for all of them.

    ``best`` and ``weakest`` map model names to their rows.
    """
    best_shares, weakest_shares = (
        group_shares(np.mean(right[list(rows.values())], axis=0), groups, clusters) for rows in (best, weakest)
    )
    return DisparityGrowth(
        tuple(best),
        tuple(weakest),
        share_range(best_shares, confidence=confidence),
        share_range(weakest_shares, confidence=confidence),
        range_ratio(best_shares, weakest_shares, confidence=confidence),
        chosen,
    )
