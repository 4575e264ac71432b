"""Progress rates: points gained on a benchmark per point on the original test set, and gaps between benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.record import INLINE, Record
from regrade.stats import (
    Ratio,
    Scale,
    group_shares,
    range_ratio,
    share_range,
    slope_difference,
    slope_noise,
    slope_ratio,
)
from regrade.stats.intervals import normal_quantile
from regrade.studies.lines import ModelLine, model_line, model_lines

_SETTLED = "not biased by the selection of each model's extremes"
_OPEN = "but these two groups do not differ significantly, so this is weak evidence"
_BAND = 60  # points of the band around the line of disparities


class BenchmarkKind(Enum):
    """The role of a benchmark in the geography study."""

    GEOGRAPHIC = "geographic"
    """All images of the geographic set."""
    STANDARD = "standard"
    """A set that was not collected by geography."""
    GROUP = "group"
    """One group of the geographic set."""


@dataclass(frozen=True)
class ProgressRate:
    """Points gained on a benchmark per point on the original: the slope of a line through models."""

    benchmark: str
    kind: BenchmarkKind
    line: ModelLine = field(metadata=INLINE)

    @property
    def rate(self) -> Estimate:
        """The slope, with an interval that is valid for few models."""
        return self.line.robust_slope


@dataclass(frozen=True)
class ProgressGap:
    """Difference and ratio of the progress rates of a standard set and the geographic set."""

    standard: str
    difference: Estimate
    ratio: Ratio

    def in_words(self) -> str:
        """Describe the difference and the ratio."""
        gap = f"{self.difference.value:.2f} [{self.difference.low:.2f}, {self.difference.high:.2f}]"
        words = f"progress gap to {self.standard}: {gap} points per point, ratio {self.ratio}"
        if self.ratio.low is None and self.ratio.high is None:
            words += ": progress on the geographic set is not significantly different from 0"
        return words


@dataclass(frozen=True)
class Progress:
    """Progress of the ``models`` that have predictions on all test sets, relative to the ``original``.

    ``disparity`` is the line of the models' disparities against accuracy on the original. Small disparities are biased
    upwards, which attenuates its slope; ``apart`` is therefore the slope of the difference between the ``extremes``,
    the best and the worst group by mean over all models. Intervals of the rates, the gaps and ``apart`` are over models
    and images; those of ``disparity``, and of the rate of a group with a single image, are over models only. Rates are
    per measured point on the original: they are not corrected for its sampling noise, which attenuates all of them
    equally. If the extremes do not differ significantly (``settled`` is false), they were selected by chance, and
    ``apart`` is biased towards shrinking with better models.
    """

    original: str
    models: tuple[str, ...]
    rates: tuple[ProgressRate, ...]
    gaps: tuple[ProgressGap, ...]
    disparity: ModelLine
    extremes: tuple[str, str]
    apart: Estimate
    settled: bool

    def of(self, kind: BenchmarkKind) -> tuple[ProgressRate, ...]:
        """Return the rates of one kind of benchmark."""
        return tuple(rate for rate in self.rates if rate.kind is kind)

    def in_words(self) -> tuple[str, ...]:
        """Describe the results over all models, one line each."""
        lines = [
            f"progress rate of {rate.benchmark}: {_number(rate.rate)} points per point on {self.original}, "
            f"R² {rate.line.r_squared:.3f}, {len(self.models)} models"
            for rate in self.rates
            if rate.kind is not BenchmarkKind.GROUP
        ]
        lines += [gap.in_words() for gap in self.gaps]
        slope = _number(self.disparity.robust_slope)
        lines.append(
            f"disparity grows by {slope} points per point on {self.original} (interval over models); "
            f"R² {self.disparity.r_squared:.3f}"
        )
        best, worst = self.extremes
        lines.append(
            f"{best} minus {worst}, the best and the worst over all models, grows by {_number(self.apart)} (interval "
            f"over models and images); {_SETTLED if self.settled else _OPEN}"
        )
        return tuple(lines)


def progress_of(
    original: tuple[str, FloatArray],
    geographic: tuple[str, FloatArray],
    standard: Mapping[str, FloatArray],
    groups: Mapping[str, FloatArray],
    disparities: FloatArray,
    *,
    noise: Mapping[str, FloatArray],
    image_deviation: Callable[[str, str], float],
    settled: bool,
    models: tuple[str, ...],
    rng: np.random.Generator,
    draws: int,
    confidence: float,
) -> Progress:
    """Compute progress from the accuracies (m,) of the same models on every set and in every group.

    With several standard sets their mean is added as another one. ``noise`` holds the sampling covariance (m, m) of the
    accuracies per set and group. ``image_deviation`` returns the standard error over images of the slope of the
    difference between the best and the worst group. Raises for fewer than three models, or if all models have the same
    accuracy on the original.
    """
    name, x = original
    benchmarks = dict(standard)
    noise = dict(noise)
    if len(standard) > 1:
        mean = f"mean of {len(standard)} standard sets"
        benchmarks[mean] = np.mean(list(standard.values()), axis=0)
        noise[mean] = np.sum([noise[benchmark] for benchmark in standard], axis=0) / len(standard) ** 2
    kinds = [
        (geographic[0], BenchmarkKind.GEOGRAPHIC, geographic[1]),
        *((benchmark, BenchmarkKind.STANDARD, values) for benchmark, values in benchmarks.items()),
        *((group, BenchmarkKind.GROUP, values) for group, values in groups.items()),
    ]
    ys = np.stack([values for *_, values in kinds])
    lines = model_lines(x, ys, Scale.LINEAR, rng=rng, draws=draws, confidence=confidence, band_points=0)
    deviations = {benchmark: slope_noise(x, covariance) for benchmark, covariance in noise.items()}
    gaps = [
        _gap(benchmark, (x, values, geographic[1]), (deviations[benchmark], deviations[geographic[0]]), confidence)
        for benchmark, values in benchmarks.items()
    ]
    means = {group: float(np.mean(values)) for group, values in groups.items()}
    best, worst = max(means, key=lambda group: means[group]), min(means, key=lambda group: means[group])
    return Progress(
        name,
        models,
        tuple(
            ProgressRate(what, kind, _over_images(line, deviations.get(what, 0.0), confidence))
            for (what, kind, _), line in zip(kinds, lines, strict=True)
        ),
        tuple(gaps),
        model_line(x, disparities, Scale.LINEAR, rng=rng, draws=draws, confidence=confidence, band_points=_BAND),
        (best, worst),
        slope_difference(
            x, groups[best], groups[worst], confidence=confidence, image_deviation=image_deviation(best, worst)
        ),
        settled,
    )


def _gap(
    standard: str,
    accuracies: tuple[FloatArray, FloatArray, FloatArray],
    deviations: tuple[float, float],
    confidence: float,
) -> ProgressGap:
    """The gap from accuracies (m,) on the original, the standard and the geographic set."""
    return ProgressGap(
        standard,
        slope_difference(*accuracies, confidence=confidence, image_deviation=float(np.hypot(*deviations))),
        slope_ratio(*accuracies, confidence=confidence, image_deviations=deviations),
    )


def _over_images(line: ModelLine, deviation: float, confidence: float) -> ModelLine:
    """The line with the slope's interval widened by its standard error over images."""
    if not deviation:
        return line
    slope = line.robust_slope
    half_width = float(np.hypot(slope.half_width, normal_quantile(confidence) * deviation))
    method = slope.method.replace("over models", "over models and images")
    low, high = slope.value - half_width, slope.value + half_width
    return replace(line, robust_slope=replace(slope, low=low, high=high, method=method))


