"""regrade build review: put the images of a revision into the queue in which people keep or flag them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from regrade.build.files import AnswerCollection, StoredRevision, TaskCollection
from regrade.build.review import BuildReview, BuildReviewCollection, Example, review_queue
from regrade.build.steps.revisions import read_revisions
from regrade.build.steps.tasks import build_name
from regrade.core import Column, InputError, MismatchError, Table, Tabular, UnknownName
from regrade.core.amounts import amount
from regrade.core.panel import Fitness
from regrade.store import Store
from regrade.studies.study import Study, StudyOptions, option

if TYPE_CHECKING:
    from regrade.build.registry import Builds
    from regrade.ledger import Ledger, Person, Queue


@dataclass(frozen=True)
class ReviewOptions(StudyOptions):
    """The revision, and who reviews it."""

    build: str = build_name()
    revision: int | None = option("Revision to review (default: the last one).", None, minimum=0)
    overlap: int | None = option("Number of votes per image (default: 1).", None, minimum=1)
    verified_by: Sequence[str] = option(
        "Assign the queue to this person, who must not have answered selection tasks of the build. May be repeated "
        "(default: everyone may review).",
        (),
        names=("--verified-by",),
        metavar="NAME",
    )


@dataclass(frozen=True)
class ClassToReview:
    """The images of a class in a revision: new in the queue, kept or flagged before, and still open."""

    class_id: str
    images: int
    new: int
    kept: int
    flagged: int

    @property
    def open(self) -> int:
        """The images that are not decided."""
        return self.images - self.kept - self.flagged


@dataclass(frozen=True, repr=False)
class QueuedRevision(Tabular):
    """A revision in its review queue; decisions on images of earlier revisions carry over."""

    build: str
    revision: int
    queue: str
    overlap: int
    assigned: tuple[str, ...]
    classes: tuple[ClassToReview, ...]
    notes: tuple[str, ...]

    def total(self, name: str) -> int:
        """The sum of a field over classes."""
        return sum(getattr(row, name) for row in self.classes)

    def json_fields(self) -> dict[str, object]:
        """The fields, with the sums over classes."""
        return {**super().json_fields(), **{name: self.total(name) for name in ("images", "new", "open")}}

    def table(self) -> Table:
        """One row per class, those with the most open images first."""
        names = ("class_id", "images", "new", "kept", "flagged", "open")
        columns = tuple(Column(name, "class" if name == "class_id" else name) for name in names)
        ordered = sorted(self.classes, key=lambda row: (-row.open, row.class_id))
        rows = tuple(tuple(getattr(row, name) for name in names) for row in ordered)
        new, decided = amount(self.total("new"), "new image"), self.total("kept") + self.total("flagged")
        title = (
            f"{self.build}, revision {self.revision}, in queue {self.queue!r}: {new}, {decided:,} decided before, "
            f"{self.total('open'):,} open"
        )
        return Table(title, columns, rows, self.notes)


def run(builds: Builds, options: ReviewOptions) -> QueuedRevision:
    """Put the images of a revision into the review queue of its build; images that it has already are skipped."""
    store = builds.store
    revision = _revision(store, options)
    pool = store.test_set(TaskCollection(store.root).read(options.build).pool)
    ledger = builds.ledger
    from regrade.ledger import NewItem

    with store.transaction(), ledger.queues.filling():
        people = _verifiers(store, ledger, options)
        queue = _queue(ledger, options, pool.name)
        queued = set(ledger.items.pairs(queue))
        new = [example for example in revision.sample.examples if example not in queued]
        ledger.items.add(queue, [NewItem(image, class_id) for image, class_id in new])
        if people:
            ledger.queues.assign(queue, people)
        if not BuildReviewCollection(store.root).versions(options.build):
            BuildReviewCollection(store.root).add(BuildReview(options.build, 0, queue.name), None)
    decided = {(row.example, row.class_id): Fitness(row.answer) for row in ledger.decisions.of_queue(queue)}
    return QueuedRevision(
        options.build,
        revision.number,
        queue.name,
        queue.overlap,
        tuple(person.name for person in ledger.queues.assigned(queue)),
        tuple(_classes(revision.sample.examples, frozenset(new), decided)),
        tuple(_notes(store, options.build, queue, decided)),
    )


def _revision(store: Store, options: ReviewOptions) -> StoredRevision:
    revisions = {revision.number: revision for revision in read_revisions(store, options.build)}
    number = max(revisions) if options.revision is None else options.revision
    if number not in revisions:
        raise UnknownName(f"revision of {options.build}", str(number), list(map(str, revisions)))
    return revisions[number]


def _verifiers(store: Store, ledger: Ledger, options: ReviewOptions) -> list[Person]:
    """The people who verify; raise if one of them collected."""
    if not options.verified_by:
        return []
    collectors = collectors_of(store, ledger, options.build)
    for name in options.verified_by:
        if name in collectors:
            raise InputError(
                f"{name} answered selection tasks of {options.build}: the images have to be verified by another person"
            )
    return [ledger.people.named(name) for name in options.verified_by]


def collectors_of(store: Store, ledger: Ledger, build: str) -> frozenset[str]:
    """The people who answered selection tasks of a build, in the app or outside of it."""
    from regrade.ledger import Question

    names = {answer.worker for answer in AnswerCollection(store.root).read(build)}
    for queue in ledger.queues.all():
        if queue.build == build and queue.question is Question.SELECT:
            names |= set(ledger.queues.progress(queue).by_person)
    return frozenset(names)


def _queue(ledger: Ledger, options: ReviewOptions, pool: str) -> Queue:
    """The review queue of a build, which is created if needed."""
    from regrade.ledger import Question

    name = review_queue(options.build)
    queue = next((queue for queue in ledger.queues.all() if queue.name == name), None)
    if queue is None:
        overlap = options.overlap or 1
        return ledger.queues.create(name, Question.REVIEW, test_set=pool, overlap=overlap, build=options.build)
    if (queue.question, queue.test_set, queue.build) != (Question.REVIEW, pool, options.build):
        raise MismatchError(f"queue {name!r} exists, and is not the review of {options.build}")
    if options.overlap not in (None, queue.overlap):
        votes = amount(queue.overlap, "vote")
        raise InputError(f"images of {name!r} need {votes} each: change that with regrade review overlap")
    return queue


def _classes(
    examples: Iterable[Example], new: frozenset[Example], decided: dict[Example, Fitness]
) -> Iterator[ClassToReview]:
    by_class: dict[str, list[Example]] = {}
    for example in examples:
        by_class.setdefault(example[1], []).append(example)
    for class_id, own in sorted(by_class.items()):
        outcomes = Counter(decided.get(example) for example in own)
        added = sum(example in new for example in own)
        yield ClassToReview(class_id, len(own), added, outcomes[Fitness.KEEP], outcomes[Fitness.PROBLEMATIC])


def _notes(store: Store, build: str, queue: Queue, decided: dict[Example, Fitness]) -> Iterator[str]:
    review = BuildReviewCollection(store.root).newest(build)
    published = {} if review is None else {example: row.fitness for example, row in review.by_example.items()}
    if published != decided:
        changed = len(set(published.items()) ^ set(decided.items()))
        yield f"not published yet: {amount(changed, 'decision')}; run regrade review publish '{queue.name}'"
    yield "flagged images are not drawn again once they are published; images of earlier revisions keep their decision"


BUILD_REVIEW = Study(
    name="review",
    question="Does every drawn image belong in the test set?",
    summary="Put the images of a revision into the queue of the class review page; earlier decisions carry over.",
    options=ReviewOptions,
    result=QueuedRevision,
    run=run,
    data=attrgetter("build"),
)
