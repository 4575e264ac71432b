"""Publish a queue: write its decisions to files that every study reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING

import numpy as np

from regrade.build.files import AnswerBatch, AnswerCollection
from regrade.build.grid_files import ExcludedWorkers, ExclusionCollection
from regrade.build.grid_work import GridWork, is_qualification
from regrade.build.published_selections import new_answers
from regrade.build.review import BuildReview, BuildReviewCollection, Example, ReviewDecision
from regrade.build.steps.review import collectors_of
from regrade.core import (
    NO_ANSWER,
    PERSON_PREFIX,
    AlreadyStored,
    Answerer,
    AnswerTimes,
    InputError,
    MismatchError,
    Predictions,
    TestSet,
)
from regrade.core.panel import Fitness
from regrade.display.wording import listed
from regrade.store import Manifest, PredictionSource, Store, manifest_of
from regrade.workspace.label_audit import publish_audit
from regrade.workspace.label_publishing import problem_reason, publish_labels, published_queue
from regrade.workspace.ledger import note_last_link, noted_ledger
from regrade.workspace.mistake_publishing import publish_mistakes
from regrade.workspace.pair_queue import publish_pairs
from regrade.workspace.queue_result import PublishResult, items_by_state
from regrade.workspace.review_sample import publish_sample, purpose_of

if TYPE_CHECKING:
    from regrade.ledger import Ledger, PersonsAnswer, PublishedDecision, Queue


def publish_queue(store: Store, ledger: Ledger, name: str, *, dry_run: bool) -> PublishResult:
    """Write a queue's decisions to files: labels, a sample, mistakes, people's answers, pairs, or a build's review."""
    queue = ledger.queues.named(name)
    with store.transaction():  # reads and writes are atomic
        test_set = store.test_set(queue.test_set)
        purpose = purpose_of(store, ledger, queue, test_set)
        publish = _PUBLISHERS.get((queue.question.name, purpose.value))
        if publish is None:
            raise InputError(
                f"answers to the question {queue.question.name!r} are not published: read them with "
                "regrade review export, or in Python with ledger.decisions.of_queue"
            )
        published = publish(store, ledger, queue, test_set, dry_run=dry_run)
        if queue.purpose is None and not dry_run:
            ledger.queues.record_purpose(queue, purpose)
        if published.written or (not dry_run and noted_ledger(store) is None):
            note_last_link(store, ledger)
    return published


def publish_people(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet, *, dry_run: bool) -> PublishResult:
    """Store a row per test set for each person who answered in a queue: their last answers, also in queues before.

    A row imported from a file is not replaced.
    """
    from regrade.ledger import Mode

    if queue.mode is Mode.TRAINING:
        raise InputError(f"queue {queue.name!r} is for training: its answers are not published")
    names = ledger.items.test_sets(queue)
    rows = [
        _PeopleOnSet.of(store, ledger, queue, test_set if name == test_set.name else store.test_set(name))
        for name in names
    ]
    if not dry_run:
        for row in rows:
            row.store(store)
    changes = {words: size for row in rows for words, size in row.changes(among_several=len(rows) > 1).items()}
    progress = ledger.queues.progress(queue)
    parts = {"items": progress.items, "with every answer": progress.answered}
    return PublishResult(queue.name, f"people on {listed(names)}", changes, bool(changes) and not dry_run, parts)


@dataclass(frozen=True, eq=False)
class _PeopleOnSet:
    """The rows of people on a test set that a queue changes, and the people who have no answer there any more."""

    test_set: TestSet
    rows: Sequence[tuple[Predictions, Manifest]]
    silent: Sequence[str]

    @classmethod
    def of(cls, store: Store, ledger: Ledger, queue: Queue, test_set: TestSet) -> _PeopleOnSet:
        rows, silent = _changed_people(store, ledger, queue, test_set)
        return cls(test_set, rows, silent)

    def store(self, store: Store) -> None:
        """Store and remove the rows."""
        if self.rows:
            store.add_predictions(self.test_set, self.rows, self.test_set.class_space)
        for name in self.silent:
            store.predictions.remove(self.test_set.name, name)

    def changes(self, *, among_several: bool) -> dict[str, int]:
        """The number of images that each person answered about."""
        where = f" in {self.test_set.name}" if among_several else ""
        sizes = {row.model: int(row.counted.sum()) for row, _ in self.rows} | dict.fromkeys(self.silent, 0)
        return {f"{'image' if size == 1 else 'images'} of {name}{where}": size for name, size in sizes.items()}


