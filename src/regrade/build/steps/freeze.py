"""regrade build freeze: turn a revision into a stored test set, and write a release with everything it depends on."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from regrade.build.anonymous_workers import anonymized, anonymous_names
from regrade.build.files import AnswerCollection, RevisionCollection, StoredRevision
from regrade.build.redraw import sample_options
from regrade.build.release import Draw, Release, ReleasedCandidate, ReleasedImage, manifest_column
from regrade.build.release_writing import PoolImages, ReleaseFiles, released_name, write_release
from regrade.build.samplers import EDGES, bin_names, frequency_bins
from regrade.build.steps.frequencies import LoadedAnswers, load_answers
from regrade.build.steps.revisions import read_revisions
from regrade.build.steps.sample import keyword_counts, keywords_of
from regrade.build.steps.tasks import build_name
from regrade.core import Column, InputError, MismatchError, Table, Tabular, TestSet
from regrade.core.amounts import amount
from regrade.store import Store, file_name
from regrade.studies.stored_subset import check_subset, store_subset
from regrade.studies.study import Study, StudyOptions, option

FREQUENCY_COLUMN = "selection_frequency"
"""The group column of a frozen test set with the frequency bin of each image."""

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
        note = f"accuracy by selection frequency: regrade grade -t {self.test_set} --slice {FREQUENCY_COLUMN}"
        return Table(f"{self.build}, revision {self.revision}: frozen and verified", columns, rows, (note,))


def run(store: Store, options: FreezeOptions) -> FrozenBuild:
    """Store a revision as a test set, and write its release: images, manifest, answers, datasheet, Croissant.

    The same again is allowed. Raises if the revision has problems, if it does not follow from the present answers, if
    pool or reference set changed, or if other content has the name of the test set or the folder.
    """
    revision = _sound_revision(store, options)
    loaded = load_answers(store, options.build, excluded=revision.settings.get("exclude_workers", ()))
    pool = _unchanged(store, loaded.tasks.pool, loaded.tasks.pool_digest, options.build)
    reference = _unchanged(store, loaded.tasks.reference, loaded.tasks.reference_digest, options.build)
    release = _without_images(store, options.name, revision, loaded, pool=pool, reference=reference)
    _check_follows(release, revision)
    test_set = _test_set(options.name, pool, revision, release)
    check_subset(store, test_set)
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


def _unchanged(store: Store, name: str, digest: str, build: str) -> TestSet:
    """A test set of a build; raise if it is not the one for which the tasks were made."""
    test_set = store.test_set(name)
    if test_set.digest != digest:
        raise MismatchError(
            f"test set {name} changed after the tasks of {build} were made: restore it, or make a new build"
        )
    return test_set


def _without_images(
    store: Store, name: str, revision: StoredRevision, loaded: LoadedAnswers, *, pool: TestSet, reference: TestSet
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
        keyword_counts(reference, options),
        False,
        version("regrade"),
    )
    return Release(
        draw,
        pool.class_space,
        (),
        _candidates(store, revision, loaded, keywords_of(pool, options)),
        tasks.tasks,
        anonymized(assignments, names),
        frozenset(names[worker] for worker in loaded.left_out),
    )


def _candidates(
    store: Store, revision: StoredRevision, loaded: LoadedAnswers, keywords: dict[str, str]
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
        )
        for candidate in loaded.frequencies().candidates(keywords)
    )


def _check_follows(release: Release, revision: StoredRevision) -> None:
    """Raise if the revision is not what the present answers lead to."""
    if release.redrawn.examples != revision.sample.examples:
        raise MismatchError(
            f"revision {revision.number} of {revision.build} does not follow from the answers that are stored now, "
            f"which arrived later: draw the next revision with regrade build sample {revision.build} --from "
            f"{revision.number}"
        )


def _test_set(name: str, pool: TestSet, revision: StoredRevision, release: Release) -> TestSet:
    """The drawn images of the pool, in the order of the revision, with a column of frequency bins."""
    if FREQUENCY_COLUMN in pool.group_columns:
        raise InputError(f"pool {pool.name} has a group column {FREQUENCY_COLUMN!r}, the name of the frozen set's own")
    positions = [pool.position(image) for image, _ in revision.sample.examples]
    subset = replace(pool, groups=pool.group_columns, slice_sets=()).subset(name, positions)
    bins = _frequency_bins(release)
    column = tuple(bins[example] for example in revision.sample.examples)
    return replace(subset, groups={**subset.groups, FREQUENCY_COLUMN: column})


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
