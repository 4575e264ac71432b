"""Two models, before and after a remedy, on easy and on hard images: bands of the confusion score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from regrade.core import Estimate, InputError, UndefinedError, UnknownName
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import bonferroni_confidence, mark_simultaneous
from regrade.stats.clustered_pairs import paired_share_difference
from regrade.studies.confusion.graded_models import GradedModel
from regrade.studies.image_clusters import mean_credit, numbers_in

EASY, HARD = "easy", "hard"
"""The names of the bands."""


@dataclass(frozen=True)
class ScoreBand:
    """Images of one band: the error before and after, and the change, after minus before, on the same images."""

    name: str
    images: int
    before: Estimate
    after: Estimate
    change: Estimate


@dataclass(frozen=True)
class BandComparison:
    """The errors of two models on images with a score below ``threshold`` and on the rest (Albiero et al. 2023, 3.4).

    The intervals of the changes hold simultaneously.
    """

    before: str
    after: str
    threshold: float
    bands: tuple[ScoreBand, ...]


@dataclass(frozen=True)
class Remedy:
    """The names of the models before and after, and the score from which on images are hard (default: the middle)."""

    before: str
    after: str
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.before == self.after:
            raise InputError(f"the models before and after must differ: {self.before} is both")


def compare_bands(
    remedy: Remedy,
    models: Mapping[str, GradedModel],
    scores: FloatArray,
    clusters: IntArray | None = None,
    *,
    top: float,
    confidence: float,
) -> BandComparison:
    """Compare two models on the images that count for both, by the scores (n,); ``top`` is the largest possible score.

    The default threshold is half of it. A band without images is left out; raises if both are empty. Images of one of
    the ``clusters`` (n,) are dependent.
    """
    before, after = (_model(name, models) for name in (remedy.before, remedy.after))
    threshold = top / 2 if remedy.threshold is None else remedy.threshold
    counted = before.counted & after.counted
    inside = {EASY: counted & (scores < threshold), HARD: counted & (scores >= threshold)}
    used = {name: images for name, images in inside.items() if images.any()}
    if not used:
        raise UndefinedError(f"no image is graded for both {remedy.before} and {remedy.after}")
    bands = [
        _band(name, (before.wrong[images], after.wrong[images]), numbers_in(clusters, images), len(used), confidence)
        for name, images in used.items()
    ]
    return BandComparison(remedy.before, remedy.after, threshold, tuple(bands))


def _model(name: str, models: Mapping[str, GradedModel]) -> GradedModel:
    if name not in models:
        raise UnknownName("model", name, tuple(models))
    return models[name]


def _band(
    name: str, wrong: tuple[BoolArray, BoolArray], clusters: IntArray | None, bands: int, confidence: float
) -> ScoreBand:
    """One band from the mistakes (n,) before and after."""
    first, second = (mean_credit(side, clusters, confidence=confidence) for side in wrong)
    level = bonferroni_confidence(bands, confidence)
    change = paired_share_difference(wrong[1], wrong[0], clusters, confidence=level)
    together = mark_simultaneous(change, bands, confidence=confidence)
    return ScoreBand(name, len(wrong[0]), first, second, together)