def _changed_people(
    store: Store, ledger: Ledger, queue: Queue, test_set: TestSet
) -> tuple[list[tuple[Predictions, Manifest]], list[str]]:
    """The changed rows of people on a test set, and the people without an answer there."""
    stored = _stored_people(store, test_set)
    answered = (answer for answer in ledger.votes.last_answers(queue) if answer.test_set == test_set.name)
    people = dict.fromkeys(PERSON_PREFIX + answer.person for answer in answered)
    people |= dict.fromkeys(name for name, manifest in stored.items() if queue.name in manifest.queues)
    rows, silent = [], []
    for name in people:
        before = stored.get(name)
        if before is not None and not before.queues:
            command = store.predictions.removal_command(test_set.name, name)
            raise AlreadyStored(
                f"the answers of {name} on {test_set.name} were imported from a file: run {command} first"
            )
        queues = tuple(dict.fromkeys([*(before.queues if before else ()), queue.name]))
        answers = _person_answers(ledger, queues, name, test_set)
        if not answers:
            silent.append(name)
            continue
        row = _person_predictions(answers, name, test_set)
        manifest = manifest_of(row, test_set, test_set.class_space, PredictionSource(), queues=queues)
        if before is None or before.digest != manifest.digest:
            rows.append((row, manifest))
    return rows, silent


def _stored_people(store: Store, test_set: TestSet) -> dict[str, Manifest]:
    return {
        name: store.predictions.manifest(test_set.name, name) for name in store.predictions.people_names(test_set.name)
    }


def _person_answers(ledger: Ledger, queues: Iterable[str], name: str, test_set: TestSet) -> dict[int, PersonsAnswer]:
    """The last answers of one person, by position in the test set."""
    all_answers = [
        answer for queue in queues for answer in ledger.votes.last_answers(published_queue(ledger, queue, test_set))
    ]
    on_set = [answer for answer in all_answers if answer.test_set == test_set.name]
    own = sorted((answer for answer in on_set if PERSON_PREFIX + answer.person == name), key=lambda answer: answer.at)
    for answer in own:
        if answer.example not in test_set.position_of:
            raise MismatchError(
                f"the ledger has an answer on {answer.example!r}, which is not in test set {test_set.name}"
            )
    return {test_set.position_of[answer.example]: answer for answer in own}


def _person_predictions(answers: dict[int, PersonsAnswer], name: str, test_set: TestSet) -> Predictions:
    size = len(test_set)
    classes = np.full((size, 1), NO_ANSWER, dtype=np.int32)
    start, end = np.full(size, np.nan), np.full(size, np.nan)
    was_asked = np.zeros(size, dtype=bool)
    for position, answer in answers.items():
        was_asked[position] = True
        if answer.answer:
            classes[position, 0] = test_set.class_space.index(answer.answer)
        if answer.seconds is not None:
            end[position] = answer.at.timestamp()
            start[position] = end[position] - answer.seconds
    return Predictions(
        name,
        test_set.name,
        test_set.class_space.name,
        classes,
        by=Answerer.PERSON,
        covered=None if was_asked.all() else was_asked,
        times=AnswerTimes(start, end) if np.isfinite(end).any() else None,
    )


