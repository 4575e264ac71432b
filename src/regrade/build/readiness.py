"""Checks before a release: what would make a drawn set a bad test set, each with its outcome and one line of detail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from regrade.build.duplicates import DuplicateCheck
from regrade.build.eligibility import MIN_ASSIGNMENTS, Candidate, Exclusion
from regrade.build.overlaps import NearImage, Overlap
from regrade.build.review import BuildReview
from regrade.build.samplers import Sample
from regrade.core import Estimate
from regrade.core.amounts import amount
from regrade.core.unknown_values import is_unknown
from regrade.display.wording import listed, plain, points

DISCRIMINATOR = "discriminator"
"""The name of the check whether embeddings tell new images from original ones."""


NOTABLE_AUC = 0.6
"""From this area on, images that can be told apart are an issue; below, it is worth knowing."""


@dataclass(frozen=True)
class Discrimination:
    """How well the embeddings of a model tell new images from original ones, as the area under the ROC curve."""

    model: str
    new_images: int
    original_images: int
    auc: Estimate


class Readiness(StrEnum):
    """The outcome of a check before a release."""

    ISSUE = "issue"
    TIP = "tip"
    PASSED = "passed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True)
class ReadinessCheck:
    """What was checked, the outcome, and one line of detail."""

    subject: str
    outcome: Readiness
    detail: str


def issue(subject: str, detail: str) -> ReadinessCheck:
    """A check that found what should be repaired before a release."""
    return ReadinessCheck(subject, Readiness.ISSUE, detail)


def tip(subject: str, detail: str) -> ReadinessCheck:
    """A check that found what is worth knowing."""
    return ReadinessCheck(subject, Readiness.TIP, detail)


def passed(subject: str, detail: str) -> ReadinessCheck:
    """A check that found nothing."""
    return ReadinessCheck(subject, Readiness.PASSED, detail)


def not_applicable(subject: str, detail: str) -> ReadinessCheck:
    """A check that the data do not allow."""
    return ReadinessCheck(subject, Readiness.NOT_APPLICABLE, detail)


def class_balance(sample: Sample, classes: int) -> ReadinessCheck:
    """Whether all classes have the same number of images; ``classes`` is the size of the class space."""
    subject, counts = "class balance", Counter(class_id for _, class_id in sample.examples)
    if not counts:
        return issue(subject, "the revision has no images")
    sizes = sorted(set(counts.values()))
    if len(sizes) > 1:
        fewest = min(counts, key=lambda class_id: (counts[class_id], class_id))
        return issue(subject, f"classes have {sizes[0]} to {sizes[-1]} images; the fewest: {fewest}")
    balanced = f"{amount(sizes[0], 'image')} in each of {amount(len(counts), 'class', 'classes')}"
    if absent := classes - len(counts):
        return tip(subject, f"{balanced}; {amount(absent, 'class has', 'classes have')} none")
    return passed(subject, balanced)


def incomplete_classes(sample: Sample) -> ReadinessCheck:
    """Whether every class was completed."""
    if problems := sample.problems:
        return issue("incomplete classes", f"{amount(len(problems), 'problem')}: {listed(problems, most=1)}")
    return passed("incomplete classes", "none")


def missing_licenses(licenses: Sequence[str] | None) -> ReadinessCheck:
    """Whether every image states a license; None if the pool has no such column."""
    subject = "missing licenses"
    if licenses is None:
        return issue(subject, "the pool has no column license: nobody knows whether the images may be published")
    if missing := sum(map(is_unknown, licenses)):
        return issue(subject, f"{missing:,} of {amount(len(licenses), 'image')} have no license")
    return passed(subject, "every image has one")


def differing_licenses(licenses: Sequence[str] | None) -> ReadinessCheck:
    """Whether all images have the same license."""
    subject = "differing licenses"
    counts = Counter(value.strip() for value in licenses or () if not is_unknown(value))
    if not counts:
        return not_applicable(subject, "no license is known")
    if len(counts) == 1:
        return passed(subject, f"all are {next(iter(counts))}")
    names = [f"{name} ({count:,})" for name, count in counts.most_common()]
    return tip(subject, f"each has its own terms: {listed(names)}")


def single_authors(examples: Sequence[tuple[str, str]], authors: Mapping[str, str] | None) -> ReadinessCheck:
    """Whether a class has images of one author only; ``authors`` is by image, None if the pool has no such column."""
    subject = "one author per class"
    if authors is None or all(is_unknown(authors[image]) for image, _ in examples):
        return not_applicable(subject, "the authors are not known")
    by_class: dict[str, list[str]] = {}
    for image, class_id in examples:
        by_class.setdefault(class_id, []).append(authors[image])
    single = sorted(c for c, own in by_class.items() if len(own) > 1 and len(set(own)) == 1 and not is_unknown(own[0]))
    if single:
        names = [f"{class_id} ({by_class[class_id][0]})" for class_id in single]
        return issue(subject, f"{amount(len(single), 'class has', 'classes have')} one author only: {listed(names)}")
    return passed(subject, "every class with several images has several authors")


def few_answers(drawn: Sequence[Candidate]) -> ReadinessCheck:
    """Whether every image has as many answers as those of ImageNetV2."""
    few = [candidate for candidate in drawn if candidate.assignments < MIN_ASSIGNMENTS]
    if few:
        least = min(few, key=lambda candidate: (candidate.assignments, candidate.image))
        detail = f"{amount(len(few), 'image has', 'images have')} fewer than {MIN_ASSIGNMENTS} answers; the fewest: "
        return issue("few answers", f"{detail}{least.image} ({least.assignments})")
    return passed("few answers", f"every image has at least {MIN_ASSIGNMENTS}")


def careless_workers(counted: Sequence[str], left_out: Sequence[str]) -> ReadinessCheck:
    """Whether workers count whose accuracy on controls is proven to be too low, and who was left out."""
    subject = "excluded workers"
    if counted:
        detail = f"{amount(len(counted), 'worker')} below the lowest accuracy on controls, and counted: "
        return issue(subject, f"{detail}{listed(sorted(counted))}; draw again with --exclude-worker")
    if left_out:
        return tip(subject, f"{amount(len(left_out), 'worker')} left out: {listed(sorted(left_out))}")
    return passed(subject, "no worker is proven to be careless")


def review_of_images(review: BuildReview | None, examples: Sequence[tuple[str, str]]) -> ReadinessCheck:
    """Whether people have looked at every image and kept it; None if the build has no review."""
    subject = "review of images"
    if review is None:
        return tip(subject, "nobody has looked at the images: regrade build review")
    if flagged := [image for image, _ in examples if image in review.flagged]:
        return issue(subject, f"{amount(len(flagged), 'image was', 'images were')} flagged: {listed(flagged)}")
    if waiting := len(examples) - review.reviewed(examples):
        return issue(subject, f"nobody has looked at {waiting:,} of {amount(len(examples), 'image')}")
    return passed(subject, f"all {amount(len(examples), 'image')} were kept")


def review_of_pairs(check: DuplicateCheck, sample: Sample) -> ReadinessCheck:
    """Whether every image was compared, and people have decided about every pair within the targets."""
    subject = "review of near duplicates"
    if not check.sets:
        return tip(subject, "the images were not compared with each other and the reference set: regrade build clean")
    if check.unreviewed:
        return issue(subject, f"{amount(check.unreviewed, 'image has', 'images have')} a pair without a decision")
    if not check.checked:
        return issue(subject, "not all images were compared: regrade build clean")
    decided = f"{amount(check.exact + check.duplicates + check.different, 'pair')} decided"
    if waiting := sample.exclusions()[Exclusion.UNREVIEWED]:
        return tip(subject, f"{decided}; {amount(waiting, 'candidate waits', 'candidates wait')} for a decision")
    return passed(subject, decided)


def selection_noise(difference: Estimate | None) -> ReadinessCheck:
    """Whether the images are harder or easier than the reference images, without the noise of few answers."""
    subject = "selection noise"
    if difference is None:
        return not_applicable(subject, "there are no annotated reference images")
    stated = f"true selection frequency minus that of references: {points(difference)}"
    if difference.low <= 0 <= difference.high:
        return passed(subject, stated)
    harder = "harder" if difference.value < 0 else "easier"
    return issue(subject, f"{stated}: the set is {harder} than the reference images")


def told_apart(rows: Sequence[Discrimination], reason: str) -> ReadinessCheck:
    """Whether embeddings tell new images from original ones; intervals of several models hold simultaneously."""
    subject = DISCRIMINATOR
    if not rows:
        return not_applicable(subject, reason)
    most = max(rows, key=lambda row: (row.auc.low, row.auc.value))
    stated = f"area under the ROC curve {plain(most.auc)} by embeddings of {most.model}"
    if most.auc.low <= 0.5:
        return passed(subject, f"{stated}: new images were not told from original ones")
    detail = f"{stated}: new images can be told from original ones"
    return issue(subject, detail) if most.auc.value >= NOTABLE_AUC else tip(subject, detail)


def duplicates_within(overlap: Overlap | None) -> ReadinessCheck:
    """Whether the set contains an image twice."""
    subject = "duplicates in the set"
    if overlap is None or not overlap.compared:
        return not_applicable(subject, "the images of the pool are not in the workspace")
    if overlap.exact:
        return issue(subject, f"{amount(len(overlap.exact), 'pair')} of equal images: {_shown(overlap.exact)}")
    if overlap.near:
        return tip(subject, f"{amount(len(overlap.near), 'pair')} to look at: {_shown(overlap.near)}")
    return passed(subject, _searched(overlap))


def overlap_checks(overlap: Overlap) -> tuple[ReadinessCheck, ...]:
    """The overlap with another set: by id, by equal pixels, and by similar ones."""
    return _by_id(overlap), _by_pixels(overlap), _by_similarity(overlap)


def _by_id(overlap: Overlap) -> ReadinessCheck:
    subject = f"ids of {overlap.test_set}"
    if overlap.same_ids:
        detail = f"{amount(len(overlap.same_ids), 'image has', 'images have')} the id of an image of {overlap.test_set}"
        return tip(subject, f"{detail}, which need not be the same: {listed(overlap.same_ids)}")
    return passed(subject, "no id in common")


def _by_pixels(overlap: Overlap) -> ReadinessCheck:
    subject = f"images of {overlap.test_set}"
    if not overlap.compared:
        return not_applicable(subject, "the images of one of the sets are not in the workspace")
    if overlap.exact:
        images = len({pair.image for pair in overlap.exact})
        verb = amount(images, "image is", "images are")
        return issue(subject, f"{verb} in {overlap.test_set}, too: {_shown(overlap.exact)}")
    return passed(subject, _searched(overlap))


def _by_similarity(overlap: Overlap) -> ReadinessCheck:
    subject = f"near duplicates in {overlap.test_set}"
    if not overlap.compared:
        return not_applicable(subject, "the images of one of the sets are not in the workspace")
    if not overlap.searched_near:
        return not_applicable(subject, "only equal images were searched (--by)")
    if overlap.near:
        images = len({pair.image for pair in overlap.near})
        return tip(subject, f"{amount(images, 'image')} to look at: {_shown(overlap.near)}")
    return passed(subject, _searched(overlap))


def _shown(pairs: Sequence[NearImage]) -> str:
    return listed([f"{pair.image} and {pair.similar} ({pair.distance} {pair.value:.3g})" for pair in pairs], most=2)


def _searched(overlap: Overlap) -> str:
    unread = f"; {amount(overlap.unreadable, 'image')} could not be read" if overlap.unreadable else ""
    return f"none found{unread}"
