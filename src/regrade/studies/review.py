"""Novel predictions, which no one has judged yet: listing, drawing a random sample, and applying review decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core import (
    Column,
    InputError,
    LabelState,
    NovelSample,
    Predictions,
    StratifyBy,
    Table,
    Tabular,
    TestSet,
)
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import Judged, MultilabelRule
from regrade.stats.partial_reviews import PartialReview, partial_review
from regrade.studies.scoring import MultilabelScoring


@dataclass(frozen=True, eq=False, repr=False)
class Novel(Tabular):
    """Every (example, class) pair that some model predicts and no one has judged, most models first.

    ``votes`` (f,) counts the models and ``scores`` (f,) is their highest score, NaN without scores.
    """

    test_set: TestSet
    labels: str
    examples: IntArray
    classes: IntArray
    votes: IntArray
    scores: FloatArray
    models: int

    def without_judged(self, frame: NovelSample | None) -> Novel:
        """The pairs that are still unjudged after a review."""
        if frame is None:
            return self
        rows = frame.find(self.examples, self.classes)
        unjudged = ~((rows >= 0) & frame.judged[rows]) & ~np.isin(self.examples, frame.problematic)
        parts = (self.examples[unjudged], self.classes[unjudged], self.votes[unjudged], self.scores[unjudged])
        return Novel(self.test_set, self.labels, *parts, self.models)

    def json_fields(self) -> dict[str, Any]:
        """The test set, the labels, and the rows of the table."""
        return {"test_set": self.test_set.name, "labels": self.labels, "novel": self.table().records()}

    def table(self) -> Table:
        """One row per pair."""
        space = self.test_set.class_space
        rows = tuple(
            (self.test_set.ids[e], space.ids[c], space.names[c], int(v))
            for e, c, v in zip(self.examples, self.classes, self.votes, strict=True)
        )
        columns = tuple(Column(key, key) for key in ("image", "class", "name", "models"))
        return Table(f"novel predictions on {self.test_set.name} under {self.labels}", columns, rows)


def novel_predictions(test_set: TestSet, predictions: Iterable[Predictions], scoring: MultilabelScoring) -> Novel:
    """Collect the unjudged predictions of any number of models, reading one model at a time."""
    base = len(test_set.class_space)
    keys, scores = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    models = 0
    for model_predictions in predictions:
        models += 1
        images = np.flatnonzero(scoring.judge(model_predictions, test_set).novel)
        keys.append(images * base + model_predictions.top1[images])
        stored = model_predictions.scores
        scores.append(np.full(len(images), np.nan) if stored is None else stored[images, 0])
    pairs, members, votes = np.unique(np.concatenate(keys), return_inverse=True, return_counts=True)
    best = np.full(len(pairs), np.nan)
    np.fmax.at(best, members, np.concatenate(scores))
    order = np.argsort(-votes, kind="stable")
    return Novel(
        test_set, scoring.labels.full_name, pairs[order] // base, pairs[order] % base, votes[order], best[order], models
    )


def draw_review(novel: Novel, *, by: StratifyBy, rng: np.random.Generator) -> NovelSample:
    """Put all novel predictions into a random order for review; reviewers may stop anywhere.

    Two of every stratum come first, then all others in proportion, so that the judged pairs are a random sample of each
    stratum wherever the review stops.
    """
    if not len(novel.examples):
        raise InputError("there is no novel prediction to review")
    strata = _strata(novel, by)
    return NovelSample(
        novel.test_set.name,
        novel.labels,
        len(novel.test_set.class_space),
        novel.examples,
        novel.classes,
        strata,
        _turns(strata, rng),
        novel.votes / novel.models,
        np.full(len(strata), LabelState.UNJUDGED, dtype=np.int8),
        by.value,
    )


def apply_review(predictions: Predictions, judged: Judged, frame: NovelSample | None, rule: MultilabelRule) -> Judged:
    """Update one model's judged predictions with the decisions of a review.

    An image that any decision calls problematic is no longer scored.
    """
    if frame is None:
        return judged
    right, novel, scored = judged.right.copy(), judged.novel.copy(), judged.scored.copy()
    images = np.flatnonzero(judged.novel)
    rows = frame.find(images, predictions.top1[images])
    decided = (rows >= 0) & frame.judged[rows]
    right[images[decided]] = np.isin(frame.states[rows[decided]], rule.accepted)
    novel[images[decided]] = False
    for flags in (right, novel, scored):
        flags[frame.problematic] = False
    return Judged(right, novel, scored)


def problem_notes(frame: NovelSample | None) -> tuple[str, ...]:
    """How many images a review excludes as problematic, with the reasons given; empty if there are none."""
    if frame is None or not frame.problematic.size:
        return ()
    reason_of = {int(frame.examples[row]): reason for row, reason in frame.reasons.items()}
    counts = Counter(reason_of.values()).most_common()
    reasons = f" ({', '.join(f'{reason} {count:,}' for reason, count in counts)})" if counts else ""
    return (f"left out, as the review finds them problematic: {amount(len(frame.problematic), 'image')}{reasons}",)


def model_review(
    predictions: Predictions,
    judged: Judged,
    frame: NovelSample,
    *,
    rule: MultilabelRule,
    inside: BoolArray,
    weights: FloatArray,
) -> PartialReview | None:
    """One model's part of a review; None if the review cannot estimate this model's accuracy.

    That is the case if none of its novel predictions is judged, or if some of them did not exist when the sample was
    drawn: these had no chance of being drawn, and no sampled pair represents them.

    Once a decision calls an image problematic, any image of the frame may be problematic. The image's novel prediction
    represents it, or else the first pair of the image in the frame, which was as likely to be drawn as any of its
    stratum.
    """
    images = np.flatnonzero(judged.novel & inside)
    rows = frame.find(images, predictions.top1[images])
    if (rows < 0).any():
        return None
    states = frame.states[rows]
    if len(images) and not (states != LabelState.UNJUDGED).any():
        return None
    outcomes = judged.right.astype(np.float64)
    outcomes[images] = np.where(states == LabelState.UNJUDGED, np.nan, np.isin(states, rule.accepted))
    strata, proxy = np.zeros(len(predictions), dtype=np.int64), np.zeros(len(predictions))
    strata[images], proxy[images] = frame.strata[rows], frame.proxy[rows]
    representing = frame.first_rows(np.arange(len(predictions)))
    representing[images] = rows
    listed = representing >= 0
    strata[listed] = frame.strata[representing[listed]]
    problems = np.zeros(len(predictions))
    problems[frame.problematic] = 1
    problems[listed & ~frame.judged[representing]] = np.nan
    outcomes[(problems == 1) & judged.novel] = 0
    return partial_review(
        outcomes[inside],
        judged.novel[inside],
        strata=strata[inside],
        weights=weights,
        proxy=proxy[inside],
        listed=listed[inside],
        problematic=problems[inside],
        turns=np.where(listed, frame.turns[representing], -1)[inside],
    )


def _strata(novel: Novel, by: StratifyBy) -> IntArray:
    match by:
        case StratifyBy.NOTHING:
            levels: IntArray = np.zeros(len(novel.votes), dtype=np.int64)
        case StratifyBy.VOTES:
            levels = np.minimum(np.log2(novel.votes).astype(np.int64), 3)
        case StratifyBy.SCORE:
            if np.isnan(novel.scores).any():
                raise InputError("some models have no scores: stratify by votes instead")
            ranks = np.argsort(np.argsort(novel.scores, kind="stable"), kind="stable")
            levels = ranks * 4 // len(ranks)
    return np.unique(levels, return_inverse=True)[1]


def _turns(strata: IntArray, rng: np.random.Generator) -> IntArray:
    """A random order: two of each stratum first, then each stratum spread evenly over the rest."""
    keys = np.empty(len(strata))
    for stratum, size in enumerate(np.bincount(strata)):
        ranks = rng.permutation(size)
        keys[strata == stratum] = np.where(ranks < 2, -1.0, (ranks + rng.random(size)) / size)
    turns = np.empty(len(strata), dtype=np.int64)
    turns[np.lexsort((rng.random(len(strata)), keys))] = np.arange(len(strata))
    return turns