def publish_review(store: Store, ledger: Ledger, queue: Queue, _: TestSet, *, dry_run: bool) -> PublishResult:
    """Store the decisions on the images of a build as the next version of its review, if they changed."""
    if not queue.build:
        raise InputError(f"queue {queue.name!r} is not part of a build: fill it with regrade build review")
    reviews = BuildReviewCollection(store.root)
    newest = reviews.newest(queue.build)
    published = ledger.decisions.of_queue(queue)
    decisions = tuple(_review_decision(row) for row in sorted(published, key=lambda row: (row.class_id, row.example)))
    review = BuildReview(queue.build, 1 if newest is None else newest.version + 1, queue.name, decisions)
    changes = _review_changes({} if newest is None else newest.by_example, review.by_example)
    if changes and not dry_run:
        reviews.add(review, None)
    version = review.version if changes or newest is None else newest.version
    target = f"version {version} of the review of {queue.build}"
    parts = items_by_state(ledger.queues.progress(queue))
    notes = _reviewer_notes(store, ledger, queue, decisions)
    return PublishResult(queue.name, target, changes, bool(changes) and not dry_run, parts, notes)


def _review_decision(decision: PublishedDecision) -> ReviewDecision:
    fitness = Fitness(decision.answer)
    reason = problem_reason(decision) if fitness is Fitness.PROBLEMATIC else ""
    at = decision.at.astimezone(UTC).isoformat(timespec="seconds")
    return ReviewDecision(decision.example, decision.class_id, fitness, reason, decision.by, at)


def _review_changes(
    before: Mapping[Example, ReviewDecision], after: Mapping[Example, ReviewDecision]
) -> dict[str, int]:
    new = Counter(decision.fitness for example, decision in after.items() if example not in before)
    counts = {
        "kept": new[Fitness.KEEP],
        "flagged": new[Fitness.PROBLEMATIC],
        "changed": sum(before[example] != after[example] for example in before.keys() & after.keys()),
        "taken back": len(before.keys() - after.keys()),
    }
    return {what: number for what, number in counts.items() if number}


def _reviewer_notes(store: Store, ledger: Ledger, queue: Queue, decisions: Iterable[ReviewDecision]) -> tuple[str, ...]:
    """Note on reviewers who also collected the images."""
    both = {name for row in decisions for name in row.by} & collectors_of(store, ledger, queue.build)
    return (f"answered selection tasks of the build as well: {', '.join(sorted(both))}",) if both else ()


def publish_selections(
    store: Store, ledger: Ledger, queue: Queue, _test_set: TestSet, *, dry_run: bool
) -> PublishResult:
    """Add the new answers to the tasks of a build, and store which workers are excluded."""
    if is_qualification(queue):
        raise InputError(f"queue {queue.name!r} is a qualification: its answers are not published")
    work = GridWork.load(store, ledger, queue.build)
    new = new_answers(store, work)
    before = ExclusionCollection(store.root).newest(queue.build)
    excluded = ExcludedWorkers(queue.build, before.number + 1, work.excluded())
    changes = {"answers": len(new)} if new else {}
    if excluded.reasons != before.reasons:
        changes["workers excluded"] = len(excluded.reasons)
    if changes and not dry_run:
        if new:
            AnswerCollection(store.root).add(AnswerBatch(queue.build, new, queue.name), None)
        if "workers excluded" in changes:
            ExclusionCollection(store.root).add(excluded, None)
    progress = ledger.queues.progress(queue)
    parts = {"items": progress.items, "with every answer": progress.answered}
    return PublishResult(queue.name, f"answers of build {queue.build}", changes, bool(changes) and not dry_run, parts)


_PUBLISHERS = {
    ("judge", "census"): publish_labels,
    ("judge", "random sample"): publish_sample,
    ("judge", "audit"): publish_audit,
    ("mistake", "census"): publish_mistakes,
    ("label", "census"): publish_people,
    ("review", "census"): publish_review,
    ("pair", "census"): publish_pairs,
    ("select", "census"): publish_selections,
}
"""What a queue becomes, by its question and its purpose."""
