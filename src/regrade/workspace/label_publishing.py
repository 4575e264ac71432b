"""Decisions on classes become a new version of the label set that they were held against."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from regrade.core import InputError, LabelSet, LabelState, MismatchError, StoreError, TestSet, UnknownName
from regrade.core.amounts import amount
from regrade.core.label_set import without_version
from regrade.core.panel import Answer
from regrade.store import Store
from regrade.studies import label_diff
from regrade.workspace.publish_result import PublishResult, decided_parts

if TYPE_CHECKING:
    from regrade.ledger import Ledger, PublishedDecision, Queue

_STATES = {
    Answer.CORRECT.value: LabelState.CORRECT,
    Answer.UNCLEAR.value: LabelState.UNCLEAR,
    Answer.WRONG.value: LabelState.WRONG,
}
PROBLEMATIC = Answer.PROBLEMATIC.value


@dataclass(frozen=True)
class Decided:
    """Decisions by (example, class) of a test set, the last one on each pair, oldest first."""

    outcomes: Mapping[tuple[int, int], PublishedDecision]

    @property
    def judgments(self) -> dict[tuple[int, int], LabelState]:
        """What was said of each class."""
        return {pair: _STATES[one.answer] for pair, one in self.outcomes.items() if one.answer in _STATES}

    @property
    def problems(self) -> dict[int, str]:
        """Why images should not be scored."""
        found = {pair: one for pair, one in self.outcomes.items() if one.answer == PROBLEMATIC}
        return {example: problem_reason(one) for (example, _), one in found.items()}


def decided_pairs(outcomes: Iterable[PublishedDecision], test_set: TestSet) -> Decided:
    """Decisions held against a test set; where two queues decided the same pair, the later decision counts."""
    found: dict[tuple[int, int], PublishedDecision] = {}
    for one in sorted(outcomes, key=lambda one: one.at):
        if one.example not in test_set.position_of:
            raise MismatchError(f"the ledger speaks of {one.example!r}, which is not in test set {test_set.name}")
        pair = test_set.position_of[one.example], test_set.class_space.index(one.class_id)
        found.pop(pair, None)  # what is decided again comes last
        found[pair] = one
    return Decided(found)


def problem_reason(outcome: PublishedDecision) -> str:
    """The reason that most gave for calling an image problematic, in one line; the first of several."""
    given = [" ".join(reason.split()) for reason in outcome.reasons]
    counted = Counter(reason for reason in given if reason)
    return counted.most_common(1)[0][0] if counted else PROBLEMATIC


def publish_labels(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet, *, dry_run: bool) -> PublishResult:
    """A new version of a queue's label set, if its decisions change anything.

    It holds what the newest version that came from a file holds, and the decisions that stand in this queue and in
    those that were published since: one that was taken back leaves what was there before.
    """
    name = label_set_name(queue)
    newest = store.label_set(test_set, name)
    queues = tuple(dict.fromkeys([*newest.queues, queue.name]))
    base = store.label_set(test_set, store.newest_without_decisions(test_set.name, name))
    outcomes = outcomes_of(ledger, queues, test_set)
    decided = decided_pairs(outcomes, test_set)
    labels = replace(
        base.with_judgments(decided.judgments, decided.problems),
        version=newest.version + 1,
        origin=origin_of(queues, outcomes),
        queues=queues,
    )
    changed = labels.digest != newest.digest
    if changed and not dry_run:
        store.add_label_set(labels, test_set)
    return PublishResult(
        queue.name,
        f"labels {(labels if changed else newest).full_name}",
        label_diff(newest, labels).counts() if changed else {},
        changed and not dry_run,
        decided_parts(ledger.progress(queue)),
        _notes(store, test_set, newest) if changed else (),
    )


def _notes(store: Store, test_set: TestSet, newest: LabelSet) -> tuple[str, ...]:
    """Verdicts of a review speak of the version that it was drawn under, and of no later one."""
    frame = store.review(test_set, newest)
    left = 0 if frame is None else int(frame.judged.sum())
    return (f"left behind with {newest.full_name}: {amount(left, 'verdict')} of its review",) if left else ()


def outcomes_of(ledger: Ledger, queues: Iterable[str], test_set: TestSet) -> list[PublishedDecision]:
    """The decisions that stand in several queues."""
    return [one for name in queues for one in ledger.outcomes(published_queue(ledger, name, test_set))]


def published_queue(ledger: Ledger, name: str, test_set: TestSet) -> Queue:
    """A queue that was published, which the ledger must still have."""
    try:
        return ledger.queue(name)
    except UnknownName:
        raise StoreError(
            f"queue {name!r} was published for {test_set.name} before and is not in this ledger: bring it with "
            "regrade review import"
        ) from None


def label_set_name(queue: Queue) -> str:
    """The name, without a version, of the label set that a queue is held against."""
    if not queue.labels:
        raise InputError(f"queue {queue.name!r} is held against no label set: there is nothing to add its verdicts to")
    return without_version(queue.labels)


def origin_of(queues: tuple[str, ...], outcomes: Iterable[PublishedDecision]) -> str:
    """Where decisions came from: queues, how many, and when the last one was made."""
    times = [one.at for one in outcomes]
    last = f", the last at {max(times):%Y-%m-%d %H:%M:%S} UTC" if times else ""
    return f"{'queue' if len(queues) == 1 else 'queues'} {', '.join(queues)}: {amount(len(times), 'decision')}{last}"
