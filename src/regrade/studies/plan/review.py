"""Decisions needed to show a difference between two models in a review of images on which their predictions differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import Estimate, InputError, Predictions, TestSet
from regrade.core.arrays import IntArray
from regrade.stats import design_effect
from regrade.stats.intervals import method_name
from regrade.stats.paired import score_bounds
from regrade.studies.image_basis import judge_predictions
from regrade.studies.multilabel_grade import ReviewedLabels
from regrade.studies.plan.pairs import Contrast, contrast_row
from regrade.studies.plan.result import DEFAULTS, Plan, PlanOptions, PlanRow, Rate, percent, value_of
from regrade.studies.scoring import Scoring


@dataclass(frozen=True)
class ReviewedPair:
    """Two models whose predictions are reviewed.

    Their predictions differ on the share ``differing`` of images; on the share ``decisive`` of these exactly one is
    right. ``difference`` is the difference of their accuracies over all ``images``; ``decided`` of the images on which
    they differ already have decisions. Images in clusters have a design ``effect``.
    """

    name: str
    difference: Rate
    differing: float
    decisive: float = 1.0
    images: int | None = None
    decided: int | None = None
    effect: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.differing <= 1 or not 0 < self.decisive <= 1:
            raise InputError("differing and decisive must be above 0 and at most 100 % of images")
        if abs(value_of(self.difference)) > self.differing * self.decisive:
            raise InputError(
                f"a difference of {percent(abs(value_of(self.difference)))} is not possible: the predictions differ, "
                f"with exactly one right, on only {percent(self.differing * self.decisive)} of the images"
            )


def plan_review(pair: ReviewedPair, *, options: PlanOptions = DEFAULTS, notes: Sequence[str] = ()) -> Plan:
    """Plan the decisions to show a difference: on images where predictions differ, and on images in random order."""
    rows = (_differing_row(pair, options), _random_row(pair, options))
    every = [
        f"McNemar's exact test at the {percent(options.level)} level on the decided images, chosen at random; one "
        "decision per image covers both predictions",
        f"predictions that are the same are right or wrong together: they differ on {percent(pair.differing)} of "
        f"images, and in {percent(pair.decisive)} of these exactly one is taken to be right",
    ]
    available = rows[0].available
    if available is not None and rows[0].needed is not None and rows[0].needed > available:
        every.append(f"{available:,} images on which they differ are too few: a review of this set alone is not enough")
    if value_of(pair.difference) == 0:
        every.append("no measured difference: no number of decisions would show one")
    return Plan(f"decisions to tell apart {pair.name}", "difference", "decisions", options, rows, (*every, *notes))


def reviewed_pair(
    test_set: TestSet,
    first: tuple[Predictions, Scoring],
    second: tuple[Predictions, Scoring],
    *,
    labels: ReviewedLabels | None = None,
    difference: float | None = None,
    clusters: IntArray | None = None,
    confidence: float = 0.95,
) -> ReviewedPair:
    """Compare two models of a test set: the images on which they differ, and the decisions on these so far.

    With ``labels`` only images whose predictions are both judged count. Without labels ``difference`` is required, and
    one of two different predictions is assumed to be right. A given ``difference`` replaces the measured one. Images of
    one of the ``clusters`` (n,) are dependent.
    """
    if first[0].class_space != second[0].class_space:
        raise InputError("the two models predict different classes: their predictions cannot be compared")
    judged = [judge_predictions(*model, labels) for model in (first, second)]
    counted = judged[0].counted & judged[1].counted
    differ = counted & (judged[0].classes != judged[1].classes)
    if not differ.any():
        raise InputError(f"the models' predictions on {test_set.name} are the same: there is nothing to review")
    decided = differ & ~judged[0].novel & ~judged[1].novel
    right = [model.right & decided for model in judged]
    effect = None if clusters is None else design_effect(right[0][counted], right[1][counted], clusters[counted])
    first_only, second_only = (int((winner & ~loser).sum()) for winner, loser in (right, right[::-1]))
    counts = _Decided(first_only, second_only, int(decided.sum()), effect)
    share = float(differ.sum() / counted.sum())
    return ReviewedPair(
        " and ".join(model.model for model in judged),
        counts.difference(share, confidence) if difference is None else difference,
        share,
        max(counts.decisive, min(abs(difference or 0.0) / share, 1.0)),
        int(counted.sum()),
        counts.images if labels else None,
        effect,
    )


@dataclass(frozen=True)
class _Decided:
    """Counts of images on which predictions differ and both are judged, and on which only one is right."""

    only_first: int
    only_second: int
    images: int
    effect: float | None = None

    @property
    def decisive(self) -> float:
        """The share on which exactly one is right; 1 if nothing is known."""
        discordant = self.only_first + self.only_second
        return discordant / self.images if discordant else 1.0

    def difference(self, share: float, confidence: float) -> Estimate:
        """Estimate the difference over all images; predictions differ on the ``share`` that these are a sample of."""
        if not self.images:
            raise InputError("no image on which the predictions differ is decided yet: give the difference to plan for")
        counts = (np.array(part / (self.effect or 1.0)) for part in (self.only_first, self.only_second, self.images))
        bounds = score_bounds(*counts, confidence=confidence)
        value = (self.only_first - self.only_second) / self.images
        low, high = share * float(bounds.low), share * float(bounds.high)
        method = "paired score" if self.effect is None else "clustered paired score"
        return Estimate(share * value, low, high, self.images, method_name(method, confidence))


def _differing_row(pair: ReviewedPair, options: PlanOptions) -> PlanRow:
    """The row for images on which predictions differ; shares are scaled up by 1 / differing."""
    count = None if pair.images is None else round(pair.images * pair.differing)
    within = Contrast(
        "images where predictions differ",
        value_of(pair.difference) / pair.differing,
        pair.decisive,
        options.level,
        count,
        pair.effect,
    )
    row = contrast_row(within, options)
    return PlanRow(
        within.name,
        pair.difference,
        row.needed,
        row.power,
        disagreement=pair.decisive,
        level=options.level,
        available=count,
        decided=pair.decided,
        smallest=None if row.smallest is None else row.smallest * pair.differing,
        design_effect=pair.effect,
    )


def _random_row(pair: ReviewedPair, options: PlanOptions) -> PlanRow:
    share = pair.differing * pair.decisive
    name = "images in random order"
    return contrast_row(Contrast(name, pair.difference, share, options.level, pair.images, pair.effect), options)
