"""Progress: what a point on the original test set brings on other ones, and how far the geographic set falls behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import FloatArray
from regrade.stats import Ratio, Scale, slope_difference, slope_noise, slope_ratio
from regrade.stats.intervals import normal_quantile
from regrade.studies.lines import ModelLine, model_line, model_lines

_SETTLED = "free of the chance in each model's own extremes"
_OPEN = "but these two do not differ for sure, so that this says little"
_BAND = 60  # places of the band around the line of disparities


class BenchmarkKind(Enum):
    """What a benchmark is in a study of geography."""

    GEOGRAPHIC = "geographic"
    """All images of the geographic set."""
    STANDARD = "standard"
    """A set that was not collected with geography in mind."""
    GROUP = "group"
    """One group of the geographic set."""


@dataclass(frozen=True)
class ProgressRate:
    """How many points a benchmark gains with each point on the original: the slope of a line through models."""

    benchmark: str
    kind: BenchmarkKind
    line: ModelLine

    @property
    def rate(self) -> Estimate:
        """The slope, with an interval that holds with few models too."""
        return self.line.robust_slope

    def as_dict(self) -> dict[str, Any]:
        """The rate, ready for JSON."""
        return {"benchmark": self.benchmark, "kind": self.kind.value, **self.line.as_dict()}


@dataclass(frozen=True)
class ProgressGap:
    """How far the geographic set falls behind a standard one: the difference of their rates, and the ratio."""

    standard: str
    difference: Estimate
    ratio: Ratio

    def as_dict(self) -> dict[str, Any]:
        """The gap, ready for JSON."""
        return {"standard": self.standard, "difference": self.difference.as_dict(), "ratio": self.ratio.as_dict()}

    def in_words(self) -> str:
        """Both forms of the gap."""
        gap = f"{self.difference.value:.2f} [{self.difference.low:.2f}, {self.difference.high:.2f}]"
        words = f"progress gap to {self.standard}: {gap} points a point, ratio {self.ratio}"
        if self.ratio.low is None and self.ratio.high is None:
            words += ": progress on the geographic set cannot be told from none"
        return words


@dataclass(frozen=True)
class Progress:
    """Progress of the ``models`` that are on all test sets, against the ``original``.

    ``disparity`` is the line of their disparities on the original's accuracy. Small disparities are measured too large,
    which draws its slope towards 0; so ``apart`` is the slope of the difference between the ``extremes``, the best and
    the worst group in the mean over all models. Intervals of the rates, of the gaps and of ``apart`` are over models
    and images; those of ``disparity``, and of the rate of a group of one image, over models, on these images. Rates are
    for points as measured on the original: they are not corrected for the chance of its images, which draws all of them
    towards 0 alike. Unless the extremes differ for sure, which ``settled`` says, they were picked by chance, and what
    chance picks shrinks as models become better.
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
        """The rates of one kind of benchmark."""
        return tuple(rate for rate in self.rates if rate.kind is kind)

    def as_dict(self) -> dict[str, Any]:
        """Progress, ready for JSON."""
        return {
            "original": self.original,
            "models": list(self.models),
            "rates": [rate.as_dict() for rate in self.rates],
            "gaps": [gap.as_dict() for gap in self.gaps],
            "disparity": self.disparity.as_dict(),
            "extremes": list(self.extremes),
            "apart": self.apart.as_dict(),
            "settled": self.settled,
        }

    def in_words(self) -> tuple[str, ...]:
        """What the models show together, a line each."""
        told = [
            f"progress rate of {one.benchmark}: {_number(one.rate)} points a point on {self.original}, "
            f"R² {one.line.r_squared:.3f}, {len(self.models)} models"
            for one in self.rates
            if one.kind is not BenchmarkKind.GROUP
        ]
        told += [gap.in_words() for gap in self.gaps]
        slope = _number(self.disparity.robust_slope)
        told.append(
            f"disparity grows by {slope} points a point on {self.original}, over models, on these images; "
            f"R² {self.disparity.r_squared:.3f}"
        )
        best, worst = self.extremes
        told.append(
            f"{best} less {worst}, the best and the worst over all models, grows by {_number(self.apart)}, over models "
            f"and images; {_SETTLED if self.settled else _OPEN}"
        )
        return tuple(told)


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
    """Progress from the accuracies (m,) of the same models on every set and in every group.

    With several standard sets their mean is one more. ``noise`` (m, m) is how the accuracies on the sets and in the
    groups vary over drawings of their images. ``image_deviation`` tells of the best and the worst group how much the
    slope of their difference varies over images. Fewer than three models, or models all alike on the original, raise.
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
    """From accuracies (m,) on the original, the standard and the geographic set."""
    return ProgressGap(
        standard,
        slope_difference(*accuracies, confidence=confidence, image_deviation=float(np.hypot(*deviations))),
        slope_ratio(*accuracies, confidence=confidence, image_deviations=deviations),
    )


def _over_images(line: ModelLine, deviation: float, confidence: float) -> ModelLine:
    """The line with an interval of the slope that is over other images too, which change it by this deviation."""
    if not deviation:
        return line
    slope = line.robust_slope
    reach = float(np.hypot(slope.half_width, normal_quantile(confidence) * deviation))
    method = slope.method.replace("over models", "over models and images")
    return replace(line, robust_slope=replace(slope, low=slope.value - reach, high=slope.value + reach, method=method))


def _number(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
