"""The datasheet of a released test set (Gebru et al. 2021), filled from its data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from regrade.build.duplicates import DuplicateCheck
from regrade.build.eligibility import Exclusion
from regrade.build.frequencies import TileAnswers
from regrade.build.release import ANSWERS, CANDIDATES, DRAW, MANIFEST, REVIEWS, TASKS, Release
from regrade.build.review import ReviewDecision
from regrade.build.steps.sample import BuildSample, sample_report
from regrade.build.tasks import TileRole
from regrade.build.workers import WorkerQuality, worker_qualities
from regrade.core import Estimate, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import IntArray
from regrade.core.frequency_bins import EDGES, bin_names
from regrade.core.panel import Fitness
from regrade.core.unknown_values import is_unknown
from regrade.stats import krippendorff_alpha

_SHOWN = 12  # rows of a list, such as licenses
_LICENSE = "license"


def datasheet(release: Release) -> str:
    """The datasheet as Markdown; everything in it follows from the other files of the release."""
    report = sample_report(
        release.options,
        release.draw.revision,
        release.redrawn,
        release.counted_candidates,
        release.frequencies.references(),
    )
    sections = (
        f"# Datasheet of {release.draw.test_set}",
        _summary(release),
        "## Sources",
        _sources(release),
        "## Protocol",
        _protocol(release),
        "## Workers",
        _workers(release),
        "## Selection",
        _selection(release, report),
        *(() if release.review is None else ("## Review", _review(release, release.review))),
        *_duplicates(release),
        "## Selection noise",
        _noise(report),
        "## Composition",
        _composition(release),
        "## Licenses",
        _licenses(release),
        "## Known limits",
        _limits(release),
    )
    return "\n\n".join(sections) + "\n"


def _summary(release: Release) -> str:
    draw = release.draw
    return (
        f"{draw.test_set} has {amount(len(release.images), 'image')} of "
        f"{amount(len({image.candidate.class_id for image in release.images}), 'class', 'classes')}. It was made to "
        f"measure whether models that were developed on {draw.reference} are as accurate on new images of the same "
        f"classes. It is revision {draw.revision} of the build {draw.build}, frozen with regrade {draw.regrade}."
    )


def _sources(release: Release) -> str:
    draw = release.draw
    lines = [
        f"candidates: {amount(len(release.candidates), 'image')} of the pool {draw.pool} (digest "
        f"{draw.pool_digest[:16]})",
        f"reference images: {draw.reference} (digest {draw.reference_digest[:16]}); they are not part of this release",
        f"columns of the pool in `{MANIFEST}`: {', '.join(_pool_columns(release)) or 'none'}",
    ]
    for name in ("source", "source_id", "author"):
        values = [image.columns[name] for image in release.images if not is_unknown(image.columns.get(name, ""))]
        if values:
            largest = Counter(values).most_common(1)[0][1]
            lines.append(f"{name}: {len(set(values)):,} different values, at most {amount(largest, 'image')} each")
    if draw.encoded_as_png:
        lines.append("the pool holds pixels, not files: the released files are PNG encodings of the same pixels")
    else:
        lines.append("the bytes of the image files are unchanged")
    return _list(lines)


def _pool_columns(release: Release) -> list[str]:
    return list(release.images[0].columns) if release.images else []


def _protocol(release: Release) -> str:
    options = release.draw.tasks
    compositions = Counter(
        tuple(task.count(role) for role in (TileRole.CANDIDATE, TileRole.POSITIVE, TileRole.NEGATIVE))
        for task in release.tasks
    )
    shown = "; ".join(
        f"{count:,} with {candidates} + {positives} + {negatives}"
        for (candidates, positives, negatives), count in compositions.most_common(4)
    )
    return _list(
        (
            f"{amount(len(release.tasks), 'task')} of one {_task_group(release)} each, with up to {options.tiles} "
            "images; workers select those that show the class",
            f"controls: {options.positives} positive (reference images of the class) and {options.negatives} negative "
            "(of a similar class) per full task, in an order that differs by worker",
            f"candidates + positive + negative controls: {shown}",
            f"{amount(options.workers, 'worker')} per task requested; "
            f"{amount(len(release.assignments), 'answer')} in all",
            f"seed of the tasks: {options.seed}",
        )
    )


def _task_group(release: Release) -> str:
    by = release.draw.tasks.by
    return f"class and {by}" if by else "class"


def _workers(release: Release) -> str:
    qualities = worker_qualities(release.answers)
    kept = [quality for quality in qualities if quality.worker not in release.left_out]
    lines = [
        f"{amount(len(qualities), 'worker')}, with names replaced; answers left out: "
        f"{amount(len(release.left_out), 'worker')}",
        f"tasks per worker: {_spread([quality.tasks_answered for quality in kept], '{:g}')}",
        f"control accuracy in %: {_spread(_accuracies(kept), '{:.1f}')}",
    ]
    if release.left_out:
        gone = [quality for quality in qualities if quality.worker in release.left_out]
        lines.append(f"control accuracy of those left out in %: {_spread(_accuracies(gone), '{:.1f}')}")
    if release.late:
        lines.append(f"answers that arrived after the set was drawn, and agree with it: {len(release.late):,}")
    lines.append(f"agreement on candidates (Krippendorff's alpha): {_agreement(release)}")
    return _list(lines)


def _accuracies(qualities: Iterable[WorkerQuality]) -> list[float]:
    return [100 * quality.control_accuracy.value for quality in qualities if quality.control_accuracy is not None]


def _agreement(release: Release) -> str:
    try:
        alpha = krippendorff_alpha(answers_by_image(release.answers, release.left_out))
    except UndefinedError as error:
        return f"undefined ({error})"
    return _estimate(alpha, digits=2)


def answers_by_image(answers: TileAnswers, left_out: Iterable[str] = ()) -> IntArray:
    """Shape (most answers, candidates): the answers to each candidate, 1 if selected, and -1 where there are no more.

    Rows are not workers: statistics that count answers per image do not depend on who gave them.
    """
    chosen = answers.counted(left_out) & answers.of_role(TileRole.CANDIDATE)
    images, entry = np.unique(answers.entry[chosen], return_inverse=True)
    order = np.argsort(entry, kind="stable")
    counts = np.bincount(entry, minlength=len(images))
    rank = np.empty(len(entry), dtype=np.int64)
    rank[order] = np.arange(len(entry)) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((int(counts.max(initial=0)), len(images)), -1, dtype=np.int64)
    table[rank, entry] = answers.selected[chosen]
    return table


def _selection(release: Release, report: BuildSample) -> str:
    settings = {name: value for name, value in sorted(release.draw.settings.items()) if name != "blacklist"}
    blacklist = release.draw.settings.get("blacklist", [])
    previous = sum(row.in_previous for row in release.candidates)
    lines = [
        f"strategy: {report.strategy.value}, {amount(release.options.per_class, 'image')} per class, seed "
        f"{release.options.seed}",
        "settings: " + ", ".join(f"{name} = {_setting(value)}" for name, value in settings.items()),
        f"blacklist: {amount(len(blacklist), 'image')}",
        f"images of the revision before that were kept if still eligible: {previous:,}",
        *(f"excluded, {reason.replace('_', ' ')}: {count:,}" for reason, count in report.excluded.items()),
        f"drawn for a lower frequency bin than their own: {report.borrowed:,}",
    ]
    return _list(lines)


def _review(release: Release, decisions: Sequence[ReviewDecision]) -> str:
    reviewed = {(row.image, row.class_id) for row in decisions}
    flagged = Counter(row.reason for row in decisions if row.fitness is Fitness.PROBLEMATIC)
    people = Counter(name for row in decisions for name in row.by)
    open_images = sum((image.candidate.image, image.candidate.class_id) not in reviewed for image in release.images)
    lines = [
        f"{amount(len(decisions), 'decision')} on candidates that were drawn in some revision, by "
        f"{amount(len(people), 'reviewer')} with names replaced; see `{REVIEWS}`",
        f"images of this set that a reviewer kept: {len(release.images) - open_images:,}",
        f"images of this set that nobody reviewed: {open_images:,}",
        f"found to be problematic, and not part of this set: {flagged.total():,}",
        *(f"because of {reason!r}: {count:,}" for reason, count in flagged.most_common(_SHOWN)),
    ]
    return _list(lines)


def _duplicates(release: Release) -> tuple[str, ...]:
    """The section on duplicates; empty for a release of an earlier version."""
    check = release.draw.duplicates
    if check is None:
        return ()
    return "## Duplicates", f"{_duplicate_statement(check)}\n\n{_list(_duplicate_lines(release, check))}"


def _duplicate_statement(check: DuplicateCheck) -> str:
    if check.checked:
        return "Every image was compared with the sets below, and people decided about every pair within the targets."
    if not check.sets:
        return "The images were NOT compared with each other or with other sets: duplicates may be among them."
    left = f"{amount(check.unreviewed, 'image has', 'images have')} a near duplicate that nobody has decided about"
    return f"The check for duplicates is NOT complete: {left if check.unreviewed else 'not all images were compared'}."


def _duplicate_lines(release: Release, check: DuplicateCheck) -> list[str]:
    removed = sum(row.excluded is Exclusion.NEAR_DUPLICATE for row in release.candidates)
    if not check.sets:
        return [f"candidates excluded as near duplicates: {removed:,}"]
    sets = ["each other" if name == release.draw.pool else name for name in check.sets]
    targets = ", ".join(f"{name} {target:g}" for name, target in sorted(check.targets.items()))
    model = f" (embeddings of {check.model})" if check.model else ""
    return [
        f"compared with: {', '.join(sets)}",
        f"targets: {targets}{model}; the first {amount(check.neighbors, 'neighbor')} of each image",
        f"pairs within the targets, of all candidates compared: {check.pairs:,}; equal pixels: {check.exact:,}; "
        f"decided by people: {check.duplicates:,} duplicate, {check.different:,} different",
        f"candidates excluded as near duplicates: {removed:,}",
    ]


def _setting(value: Any) -> str:
    return "none" if value in (None, [], "") else ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _noise(report: BuildSample) -> str:
    if report.drawn_frequency is None or report.reference_frequency is None or report.naive_difference is None:
        return "Undefined: no reference image has enough answers."
    corrected = (
        "undefined" if report.estimated_difference is None else _estimate(report.estimated_difference, times=100)
    )
    lines = [
        f"mean observed selection frequency: {100 * report.drawn_frequency:.1f} % of the set, "
        f"{100 * report.reference_frequency:.1f} % of the reference images",
        f"naive difference: {100 * report.naive_difference:+.1f} points",
        f"difference without selection noise: {corrected} points",
    ]
    note = (
        "With few answers per image, some hard images are selected by everyone; images with the same observed "
        "frequency are harder in a harder pool (Engstrom et al. 2020). The second figure estimates the true "
        "frequencies of the images from all answers; below 0, the set is harder than the reference images."
    )
    return f"{_list(lines)}\n\n{note}"


def _composition(release: Release) -> str:
    per_class = Counter(image.candidate.class_id for image in release.images)
    bins = Counter(image.frequency_bin for image in release.images)
    lines = [
        f"images per class: {min(per_class.values(), default=0)} to {max(per_class.values(), default=0)}",
        f"classes of {release.classes.name} without images: {len(release.classes) - len(per_class):,}",
        *(f"selection frequency in {name}: {amount(bins[name], 'image')}" for name in bin_names(EDGES)),
    ]
    return _list(lines)


def _licenses(release: Release) -> str:
    column = license_column(release)
    if column is None:
        return (
            f"The pool has no column `license`: the licenses of all {amount(len(release.images), 'image')} are missing."
        )
    counts = Counter(image.columns[column] for image in release.images)
    missing = sum(count for value, count in counts.items() if is_unknown(value))
    stated = [(value, count) for value, count in counts.most_common() if not is_unknown(value)]
    lines = [f"missing: {amount(missing, 'image')}"]
    lines += [f"{value}: {amount(count, 'image')}" for value, count in stated[:_SHOWN]]
    if len(stated) > _SHOWN:
        lines.append(f"{len(stated) - _SHOWN} more, see `{MANIFEST}`")
    return _list(lines)


def license_column(release: Release) -> str | None:
    """The column of the manifest with the license of each image."""
    return next((name for name in _pool_columns(release) if name.casefold() == _LICENSE), None)


def stated_licenses(release: Release) -> list[str]:
    """The different licenses that are known, in alphabetical order."""
    column = license_column(release)
    values = {image.columns[column] for image in release.images} if column else set()
    return sorted(value for value in values if not is_unknown(value))


def _limits(release: Release) -> str:
    options = release.options
    limits = [
        "labels are the classes that candidates were collected for; an image may also show other classes",
        "a selection frequency depends on the crowd and on the instructions; frequencies of other builds may differ",
        f"images with fewer than {amount(options.min_answers, 'answer')} were not eligible",
        f"`{TASKS}` tells which images were controls: its tasks must not be used again",
        f"`regrade build verify` recomputes frequencies and draw from `{ANSWERS}`, `{TASKS}`, `{CANDIDATES}` and "
        f"`{DRAW}`; sources, authors and licenses are as the pool states them",
    ]
    return _list(limits)


def _spread(values: Sequence[float], form: str) -> str:
    if not values:
        return "unknown"
    low, middle, high = (form.format(value) for value in np.quantile(values, [0.0, 0.5, 1.0]))
    return f"median {middle}, from {low} to {high}"


def _estimate(estimate: Estimate, *, times: float = 1, digits: int = 1) -> str:
    value, low, high = (times * part for part in (estimate.value, estimate.low, estimate.high))
    sign = "+" if times != 1 else ""
    return f"{value:{sign}.{digits}f} [{low:{sign}.{digits}f}, {high:{sign}.{digits}f}] ({estimate.method})"


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
