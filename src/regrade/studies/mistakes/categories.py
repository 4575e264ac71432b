"""Which kinds of mistakes, how grave, and whether two models or sets differ in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from regrade.core import Estimate, MistakeCategory, MistakeReview, UndefinedError
from regrade.core.arrays import IntArray
from regrade.stats import ChiSquare, PairedChiSquare, chi_square, paired_chi_square, proportion


@dataclass(frozen=True)
class CategoryCount:
    """The mistakes of one category in one review, or of all (none): how many, their share, and the grave among them.

    Borderline mistakes count as minor. A share of nothing, and that of all, is none.
    """

    review: str
    category: MistakeCategory | None
    major: int
    minor: int
    share: Estimate | None
    major_share: Estimate | None

    @property
    def mistakes(self) -> int:
        """All of them."""
        return self.major + self.minor


@dataclass(frozen=True)
class CategoryTest:
    """Pearson's chi-square between two reviews, of their categories or their severities.

    ``test`` is none where too little is left to test once what neither has is left out. It takes the mistakes of the
    two as independent. Those of two models on the same images are not: ``paired`` reckons with that, and is none for
    two test sets or where too little varies.
    """

    first: str
    second: str
    of: str
    test: ChiSquare | None
    paired: PairedChiSquare | None = None


@dataclass(frozen=True)
class Categories:
    """The reviews side by side: their counts, and every two of them tested."""

    counts: tuple[CategoryCount, ...]
    tests: tuple[CategoryTest, ...]


def categories_of(reviews: Sequence[MistakeReview], *, home: str, confidence: float) -> Categories:
    """Count the mistakes of each review by category and severity; reviews of other sets than ``home`` say so."""
    names = [review.model if review.test_set == home else f"{review.model} on {review.test_set}" for review in reviews]
    counts = [count for name, review in zip(names, reviews, strict=True) for count in _counts(name, review, confidence)]
    tests = [
        test
        for (first, a), (second, b) in combinations(zip(names, reviews, strict=True), 2)
        for test in (
            CategoryTest(
                first, second, "categories", tested([_by_category(a), _by_category(b)]), _paired(a, b, _categories)
            ),
            CategoryTest(first, second, "severity", tested([_by_severity(a), _by_severity(b)]), _paired(a, b, _major)),
        )
    ]
    return Categories(tuple(counts), tuple(tests))


def tested(table: ArrayLike) -> ChiSquare | None:
    """Pearson's chi-square of a table of counts, columns that are empty left out; none where it has no value."""
    counts = np.asarray(table)
    filled = counts[:, counts.any(axis=0)]
    if filled.shape[1] < 2:
        return None
    try:
        return chi_square(filled)
    except UndefinedError:
        return None


def _paired(
    first: MistakeReview, second: MistakeReview, kinds: Callable[[MistakeReview], IntArray]
) -> PairedChiSquare | None:
    """The paired test of two models on the same images; none for two test sets and where it has no value."""
    if first.test_set != second.test_set:
        return None
    by_image = [np.full(review.size, -1) for review in (first, second)]
    for review, row in zip((first, second), by_image, strict=True):
        row[review.examples] = kinds(review)
    try:
        return paired_chi_square(*by_image)
    except UndefinedError:
        return None


def _categories(review: MistakeReview) -> IntArray:
    places = {category: place for place, category in enumerate(MistakeCategory)}
    return np.array([places[category] for category in review.categories], dtype=np.int64)


def _major(review: MistakeReview) -> IntArray:
    return review.major.astype(np.int64)


def _counts(name: str, review: MistakeReview, confidence: float) -> list[CategoryCount]:
    everything = np.ones(len(review), dtype=bool)
    chosen = [(None, everything), *((category, review.of_category(category)) for category in MistakeCategory)]
    found = []
    for category, inside in chosen:
        total, major = int(inside.sum()), int((inside & review.major).sum())
        share = proportion(total, len(review), confidence=confidence) if len(review) and category else None
        grave = proportion(major, total, confidence=confidence) if total else None
        found.append(CategoryCount(name, category, major, total - major, share, grave))
    return found


def _by_category(review: MistakeReview) -> list[int]:
    return [int(review.of_category(category).sum()) for category in MistakeCategory]


def _by_severity(review: MistakeReview) -> list[int]:
    return [int(review.major.sum()), int((~review.major).sum())]
