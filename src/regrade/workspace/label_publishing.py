"""Labels from decisions: publish a new version of a label set, and export one with the authors of its decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from regrade.core import InputError, LabelSet, LabelState, MismatchError, StoreError, TestSet, UnknownName
from regrade.core.amounts import amount
from regrade.core.label_set import without_version
from regrade.core.panel import Answer
from regrade.formats import Authors, LabelAuthors, LabelFormat, labels_as_file
from regrade.store import PRIVATE, Store, check_new_file, write_new_file
from regrade.studies import label_diff
from regrade.workspace.queue_result import PublishResult, items_by_state

if TYPE_CHECKING:
    from regrade.ledger import Ledger, PublishedDecision, Queue

_STATES = {
    Answer.CORRECT.value: LabelState.CORRECT,
    Answer.UNCLEAR.value: LabelState.UNCLEAR,
    Answer.WRONG.value: LabelState.WRONG,
}
PROBLEMATIC = Answer.PROBLEMATIC.value


@dataclass(frozen=True)
class PairDecisions:
    """The last decision on each pair (example, class) of a test set, oldest first."""

    decisions: Mapping[tuple[int, int], PublishedDecision]

    @property
    def judgments(self) -> dict[tuple[int, int], LabelState]:
        """The label state decided for each pair."""
        return {
            pair: _STATES[decision.answer] for pair, decision in self.decisions.items() if decision.answer in _STATES
        }

    @property
    def problems(self) -> dict[int, str]:
        """The images that should not be scored, with the reason."""
        problematic = {pair: decision for pair, decision in self.decisions.items() if decision.answer == PROBLEMATIC}
        return {example: problem_reason(decision) for (example, _), decision in problematic.items()}


def decided_pairs(decisions: Iterable[PublishedDecision], test_set: TestSet) -> PairDecisions:
    """Decisions by their positions in a test set; if two queues decided the same pair, the later decision counts."""
    latest: dict[tuple[int, int], PublishedDecision] = {}
    for decision in sorted(decisions, key=lambda decision: decision.at):
        if decision.example not in test_set.position_of:
            raise MismatchError(
                f"the ledger has a decision on {decision.example!r}, which is not in test set {test_set.name}"
            )
        pair = test_set.position_of[decision.example], test_set.class_space.index(decision.class_id)
        latest.pop(pair, None)  # a later decision moves to the end
        latest[pair] = decision
    return PairDecisions(latest)


def problem_reason(decision: PublishedDecision) -> str:
    """The most frequent reason for calling an image problematic, in one line; the first one if there are ties."""
    lines = [" ".join(reason.split()) for reason in decision.reasons]
    counted = Counter(reason for reason in lines if reason)
    return counted.most_common(1)[0][0] if counted else PROBLEMATIC


def publish_labels(store: Store, ledger: Ledger, queue: Queue, test_set: TestSet, *, dry_run: bool) -> PublishResult:
    """Store a new version of a queue's label set, if its decisions change anything.

    It contains the newest version that was imported from a file, and the current decisions of this queue and of
    those published since. A withdrawn decision restores the imported judgment.
    """
    name = label_set_name(queue)
    newest = store.labels.read(test_set, name)
    queues = tuple(dict.fromkeys([*newest.queues, queue.name]))
    base = store.labels.read(test_set, store.labels.newest_without_decisions(test_set.name, name))
    decisions = decisions_of(ledger, queues, test_set)
    decided = decided_pairs(decisions, test_set)
    labels = replace(
        base.with_judgments(decided.judgments, decided.problems),
        version=newest.version + 1,
        origin=origin_of(queues, decisions),
        queues=queues,
    )
    changed = labels.digest != newest.digest
    if changed and not dry_run:
        store.labels.add(labels, test_set)
    return PublishResult(
        queue.name,
        f"labels {(labels if changed else newest).full_name}",
        label_diff(newest, labels).counts() if changed else {},
        changed and not dry_run,
        items_by_state(ledger.queues.progress(queue)),
        _left_behind(store, test_set, newest) if changed else (),
    )


def _left_behind(store: Store, test_set: TestSet, newest: LabelSet) -> tuple[str, ...]:
    """Note on decisions of a review that do not carry over: they apply only to the version it was drawn under."""
    frame = store.reviews.read(test_set, newest)
    left_behind = 0 if frame is None else int(frame.judged.sum())
    return (
        (f"left behind with {newest.full_name}: {amount(left_behind, 'decision')} of its review",)
        if left_behind
        else ()
    )


def decisions_of(ledger: Ledger, queues: Iterable[str], test_set: TestSet) -> list[PublishedDecision]:
    """The current decisions of several queues."""
    return [
        decision for name in queues for decision in ledger.decisions.of_queue(published_queue(ledger, name, test_set))
    ]


def published_queue(ledger: Ledger, name: str, test_set: TestSet) -> Queue:
    """A published queue by name; raises if the ledger no longer has it."""
    try:
        return ledger.queues.named(name)
    except UnknownName:
        raise StoreError(
            f"queue {name!r} was published for {test_set.name} before but is not in this ledger: import it with "
            "regrade review import"
        ) from None


def label_set_name(queue: Queue) -> str:
    """The name, without version, of a queue's label set."""
    if not queue.labels:
        raise InputError(f"queue {queue.name!r} has no label set to add its decisions to")
    return without_version(queue.labels)


def origin_of(queues: tuple[str, ...], decisions: Iterable[PublishedDecision]) -> str:
    """The origin of published decisions: queues, number of decisions, and time of the last one."""
    times = [decision.at for decision in decisions]
    last = f", the last at {max(times):%Y-%m-%d %H:%M:%S} UTC" if times else ""
    return f"{'queue' if len(queues) == 1 else 'queues'} {', '.join(queues)}: {amount(len(times), 'decision')}{last}"


@dataclass(frozen=True)
class ExportedLabels:
    """The exported labels, and how many of their judgments have an author."""

    labels: LabelSet
    with_authors: int


def export_labels(
    store: Store, ledger: Callable[[], Ledger], test_set: TestSet, name: str, path: Path, *, form: LabelFormat
) -> ExportedLabels:
    """Write a label set to a new file that only its owner may read, since it may name authors.

    The ledger is read only if the labels contain decisions of queues.
    """
    check_new_file(path)
    labels = store.labels.read(test_set, name)
    authors = _authors(ledger(), labels, test_set) if labels.queues else LabelAuthors()
    write_new_file(path, labels_as_file(labels, test_set, path.suffix, form=form, authors=authors), mode=PRIVATE)
    with_authors = form is LabelFormat.PLAIN
    return ExportedLabels(labels, (len(authors.pairs) + len(authors.images)) * with_authors)


def _authors(ledger: Ledger, labels: LabelSet, test_set: TestSet) -> LabelAuthors:
    """The authors of these labels; decisions that differ from the labels belong to another version and are skipped."""
    columns = (labels.examples.tolist(), labels.classes.tolist(), labels.states.tolist())
    states = {(e, c): LabelState(s).name.lower() for e, c, s in zip(*columns, strict=True)}
    pairs, images = {}, {}
    for pair, decision in decided_pairs(decisions_of(ledger, labels.queues, test_set), test_set).decisions.items():
        if states.get(pair) == decision.answer:
            pairs[pair] = Authors(decision.by, decision.at)
        elif decision.answer == PROBLEMATIC and labels.reasons[pair[0]]:
            images[pair[0]] = Authors(decision.by, decision.at)
    return LabelAuthors(pairs, images)
