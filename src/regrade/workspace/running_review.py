"""The grade of models while a queue is being judged, valid at any stopping point."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from regrade.core import TestSet
from regrade.store import Store
from regrade.studies import GradeRow, grade
from regrade.workspace.loading import reviewed_labels, scored_predictions
from regrade.workspace.verdict_publishing import decided_review

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Queue

MOST_MODELS = 8
"""The most models that are graded while people judge; `regrade grade` has all."""


@dataclass(frozen=True)
class RunningReview:
    """Models with an accuracy so far, best first, out of so many ``models`` of the test set."""

    rows: tuple[GradeRow, ...]
    models: int


def running_review(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet) -> RunningReview | None:
    """Accuracies by all decisions of a queue that stand, published or not; none unless all its items were drawn."""
    frame = decided_review(store, ledger, queue, test_set)
    if frame is None:
        return None
    names = store.model_names(test_set.name)
    labels = replace(reviewed_labels(store, test_set, queue.labels), review=frame)
    scored = scored_predictions(store, test_set, names[:MOST_MODELS])
    result = grade(test_set, scored, labels=labels, confidence=store.config.confidence)
    return RunningReview(tuple(row for row in result.rows if row.anytime), len(names))
