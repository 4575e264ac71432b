"""Images needed to estimate an accuracy with a given half-width."""

from __future__ import annotations

from collections.abc import Sequence

from regrade.core import Estimate
from regrade.stats import half_width_power, images_for_half_width
from regrade.studies.plan.result import DEFAULTS, Plan, PlanOptions, PlanRow, Rate, value_of


def plan_accuracy(
    accuracies: Sequence[tuple[str, Rate]], half_width: float, *, options: PlanOptions = DEFAULTS
) -> Plan:
    """Plan the images for each named accuracy's exact interval to have the given ``half_width`` (a fraction).

    >>> plan_accuracy([("a model", 0.8)], 0.01).rows[0].needed
    6341
    """
    method = f"clopper-pearson {100 * options.confidence:g}%"
    notes = (
        f"half-width: half the length of the interval ({method}); power: the chance that it is as short as planned",
        *(("accuracies as measured are taken as the true ones",) if _measured(accuracies) else ()),
    )
    rows = tuple(_row(name, accuracy, half_width, options) for name, accuracy in accuracies)
    return Plan(f"images for an accuracy to ±{100 * half_width:g} points", "half-width", "images", options, rows, notes)


def _row(name: str, accuracy: Rate, half_width: float, options: PlanOptions) -> PlanRow:
    value, confidence = value_of(accuracy), options.confidence
    needed = images_for_half_width(value, half_width, power=options.power, confidence=confidence)
    power = half_width_power(needed, value, half_width, confidence=confidence)
    available = accuracy.n if isinstance(accuracy, Estimate) else None
    return PlanRow(name, half_width, needed, power, accuracy=accuracy, available=available)


def _measured(accuracies: Sequence[tuple[str, Rate]]) -> bool:
    return any(isinstance(accuracy, Estimate) for _, accuracy in accuracies)
