"""Categories and severities of mistakes, tests whether two models or test sets differ in them, and major mistakes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regrade.core import Estimate, InputError, MistakeAnnotations, MistakeCategory, SliceSet, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, IntArray
from regrade.core.record import Record, json_key
from regrade.stats import ChiSquare, PairedChiSquare, chi_square, influence_effects, paired_chi_square
from regrade.studies.image_clusters import mean_credit, numbers_in


@dataclass(frozen=True)
class CategoryCount(Record):
    """The mistakes of one category in one review (category None: all), by severity, with shares.

    Borderline mistakes count as minor. ``share`` is None for all categories together, ``major_share`` without mistakes.
    """

    review: str
    category: MistakeCategory | None
    major: int
    minor: int
    share: Estimate | None
    major_share: Estimate | None

    def json_fields(self) -> dict[str, Any]:
        """The counts and shares of the category."""
        counts = {"mistakes": self.mistakes, "major": self.major, "minor": self.minor}
        shares = {"share": self.share, "major_share": self.major_share}
        return {"review": self.review, "category": self.name, **counts, **shares}

    @property
    def name(self) -> str:
        """The category as text."""
        return "all" if self.category is None else self.category.value

    @property
    def mistakes(self) -> int:
        """Number of mistakes of either severity."""
        return self.major + self.minor


@dataclass(frozen=True)
class CategoryTest:
    """Pearson's chi-square test between two reviews, of their categories or their severities.

    ``test`` assumes independent mistakes, or divides counts by the largest design effect of clusters; it is None if
    fewer than two non-empty columns remain. ``paired`` accounts for two models sharing images; it is None for different
    test sets or if undefined.
    """

    first: str
    second: str
    of: str
    test: ChiSquare | None
    paired: PairedChiSquare | None = None


@dataclass(frozen=True)
class Categories:
    """Counts of all reviews, and tests of all pairs of reviews."""

    counts: tuple[CategoryCount, ...] = field(metadata=json_key("categories"))
    tests: tuple[CategoryTest, ...]


def categories_of(
    reviews: Sequence[MistakeAnnotations],
    clusters: Mapping[str, IntArray] | None = None,
    *,
    home: str,
    confidence: float,
) -> Categories:
    """Count the mistakes of each review by category and severity; names include test sets other than ``home``.

    ``clusters`` are those of the images (n,) of each test set that has any, by name.
    """
    numbers = clusters or {}
    names = [review.model if review.test_set == home else f"{review.model} on {review.test_set}" for review in reviews]
    counts = [
        count
        for name, review in zip(names, reviews, strict=True)
        for count in _counts(name, review, numbers.get(review.test_set), confidence)
    ]
    tests = [
        test
        for (first, a), (second, b) in combinations(zip(names, reviews, strict=True), 2)
        for test in (
            CategoryTest(
                first,
                second,
                "categories",
                tested([_by_category(a), _by_category(b)], _effect((a, b), _categories, numbers)),
                _paired(a, b, _categories, numbers),
            ),
            CategoryTest(
                first,
                second,
                "severity",
                tested([_by_severity(a), _by_severity(b)], _effect((a, b), _major, numbers)),
                _paired(a, b, _major, numbers),
            ),
        )
    ]
    return Categories(tuple(counts), tuple(tests))


def _effect(
    reviews: Sequence[MistakeAnnotations],
    kinds: Callable[[MistakeAnnotations], IntArray],
    clusters: Mapping[str, IntArray],
) -> float:
    """The largest design effect of the share of a kind in a review; 1 without clusters."""
    effects = [1.0]
    for review in reviews:
        numbers = numbers_in(clusters.get(review.test_set), review.examples)
        if numbers is not None and len(numbers):
            flags = kinds(review)[:, None] == np.unique(kinds(review))
            effects += influence_effects((flags - flags.mean(axis=0)).T, numbers).tolist()
    return max(effects)


def tested(table: ArrayLike, effect: float = 1.0) -> ChiSquare | None:
    """Return Pearson's chi-square test of a table of counts without empty columns; None if undefined.

    Counts are divided by the design ``effect`` of clusters.
    """
    counts = np.asarray(table)
    filled = counts[:, counts.any(axis=0)]
    if filled.shape[1] < 2:
        return None
    try:
        return chi_square(filled, effect=effect)
    except UndefinedError:
        return None


def _paired(
    first: MistakeAnnotations,
    second: MistakeAnnotations,
    kinds: Callable[[MistakeAnnotations], IntArray],
    clusters: Mapping[str, IntArray],
) -> PairedChiSquare | None:
    """The paired test of two models on the same images; None for different test sets or if undefined."""
    if first.test_set != second.test_set:
        return None
    by_image = [np.full(review.size, -1) for review in (first, second)]
    for review, row in zip((first, second), by_image, strict=True):
        row[review.examples] = kinds(review)
    try:
        return paired_chi_square(by_image[0], by_image[1], clusters.get(first.test_set))
    except UndefinedError:
        return None


def _categories(review: MistakeAnnotations) -> IntArray:
    places = {category: place for place, category in enumerate(MistakeCategory)}
    return np.array([places[category] for category in review.categories], dtype=np.int64)


def _major(review: MistakeAnnotations) -> IntArray:
    return review.major.astype(np.int64)


def _counts(name: str, review: MistakeAnnotations, clusters: IntArray | None, confidence: float) -> list[CategoryCount]:
    numbers = numbers_in(clusters, review.examples)
    everything = np.ones(len(review), dtype=bool)
    chosen = [(None, everything), *((category, review.of_category(category)) for category in MistakeCategory)]
    counts = []
    for category, inside in chosen:
        total, major = int(inside.sum()), int((inside & review.major).sum())
        share = mean_credit(inside, numbers, confidence=confidence) if len(review) and category else None
        major_share = None
        if total:
            major_share = mean_credit(review.major[inside], numbers_in(numbers, inside), confidence=confidence)
        counts.append(CategoryCount(name, category, major, total - major, share, major_share))
    return counts


def _by_category(review: MistakeAnnotations) -> list[int]:
    return [int(review.of_category(category).sum()) for category in MistakeCategory]


def _by_severity(review: MistakeAnnotations) -> list[int]:
    return [int(review.major.sum()), int((~review.major).sum())]


@dataclass(frozen=True)
class MajorScore:
    """One model's accuracy on the major slice; None if no image is scored."""

    model: str
    right: Estimate | None


