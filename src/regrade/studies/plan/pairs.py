"""Images needed to show a difference between two models, or to establish a ranking."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

import numpy as np

from regrade.core import Estimate, InputError
from regrade.core.amounts import amount
from regrade.core.arrays import FloatArray, IntArray
from regrade.stats import images_for_difference, independent_disagreement, mcnemar_power
from regrade.stats.planned_clusters import clustered_images, independent_images
from regrade.stats.power import approximate_power, detectable_difference, needed_images, within_limit
from regrade.stats.ranking import order_levels
from regrade.studies.compare.result import Comparison
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

_RARE = 1e-5  # probability of failure below which the approximation suffices


@dataclass(frozen=True)
class Contrast:
    """Two models to compare: the difference of their accuracies, and the share of images that only one has right.

    ``level`` is the significance level after correction for multiple pairs, ``images`` the number available. Images in
    clusters have a design ``effect``: the number of images that are worth an independent one.
    """

    name: str
    difference: Rate
    disagreement: float
    level: float
    images: int | None = None
    effect: float | None = None


def plan_difference(
    contrasts: Sequence[Contrast], *, options: PlanOptions = DEFAULTS, notes: Sequence[str] = ()
) -> Plan:
    """Plan the images for McNemar's exact test to detect each difference; also the smallest detectable difference."""
    rows = tuple(contrast_row(contrast, options) for contrast in contrasts)
    return Plan("images for a difference", "difference", "images", options, rows, (*_notes(contrasts, rows), *notes))


def plan_rank(
    steps: Sequence[Contrast],
    leads: Sequence[Contrast],
    *,
    best: str,
    options: PlanOptions = DEFAULTS,
    notes: Sequence[str] = (),
) -> Plan:
    """Plan the images for each step of a ranking, for the ``best`` model's leads over all others, and for all steps."""
    rows = (
        *(contrast_row(step, options) for step in steps),
        _joint_row(f"{best} ahead of all others", leads, options),
        _joint_row("every step of the ranking", steps, options),
    )
    joint = "the last two rows: all their tests succeed together with at least this power (chances to fail added up)"
    return Plan("images for a ranking", "difference", "images", options, rows, (*_notes(steps, rows), joint, *notes))


def contrasts_of(
    comparison: Comparison,
    rows: IntArray | None = None,
    *,
    difference: float | None = None,
    levels: FloatArray | None = None,
) -> tuple[Contrast, ...]:
    """Return the pairs of a comparison (or of some rows) as measured; ``difference`` replaces the measured one.

    ``levels`` (p,) are the significance levels of all pairs (default: those of the test that two models differ).
    """
    pairs = comparison.pairs
    chosen = np.arange(len(pairs)) if rows is None else rows
    shares = pairs.disagreement(chosen).tolist()
    tested = (pairs.pair_levels if levels is None else levels)[chosen].tolist()
    measured = [pairs[int(row)] for row in chosen]
    effects = [None] * len(chosen) if pairs.effects is None else pairs.effects[chosen].tolist()
    return tuple(
        Contrast(
            f"{pair.first} and {pair.second}",
            pair.difference if difference is None else difference,
            share if difference is None else max(share, abs(difference)),
            level,
            comparison.basis.images,
            effect,
        )
        for pair, share, level, effect in zip(measured, shares, tested, effects, strict=True)
    )


def plan_ranks_of(comparison: Comparison, *, options: PlanOptions = DEFAULTS) -> Plan:
    """Plan the measured ranking of a comparison: steps use the tests of pairs, the lead the tests of ranks."""
    ranked, pairs = [rank.model for rank in comparison.ranks], comparison.pairs
    rows = pairs.rows_of([ranked[0]] * (len(ranked) - 1), ranked[1:])
    counts = [part if pairs.effects is None else part / pairs.effects for part in (pairs.only_first, pairs.only_second)]
    levels = order_levels(*counts, confidence=pairs.confidence)
    leads = contrasts_of(comparison, rows, levels=levels)
    steps = contrasts_of(comparison, comparison.step_rows())
    named = [f"{first} and {second}" for first, second in pairwise(ranked)]
    return plan_rank(
        [_named(step, name) for step, name in zip(steps, named, strict=True)],
        [_named(lead, f"{ranked[0]} and others") for lead in leads],
        best=ranked[0],
        options=options,
        notes=("ahead of all others: the tests of the rank intervals in compare", *comparison.basis.notes),
    )


