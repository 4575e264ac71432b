"""Check a released test set from its files alone: checksums, frequencies, the draw, and the texts about it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path

from regrade.build.croissant import croissant
from regrade.build.datasheet import datasheet
from regrade.build.eligibility import Candidate
from regrade.build.release import (
    ANSWERS,
    CANDIDATES,
    CHECKSUMS,
    CLASSES,
    CROISSANT,
    DATASHEET,
    DRAW,
    IMAGES,
    MANIFEST,
    REVIEWS,
    TASKS,
    Release,
    read_release,
    release_texts,
)
from regrade.build.steps.sample import SampleOptions
from regrade.core import InputError, RegradeError
from regrade.core.amounts import amount
from regrade.core.frequency_bins import EDGES, bin_names, frequency_bins
from regrade.core.panel import Fitness

_REQUIRED = (MANIFEST, CANDIDATES, TASKS, ANSWERS, DRAW, CLASSES, DATASHEET, CROISSANT, CHECKSUMS)
_BLOCK = 1 << 20
_INVALID_SETTINGS = (RegradeError, TypeError, ValueError)  # settings in a changed file may have any type


class CheckOutcome(StrEnum):
    """The outcome of a check."""

    VERIFIED = "verified"
    FAILED = "failed"
    NOT_VERIFIABLE = "not verifiable"


@dataclass(frozen=True)
class ReleaseCheck:
    """One thing that was checked, or cannot be: the file or figure, the outcome, and the detail."""

    subject: str
    outcome: CheckOutcome
    detail: str


def checksums(files: dict[str, str]) -> str:
    """The text of the file of checksums, as `sha256sum --check` reads it, from SHA-256 by file name."""
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(files.items()))


def file_digest(path: Path) -> str:
    """The SHA-256 of a file."""
    state = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            state.update(block)
    return state.hexdigest()


def check_release(folder: Path) -> tuple[ReleaseCheck, ...]:
    """Check everything that can be recomputed from the files of a release; failures name the file."""
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}")
    if not (folder / CHECKSUMS).is_file() and not (folder / MANIFEST).is_file():
        raise InputError(f"{folder} is not a release: it has neither {CHECKSUMS} nor {MANIFEST}")
    digests = {
        path.relative_to(folder).as_posix(): file_digest(path) for path in sorted(folder.rglob("*")) if path.is_file()
    }
    checks = list(_check_checksums(folder, digests))
    try:
        release = read_release(folder)
        counted = release.counted_candidates
    except RegradeError as error:
        return (*checks, _failed("tables", _relative(folder, error)), *_not_verifiable())
    try:
        options = release.options
    except _INVALID_SETTINGS as error:
        return (*checks, _failed(DRAW, f"the settings are not valid: {error}"), *_not_verifiable())
    checks += _check_images(release, options.per_class, digests)
    checks += _check_frequencies(release, counted)
    checks += _check_draw(release, options)
    checks += _check_late_answers(release)
    checks += _check_review(release)
    checks += _check_texts(folder, release, digests)
    return (*checks, *_not_verifiable())


def _failed(subject: str, detail: str) -> ReleaseCheck:
    return ReleaseCheck(subject, CheckOutcome.FAILED, detail)


def _verified(subject: str, detail: str) -> ReleaseCheck:
    return ReleaseCheck(subject, CheckOutcome.VERIFIED, detail)


def _relative(folder: Path, error: RegradeError) -> str:
    return str(error).replace(f"{folder}/", "")


def _check_checksums(folder: Path, digests: dict[str, str]) -> Iterator[ReleaseCheck]:
    missing = [name for name in _REQUIRED if name not in digests]
    yield from (_failed(name, "the file is missing") for name in missing)
    if CHECKSUMS in missing:
        return
    present = {name: digest for name, digest in digests.items() if name != CHECKSUMS}
    text = (folder / CHECKSUMS).read_bytes().decode(errors="replace")
    listed = {line[66:]: line[:64] for line in text.splitlines() if line[64:66] == "  "}
    problems = [
        *(_failed(name, "the file is not listed in checksums.txt") for name in present if name not in listed),
        *(
            _failed(name, "the content differs from checksums.txt")
            for name, digest in present.items()
            if listed.get(name, digest) != digest
        ),
        *(
            _failed(name, "listed in checksums.txt, but missing")
            for name in listed
            if name not in present and name not in missing
        ),
    ]
    if not problems and not missing and text != checksums(present):
        problems = [_failed(CHECKSUMS, "the file contains other lines than the checksums of the files")]
    yield from problems
    if not problems and not missing:
        digest = hashlib.sha256(text.encode()).hexdigest()
        yield _verified(
            "checksums",
            f"{amount(len(present), 'file')}; SHA-256 of {CHECKSUMS}: {digest}, to be compared with the published one",
        )


def _check_images(release: Release, expected: int, digests: dict[str, str]) -> Iterator[ReleaseCheck]:
    names = Counter(image.file_name for image in release.images)
    problems = [
        _failed(name, f"in {IMAGES}, but not in {MANIFEST}")
        for name in digests
        if name.startswith(f"{IMAGES}/") and name not in names
    ]
    problems += [_failed(name, f"listed {count} times in {MANIFEST}") for name, count in names.items() if count > 1]
    for image in release.images:
        if digests.get(image.file_name) != image.sha256:
            problems.append(_failed(image.file_name, f"the content differs from the SHA-256 in {MANIFEST}"))
        class_id = image.candidate.class_id
        index = release.classes.index_of.get(class_id)
        if index is None or release.classes.names[index] != image.class_name:
            problems.append(_failed(MANIFEST, f"{image.file_name} has class {class_id}, not as in {CLASSES}"))
    yield from problems
    if not problems:
        yield _verified("images", f"{amount(len(names), 'image')} with the content and classes of {MANIFEST}")
    per_class = Counter(image.candidate.class_id for image in release.images)
    uneven = [f"{class_id} has {count}" for class_id, count in sorted(per_class.items()) if count != expected]
    if uneven:
        yield _failed("class balance", f"{MANIFEST}: expected {expected} images per class, {', '.join(uneven[:3])}")
    else:
        yield _verified("class balance", f"{amount(len(per_class), 'class', 'classes')} with {expected} images each")


def _check_frequencies(release: Release, candidates: Sequence[Candidate]) -> Iterator[ReleaseCheck]:
    """Frequencies of candidates and of the manifest, computed again from tasks and answers."""
    counted = {
        (candidate.image, candidate.class_id): (candidate.frequency, candidate.assignments) for candidate in candidates
    }
    rows = {(row.candidate.image, row.candidate.class_id): row for row in release.candidates}
    problems = []
    if set(rows) != set(counted) or len(rows) != len(release.candidates):
        problems.append(_failed(CANDIDATES, f"the candidates are not those of {TASKS}, each once"))
    stated = [(CANDIDATES, row.candidate, row.selected) for row in release.candidates]
    stated += [(MANIFEST, image.candidate, image.selected) for image in release.images]
    for file, candidate, selected in stated:
        frequency, answers = counted.get((candidate.image, candidate.class_id), (None, None))
        if (candidate.frequency, candidate.assignments) != (frequency, answers) or selected != round(
            candidate.frequency * candidate.assignments
        ):
            problems.append(
                _failed(
                    file,
                    f"{candidate.image} has frequency {candidate.frequency:g} of {candidate.assignments} answers, but "
                    f"{ANSWERS} and {TASKS} give {frequency} of {answers}",
                )
            )
    names = bin_names(EDGES)
    bins = frequency_bins([image.candidate.frequency for image in release.images])
    for image, number in zip(release.images, bins, strict=True):
        if image.frequency_bin != names[number]:
            problems.append(
                _failed(MANIFEST, f"{image.file_name} is in bin {names[number]}, not {image.frequency_bin}")
            )
    yield from problems
    if not problems:
        yield _verified(
            "frequencies",
            f"{amount(len(rows), 'candidate')} and {amount(len(release.images), 'image')}, computed again from "
            f"{amount(len(release.assignments), 'answer')}",
        )


def _check_draw(release: Release, options: SampleOptions) -> Iterator[ReleaseCheck]:
    """The draw, repeated with the computed frequencies: images, their order, and the reasons of exclusions."""
    try:
        sample = release.redrawn
    except _INVALID_SETTINGS as error:
        yield _failed("draw", f"the draw cannot be repeated with {DRAW}: {error}")
        return
    problems = []
    drawn = tuple((image.candidate.image, image.candidate.class_id) for image in release.images)
    if sample.examples != drawn:
        count = len(set(drawn) - set(sample.examples))
        what = (
            f"{amount(count, 'image')} of {MANIFEST} would not be drawn" if count else "the images have another order"
        )
        problems.append(_failed("draw", f"{what} with the frequencies, {CANDIDATES} and {DRAW}"))
    problems += [_failed("draw", problem) for problem in sample.problems]
    chosen = set(drawn)
    reasons = {(image, c.class_id): why for c in sample.classes for image, why in c.excluded.items()}
    for row in release.candidates:
        entry = (row.candidate.image, row.candidate.class_id)
        if row.excluded != reasons.get(entry) or row.drawn != (entry in chosen):
            problems.append(_failed(CANDIDATES, f"{row.candidate.image} is drawn or excluded differently by the rules"))
            break
    yield from problems
    if not problems:
        yield _verified("draw", f"{options.strategy.value}, seed {options.seed}: same images, same order")


def _check_late_answers(release: Release) -> Iterator[ReleaseCheck]:
    """The draw, repeated without the answers that are said to have arrived after it; nothing if there are none."""
    if not release.late:
        return
    count = f"{amount(len(release.late), 'answer')} of {len(release.assignments):,}"
    try:
        examples = release.without_late_answers.redrawn.examples
    except _INVALID_SETTINGS as error:
        yield _failed("late answers", f"the draw cannot be repeated without {count} in {ANSWERS}: {error}")
        return
    if examples == release.redrawn.examples:
        yield _verified("late answers", f"{count} arrived after the draw: same images with and without them")
    else:
        yield _failed("late answers", f"without {count} in {ANSWERS}, other images would have been drawn")


def _check_review(release: Release) -> Iterator[ReleaseCheck]:
    """Every decision is about a candidate, and no image of the set was found to be problematic."""
    if release.review is None:
        if release.draw.settings.get("review") is not None:
            yield _failed(REVIEWS, "the file is missing, although the set was drawn after a review")
        return
    candidates = {(row.candidate.image, row.candidate.class_id) for row in release.candidates}
    decisions = {(row.image, row.class_id): row for row in release.review}
    flagged = {row.image: row.reason for row in release.review if row.fitness is Fitness.PROBLEMATIC}
    unknown = [image for image, class_id in decisions if (image, class_id) not in candidates]
    problems = [_failed(REVIEWS, f"{image} is not a candidate of its class in {CANDIDATES}") for image in unknown[:1]]
    if len(decisions) != len(release.review):
        problems.append(_failed(REVIEWS, "a candidate has several decisions"))
    problems += [
        _failed(MANIFEST, f"{image.file_name} was found to be problematic in {REVIEWS}: {reason}")
        for image in release.images
        if (reason := flagged.get(image.candidate.image)) is not None
    ]
    yield from problems
    if not problems:
        kept = sum((image.candidate.image, image.candidate.class_id) in decisions for image in release.images)
        yield _verified(
            "review",
            f"{kept:,} of {amount(len(release.images), 'image')} kept by reviewers, none found to be problematic",
        )


def _check_texts(folder: Path, release: Release, digests: dict[str, str]) -> Iterator[ReleaseCheck]:
    """The tables in their exact form, and the texts that are computed from them."""
    own_version = version("regrade")
    for name, text in release_texts(release).items():
        if (folder / name).read_bytes() != text.encode():
            yield _failed(name, "the content is not written as regrade writes it")
    writers: dict[str, Callable[[], str]] = {
        DATASHEET: lambda: datasheet(release),
        CROISSANT: lambda: croissant(release, digests.get(MANIFEST, "")),
    }
    for name, write in writers.items():
        try:
            same = (folder / name).is_file() and (folder / name).read_bytes() == write().encode()
        except _INVALID_SETTINGS as error:
            yield _failed(name, f"cannot be computed from the tables: {error}")
            continue
        if same:
            yield _verified(name, "computed again from the tables")
        elif release.draw.regrade == own_version:
            yield _failed(name, "differs from what the tables give")
        else:
            detail = f"differs, and was written by regrade {release.draw.regrade} (this is {own_version})"
            yield ReleaseCheck(name, CheckOutcome.NOT_VERIFIABLE, detail)


def _not_verifiable() -> tuple[ReleaseCheck, ...]:
    return (
        ReleaseCheck(
            "answers", CheckOutcome.NOT_VERIFIABLE, "that people gave them, and that no answers were withheld"
        ),
        ReleaseCheck(
            "sources", CheckOutcome.NOT_VERIFIABLE, "sources, authors and licenses are as the pool states them"
        ),
        ReleaseCheck(
            "exclusions by name",
            CheckOutcome.NOT_VERIFIABLE,
            f"blacklisted, near-duplicate and unreviewed images are taken as listed in {CANDIDATES}",
        ),
        ReleaseCheck("reference images", CheckOutcome.NOT_VERIFIABLE, "they are not part of the release"),
    )
