"""Review of novel predictions: which are not judged yet, and drawing a random sample of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import InputError, NovelSample, StratifyBy, TestSet
from regrade.core.arrays import IntArray
from regrade.store import Store
from regrade.studies import Novel, draw_review, novel_predictions
from regrade.studies.loading import chosen_rows, multilabel_scoring
from regrade.studies.study import ProgressCallback


@dataclass(frozen=True)
class DrawnReview:
    """A review and its rows that were drawn, in random order."""

    frame: NovelSample
    rows: IntArray


def all_novel(
    store: Store, test_set: TestSet, labels: str, models: Sequence[str] = (), progress: ProgressCallback = iter
) -> Novel:
    """Every prediction that a label set does not judge, including those judged in its review."""
    names = chosen_rows(store, test_set, models)
    scoring = multilabel_scoring(store, test_set, labels, rule=None, collapsed=False)
    return novel_predictions(test_set, (store.predictions(test_set, model) for model in progress(names)), scoring)


def review_of_labels(store: Store, test_set: TestSet, labels: str) -> NovelSample | None:
    """The review of the novel predictions of a label set; None if there is none."""
    return store.reviews.read(test_set, store.label_set(test_set, labels))


def draw_next(
    store: Store, test_set: TestSet, labels: str, *, size: int, by: StratifyBy | None, seed: int, queue: str = ""
) -> DrawnReview:
    """Draw the next predictions of a review, for ``queue`` if named; the first draw fixes the random order.

    Draws of concurrent processes are serialized, so that no prediction is drawn twice.
    """
    with store.transaction():
        frame = review_of_labels(store, test_set, labels)
        if frame is None:
            novel = all_novel(store, test_set, labels)
            frame = draw_review(novel, by=by or StratifyBy.VOTES, rng=np.random.default_rng(seed))
            if not 1 <= size <= len(frame):
                raise InputError(f"{len(frame):,} novel predictions can be drawn, got a size of {size:,}")
            store.reviews.add(frame, test_set)
        elif by is not None and by.value != frame.stratified_by:
            raise InputError(f"the review of {labels} is stratified by {frame.stratified_by} since its first draw")
        drawn = store.reviews.draw_more(frame, size, queue=queue)
    return DrawnReview(drawn, drawn.given_out(frame.drawn, drawn.drawn))


def drawn_unjudged(store: Store, test_set: TestSet, labels: str) -> DrawnReview:
    """The predictions that were drawn and are not judged yet."""
    frame = review_of_labels(store, test_set, labels)
    if frame is None:
        raise InputError(f"no novel prediction was drawn for {labels} yet: run regrade labels sample")
    rows = frame.given_out(0, frame.drawn)
    return DrawnReview(frame, rows[~frame.judged[rows]])
