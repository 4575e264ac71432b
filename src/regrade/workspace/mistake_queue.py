"""Queue of a model's remaining mistakes, for people to give each a category and a severity."""

from __future__ import annotations

import numpy as np

from regrade.core import NO_ANSWER, InputError, TestSet
from regrade.core.amounts import amount
from regrade.ledger import Ledger, Question
from regrade.store import Store
from regrade.studies import remaining_mistakes
from regrade.studies.loading import chosen_models, reviewed_labels
from regrade.workspace.queue_filling import QueueFiller
from regrade.workspace.queue_result import QueueResult


def queue_mistakes(
    store: Store, ledger: Ledger, test_set: TestSet, labels: str, *, model: str, name: str | None, overlap: int | None
) -> QueueResult:
    """Queue the mistakes of a model that are not reviewed yet.

    A novel prediction is not a mistake until someone has judged it.
    """
    judged_labels = reviewed_labels(store, test_set, labels, collapsed=bool(test_set.class_space.collapsed))
    full = judged_labels.scoring.labels.full_name
    chosen_models(store, test_set, [model])
    title = name or f"mistakes {test_set.name} {model}"
    filler = QueueFiller(ledger, title, Question.MISTAKE, test_set, full, overlap, model)
    mistakes = remaining_mistakes(store.predictions(test_set, model), test_set, judged_labels)
    reviewed = np.zeros(len(mistakes.examples), dtype=bool)
    if model in store.mistake_review_names(test_set.name):
        review = store.mistake_review(test_set, model)
        base = len(test_set.class_space)
        reviewed = np.isin(
            mistakes.examples * base + mistakes.classes, review.examples.astype(np.int64) * base + review.classes
        )
    in_other_queue = filler.is_among(mistakes.examples, mistakes.classes, filler.keys_in_other_queues())
    new = ~reviewed & ~in_other_queue & (mistakes.classes != NO_ANSWER)
    if not new.any() and filler.queue is None:
        left = f"; to be judged first: {amount(mistakes.novel, 'novel prediction')}" if mistakes.novel else ""
        raise InputError(f"no mistake of {model} is left to review on {test_set.name} under {full}{left}")
    notes = [f"mistakes of {model} under {full}: {len(mistakes.examples):,}, reviewed before: {reviewed.sum():,}"]
    if mistakes.novel:
        notes.append(f"novel, to be judged first (regrade review queue): {mistakes.novel:,}")
    if unanswered := int((mistakes.classes == NO_ANSWER).sum()):
        notes.append(f"without an answer, and so of no kind: {unanswered:,}")
    return filler.add_pairs(mistakes.examples[new], mistakes.classes[new], notes=notes)
