"""Reviewed mistakes by category and severity, with their images, on one offline page."""

from __future__ import annotations

from collections.abc import Iterator

from regrade.core import UNLABELED, MistakeAnnotations, MistakeCategory, Severity, TestSet
from regrade.core.amounts import amount
from regrade.studies.image_page import CaptionedImage, ImageSection, image_page
from regrade.studies.mistakes.pair_annotations import Pair
from regrade.studies.mistakes.result import Mistakes
from regrade.studies.thumbnails import ThumbnailLoader

SHOWN = 12
"""How many mistakes of a category and a severity a page shows."""


def mistake_gallery(result: Mistakes, test_set: TestSet, load: ThumbnailLoader, *, shown: int = SHOWN) -> str:
    """The reviewed mistakes, captioned with prediction and label; a mistake of several models is shown once."""
    models = [review.model for review in result.reviews]
    about = (
        f"Mistakes that people reviewed, of {', '.join(models)}: at most {shown} of each category and severity, in the "
        "order of the test set. A mistake that several models share is shown once."
    )
    return image_page(f"Reviewed mistakes on {result.images_title}", about, _sections(result, test_set, shown), load)


def _sections(result: Mistakes, test_set: TestSet, shown: int) -> Iterator[ImageSection]:
    for category in MistakeCategory:
        for severity in Severity:
            pairs = sorted(_pairs_of(result, category, severity).items())
            if pairs:
                of = f"{shown} of " if len(pairs) > shown else ""
                heading = f"{category.value}, {severity.value}: {of}{amount(len(pairs), 'mistake')}"
                yield ImageSection(heading, [_captioned(test_set, pair, models) for pair, models in pairs[:shown]])


def _pairs_of(result: Mistakes, category: MistakeCategory, severity: Severity) -> dict[Pair, list[str]]:
    """The models by pair of image and prediction."""
    pairs: dict[Pair, list[str]] = {}
    for review in result.reviews:
        for pair in _rows(review, category, severity):
            pairs.setdefault(pair, []).append(review.model)
    return pairs


def _rows(review: MistakeAnnotations, category: MistakeCategory, severity: Severity) -> Iterator[Pair]:
    columns = zip(review.examples.tolist(), review.classes.tolist(), review.categories, review.severities, strict=True)
    return ((e, c) for e, c, own_category, own in columns if own_category is category and own is severity)


def _captioned(test_set: TestSet, pair: Pair, models: list[str]) -> CaptionedImage:
    position, predicted = pair
    name, names, label = test_set.ids[position], test_set.class_space.names, int(test_set.labels[position])
    original = "no original label" if label == UNLABELED else f"label: {names[label]}"
    return CaptionedImage(position, name, f"predicted: {names[predicted]}", (original, ", ".join(models), name))