def _number(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"


TIMES = 3.0
"""The claim of Richards et al. 2023: the best models' disparity is at least this many times that of the weakest."""


class GrowthVerdict(Enum):
    """Whether the interval of the ratio supports the claim."""

    SUPPORTED = "supported"
    NOT_SETTLED = "not settled"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True)
class DisparityGrowth(Record):
    """The disparity of the ``best`` models, that of the ``weakest``, and their ratio.

    Several models are combined by their mean accuracy in each group. Intervals are over images, for these models.
    """

    best: tuple[str, ...]
    weakest: tuple[str, ...]
    best_disparity: Estimate
    weakest_disparity: Estimate
    ratio: Ratio
    chosen: str

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the claim and the verdict on it."""
        fields = super().json_fields()
        chosen = fields.pop("chosen")
        return {**fields, "at_least": TIMES, "verdict": self.verdict, "chosen": chosen}

    @property
    def verdict(self) -> GrowthVerdict:
        """Whether the ratio is at least 3."""
        if self.ratio.low is not None and self.ratio.low >= TIMES:
            return GrowthVerdict.SUPPORTED
        if self.ratio.high is not None and self.ratio.high < TIMES:
            return GrowthVerdict.CONTRADICTED
        return GrowthVerdict.NOT_SETTLED

    def in_words(self) -> str:
        """Describe the claim and the result."""
        return (
            f"disparity at least tripled: {self.verdict.value}; {self.chosen}: {self.best_disparity} against "
            f"{self.weakest_disparity}, ratio {self.ratio}"
        )


def disparity_growth(
    right: BoolArray,
    groups: IntArray,
    clusters: IntArray | None,
    *,
    best: dict[str, int],
    weakest: dict[str, int],
    chosen: str,
    confidence: float,
) -> DisparityGrowth:
    """Compare the disparities of two sets of models, from ``right`` (m, n) on images that count for all of them.

    ``best`` and ``weakest`` map model names to their rows.
    """
    best_shares, weakest_shares = (
        group_shares(np.mean(right[list(rows.values())], axis=0), groups, clusters) for rows in (best, weakest)
    )
    return DisparityGrowth(
        tuple(best),
        tuple(weakest),
        share_range(best_shares, confidence=confidence),
        share_range(weakest_shares, confidence=confidence),
        range_ratio(best_shares, weakest_shares, confidence=confidence),
        chosen,
    )
