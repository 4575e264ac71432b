"""How far predictions that no one has judged could move a change of multi-label accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core.record import Record
from regrade.studies.generalization.paired_counts import PairedCounts


@dataclass(frozen=True)
class Unjudged(Record):
    """The share of predictions that no one has judged, as a mean over models, on the ``original`` and the ``new`` set.

    They count as wrong. If people called all of them correct, the accuracies would rise by these shares; the mean
    change would lie between ``lowest_change`` (all correct on the original, none on the new set) and
    ``highest_change`` (the other way round). The slope in points would change by ``lowest_slope_change`` to
    ``highest_slope_change``, to first order.
    """

    original: float
    new: float
    lowest_change: float
    highest_change: float
    lowest_slope_change: float
    highest_slope_change: float

    def json_fields(self) -> dict[str, Any]:
        """The fields, with their meaning."""
        return {**super().json_fields(), "in_words": self.in_words()}

    def in_words(self) -> str:
        """The shares and their effect in one sentence."""
        return (
            f"predictions that no one has judged count as wrong, {100 * self.original:.1f}% on the original and "
            f"{100 * self.new:.1f}% on the new set (mean over models): with people's judgments, the mean change could "
            f"lie anywhere from {100 * self.lowest_change:+.1f} to {100 * self.highest_change:+.1f}, and the slope "
            f"change by {self.lowest_slope_change:+.2f} to {self.highest_slope_change:+.2f}; list them with regrade "
            "labels novel"
        )


def unjudged_of(both: PairedCounts) -> Unjudged | None:
    """The effect of unjudged predictions of the models on their mean change and slope; None if all are judged."""
    if not (both.novel.any() or both.new_novel.any()):
        return None
    original, new = float(np.mean(both.novel / both.images)), float(np.mean(both.new_novel / both.new_images))
    change = float(np.mean(both.new_right / both.new_images - both.right / both.images))
    return Unjudged(original, new, change - original, change + new, *_slope_changes(both))


def _slope_changes(both: PairedCounts) -> tuple[float, float]:
    """The lowest and the highest change of the least-squares slope if accuracies rise by up to their unjudged shares.

    To first order: the slope's derivatives by each accuracy, times the largest rise.
    """
    x, y = (both.right / both.images)[both.standard], (both.new_right / both.new_images)[both.standard]
    spread = x - x.mean()
    if not spread.any():
        return 0.0, 0.0
    total = float(spread @ spread)
    slope = float(spread @ y) / total
    residuals = y - y.mean() - slope * spread
    rises = np.concatenate(
        [
            spread / total * (both.new_novel / both.new_images)[both.standard],
            (residuals - slope * spread) / total * (both.novel / both.images)[both.standard],
        ]
    )
    return float(np.minimum(rises, 0).sum()), float(np.maximum(rises, 0).sum())
