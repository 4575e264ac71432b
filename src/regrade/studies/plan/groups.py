"""Images needed per group to show a disparity between groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from regrade.core import Estimate, InputError, UndefinedError
from regrade.stats import disparity_power, images_per_group, ordered_pairs, smallest_disparity
from regrade.stats.planned_clusters import clustered_images, independent_images
from regrade.studies.plan.result import (
    DEFAULTS,
    Plan,
    PlanOptions,
    PlanRow,
    Rate,
    limit_notes,
    needed_or_none,
    percent,
    value_of,
)


@dataclass(frozen=True)
class GroupContrast:
    """Two groups: the accuracies of the better and the worse one, and the available images of each.

    Images in clusters have a design ``effect``, the larger one of the two groups.
    """

    name: str
    better: Rate
    worse: Rate
    images: tuple[int, int] | None = None
    effect: float | None = None


def plan_disparity(
    contrasts: Sequence[GroupContrast],
    *,
    groups: int = 2,
    named: bool = False,
    options: PlanOptions = DEFAULTS,
    notes: Sequence[str] = (),
) -> Plan:
    """Plan the images per group needed to show that one group's accuracy is below another's.

    By default the two are the best and the worst of ``groups`` groups, and the test is corrected for all ordered pairs.
    With ``named`` they were chosen in advance, and no correction is needed.
    """
    comparisons = 1 if named else ordered_pairs(groups)
    rows = tuple(_row(contrast, comparisons, options) for contrast in contrasts)
    which = "two groups named beforehand" if named else f"the best and the worst of {groups} groups, picked afterwards"
    every = [
        f"{which}: Newcombe's interval of their difference is above 0 at a level of "
        f"{percent(options.level / comparisons)}",
    ]
    if any(isinstance(contrast.better, Estimate) for contrast in contrasts):
        every.append(
            "measured accuracies are taken as the true ones; the gap between the extremes is too large on average"
        )
    every += (*limit_notes(rows), *notes)
    return Plan("images for a disparity", "disparity", "images per group", options, rows, tuple(every))


def extreme_groups(
    model: str, accuracies: Mapping[str, Estimate], effects: Mapping[str, float] | None = None
) -> GroupContrast:
    """Return the groups with the highest and the lowest measured accuracy of one model.

    ``effects`` are the design effects of the groups if their images come in clusters.
    """
    if len(accuracies) < 2:
        raise InputError(f"a disparity needs at least two groups, got {len(accuracies)}")
    best = max(accuracies, key=lambda name: accuracies[name].value)
    worst = min(accuracies, key=lambda name: accuracies[name].value)
    better, worse = accuracies[best], accuracies[worst]
    effect = None if effects is None else max(effects[best], effects[worst])
    return GroupContrast(f"{model}: {best} and {worst}", better, worse, (better.n, worse.n), effect)


def _row(contrast: GroupContrast, comparisons: int, options: PlanOptions) -> PlanRow:
    better, worse = value_of(contrast.better), value_of(contrast.worse)
    needed = power = None
    if better > worse:
        needed = needed_or_none(
            contrast.worse,
            lambda: clustered_images(
                images_per_group(
                    better, worse, power=options.power, comparisons=comparisons, confidence=options.confidence
                ),
                contrast.effect,
            ),
        )
    if needed is not None:
        images = independent_images(needed, contrast.effect)
        power = disparity_power(images, images, better, worse, comparisons=comparisons, confidence=options.confidence)
    return PlanRow(
        contrast.name,
        better - worse,
        needed,
        power,
        accuracy=contrast.better,
        level=options.level / comparisons,
        available=min(contrast.images) if contrast.images else None,
        smallest=_smallest(contrast, comparisons, options),
        design_effect=contrast.effect,
    )


def _smallest(contrast: GroupContrast, comparisons: int, options: PlanOptions) -> float | None:
    if contrast.images is None:
        return None
    first, second = (independent_images(images, contrast.effect) for images in contrast.images)
    try:
        return smallest_disparity(
            first,
            second,
            value_of(contrast.better),
            power=options.power,
            comparisons=comparisons,
            confidence=options.confidence,
        )
    except UndefinedError:
        return None
