"""regrade build clean: find exact and near duplicates of the drawn images, and queue the pairs for people to decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING

from regrade.build.clean_result import SOURCE_COLUMN, CleanedBuild, CleanPart, cleaned_build, unique_pairs
from regrade.build.duplicates import DuplicateReview, load_duplicates, pair_queue_name
from regrade.build.eligibility import MIN_ASSIGNMENTS
from regrade.build.files import BuildTasks, RevisionCollection, TaskCollection
from regrade.build.steps.frequencies import load_answers
from regrade.build.steps.tasks import build_name, unchanged_set
from regrade.core import Distance, ImagePair, InputError, MismatchError, TestSet
from regrade.core.amounts import amount
from regrade.core.names import member
from regrade.core.unknown_values import is_unknown
from regrade.neighbors import SIZE, NeighborEngine, no_progress
from regrade.store import Store
from regrade.studies.leakage.pair_search import search_pairs
from regrade.studies.leakage.search import SearchOptions, search_for
from regrade.studies.leakage.signatures import ImageProgress
from regrade.studies.leakage.study import parse_distances, parse_thresholds
from regrade.studies.study import Parts, Study, StudyOptions, option

if TYPE_CHECKING:
    from regrade.build.registry import Builds
    from regrade.ledger import Ledger, Queue

TARGETS = {Distance.PIXELS: 1.2e8, Distance.DSSIM: 0.2205}
"""The distances up to which Recht et al. 2019 reviewed pairs, at a size of 256 x 256."""

NEIGHBORS = 30
"""Neighbors per image and distance that Recht et al. 2019 reviewed."""

_ALIASES = {"l2": Distance.PIXELS.value}


def _parse_by(text: str | None) -> tuple[str, ...]:
    return tuple(_ALIASES.get(name, name) for name in parse_distances(text))


def _parse_targets(texts: Sequence[str]) -> dict[str, float]:
    try:
        return {_ALIASES.get(name, name): value for name, value in parse_thresholds(texts).items()}
    except InputError:
        raise InputError(f"--target takes DISTANCE=TARGET, such as dssim=0.2, got {', '.join(texts)}") from None


@dataclass(frozen=True)
class CleanOptions(StudyOptions):
    """Which images are compared, with which sets, and by which distances."""

    build: str = build_name()
    revision: int | None = option("Compare the images of this revision (default: the last one).", None, minimum=0)
    candidates: bool = option("Compare all candidates with enough answers instead of one revision.", False)
    against: Sequence[str] = option(
        "Also compare with this test set, such as a training set. May be repeated (the reference set always is).",
        (),
        metavar="TEST_SET",
    )
    by: Sequence[Distance | str] = option(
        "Distances, separated by commas: pixels (or l2), dssim, phash, features, embeddings (default: pixels,dssim, "
        "and embeddings with --model).",
        (),
        kind=str | None,
        parse=_parse_by,
    )
    target: Mapping[str, float] | None = option(
        "Largest distance that people decide about, such as dssim=0.2 (default: pixels=1.2e8, dssim=0.2205). May be "
        "repeated.",
        None,
        metavar="DISTANCE=TARGET",
        kind=list[str],
        parse=_parse_targets,
    )
    model: str | None = option("Model whose stored embeddings are compared.", None)
    neighbors: int = option("Neighbors per image and distance.", NEIGHBORS, minimum=1)
    min_answers: int = option("candidates: answers that a candidate needs.", MIN_ASSIGNMENTS, minimum=0)
    overlap: int | None = option("People who decide about each pair (default: 1).", None, minimum=1)
    engine: NeighborEngine | str = option(
        "Search library; cuda and torch require torch, faiss requires faiss.", NeighborEngine.NUMPY
    )
    image_progress: ImageProgress = field(default=no_progress, kw_only=True, compare=False, repr=False)


def run(builds: Builds, options: CleanOptions) -> CleanedBuild:
    """Compare the drawn images, or all candidates, with each other, the reference set and the sets ``against``.

    Pairs within the targets are stored; those without a decision are added to the queue of the build, except exact
    duplicates, which need none. Idempotent: sets that were compared before are not compared again.
    """
    store = builds.store
    tasks = TaskCollection(store.root).read(options.build)
    pool = unchanged_set(store, tasks.pool, tasks.pool_digest, options.build)
    search = _search(options)
    scope, images = _images(store, options)
    references = _references(store, options, tasks)
    sources = ["" if is_unknown(value) else value for value in pool.group_columns.get(SOURCE_COLUMN, ())]
    searches = [
        search_pairs(
            store,
            pool,
            against,
            search,
            images=images,
            sources=sources,
            build=options.build,
            progress=options.image_progress,
        )
        for against in (None, *references)
    ]
    review = load_duplicates(store, options.build, pool)
    undecided = [pair for pair in unique_pairs(searches) if review.relation(pair) is None]
    queued = _queue(builds, options, pool, undecided, review) if undecided else 0
    return cleaned_build(scope, images, searches, review, queued=queued)


def _search(options: CleanOptions) -> SearchOptions:
    usual = [*TARGETS, *([Distance.EMBEDDINGS] if options.model else [])]
    by = [member(Distance, name) for name in options.by] or usual
    if Distance.EXACT in by:
        raise InputError("exact duplicates are always searched: name the other distances with --by")
    targets = {distance.value: TARGETS[distance] for distance in by if distance in TARGETS}
    return search_for(
        [Distance.EXACT, *by],
        targets | dict(options.target or {}),
        most=options.neighbors,
        size=SIZE,
        engine=options.engine,
        model=options.model,
    )


def _images(store: Store, options: CleanOptions) -> tuple[str, list[str]]:
    """What is compared, in words, and the images."""
    if options.candidates:
        if options.revision is not None:
            raise InputError("give either --revision or --candidates")
        counted = load_answers(store, options.build).frequencies().candidates()
        images = sorted({c.image for c in counted if c.assignments >= options.min_answers})
        if not images:
            raise InputError(f"no candidate of {options.build} has {amount(options.min_answers, 'answer')}")
        return "the candidates", images
    revisions = RevisionCollection(store.root)
    numbers = revisions.numbers(options.build)
    if not numbers:
        raise InputError(
            f"build {options.build} has no revision yet: draw one with regrade build sample, or clean all candidates "
            "with --candidates"
        )
    revision = revisions.read(options.build, numbers[-1] if options.revision is None else options.revision)
    if not revision.sample.examples:
        raise InputError(f"revision {revision.number} of {options.build} has no images")
    return f"revision {revision.number}", [image for image, _ in revision.sample.examples]


def _references(store: Store, options: CleanOptions, tasks: BuildTasks) -> list[TestSet]:
    """The reference set and the sets given with ``--against``, each once."""
    if tasks.pool in options.against:
        raise InputError(f"--against must differ from the pool {tasks.pool}, whose images are compared with each other")
    reference = unchanged_set(store, tasks.reference, tasks.reference_digest, options.build)
    further = [store.test_set(name) for name in dict.fromkeys(options.against) if name != reference.name]
    return [reference, *further]


def _queue(
    builds: Builds, options: CleanOptions, pool: TestSet, pairs: Sequence[ImagePair], review: DuplicateReview
) -> int:
    """Add pairs to the queue of the build, nearest first, and return how many are new."""
    from regrade.ledger import NewItem

    ordered = sorted(pairs, key=lambda pair: (pair.closeness(review.targets), pair.key))
    ledger = builds.ledger
    with builds.store.transaction(), ledger.queues.filling():
        queue = _queue_of(ledger, options, pool)
        return ledger.items.add(queue, [NewItem(pair.first.image, pair.key) for pair in ordered])


def _queue_of(ledger: Ledger, options: CleanOptions, pool: TestSet) -> Queue:
    from regrade.ledger import Question

    name = pair_queue_name(options.build)
    queue = next((queue for queue in ledger.queues.all() if queue.name == name), None)
    if queue is None:
        return ledger.queues.create(
            name, Question.PAIR, test_set=pool.name, overlap=options.overlap or 1, build=options.build
        )
    if (queue.question, queue.test_set) != (Question.PAIR, pool.name):
        raise MismatchError(f"queue {name!r} exists with another question or test set")
    if options.overlap not in (None, queue.overlap):
        raise InputError(f"pairs of {name!r} need {queue.overlap} votes each: change that with regrade review overlap")
    return queue


BUILD_CLEAN = Study(
    name="clean",
    question="Which images are duplicates?",
    summary="Find exact and near duplicates of the drawn images, with each other and in other sets, and queue the "
    "pairs for people to decide.\n\nDecided duplicates are not drawn again; `freeze` refuses while a pair is "
    "undecided.",
    options=CleanOptions,
    result=CleanedBuild,
    run=run,
    parts=Parts(CleanPart, "Table to print. sets: pairs by compared set. pairs: every pair with its decision."),
    data=attrgetter("build"),
)
