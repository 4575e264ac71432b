"""Shankar et al. 2020, Evaluating Machine Accuracy on ImageNet: intervals, tests and gains from its printed counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from regrade.classes import imagenet_1k
from regrade.core import Estimate
from regrade.replicate.cell import Cell, Replication
from regrade.replicate.shankar2020_printed import (
    BEST_IN_TABLE_2,
    FAST,
    FIXRES_WITHOUT_DOGS,
    GAINS,
    GROUPS,
    MEAN_GAINS,
    NEW,
    NEW_IMAGES,
    RELEASED,
    RELEASED_IMAGES,
    REVIEW_PARTS,
    REVIEWED,
    RIGHT,
    TESTS,
    VALIDATION,
    VALIDATION_IMAGES,
    Printed,
)
from regrade.stats import mcnemar, proportion
from regrade.stats.intervals import exact_bounds

_TENTH, _WHOLE, _HUNDREDTH = 0.05, 0.0, 0.005  # half a unit of the last printed digit

_MIXED = "the printed bounds are of the share times 982 among 978 images: the sizes of the two sets are mixed up"
_EDGES = {
    ("C", "low"): "945 of 982 gives 94.84, a tenth less; 947 of 984, the released results, gives 94.85",
}
_E_IN_TABLE_2 = "955 of 982 is 97.2505, between 97.2 here and 97.3 in Table 1"
_ROUNDED = "the mean of the five gains that Table 2 prints in tenths, which may be off by 0.05"
_TEXT_AND_TABLE = "the text and Table 2 disagree, and ours is Table 2"
_OVERLAP = "the parts add up to more than the images: they overlap, or one is misprinted"


def shankar2020(_data: Path | None = None) -> Replication:
    """Recompute what the paper's printed counts allow; the answers of its labelers are not used."""
    cells = (*_validation(), *_new(), *_tests(), *_gains(), *_shares(), *_released())
    return Replication("shankar2020", cells, _notes())


def _validation() -> Iterator[Cell]:
    for who, printed in VALIDATION.items():
        ours = proportion(RIGHT[who], VALIDATION_IMAGES)
        yield from _interval("Table 1, validation", who, printed, ours)


def _interval(table: str, who: str, printed: Printed, ours: Estimate) -> Iterator[Cell]:
    parts = zip(("accuracy", "low", "high"), printed, (ours.value, ours.low, ours.high), strict=True)
    for part, value, found in parts:
        yield Cell(table, f"{who}, {part}", value, 100 * found, _TENTH, _EDGES.get((who, part), ""))


def _new() -> Iterator[Cell]:
    for who, (accuracy, low, high) in NEW.items():
        proper, mixed = (_bounds(accuracy, images) for images in (NEW_IMAGES, VALIDATION_IMAGES))
        for part, printed, right, wrong in zip(("low", "high"), (low, high), proper, mixed, strict=True):
            yield Cell("Table 1, ImageNetV2", f"{who}, {part}", printed, right, _TENTH, _MIXED)
            yield Cell("Table 1, ImageNetV2", f"{who}, {part}, sizes mixed up", printed, wrong, _TENTH)


def _bounds(accuracy: float, images: int) -> tuple[float, float]:
    """Exact bounds in percent for a printed share of so many images, as a count among those of ImageNetV2."""
    found = exact_bounds(np.array(accuracy / 100 * images), np.array(float(NEW_IMAGES)), confidence=0.95)
    return 100 * float(found.low), 100 * float(found.high)


def _tests() -> Iterator[Cell]:
    for test in TESTS:
        found = mcnemar(test.only_labeler, test.only_model)
        counts = f"{test.only_labeler} to {test.only_model}"
        name = f"{test.who}, p with correction, {counts}"
        yield Cell("McNemar", name, test.p_value, float(found.corrected), test.tolerance)


def _gains() -> Iterator[Cell]:
    for subset, printed in MEAN_GAINS.items():
        ours = float(np.mean(GAINS[subset]))
        yield Cell("Table 2, validation", f"labelers, mean gain on {subset}", printed, ours, _TENTH, _ROUNDED)
    for images, (text, table) in FIXRES_WITHOUT_DOGS.items():
        yield Cell(f"Table 2, {images}", "FixRes, gain without dogs", text, table, _TENTH, _TEXT_AND_TABLE)
    share = 100 * RIGHT["E"] / VALIDATION_IMAGES
    yield Cell("Table 2, validation", "E, accuracy", BEST_IN_TABLE_2, share, _TENTH, _E_IN_TABLE_2)


def _shares() -> Iterator[Cell]:
    for images, (printed, fast, of) in FAST.items():
        yield Cell("Fast images", images, printed, 100 * fast / of, _TENTH)
    space = imagenet_1k()
    for group, printed in GROUPS.items():
        inside = len(space.group(group.removeprefix("without ")))
        ours = len(space) - inside if group.startswith("without ") else inside
        yield Cell("Classes", group, printed, ours, _WHOLE)
    yield Cell("Review", "images, from its parts", REVIEWED, sum(REVIEW_PARTS), _WHOLE, _OVERLAP)


def _released() -> Iterator[Cell]:
    for who, sets in RELEASED.items():
        for images, size, (printed, right) in zip(("validation", "ImageNetV2"), RELEASED_IMAGES, sets, strict=True):
            cell = f"{who}, {images}, {right} of {size}"
            yield Cell("Released results", cell, printed, 100 * right / size, _HUNDREDTH)


def _notes() -> tuple[str, ...]:
    corrected = ", ".join(f"{who} {proportion(right, RELEASED_IMAGES[1])}" for who, (_, (_, right)) in RELEASED.items())
    return (
        "from printed counts and shares: the answers of the labelers are not among the data; what needs them is left "
        "out, and so are figures that could not be checked (most of Table 1 on ImageNetV2)",
        f"right answers are of {VALIDATION_IMAGES} validation and {NEW_IMAGES} new images, the sizes behind the "
        f"printed shares; the released results have {RELEASED_IMAGES[0]} and {RELEASED_IMAGES[1]}",
        "McNemar: how many images tell labeler and model apart is not printed; the counts here have the difference "
        "that the accuracies give, and no counts with it bring another variant of the test to 0.037",
        f"accuracies on ImageNetV2 with intervals of the right size, from the released results: {corrected}",
    )