@dataclass(frozen=True, eq=False)
class MajorSlice(Record):
    """The images on which at least ``least`` of the reviewed ``models`` make a major mistake, as ``inside`` (n,).

    ``within`` names the slice that the study was restricted to.
    """

    test_set: str
    models: tuple[str, ...]
    least: int
    inside: BoolArray
    scores: tuple[MajorScore, ...] = ()
    within: str | None = None

    def json_fields(self) -> dict[str, Any]:
        """The models, the number of images, and the accuracies on them."""
        return {"models": self.models, "least": self.least, "images": self.images, "scores": self.scores}

    @property
    def images(self) -> int:
        """Number of images in the slice."""
        return int(self.inside.sum())

    def as_slices(self, name: str) -> SliceSet:
        """Return the slice as a named slice set, ready to be stored."""
        if not self.images:
            raise InputError(f"no image is a major mistake of {self.least} models: the slice would be empty")
        part = f" in {self.within}" if self.within else ""
        origin = f"major mistakes of at least {self.least} of {', '.join(self.models)}{part}"
        inside = {name: self.inside}
        return SliceSet(name, self.test_set, len(self.inside), inside, {}, origin, True, tuple(self.models))


def major_slice(
    reviews: Sequence[MistakeAnnotations], *, least: int | None = None, within: str | None = None
) -> MajorSlice:
    """Return the images with a major mistake in at least ``least`` reviews (default: three quarters of them)."""
    if not reviews:
        raise InputError("a slice of major mistakes needs a review: regrade import mistakes")
    threshold = math.ceil(0.75 * len(reviews)) if least is None else least
    if not 1 <= threshold <= len(reviews):
        raise InputError(
            f"at least {threshold} of {amount(len(reviews), 'review')} of mistakes cannot be: give 1 to {len(reviews)}"
        )
    counts = np.zeros(reviews[0].size, dtype=np.int64)
    for review in reviews:
        counts[review.examples[review.major]] += 1
    models = tuple(review.model for review in reviews)
    return MajorSlice(reviews[0].test_set, models, threshold, counts >= threshold, within=within)
