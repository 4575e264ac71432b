"""regrade build freeze: turn a revision into a stored test set, and write a release with everything it depends on."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from regrade.build.anonymous_workers import anonymized, anonymous_names
from regrade.build.duplicates import DuplicateCheck, load_duplicates
from regrade.build.files import AnswerBatch, AnswerCollection, RevisionCollection, StoredRevision
from regrade.build.redraw import sample_options
from regrade.build.release import Draw, Release, ReleasedCandidate, ReleasedImage, manifest_column
from regrade.build.release_writing import PoolImages, ReleaseFiles, released_name, write_release
from regrade.build.review import BuildReview, BuildReviewCollection, anonymous_review
from regrade.build.steps.frequencies import LoadedAnswers, load_answers
from regrade.build.steps.revisions import read_revisions
from regrade.build.steps.sample import keywords_of, reference_keywords, scores_for
from regrade.build.steps.tasks import build_name, unchanged_set
from regrade.core import Column, InputError, MismatchError, Table, Tabular, TestSet
from regrade.core.amounts import amount
from regrade.core.frequency_bins import EDGES, bin_names, frequency_bins
from regrade.core.test_set import SELECTION_FREQUENCY
from regrade.store import Store, file_name
from regrade.studies.stored_subset import check_subset, store_subset
from regrade.studies.study import Study, StudyOptions, option

_RELEASES = "releases"


@dataclass(frozen=True)
class FreezeOptions(StudyOptions):
    """The revision, the name of the test set, and the folder of the release."""

    build: str = build_name()
    name: str = option("Name of the new test set.", names=("--as",), metavar="TEST_SET")
    revision: int | None = option("Revision to freeze (default: the last one).", None, minimum=0)
    out: Path | None = option(
        "New folder for the release (default: releases/TEST_SET in the workspace).", None, metavar="FOLDER"
    )
    unreviewed: bool = option(
        "Also freeze a revision with images that nobody reviewed, although the build has a review.", False
    )
    unchecked_duplicates: bool = option(
        "Freeze images that were not compared, or have an undecided near duplicate; the datasheet says so.", False
    )


@dataclass(frozen=True, repr=False)
class FrozenBuild(Tabular):
    """A frozen test set and its release; ``new`` is False if both existed with the same content."""

    build: str
    revision: int
    test_set: str
    images: int
    classes: int
    folder: str
    files: int
    new: bool

    def table(self) -> Table:
        """One row per figure."""
        rows = (
            ("test set", self.test_set if self.new else f"{self.test_set} (unchanged)"),
            ("images", self.images),
            ("classes", self.classes),
            ("release", self.folder),
            ("files", self.files),
        )
        columns = (Column("quantity", "quantity"), Column("value", "value"))
        note = f"accuracy by selection frequency: regrade grade -t {self.test_set} --slice {SELECTION_FREQUENCY}"
        return Table(f"{self.build}, revision {self.revision}: frozen and verified", columns, rows, (note,))


def run(store: Store, options: FreezeOptions) -> FrozenBuild:
    """Store a revision as a test set, and write its release: images, manifest, answers, datasheet, Croissant.

    The same again is allowed. Raises if the revision has problems, if a reviewer flagged one of its images, if the
    build has a review and some were not reviewed (unless ``unreviewed`` is set), if it was not checked for duplicates
    or contains some, if it does not follow from the present answers, if pool or reference set changed, or if other
    content has the name of the test set or the folder.
    """
    revision = _sound_revision(store, options)
    review = _sound_review(store, revision, options)
    left_out = revision.settings.get("exclude_workers", ())
    loaded = load_answers(store, options.build, excluded=left_out, include_excluded=True)
    pool = unchanged_set(store, loaded.tasks.pool, loaded.tasks.pool_digest, options.build)
    reference = unchanged_set(store, loaded.tasks.reference, loaded.tasks.reference_digest, options.build)
    late = _late_batches(store, revision)
    release = _without_images(store, options.name, revision, loaded, late, pool=pool, reference=reference)
    release = replace(release, review=None if review is None else anonymous_review(review))
    _check_follows(release, revision, late)
    test_set = _test_set(options.name, pool, revision, release)
    check_subset(store, test_set)
    checked = _checked_duplicates(store, options, revision, pool, reference)
    release = replace(release, draw=replace(release.draw, duplicates=checked))
    images = PoolImages(pool, store.images.read(pool))
    release = _with_images(release, images, pool, options.progress([image for image, _ in revision.sample.examples]))
    folder = options.out or store.root / _RELEASES / file_name(options.name)
    files = ReleaseFiles(release, images)
    is_new = write_release(folder, files)
    stored = store_subset(store, test_set, pool)
    classes = {image.candidate.class_id for image in release.images}
    return FrozenBuild(
        options.build,
        revision.number,
        test_set.name,
        len(test_set),
        len(classes),
        str(folder),
        len(files),
        bool(stored.new) or is_new,
    )


def _sound_revision(store: Store, options: FreezeOptions) -> StoredRevision:
    """The revision to freeze; raise if it is not a valid test set."""
    if options.revision is None:
        revision = read_revisions(store, options.build)[-1]
    else:
        revision = RevisionCollection(store.root).read(options.build, options.revision)
    problems = revision.sample.problems
    if problems:
        more = f", and {amount(len(problems) - 1, 'more problem')}" if len(problems) > 1 else ""
        raise InputError(
            f"revision {revision.number} of {options.build} cannot be frozen: {problems[0]}{more}; see regrade build "
            f"revisions {options.build} --show problems"
        )
    if not revision.sample.examples:
        raise InputError(f"revision {revision.number} of {options.build} has no images")
    return revision


def _sound_review(store: Store, revision: StoredRevision, options: FreezeOptions) -> BuildReview | None:
    """The review of the build, if it has one; raise if it objects to the revision, or has not seen all of it."""
    review = BuildReviewCollection(store.root).newest(revision.build)
    if review is None:
        return None
    name, examples = f"revision {revision.number} of {revision.build}", revision.sample.examples
    flagged = [image for image, _ in examples if image in review.flagged]
    if flagged:
        raise InputError(
            f"{name} cannot be frozen: {amount(len(flagged), 'image')} flagged by reviewers, such as {flagged[0]!r} "
            f"({review.flagged[flagged[0]]}); draw the next one with regrade build sample {revision.build} --from "
            f"{revision.number}"
        )
    open_images = len(examples) - review.reviewed(examples)
    if open_images and not options.unreviewed:
        raise InputError(
            f"{name} cannot be frozen: nobody reviewed {amount(open_images, 'image')} of it; queue them with regrade "
            f"build review {revision.build}, publish with regrade review publish '{review.queue}', or use --unreviewed"
        )
    return review


def _checked_duplicates(
    store: Store, options: FreezeOptions, revision: StoredRevision, pool: TestSet, reference: TestSet
) -> DuplicateCheck:
    """How the drawn images were checked for duplicates; raise if they were not, unless that is accepted."""
    review, images = load_duplicates(store, options.build, pool), [image for image, _ in revision.sample.examples]
    review.refuse_duplicates(images, revision=revision.number)
    if not options.unchecked_duplicates:
        review.check(images, reference=reference.name, revision=revision.number)
    return review.summary(images, reference.name)


def _late_batches(store: Store, revision: StoredRevision) -> list[AnswerBatch]:
    """The answers that arrived after a revision was drawn, as far as it records which answers it used."""
    if revision.answers is None:
        return []
    collection = AnswerCollection(store.root)
    late = [name for name in collection.batches(revision.build) if name not in revision.answers]
    return [collection.read_batch(revision.build, name) for name in late]


def _without_images(
    store: Store,
    name: str,
    revision: StoredRevision,
    loaded: LoadedAnswers,
    late: Sequence[AnswerBatch],
    *,
    pool: TestSet,
    reference: TestSet,
) -> Release:
    """The release without its image files."""
    assignments = AnswerCollection(store.root).read(revision.build)
    names = anonymous_names(assignments, loaded.left_out)
    options = sample_options(revision.build, revision.settings)
    settings = {**revision.settings, "exclude_workers": sorted(names[worker] for worker in loaded.left_out)}
    tasks = loaded.tasks
    draw = Draw(
        name,
        revision.build,
        revision.number,
        tasks.pool,
        tasks.pool_digest,
        tasks.reference,
        tasks.reference_digest,
        tasks.options,
        settings,
        reference_keywords(reference, options),
        False,
        version("regrade"),
    )
    return Release(
        draw,
        pool.class_space,
        (),
        _candidates(store, revision, loaded, keywords_of(pool, options), scores_for(store, pool, options)),
        tasks.tasks,
        anonymized(assignments, names),
        frozenset(names[worker] for worker in loaded.left_out),
        frozenset((answer.task, names[answer.worker]) for batch in late for answer in batch.assignments),
    )


def _candidates(
    store: Store,
    revision: StoredRevision,
    loaded: LoadedAnswers,
    keywords: dict[str, str],
    scores: dict[str, float],
) -> tuple[ReleasedCandidate, ...]:
    before = revision.settings.get("continue_from")
    previous = set()
    if before is not None:
        examples = RevisionCollection(store.root).read(revision.build, before).sample.examples
        previous = {image for image, _ in examples}
    sample = revision.sample
    reasons = {(image, of.class_id): why for of in sample.classes for image, why in of.excluded.items()}
    drawn = set(sample.examples)
    return tuple(
        ReleasedCandidate(
            candidate,
            round(candidate.frequency * candidate.assignments),
            candidate.image in previous,
            reasons.get((candidate.image, candidate.class_id)),
            (candidate.image, candidate.class_id) in drawn,
            scores.get(candidate.image),
        )
        for candidate in loaded.frequencies().candidates(keywords)
    )


def _check_follows(release: Release, revision: StoredRevision, late: Sequence[AnswerBatch]) -> None:
    """Raise if the revision is not what the present answers lead to."""
    if release.redrawn.examples != revision.sample.examples:
        count = amount(sum(len(batch.assignments) for batch in late), "answer")
        origins = ", ".join(sorted({batch.origin or "a file without a name" for batch in late}))
        arrived = f" ({count} arrived later, from {origins})" if late else ""
        raise MismatchError(
            f"revision {revision.number} of {revision.build} does not follow from the answers that are stored "
            f"now{arrived}: draw the next revision with regrade build sample {revision.build} --from {revision.number}"
        )


def _test_set(name: str, pool: TestSet, revision: StoredRevision, release: Release) -> TestSet:
    """The drawn images of the pool, in the order of the revision, with a column of frequency bins."""
    if SELECTION_FREQUENCY in pool.group_columns:
        raise InputError(
            f"pool {pool.name} has a group column {SELECTION_FREQUENCY!r}, the name of the frozen set's own"
        )
    positions = [pool.position(image) for image, _ in revision.sample.examples]
    subset = replace(pool, groups=pool.group_columns, slice_sets=()).subset(name, positions)
    bins = _frequency_bins(release)
    column = tuple(bins[example] for example in revision.sample.examples)
    return replace(subset, groups={**subset.groups, SELECTION_FREQUENCY: column})


def _frequency_bins(release: Release) -> dict[tuple[str, str], str]:
    """The name of the frequency bin of each drawn image and its class."""
    drawn = [row.candidate for row in release.candidates if row.drawn]
    names, numbers = bin_names(EDGES), frequency_bins([candidate.frequency for candidate in drawn])
    return {(c.image, c.class_id): names[number] for c, number in zip(drawn, numbers, strict=True)}


def _with_images(release: Release, source: PoolImages, pool: TestSet, names: Iterable[str]) -> Release:
    """The release with the images of these names, in this order; raise if two have the same content."""
    rows = {row.candidate.image: row for row in release.candidates if row.drawn}
    bins = _frequency_bins(release)
    images = []
    for name in names:
        row, content = rows[name], source.content(name)
        candidate, position = row.candidate, pool.position(name)
        images.append(
            ReleasedImage(
                released_name(candidate.class_id, content),
                hashlib.sha256(content).hexdigest(),
                pool.class_space.names[pool.class_space.index_of[candidate.class_id]],
                bins[candidate.image, candidate.class_id],
                row.selected,
                candidate,
                {manifest_column(column): values[position] for column, values in pool.group_columns.items()},
            )
        )
    repeated = Counter(image.sha256 for image in images).most_common(1)[0]
    if repeated[1] > 1:
        same = [image.candidate.image for image in images if image.sha256 == repeated[0]]
        raise InputError(f"images {same[0]!r} and {same[1]!r} have the same content: blacklist one, and sample again")
    return replace(release, images=tuple(images), draw=replace(release.draw, encoded_as_png=source.has_pixels))


BUILD_FREEZE = Study(
    name="freeze",
    question="What is the final test set?",
    summary="Store a revision as a test set, and write a release: images, manifest, answers, datasheet and Croissant.",
    options=FreezeOptions,
    result=FrozenBuild,
    run=run,
)
