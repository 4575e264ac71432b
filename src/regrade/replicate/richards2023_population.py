"""Simulated populations of models with known truth: the printed progress, disparity and growth of disparity.

Models differ in accuracy on the original set. On the standard set they follow a line with scatter, and in each region
of a GeoDE-like set another line; part of an image's difficulty is common to all models. Each population has new
models and images.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from regrade.core import ClassSpace, Predictions, TestSet
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.replicate.printed import printed_figure
from regrade.studies import Geography, ModelCounts, Scoring, SetCounts
from regrade.studies.geography.analysis import geography

PROGRESS = printed_figure(
    "richards2023", "Key Results", "progress on ImageNet benchmarks over geographic generalization", "ratio"
)
"""Ratio of the progress rate on standard test sets to that on geographic ones."""

DISPARITY_GROWTH = printed_figure(
    "richards2023", "Key Results", "geographic disparities, early models to today's best", "ratio"
)
"""Ratio of the best models' disparity to that of the weakest ones."""

GEODE = {
    "Africa": 2_049, "Europe": 1_885, "SouthEastAsia": 1_743, "Americas": 1_611, "EastAsia": 1_586, "WestAsia": 1_459,
}  # fmt: skip
"""The images of each region in the released list of GeoDE with ImageNet classes."""

MODELS = 40
STANDARD_RATE = 1.0
GEOGRAPHIC_RATE = STANDARD_RATE / PROGRESS.value

_LOWEST, _HIGHEST = 0.50, 0.90  # accuracies on the original, spread evenly
_SCATTER = 0.02  # standard deviation of models around their lines
_SHARED = 0.5  # fraction of an image's difficulty that is common to all models
_IMAGES = 50_000, 10_000  # images of the original and of the standard set
_DRAWS = 200  # bootstrap draws of models, for intervals that are not used here
_CLASSES = ClassSpace("right or wrong", ("right", "wrong"), ("right", "wrong"))
_SIZES = np.array(list(GEODE.values()))
_PLACES = np.array([0.0, 1.0, 0.45, 0.6, 0.5, 0.3])  # positions of the regions between the worst (0) and the best (1)


@dataclass(frozen=True)
class Truth:
    """The truth of a population: the slope of disparities, and the disparities of its models (m,), best model first."""

    slope: float
    disparities: FloatArray
    lowest: FloatArray


@dataclass(frozen=True)
class Population:
    """A population: the truth, and the result of the study."""

    truth: Truth
    result: Geography


def populations(count: int, weak: float, rng: np.random.Generator) -> Iterator[Population]:
    """Yield ``count`` populations whose worst quarter has disparity ``weak``, and the best three times as much."""
    region = np.repeat(np.arange(len(_SIZES)), _SIZES)
    test_set = _test_set(region)
    original = np.linspace(_HIGHEST, _LOWEST, MODELS)
    quarter = MODELS // 4
    best, weakest = original[:quarter].mean(), original[-quarter:].mean()
    slope = float((DISPARITY_GROWTH.value - 1) * weak / (best - weakest))
    apart = weak + slope * (original - weakest)
    for _ in range(count):
        scatter = _SCATTER * rng.normal(size=(2, MODELS))
        mean = 0.4 + GEOGRAPHIC_RATE * (original - _LOWEST) + scatter[0]
        shares = mean[:, None] + apart[:, None] * (_PLACES - _PLACES @ _SIZES / _SIZES.sum())
        standard = 0.4 + STANDARD_RATE * (original - _LOWEST) + scatter[1]
        result = geography(
            test_set,
            _predictions(test_set, _right(shares, region, rng)),
            by="region",
            rng=rng,
            between=[("Europe", "Africa")],
            original=_counts("original", original, _IMAGES[0], rng),
            standard=[_counts("standard", standard, _IMAGES[1], rng)],
            draws=_DRAWS,
        )
        yield Population(Truth(slope, apart, shares.min(axis=1)), result)


def model_name(place: int) -> str:
    """The name of a model by its rank."""
    return f"model {place:02}"


def _test_set(region: IntArray) -> TestSet:
    names = tuple(GEODE)
    ids = tuple(str(i) for i in range(len(region)))
    columns = {"region": tuple(names[place] for place in region)}
    return TestSet("geographic", _CLASSES, ids, np.zeros(len(region), dtype=np.int64), columns)


def _right(shares: FloatArray, region: IntArray, rng: np.random.Generator) -> BoolArray:
    """Shape (m, n): whether each prediction is correct, from the image's difficulty and independent noise."""
    size = (MODELS, len(region))
    hard = np.sqrt(_SHARED) * rng.standard_normal(len(region), dtype=np.float32)
    noise = np.float32(np.sqrt(1 - _SHARED)) * rng.standard_normal(size, dtype=np.float32)
    return hard + noise < special.ndtri(shares)[:, region]


def _predictions(test_set: TestSet, right: BoolArray) -> list[tuple[Predictions, Scoring]]:
    scoring = Scoring(test_set)
    return [
        (Predictions(model_name(place), test_set.name, _CLASSES.name, np.where(row, 0, 1)[:, None]), scoring)
        for place, row in enumerate(right)
    ]


def _counts(name: str, accuracies: FloatArray, images: int, rng: np.random.Generator) -> SetCounts:
    right = rng.binomial(images, accuracies)
    return SetCounts(name, {model_name(place): ModelCounts(int(count), images) for place, count in enumerate(right)})
