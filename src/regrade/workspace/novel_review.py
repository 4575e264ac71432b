"""The review of novel predictions: what is left to judge, and what is drawn for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from regrade.core import InputError, ReviewFrame, TestSet
from regrade.core.arrays import IntArray
from regrade.store import Store
from regrade.studies import Novel, StratifyBy, draw_review, novel_predictions
from regrade.workspace.loading import ProgressCallback, chosen_rows, multilabel_scoring


@dataclass(frozen=True)
class DrawnReview:
    """A review and the rows of it that are to be judged, in their order."""

    frame: ReviewFrame
    rows: IntArray


def all_novel(
    store: Store, test_set: TestSet, labels: str, models: Sequence[str] = (), watch: ProgressCallback = iter
) -> Novel:
    """Every prediction that a label set does not judge, whatever a review has said of it since."""
    names = chosen_rows(store, test_set, models)
    scoring = multilabel_scoring(store, test_set, labels, rule=None, collapsed=False)
    return novel_predictions(test_set, (store.predictions(test_set, model) for model in watch(names)), scoring)


def review_of_labels(store: Store, test_set: TestSet, labels: str) -> ReviewFrame | None:
    """The review of what is novel under a label set, if one was begun."""
    return store.review(test_set, store.label_set(test_set, labels))


def draw_next(
    store: Store, test_set: TestSet, labels: str, *, size: int, by: StratifyBy | None, seed: int, queue: str = ""
) -> DrawnReview:
    """Draw the next predictions of a review, for a ``queue`` if one is named; the first draw fixes the random order.

    No one else draws meanwhile: the same predictions are never given out twice.
    """
    with store.transaction():
        frame = review_of_labels(store, test_set, labels)
        if frame is None:
            novel = all_novel(store, test_set, labels)
            frame = draw_review(novel, by=by or StratifyBy.VOTES, rng=np.random.default_rng(seed))
            if not 1 <= size <= len(frame):
                raise InputError(f"{len(frame):,} novel predictions can be drawn, got a size of {size:,}")
            store.add_review(frame, test_set)
        elif by is not None and by.value != frame.stratified_by:
            raise InputError(f"the review of {labels} is stratified by {frame.stratified_by}: it cannot change now")
        drawn = store.draw_more(frame, size, queue=queue)
    return DrawnReview(drawn, drawn.given_out(frame.drawn, drawn.drawn))


def drawn_so_far(store: Store, test_set: TestSet, labels: str) -> DrawnReview:
    """What was drawn and is not judged yet."""
    frame = review_of_labels(store, test_set, labels)
    if frame is None:
        raise InputError(f"no novel prediction was drawn for {labels} yet: regrade labels sample")
    rows = frame.given_out(0, frame.drawn)
    return DrawnReview(frame, rows[~frame.judged[rows]])
