"""A queue of one model's mistakes that remain, for people to say of what kind each is and how grave."""

from __future__ import annotations

import numpy as np

from regrade.core import NO_ANSWER, InputError, TestSet
from regrade.core.amounts import amount
from regrade.ledger import Ledger, Question
from regrade.store import Store
from regrade.studies import remaining_mistakes
from regrade.workspace.loading import chosen_models, reviewed_labels
from regrade.workspace.queue_filling import Filling
from regrade.workspace.queue_result import QueueResult


def queue_mistakes(
    store: Store, ledger: Ledger, test_set: TestSet, labels: str, *, model: str, name: str | None, overlap: int | None
) -> QueueResult:
    """Queue the mistakes of a model that no review of its mistakes speaks of yet.

    A novel prediction is no mistake until someone has judged it.
    """
    known = reviewed_labels(store, test_set, labels, collapsed=bool(test_set.class_space.collapsed))
    full = known.scoring.labels.full_name
    chosen_models(store, test_set, [model])
    title = name or f"mistakes {test_set.name} {model}"
    filling = Filling(ledger, title, Question.MISTAKE, test_set, full, overlap, model)
    found = remaining_mistakes(store.predictions(test_set, model), test_set, known)
    reviewed = np.zeros(len(found.examples), dtype=bool)
    if model in store.mistake_review_names(test_set.name):
        said = store.mistake_review(test_set, model)
        base = len(test_set.class_space)
        reviewed = np.isin(found.examples * base + found.classes, said.examples.astype(np.int64) * base + said.classes)
    elsewhere = filling.is_asked(found.examples, found.classes, filling.asked_elsewhere())
    new = ~reviewed & ~elsewhere & (found.classes != NO_ANSWER)
    if not new.any() and filling.queue is None:
        left = f"; to be judged first: {amount(found.novel, 'novel prediction')}" if found.novel else ""
        raise InputError(f"no mistake of {model} is left to review on {test_set.name} under {full}{left}")
    notes = [f"mistakes of {model} under {full}: {len(found.examples):,}, reviewed before: {reviewed.sum():,}"]
    if found.novel:
        notes.append(f"novel, to be judged first (regrade review queue): {found.novel:,}")
    if unanswered := int((found.classes == NO_ANSWER).sum()):
        notes.append(f"without an answer, and so of no kind: {unanswered:,}")
    return filling.add_pairs(found.examples[new], found.classes[new], notes=notes)
