"""Audits of labels: draw labels that all models agree with for people to judge, and store what they decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from regrade.core import InputError, LabelAudit, LabelState, MismatchError, StoreError, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import IntArray
from regrade.store import FIRST_MODEL, Store
from regrade.studies import AgreedLabels, agreed_labels, new_audit
from regrade.studies.loading import chosen_models
from regrade.studies.study import ProgressCallback
from regrade.workspace.label_publishing import decided_pairs, publish_labels
from regrade.workspace.queue_result import PublishResult, QueueResult

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Queue


def queue_audit(
    store: Store,
    ledger: Ledger,
    test_set: TestSet,
    labels: str,
    *,
    size: int,
    models: Sequence[str],
    seed: int,
    name: str | None,
    overlap: int | None,
    progress: ProgressCallback,
) -> QueueResult:
    """Queue the next labels of an audit in its random order, which the first call fixes.

    The sample is stored before the items are added; a call after one that was interrupted adds its items first.
    """
    from regrade.ledger import Purpose, Question
    from regrade.workspace.queue_filling import QueueFiller

    if size < 1:
        raise InputError(f"at least 1 label must be drawn, got a size of {size}")
    full = store.labels.read(test_set, labels).full_name
    title = name or f"audit {test_set.name} {full}"
    filler = QueueFiller(ledger, title, Question.JUDGE, test_set, full, overlap, purpose=Purpose.AUDIT)
    notes: list[str] = []
    if store.audits.has(test_set.name, title):
        audit = store.audits.read(test_set, title)
        _check_continues(audit, full, models)
    else:
        if filler.queue is not None:
            raise StoreError(
                f"the sample of the audit {title!r} is missing: restore {store.audits.path(test_set.name, title)}"
            )
        audit, agreed = _new_audit(store, test_set, full, title, models=models, seed=seed, progress=progress)
        notes += _frame_notes(audit, agreed)
    interrupted = _drawn_but_not_queued(filler.keys_in_queue().size, audit)
    if size > interrupted:
        audit = audit.draw(size - interrupted)
        with store.transaction() as change:
            store.audits.add(audit, test_set)
        change.commit_now()  # stored before the items are added, so that no label is judged that was not drawn
    notes.append(f"drawn at random: {audit.drawn:,} of {amount(len(audit), 'label')} that all models predict")
    return filler.add_pairs(audit.examples[: audit.drawn], audit.classes[: audit.drawn], notes=notes)


def _new_audit(
    store: Store,
    test_set: TestSet,
    labels: str,
    queue: str,
    *,
    models: Sequence[str],
    seed: int,
    progress: ProgressCallback,
) -> tuple[LabelAudit, AgreedLabels]:
    names = chosen_models(store, test_set, models)
    if not names:
        raise InputError(f"no model has predictions on {test_set.name} yet: run {FIRST_MODEL}")
    predictions = (store.predictions.read(test_set, model) for model in progress(names))
    agreed = agreed_labels(test_set, predictions, store.labels.read(test_set, labels))
    if not len(agreed.examples):
        raise InputError(f"no image of {test_set.name} has a label that all of {amount(len(names), 'model')} predict")
    rng = np.random.default_rng(seed)
    return new_audit(agreed, queue=queue, test_set=test_set.name, labels=labels, models=names, rng=rng), agreed


def _frame_notes(audit: LabelAudit, agreed: AgreedLabels) -> Iterator[str]:
    images = amount(agreed.scored, "scored image")
    yield f"labels that all of {amount(len(audit.models), 'model')} predict: {len(audit):,} of {images}"
    if agreed.split:
        yield f"all correct, but not the same class, and so not audited: {amount(agreed.split, 'image')}"


def _check_continues(audit: LabelAudit, labels: str, models: Sequence[str]) -> None:
    """Raise if a call would continue an audit of other labels or models, whose sample is of another list."""
    if audit.labels != labels:
        raise MismatchError(f"the audit {audit.queue!r} is of {audit.labels}: choose another --name for {labels}")
    if models and set(models) != set(audit.models):
        raise MismatchError(
            f"the audit {audit.queue!r} was drawn with other models ({amount(len(audit.models), 'model')}): choose "
            "another --name"
        )


def _drawn_but_not_queued(queued: int, audit: LabelAudit) -> int:
    return max(0, audit.drawn - queued)


def publish_audit(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet, *, dry_run: bool) -> PublishResult:
    """Store the decisions of an audit, from which the share of wrong labels follows, and correct the judged labels."""
    audit = store.audits.read(test_set, queue.name)
    after = replace(audit, states=_decided_states(ledger, queue, test_set, audit))
    decided_now = int((after.states != audit.states).sum())
    corrected = publish_labels(store, ledger, queue, test_set, dry_run=dry_run)
    if decided_now and not dry_run:
        store.audits.add(after, test_set)
    audited = {"decisions of the audit": decided_now} if decided_now else {}
    target = f"{corrected.target} and the audit {queue.name!r}"
    changes = {**corrected.changes, **audited}
    note = f"for the share of wrong labels: regrade labels audit -t {test_set.name}"
    return replace(
        corrected, target=target, changes=changes, written=bool(changes) and not dry_run, notes=(*corrected.notes, note)
    )


def _decided_states(ledger: Ledger, queue: Queue, test_set: TestSet, audit: LabelAudit) -> IntArray:
    """The decision on every label of an audit, in its order."""
    decided = decided_pairs(ledger.decisions.of_queue(queue), test_set)
    states = {**dict.fromkeys(decided.decisions, LabelState.PROBLEMATIC), **decided.judgments}
    pairs = zip(audit.examples[: audit.drawn].tolist(), audit.classes[: audit.drawn].tolist(), strict=True)
    drawn = [states.pop(pair, LabelState.UNJUDGED) for pair in pairs]
    if states:
        raise MismatchError(
            f"queue {queue.name!r} has decisions on {amount(len(states), 'label')} that the audit did not draw: "
            "publish it in the workspace that it was drawn in"
        )
    rest = [LabelState.UNJUDGED] * (len(audit) - audit.drawn)
    return np.array([*drawn, *rest], dtype=np.int8)
