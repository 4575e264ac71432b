"""Accuracies of models while a queue is being judged, valid at any stopping time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from regrade.core import TestSet
from regrade.store import Store
from regrade.studies import GradeRow, grade
from regrade.workspace.loading import reviewed_labels, scored_predictions
from regrade.workspace.sample_publishing import decided_sample

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Queue

MOST_MODELS = 8
"""Maximum number of models graded while people judge; `regrade grade` shows all."""


@dataclass(frozen=True)
class RunningReview:
    """Models with their accuracy so far, best first; ``models`` counts all models of the test set."""

    rows: tuple[GradeRow, ...]
    models: int


def running_review(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet) -> RunningReview | None:
    """Accuracies from all current decisions of a queue, published or not; None unless the queue is a random sample."""
    frame = decided_sample(store, ledger, queue, test_set)
    if frame is None:
        return None
    names = store.model_names(test_set.name)
    labels = replace(reviewed_labels(store, test_set, queue.labels), review=frame)
    scored = scored_predictions(store, test_set, names[:MOST_MODELS])
    result = grade(test_set, scored, labels=labels, confidence=store.config.confidence)
    return RunningReview(tuple(row for row in result.rows if row.anytime), len(names))
