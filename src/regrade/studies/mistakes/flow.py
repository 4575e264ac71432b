"""The review flow: how many mistakes there were, what people made of them, and how many remain."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from regrade.core import Estimate, LabelState, Predictions
from regrade.metrics import MultilabelRule
from regrade.studies.mistakes.ground import Ground
from regrade.studies.multilabel_grade import ReviewedLabels, grade_multilabel


@dataclass(frozen=True)
class MultilabelAccuracies:
    """Multi-label accuracy by both rules: over images, and over classes (none where an image has no label of its own).

    What no one has judged counts as wrong.
    """

    over_images: Estimate
    over_classes: Estimate | None


@dataclass(frozen=True)
class Flow:
    """One model's mistakes before and after people judged them.

    Of the ``mistakes``, ``novel`` were in none of the lists, and of these ``judged`` by now. Of all mistakes
    ``to_correct`` and ``to_unclear`` are no longer any, and the images of ``to_problematic`` no longer count;
    ``added`` are mistakes only since then. So many remain, ``open`` of them still novel.
    """

    model: str
    images: int
    mistakes: int
    novel: int
    judged: int
    to_correct: int
    to_unclear: int
    to_problematic: int
    added: int
    remaining: int
    open: int
    before: MultilabelAccuracies
    after: MultilabelAccuracies

    @property
    def overturned(self) -> int:
        """How many mistakes turned out to be none."""
        return self.to_correct + self.to_unclear + self.to_problematic


def flow_of(predictions: Predictions, ground: Ground, *, confidence: float) -> Flow:
    """Follow one model's mistakes through the review."""
    first, now = ground.judged_before(predictions), ground.judged_after(predictions)
    mistakes = first.scored & ~first.right
    remaining = now.scored & ~now.right
    states = ground.states_after(predictions.top1)
    turned = mistakes & now.right
    unclear = turned & (states == LabelState.UNCLEAR)
    before = _accuracies(predictions, ground, replace(ground.before, review=None), confidence)
    same = ground.after.review is None and ground.after.scoring.labels is ground.before.scoring.labels
    after = before if same else _accuracies(predictions, ground, ground.after, confidence)
    return Flow(
        model=predictions.model,
        images=int(first.scored.sum()),
        mistakes=int(mistakes.sum()),
        novel=int(first.novel.sum()),
        judged=int((first.novel & ~now.novel).sum()),
        to_correct=int((turned & ~unclear).sum()),
        to_unclear=int(unclear.sum()),
        to_problematic=int((mistakes & ~now.scored).sum()),
        added=int((remaining & ~mistakes).sum()),
        remaining=int(remaining.sum()),
        open=int(now.novel.sum()),
        before=before,
        after=after,
    )


def _accuracies(
    predictions: Predictions, ground: Ground, labels: ReviewedLabels, confidence: float
) -> MultilabelAccuracies:
    scored = labels.scoring.labels.scored
    images = _accuracy(predictions, ground, labels, MultilabelRule.IMAGES, confidence)
    if not ground.test_set.labeled[scored].all():
        return MultilabelAccuracies(images, None)
    return MultilabelAccuracies(images, _accuracy(predictions, ground, labels, MultilabelRule.CLASSES, confidence))


def _accuracy(
    predictions: Predictions, ground: Ground, labels: ReviewedLabels, rule: MultilabelRule, confidence: float
) -> Estimate:
    by_rule = replace(labels, scoring=replace(labels.scoring, rule=rule), half_width=None)
    everything = {"all": np.ones(len(ground.test_set), dtype=bool)}
    found = grade_multilabel(predictions, ground.test_set, by_rule, everything, confidence=confidence)["all"].lower
    assert found is not None
    return found
