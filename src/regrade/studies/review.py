"""Novel predictions: what no one has judged yet, a fair sample of it, and what the verdicts say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from regrade.core import (
    Column,
    InputError,
    LabelState,
    Predictions,
    ReviewFrame,
    Table,
    Tabular,
    TestSet,
)
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import Judged, MultilabelRule
from regrade.stats.partial_review import PartialReview, partial_review
from regrade.studies.scoring import MultilabelScoring


class StratifyBy(Enum):
    """What the strata of a review sample are."""

    NOTHING = "nothing"
    VOTES = "votes"
    """How many models give this class to this image: 1, 2-3, 4-7, 8 and more."""
    SCORE = "score"
    """The highest score any model gives it, in four parts of equal size."""


@dataclass(frozen=True, eq=False, repr=False)
class Novel(Tabular):
    """Every (example, class) pair that some model predicts and no one has judged, most models first.

    ``votes`` (f,) counts the models and ``scores`` (f,) is their highest score, not a number without any.
    """

    test_set: TestSet
    labels: str
    examples: IntArray
    classes: IntArray
    votes: IntArray
    scores: FloatArray
    models: int

    def without_judged(self, frame: ReviewFrame | None) -> Novel:
        """What is left once the verdicts of a review count."""
        if frame is None:
            return self
        rows = frame.find(self.examples, self.classes)
        left = ~((rows >= 0) & frame.judged[rows]) & ~np.isin(self.examples, frame.problematic)
        parts = (self.examples[left], self.classes[left], self.votes[left], self.scores[left])
        return Novel(self.test_set, self.labels, *parts, self.models)

    def table(self) -> Table:
        """One line a pair."""
        space = self.test_set.class_space
        rows = tuple(
            (self.test_set.ids[e], space.ids[c], space.names[c], int(v))
            for e, c, v in zip(self.examples, self.classes, self.votes, strict=True)
        )
        columns = tuple(Column(key, key) for key in ("image", "class", "name", "models"))
        return Table(f"novel predictions on {self.test_set.name} under {self.labels}", columns, rows)


def novel_predictions(test_set: TestSet, predictions: Iterable[Predictions], scoring: MultilabelScoring) -> Novel:
    """Gather what no one has judged, over any number of models, taken one after another."""
    base = len(test_set.class_space)
    keys, scores = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    models = 0
    for answers in predictions:
        models += 1
        images = np.flatnonzero(scoring.judge(answers, test_set).novel)
        keys.append(images * base + answers.top1[images])
        scores.append(np.full(len(images), np.nan) if answers.scores is None else answers.scores[images, 0])
    pairs, members, votes = np.unique(np.concatenate(keys), return_inverse=True, return_counts=True)
    best = np.full(len(pairs), np.nan)
    np.fmax.at(best, members, np.concatenate(scores))
    order = np.argsort(-votes, kind="stable")
    return Novel(
        test_set, scoring.labels.full_name, pairs[order] // base, pairs[order] % base, votes[order], best[order], models
    )


def draw_review(novel: Novel, *, by: StratifyBy, rng: np.random.Generator) -> ReviewFrame:
    """Put all novel predictions into a random order for review, of which as many are judged as people care to.

    Two of every stratum come first and all others in proportion, so that wherever the review stops, what was
    judged is a fair sample of each stratum.
    """
    if not len(novel.examples):
        raise InputError("there is no novel prediction to review")
    strata = _strata(novel, by)
    return ReviewFrame(
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


def with_verdicts(predictions: Predictions, judged: Judged, frame: ReviewFrame | None, rule: MultilabelRule) -> Judged:
    """What the labels make of one model's predictions once the verdicts of a review count too.

    An image that any verdict calls problematic is no longer scored.
    """
    if frame is None:
        return judged
    right, novel, scored = judged.right.copy(), judged.novel.copy(), judged.scored.copy()
    images = np.flatnonzero(judged.novel)
    rows = frame.find(images, predictions.top1[images])
    known = (rows >= 0) & frame.judged[rows]
    right[images[known]] = np.isin(frame.states[rows[known]], rule.accepted)
    novel[images[known]] = False
    for flags in (right, novel, scored):
        flags[frame.problematic] = False
    return Judged(right, novel, scored)


def problem_notes(frame: ReviewFrame | None) -> tuple[str, ...]:
    """How many images a review leaves out as problematic, and why, as far as people said; nothing without any."""
    if frame is None or not frame.problematic.size:
        return ()
    said = {int(frame.examples[row]): reason for row, reason in frame.reasons.items()}
    counts = Counter(said.values()).most_common()
    reasons = f" ({', '.join(f'{reason} {count:,}' for reason, count in counts)})" if counts else ""
    return (f"left out, as the review finds them problematic: {amount(len(frame.problematic), 'image')}{reasons}",)


def review_of(
    predictions: Predictions,
    judged: Judged,
    frame: ReviewFrame,
    *,
    rule: MultilabelRule,
    inside: BoolArray,
    weights: FloatArray,
) -> PartialReview | None:
    """One model's part of a review; none where it says nothing of this model.

    That is so without any verdict on its novel predictions, or where some of them were not yet known when
    the sample was drawn: these had no chance of being drawn, and nothing stands for them.

    Once a verdict calls an image problematic, any image of the frame may be. Its own novel prediction speaks for it, or
    else the first pair of its image in the frame, which was as likely to be drawn as any of its stratum.
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
    speaking = frame.first_rows(np.arange(len(predictions)))
    speaking[images] = rows
    listed = speaking >= 0
    strata[listed] = frame.strata[speaking[listed]]
    problems = np.zeros(len(predictions))
    problems[frame.problematic] = 1
    problems[listed & ~frame.judged[speaking]] = np.nan
    outcomes[(problems == 1) & judged.novel] = 0
    return partial_review(
        outcomes[inside],
        judged.novel[inside],
        strata=strata[inside],
        weights=weights,
        proxy=proxy[inside],
        listed=listed[inside],
        problematic=problems[inside],
        turns=np.where(listed, frame.turns[speaking], -1)[inside],
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
    """A random order: two of each stratum first, then every stratum evenly spread over the rest."""
    keys = np.empty(len(strata))
    for stratum, size in enumerate(np.bincount(strata)):
        ranks = rng.permutation(size)
        keys[strata == stratum] = np.where(ranks < 2, -1.0, (ranks + rng.random(size)) / size)
    turns = np.empty(len(strata), dtype=np.int64)
    turns[np.lexsort((rng.random(len(strata)), keys))] = np.arange(len(strata))
    return turns
