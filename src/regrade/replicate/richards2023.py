"""Richards et al. 2023, Does Progress On Object Recognition Benchmarks Improve Real-World Generalization?

The predictions behind its figures were not published, so they cannot be recomputed. What can be shown is that our study
measures what it says: models are made to have the printed progress gap and growth of disparity, and both are recovered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy import special

from regrade.core import Estimate
from regrade.replicate.cell import Cell, CellKind, Replication
from regrade.replicate.printed import PrintedFigure, printed_figure
from regrade.replicate.richards2023_population import (
    DISPARITY_GROWTH,
    GEODE,
    GEOGRAPHIC_RATE,
    MODELS,
    PROGRESS,
    STANDARD_RATE,
    Population,
    model_name,
    populations,
)
from regrade.stats import Ratio
from regrade.studies import ModelByGroup, Progress

_PAPER = "richards2023"
_SEED = 20261115
_COUNT = 100  # populations
_EQUAL = 40  # populations in which all regions are equal
_WEAK = 0.05  # the disparity of the weakest quarter of models
_SIMULATED = 18  # cells, of which none should be off by chance
_WIDER = float(special.ndtri(1 - 0.025 / _SIMULATED))  # standard errors that one of so many may be off
_OF_A_MEDIAN = float(np.sqrt(np.pi / 2))  # its standard error, for each of a mean's


def richards2023(_data: Path | None = None) -> Replication:
    """Recover known progress gaps and disparities from simulated models; what needs the paper's results is listed."""
    rng = np.random.default_rng(_SEED)
    growing = list(populations(_COUNT, _WEAK, rng))
    equal = list(populations(_EQUAL, 0.0, rng))
    cells = (*_recovered(growing), *_covered(growing), *_all_equal(equal), *_regions())
    return Replication.of(_PAPER, cells, _notes())


def _simulated(figure: PrintedFigure, ours: float, within: float) -> Cell:
    return Cell(figure, ours, "simulated populations", CellKind.CONSTRUCTION, within)


def _truth(row: str, column: str, value: float) -> PrintedFigure:
    """What a simulation is made to have, in the place of a printed figure."""
    return PrintedFigure(_PAPER, "Simulated models", row, column, f"{value:.4f}")


def _recovered(drawn: Sequence[Population]) -> Iterator[Cell]:
    """The truth and the median of what is measured, as ratios are skewed; the tolerance is what chance leaves of it."""
    progress = [_progress(population) for population in drawn]
    slope = drawn[0].truth.slope
    ratios = [population.found.growth.ratio.value for population in drawn if population.found.growth]
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
        error = _WIDER * _OF_A_MEDIAN * float(defined.std(ddof=1)) / np.sqrt(len(defined))
        yield _simulated(figure, float(np.median(defined)), float(error))


def _covered(drawn: Sequence[Population]) -> Iterator[Cell]:
    """How often intervals of 95% hold the truth; by models where every model has one."""
    progress = [_progress(population) for population in drawn]
    slope = drawn[0].truth.slope
    growth = [population.found.growth.ratio for population in drawn if population.found.growth]
    gap = STANDARD_RATE - GEOGRAPHIC_RATE
    yield _share("progress rate, standard", [_holds(row.rates[1].rate, STANDARD_RATE) for row in progress])
    yield _share("progress rate, geographic", [_holds(row.rates[0].rate, GEOGRAPHIC_RATE) for row in progress])
    yield _share("progress gap, difference", [_holds(row.gaps[0].difference, gap) for row in progress])
    yield _share("progress gap, ratio", [_holds(row.gaps[0].ratio, PROGRESS.value) for row in progress])
    yield _share("Europe - Africa, slope", [_holds(row.apart, slope) for row in progress])
    yield _share("Europe - Africa, by model", _by_model(drawn, "between"))
    yield _share("disparity, by model", _by_model(drawn, "disparity"))
    yield _share("lowest accuracy, by model", _by_model(drawn, "lowest"))
    yield _share("disparity, best over weakest quarter", [_holds(ratio, DISPARITY_GROWTH.value) for ratio in growth])


def _all_equal(drawn: Sequence[Population]) -> Iterator[Cell]:
    """Regions that are all alike: no disparity is there, though every model shows one."""
    yield _share("disparity, by model, all regions equal", _by_model(drawn, "disparity"))
    disparities = [row.disparity for population in drawn for row in population.found.rows if row.disparity]
    chance = 100 * float(np.mean([disparity.chance for disparity in disparities]))
    measured = [100 * float(np.mean([_gap(row) for row in population.found.rows])) for population in drawn]
    error = _WIDER * float(np.std(measured, ddof=1)) / np.sqrt(len(drawn))
    figure = _truth("disparity, all regions equal", "mean, points", chance)
    yield _simulated(figure, float(np.mean(measured)), float(error))


def _by_model(drawn: Sequence[Population], what: str) -> list[float]:
    """For each population, the share of its models whose interval holds the truth."""
    shares = []
    for population in drawn:
        held = []
        for place in range(MODELS):
            row = population.found.row(model_name(place))
            if row.disparity is None:
                continue
            truth = population.truth.lowest[place] if what == "lowest" else population.truth.disparities[place]
            parts = {"between": row.between[0], "disparity": row.disparity.value, "lowest": row.disparity.lowest}
            held.append(_holds(parts[what], float(truth)))
        shares.append(float(np.mean(held)))
    return shares


def _gap(row: ModelByGroup) -> float:
    return row.disparity.value.value if row.disparity else 0.0


def _share(row: str, held: Sequence[float]) -> Cell:
    """A share in percent and the promised 95, as far as so many populations can tell them apart."""
    ours = 100 * float(np.mean(held))
    spread = np.sqrt(0.05 * 0.95) if set(held) <= {0.0, 1.0} else float(np.std(held, ddof=1))
    error = 100 * _WIDER * float(spread) / np.sqrt(len(held))
    figure = _truth(row, "intervals that hold the truth, %", 95)
    return _simulated(figure, ours, float(error))


def _holds(interval: Estimate | Ratio | None, truth: float) -> float:
    if interval is None:
        return 0.0
    low = -np.inf if interval.low is None else interval.low
    high = np.inf if interval.high is None else interval.high
    return float(low - 1e-12 <= truth <= high + 1e-12)


def _progress(population: Population) -> Progress:
    if population.found.progress is None:
        raise AssertionError("every population has progress")
    return population.found.progress


def _regions() -> Iterator[Cell]:
    figure = printed_figure(_PAPER, "Architecture Onboarding", "GeoDE", "regions")
    yield Cell(figure, len(GEODE), "released list", CellKind.CONSTRUCTION)


def _notes() -> tuple[str, ...]:
    return (
        f"simulated: {_COUNT} populations of {MODELS} models with the printed ratio of rates and growth of disparity, "
        f"{_EQUAL} with equal regions, on as many images a region as GeoDE has; the published column is the truth they "
        "are made to have, or the promised 95%, and the tolerance so wide that chance should push none of them out",
        "intervals of rates are over models; images are partly hard for all models alike",
        "as printed: the figures are those of a summary of the paper, which calls Dollar Street's 54 countries regions",
    )
