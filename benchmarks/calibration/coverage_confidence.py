"""Coverage of the intervals of `study confidence`: confidence gaps, areas and accuracies of the most confident."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from scipy import stats

from benchmarks.calibration.checks import Drawn, coverage_check
from regrade.core import Estimate
from regrade.core.arrays import BoolArray, FloatArray
from regrade.stats import confidence_gap, excess_area, proportion, risk_coverage_area

_POPULATION = 1_000_000
_SHARE = 0.8

Measure = Callable[[FloatArray, BoolArray], Estimate]


def measured(rng: np.random.Generator, runs: int, *, n: int, shape: float, power: float, measure: Measure) -> Drawn:
    """Confidences c of a model that is right with probability c ** power."""
    estimates = []
    for _ in range(runs):
        confidences = rng.beta(shape, 1, n)
        estimates.append(measure(confidences, rng.random(n) < confidences**power))
    return Drawn([e.low for e in estimates], [e.high for e in estimates], _truths(shape, power)[measure])


def most_confident(confidences: FloatArray, correct: BoolArray) -> Estimate:
    """The accuracy of the most confident 80%."""
    chosen = np.argsort(-confidences)[: int(_SHARE * len(correct))]
    return proportion(int(correct[chosen].sum()), len(chosen))


@cache
def _truths(shape: float, power: float) -> dict[Measure, float]:
    """The values for all images of a large population, with the probability of an error in the place of errors."""
    sure = stats.beta(shape, 1).ppf((np.arange(_POPULATION) + 0.5) / _POPULATION)[::-1]
    errors = 1 - sure**power
    area, rate = float((np.cumsum(errors) / np.arange(1, _POPULATION + 1)).mean()), float(errors.mean())
    return {
        confidence_gap: float(sure.mean()) - (1 - rate),
        risk_coverage_area: area,
        excess_area: area - (rate + (1 - rate) * np.log1p(-rate)),
        most_confident: 1 - float(errors[: int(_SHARE * _POPULATION)].mean()),
    }


_CHECKS = (
    ("confidence minus accuracy", "stats.confidence_gaps.confidence_gap", confidence_gap),
    ("area under the risk-coverage curve", "stats.selective._gamma", risk_coverage_area),
    ("area above the oracle", "stats.selective._gamma", excess_area),
    ("accuracy of the most confident 80%", "stats.intervals.proportions", most_confident),
)
for interval, maker, measure in _CHECKS:
    for case, shape, power in (("few errors", 50.0, 1.0), ("overconfident", 5.0, 3.0)):
        for size in (50, 1_000):
            coverage_check(
                interval,
                maker=maker,
                case=case,
                n=size,
                draw=partial(measured, n=size, shape=shape, power=power, measure=measure),
            )