def assumed_ranking(
    accuracies: Sequence[float],
    disagreement: float | None = None,
    *,
    effect: float | None = None,
    options: PlanOptions = DEFAULTS,
) -> Plan:
    """Plan a ranking of assumed accuracies; default disagreement: that of models which err independently."""
    if len(accuracies) < 2:
        raise InputError(f"a ranking needs at least two models, got {len(accuracies)}")
    if not all(0 <= accuracy <= 1 for accuracy in accuracies):
        raise InputError(f"accuracies must lie between 0 and 100 %, got {', '.join(map(percent, accuracies))}")
    ranked = sorted(accuracies, reverse=True)
    level = options.level / len(tuple(combinations(ranked, 2)))

    def contrast(first: float, second: float) -> Contrast:
        share = independent_disagreement(first, second) if disagreement is None else disagreement
        return Contrast(f"{_accuracy(first)} and {_accuracy(second)}", first - second, share, level, effect=effect)

    steps = [contrast(*both) for both in pairwise(ranked)]
    leads = [contrast(ranked[0], accuracy) for accuracy in ranked[1:]]
    return plan_rank(steps, leads, best=_accuracy(ranked[0]), options=options)


def _accuracy(value: float) -> str:
    """The name of a model with this accuracy, in full: neighbors in a ranking may be close."""
    return f"{100 * value:.12g}%"


def contrast_row(contrast: Contrast, options: PlanOptions) -> PlanRow:
    """Return the images that one contrast needs; None if the difference is 0, or measured and too small to detect."""
    needed = _needed(contrast, options.power)
    return PlanRow(
        contrast.name,
        contrast.difference,
        needed,
        None if needed is None else _power(contrast, needed),
        disagreement=contrast.disagreement,
        level=contrast.level,
        available=contrast.images,
        smallest=_smallest(contrast, options.power),
        design_effect=contrast.effect,
    )


def _joint_row(name: str, contrasts: Sequence[Contrast], options: PlanOptions) -> PlanRow:
    """The images with which all tests succeed jointly: the sum of their failure probabilities is at most 1 - power."""
    differences = [abs(value_of(contrast.difference)) for contrast in contrasts]
    if min(differences) == 0:
        return PlanRow(name, 0.0, None, None, available=contrasts[0].images)
    shares, levels = [c.disagreement for c in contrasts], [c.level for c in contrasts]
    effects = np.array([c.effect or 1.0 for c in contrasts])

    def failures(images: int) -> FloatArray:
        return 1 - approximate_power(images / effects, differences, shares, alpha=levels)

    def jointly_needed() -> int:
        fewest, most = (
            within_limit(np.ceil(needed_images(differences, shares, power=power, alpha=levels) * effects).max())
            for power in (options.power, 1 - (1 - options.power) / len(contrasts))
        )
        return bisect.bisect_left(
            range(most), True, lo=fewest, key=lambda n: bool(failures(n).sum() <= 1 - options.power)
        )

    needed = needed_or_none(contrasts[0].difference, jointly_needed)
    if needed is None:
        return PlanRow(name, min(differences), None, None, available=contrasts[0].images)
    lost = [
        1 - _power(contrast, needed) if failure > _RARE else failure
        for contrast, failure in zip(contrasts, failures(needed).tolist(), strict=True)
    ]
    return PlanRow(name, min(differences), needed, 1 - sum(lost), available=contrasts[0].images)


def _needed(contrast: Contrast, power: float) -> int | None:
    difference = value_of(contrast.difference)
    if difference == 0:
        return None
    return needed_or_none(
        contrast.difference,
        lambda: clustered_images(
            images_for_difference(difference, contrast.disagreement, power=power, alpha=contrast.level), contrast.effect
        ),
    )


def _power(contrast: Contrast, images: int) -> float:
    independent = independent_images(images, contrast.effect)
    return mcnemar_power(independent, value_of(contrast.difference), contrast.disagreement, alpha=contrast.level)


def _smallest(contrast: Contrast, power: float) -> float | None:
    if contrast.images is None:
        return None
    images = contrast.images / (contrast.effect or 1.0)
    smallest = float(detectable_difference(images, contrast.disagreement, power=power, alpha=contrast.level))
    return None if math.isnan(smallest) else smallest


def _named(contrast: Contrast, name: str) -> Contrast:
    """The contrast with a new name and a non-negative difference."""
    difference = contrast.difference
    if isinstance(difference, Estimate) and difference.value < 0:
        difference = Estimate(-difference.value, -difference.high, -difference.low, difference.n, difference.method)
    return replace(contrast, name=name, difference=difference)


def _notes(contrasts: Sequence[Contrast], rows: Sequence[PlanRow]) -> tuple[str, ...]:
    lowest, highest = (percent(extreme(contrast.level for contrast in contrasts)) for extreme in (min, max))
    span = lowest if lowest == highest else f"{lowest} to {highest}"
    notes = [
        f"McNemar's exact test at a level of {span} per pair, after correction for many pairs; disagreement: images "
        "on which exactly one model is right",
    ]
    if any(isinstance(contrast.difference, Estimate) for contrast in contrasts):
        notes.append("a measured difference is taken as the true one; its interval says how far it may be off")
    unclear = sum(value_of(contrast.difference) == 0 for contrast in contrasts)
    if unclear:
        notes.append(f"{amount(unclear, 'pair')} without a difference: no number of images would show one")
    return (*notes, *limit_notes(rows))
