"""Differences between two models under a partial review, with intervals that are valid at any stopping point.

On the same images the difference is a sum over novel predictions: a correct one of the first model alone adds to it, a
correct one of the second alone subtracts from it, and predictions that both models share cancel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import Estimate, LabelState, NovelSample, Predictions
from regrade.core.arrays import BoolArray, IntArray
from regrade.metrics import Judged, MultilabelRule
from regrade.stats import RandomOrder, anytime_estimate

MOST_PAIRS = 100
"""The largest number of pairs in a comparison for which these intervals are computed."""

_SETTLED, _NOT_DRAWN = -1, -2


@dataclass(frozen=True, eq=False)
class ReviewDifferences:
    """Models on the same images: ``rows`` (m, n) of their novel predictions in the review.

    A prediction that the labels judge has row -1 and is correct where ``settled_right``; a novel one that did not exist
    when the review was drawn has row -2.
    """

    frame: NovelSample
    rule: MultilabelRule
    rows: IntArray
    settled_right: BoolArray

    def difference(self, first: int, second: int, *, confidence: float) -> Estimate | None:
        """The first model's accuracy minus the second's, as a complete review would give it; None without decisions."""
        pair = self.rows[[first, second]]
        if (pair == _NOT_DRAWN).any():
            return None
        own = (pair >= 0) & (pair[0] != pair[1])
        order = self._order(pair[0][own[0]], pair[1][own[1]])
        if len(order.outcomes) and not order.judged.any():
            return None
        settled = self.settled_right[[first, second]].sum(axis=1)
        start = float(settled[0] - settled[1] - own[1].sum()) / pair.shape[1]
        return anytime_estimate(order, start=start, images=pair.shape[1], confidence=confidence)

    def _order(self, first: IntArray, second: IntArray) -> RandomOrder:
        """Rows of both models in the order of their turns; outcomes of the second model are negated."""
        rows, flipped = np.concatenate([first, second]), np.arange(len(first) + len(second)) >= len(first)
        turns = np.argsort(self.frame.turns[rows], kind="stable")
        rows, flipped = rows[turns], flipped[turns]
        states = self.frame.states[rows]
        adding = np.isin(states, self.rule.accepted) != flipped
        outcomes = np.where(states == LabelState.UNJUDGED, np.nan, adding)
        strata = 2 * self.frame.strata[rows] + flipped
        return RandomOrder(outcomes, strata, np.full(len(rows), 1 / self.rows.shape[1]))


def review_rows(predictions: Predictions, judged: Judged, frame: NovelSample) -> IntArray:
    """Shape (n,): the row of each novel prediction in a review, -1 if judged by the labels, -2 if not in the review."""
    rows = np.full(len(predictions), _SETTLED, dtype=np.int32)
    images = np.flatnonzero(judged.novel)
    places = frame.find(images, predictions.top1[images])
    rows[images] = np.where(places < 0, _NOT_DRAWN, places)
    return rows


def review_differences(
    frame: NovelSample | None, rule: MultilabelRule, rows: Sequence[IntArray], right: BoolArray
) -> ReviewDifferences | None:
    """The differences under a review; None without a review, or once it finds an image problematic.

    With problematic images the number of scored images changes, and the difference is no longer a sum over predictions.
    """
    if frame is None or frame.problematic.size:
        return None
    stacked = np.stack(rows)
    return ReviewDifferences(frame, rule, stacked, right & (stacked == _SETTLED))
