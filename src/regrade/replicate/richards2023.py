"""Richards et al. 2023, Does Progress On Object Recognition Benchmarks Improve Real-World Generalization?

The predictions behind its figures were not published, so they cannot be recomputed. Instead, models are simulated with
the printed progress gap and growth of disparity, and the geography study must recover both.

Simulated models differ in accuracy on the original set. On the standard set they follow a line with scatter, and in
each region of a GeoDE-like set another line; part of an image's difficulty is common to all models. Each population has
new models and images.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy

from regrade.core import ClassSpace, Estimate, Predictions, TestSet
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.replicate.cell import Cell, CellKind, PrintedFigure, Replication, printed_figure
from regrade.stats import Ratio
from regrade.studies import Geography, ModelByGroup, ModelCounts, Progress, Scoring, SetCounts
from regrade.studies.geography.analysis import geography

_PAPER = "richards2023"
_SEED = 20261115
_POPULATIONS = 100  # populations
_EQUAL_POPULATIONS = 40  # populations with equal regions
_WORST_DISPARITY = 0.05  # disparity of the worst quarter of models
_SIMULATED = 18  # simulated cells, for the multiplicity of the tolerance
_TOLERANCE = float(scipy.special.ndtri(1 - 0.025 / _SIMULATED))  # tolerance of a simulated cell in standard errors
_MEDIAN_ERROR = float(np.sqrt(np.pi / 2))  # standard error of a median relative to that of a mean
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


def richards2023(_data: Path | None = None) -> Replication:
    """Recover known progress gaps and disparities from simulated models; what needs the paper's data is listed."""
    rng = np.random.default_rng(_SEED)
    growing = list(populations(_POPULATIONS, _WORST_DISPARITY, rng))
    equal = list(populations(_EQUAL_POPULATIONS, 0.0, rng))
    cells = (*_recovered(growing), *_covered(growing), *_all_equal(equal), *_regions())
    return Replication.of(_PAPER, cells, _notes())


def _simulated(figure: PrintedFigure, ours: float, within: float) -> Cell:
    return Cell(figure, ours, "simulated populations", CellKind.CONSTRUCTION, within)


def _truth(row: str, column: str, value: float) -> PrintedFigure:
    """The true value of a simulation, as a printed figure."""
    return PrintedFigure(_PAPER, "Simulated models", row, column, f"{value:.4f}")


def _recovered(drawn: Sequence[Population]) -> Iterator[Cell]:
    """The truth and the median of the measured values, since ratios are skewed, within a multiple of its error."""
    progress = [_progress(population) for population in drawn]
    slope = drawn[0].truth.slope
    ratios = [population.result.growth.ratio.value for population in drawn if population.result.growth]
    gap = STANDARD_RATE - GEOGRAPHIC_RATE
    rows: tuple[tuple[PrintedFigure, Sequence[float | None]], ...] = (
        (_truth("progress rate, standard", "median", STANDARD_RATE), [row.rates[1].rate.value for row in progress]),
        (_truth("progress rate, geographic", "median", GEOGRAPHIC_RATE), [row.rates[0].rate.value for row in progress]),
        (_truth("progress gap, difference", "median", gap), [row.gaps[0].difference.value for row in progress]),
        (PROGRESS, [row.gaps[0].ratio.value for row in progress]),
        (_truth("disparity, slope", "median", slope), [row.disparity.slope.value for row in progress]),
        (_truth("Europe - Africa, slope", "median", slope), [row.apart.value for row in progress]),
        (DISPARITY_GROWTH, ratios),
    )
    for figure, values in rows:
        defined = np.array([value for value in values if value is not None])
        error = _TOLERANCE * _MEDIAN_ERROR * float(defined.std(ddof=1)) / np.sqrt(len(defined))
        yield _simulated(figure, float(np.median(defined)), float(error))


def _covered(drawn: Sequence[Population]) -> Iterator[Cell]:
    """The coverage of 95% intervals, over models if every model has one."""
    progress = [_progress(population) for population in drawn]
    slope = drawn[0].truth.slope
    growth = [population.result.growth.ratio for population in drawn if population.result.growth]
    gap = STANDARD_RATE - GEOGRAPHIC_RATE
    yield _coverage("progress rate, standard", [_contains(row.rates[1].rate, STANDARD_RATE) for row in progress])
    yield _coverage("progress rate, geographic", [_contains(row.rates[0].rate, GEOGRAPHIC_RATE) for row in progress])
    yield _coverage("progress gap, difference", [_contains(row.gaps[0].difference, gap) for row in progress])
    yield _coverage("progress gap, ratio", [_contains(row.gaps[0].ratio, PROGRESS.value) for row in progress])
    yield _coverage("Europe - Africa, slope", [_contains(row.apart, slope) for row in progress])
    yield _coverage("Europe - Africa, by model", _by_model(drawn, "between"))
    yield _coverage("disparity, by model", _by_model(drawn, "disparity"))
    yield _coverage("lowest accuracy, by model", _by_model(drawn, "lowest"))
    yield _coverage(
        "disparity, best over weakest quarter", [_contains(ratio, DISPARITY_GROWTH.value) for ratio in growth]
    )


