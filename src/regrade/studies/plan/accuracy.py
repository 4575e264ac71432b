"""Images needed to estimate an accuracy with a given half-width."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from regrade.core import Estimate
from regrade.stats import half_width_power, images_for_half_width
from regrade.stats.planned_clusters import PlannedClusters
from regrade.studies.plan.result import DEFAULTS, Plan, PlanOptions, PlanRow, Rate, value_of


def plan_accuracy(
    accuracies: Sequence[tuple[str, Rate]],
    half_width: float,
    *,
    clusters: Sequence[PlannedClusters] = (),
    options: PlanOptions = DEFAULTS,
    notes: Sequence[str] = (),
) -> Plan:
    """Plan the images for each named accuracy's exact interval to have the given ``half_width`` (a fraction).

    ``clusters`` are those of each accuracy if images come in clusters; the interval is then that of Korn and Graubard.

    >>> plan_accuracy([("a model", 0.8)], 0.01).rows[0].needed
    6341
    """
    method = f"{'clustered korn-graubard' if clusters else 'clopper-pearson'} {100 * options.confidence:g}%"
    every = (
        f"half-width: half the length of the interval ({method}); power: the chance that it is as short as planned",
        *(("accuracies as measured are taken as the true ones",) if _measured(accuracies) else ()),
        *notes,
    )
    rows = tuple(
        _row(name, accuracy, half_width, own, options)
        for (name, accuracy), own in zip_longest(accuracies, clusters[: len(accuracies)])
    )
    return Plan(f"images for an accuracy to ±{100 * half_width:g} points", "half-width", "images", options, rows, every)


def _row(
    name: str, accuracy: Rate, half_width: float, clusters: PlannedClusters | None, options: PlanOptions
) -> PlanRow:
    value, confidence = value_of(accuracy), options.confidence
    needed = images_for_half_width(value, half_width, power=options.power, confidence=confidence)
    power = half_width_power(needed, value, half_width, confidence=confidence)
    available = accuracy.n if isinstance(accuracy, Estimate) else None
    effect = None
    if clusters is not None:
        needed, effect = clusters.images_with_power(needed, options.power), clusters.effect
    return PlanRow(name, half_width, needed, power, accuracy=accuracy, available=available, design_effect=effect)


def _measured(accuracies: Sequence[tuple[str, Rate]]) -> bool:
    return any(isinstance(accuracy, Estimate) for _, accuracy in accuracies)
