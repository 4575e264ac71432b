"""Categories and severities that people gave to the predictions of other models, to be reused for the same pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regrade.core import MistakeCategory, ReusedFrom, Severity, TestSet
from regrade.core.label_set import without_version
from regrade.core.panel import NO_MISTAKE, Answer
from regrade.ledger import Ledger, PublishedDecision, Question, Queue
from regrade.store import Store
from regrade.studies.mistakes.pair_annotations import (
    CategorizedPairs,
    Pair,
    PairAnnotation,
    annotations_by_pair,
    merged_pairs,
)


@dataclass(frozen=True)
class OtherReviews:
    """What people said about pairs of image and class as mistakes of other models.

    ``no_mistakes`` are the pairs that they found to be no mistake, unless the class was judged wrong since.
    """

    pairs: CategorizedPairs
    no_mistakes: frozenset[Pair]


def other_reviews(store: Store, ledger: Ledger, test_set: TestSet, labels: str, model: str) -> OtherReviews:
    """Read the reviews of all models but one under a label set: imported ones, and the decisions in the ledger.

    Decisions of queues about other label sets are left out. Of two decisions on a pair the later one counts.
    """
    queues = ledger.queues.all()
    about = [queue for queue in queues if _is_about(queue, Question.MISTAKE, test_set, labels)]
    decided = _last_decisions(ledger, [queue for queue in about if queue.model != model], test_set)
    judged = _last_decisions(
        ledger, [queue for queue in queues if _is_about(queue, Question.JUDGE, test_set, labels)], test_set
    )
    no_mistakes = frozenset(
        pair
        for pair, row in decided.items()
        if row.decision.answer == NO_MISTAKE and not _judged_wrong_since(row, judged.get(pair))
    )
    stored = _stored_reviews(store, test_set, model, in_ledger={queue.name for queue in queues})
    return OtherReviews(merged_pairs([*stored, _categorized(decided)]), no_mistakes)


@dataclass(frozen=True)
class _QueueDecision:
    decision: PublishedDecision
    queue: Queue


def _is_about(queue: Queue, question: Question, test_set: TestSet, labels: str) -> bool:
    about = queue.question, queue.test_set, without_version(queue.labels)
    return about == (question, test_set.name, without_version(labels))


def _last_decisions(ledger: Ledger, queues: Sequence[Queue], test_set: TestSet) -> dict[Pair, _QueueDecision]:
    """The last decision on each pair of the test set, and its queue."""
    rows = [_QueueDecision(decision, queue) for queue in queues for decision in ledger.decisions.of_queue(queue)]
    examples, classes = test_set.position_of, test_set.class_space.index_of
    return {
        (examples[row.decision.example], classes[row.decision.class_id]): row
        for row in sorted(rows, key=lambda row: row.decision.at)
        if row.decision.example in examples and row.decision.class_id in classes
    }


def _judged_wrong_since(mistake: _QueueDecision, judged: _QueueDecision | None) -> bool:
    if judged is None or judged.decision.answer != Answer.WRONG.value:
        return False
    return judged.decision.at > mistake.decision.at


def _categorized(decided: dict[Pair, _QueueDecision]) -> dict[Pair, PairAnnotation]:
    return {
        pair: PairAnnotation(
            MistakeCategory(row.decision.answer),
            Severity(row.decision.severity),
            ReusedFrom(row.queue.model, row.queue.name),
        )
        for pair, row in decided.items()
        if row.decision.answer != NO_MISTAKE
    }


def _stored_reviews(
    store: Store, test_set: TestSet, model: str, *, in_ledger: set[str]
) -> list[dict[Pair, PairAnnotation]]:
    """The reviews of other models whose decisions are not in the ledger: imported, or of another ledger."""
    names = [name for name in store.mistakes.names(test_set.name) if name != model]
    reviews = [store.mistakes.read(test_set, name) for name in names]
    return [annotations_by_pair(r.own) for r in reviews if not r.queues or not in_ledger.issuperset(r.queues)]