def _all_equal(drawn: Sequence[Population]) -> Iterator[Cell]:
    """Equal regions: there is no disparity, though every model shows one by chance."""
    yield _coverage("disparity, by model, all regions equal", _by_model(drawn, "disparity"))
    disparities = [row.disparity for population in drawn for row in population.result.rows if row.disparity]
    chance = 100 * float(np.mean([disparity.chance for disparity in disparities]))
    measured = [100 * float(np.mean([_gap(row) for row in population.result.rows])) for population in drawn]
    error = _TOLERANCE * float(np.std(measured, ddof=1)) / np.sqrt(len(drawn))
    figure = _truth("disparity, all regions equal", "mean, points", chance)
    yield _simulated(figure, float(np.mean(measured)), float(error))


def _by_model(drawn: Sequence[Population], what: str) -> list[float]:
    """For each population, the fraction of its models whose interval contains the truth."""
    shares = []
    for population in drawn:
        contained = []
        for place in range(MODELS):
            row = population.result.row(model_name(place))
            if row.disparity is None:
                continue
            truth = population.truth.lowest[place] if what == "lowest" else population.truth.disparities[place]
            parts = {"between": row.between[0], "disparity": row.disparity.value, "lowest": row.disparity.lowest}
            contained.append(_contains(parts[what], float(truth)))
        shares.append(float(np.mean(contained)))
    return shares


def _gap(row: ModelByGroup) -> float:
    return row.disparity.value.value if row.disparity else 0.0


def _coverage(row: str, contained: Sequence[float]) -> Cell:
    """The coverage in percent compared with 95, within the error of so many populations."""
    ours = 100 * float(np.mean(contained))
    spread = np.sqrt(0.05 * 0.95) if set(contained) <= {0.0, 1.0} else float(np.std(contained, ddof=1))
    error = 100 * _TOLERANCE * float(spread) / np.sqrt(len(contained))
    figure = _truth(row, "intervals that hold the truth, %", 95)
    return _simulated(figure, ours, float(error))


def _contains(interval: Estimate | Ratio | None, truth: float) -> float:
    if interval is None:
        return 0.0
    low = -np.inf if interval.low is None else interval.low
    high = np.inf if interval.high is None else interval.high
    return float(low - 1e-12 <= truth <= high + 1e-12)


def _progress(population: Population) -> Progress:
    if population.result.progress is None:
        raise AssertionError("every population has progress")
    return population.result.progress


def _regions() -> Iterator[Cell]:
    figure = printed_figure(_PAPER, "Architecture Onboarding", "GeoDE", "regions")
    yield Cell(figure, len(GEODE), "released list", CellKind.CONSTRUCTION)


def _notes() -> tuple[str, ...]:
    return (
        f"simulated: {_POPULATIONS} populations of {MODELS} models with the printed ratio of rates and growth of "
        f"disparity, {_EQUAL_POPULATIONS} with equal regions, on as many images a region as GeoDE has; the published "
        "column is the truth they are made to have, or the promised 95%, and the tolerance so wide that chance should "
        "push none of them out",
        "intervals of rates are over models; images are partly hard for all models alike",
        "as printed: the figures are those of a summary of the paper, which calls Dollar Street's 54 countries regions",
    )


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
    return hard + noise < scipy.special.ndtri(shares)[:, region]


def _predictions(test_set: TestSet, right: BoolArray) -> list[tuple[Predictions, Scoring]]:
    scoring = Scoring(test_set)
    return [
        (Predictions(model_name(place), test_set.name, _CLASSES.name, np.where(row, 0, 1)[:, None]), scoring)
        for place, row in enumerate(right)
    ]


def _counts(name: str, accuracies: FloatArray, images: int, rng: np.random.Generator) -> SetCounts:
    right = rng.binomial(images, accuracies)
    return SetCounts(name, {model_name(place): ModelCounts(int(count), images) for place, count in enumerate(right)})
