"""Findings of a class-map study: does the conclusion about groups depend on the map, and which class errs most?"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from regrade.display.finding import Finding, by_weight, claim, no_claim, register_verdicts
from regrade.display.wording import listed, share
from regrade.studies.class_map.result import ClassMapAudit, MapEffect, MapRow

_ORDER_TEST = (
    "Simultaneous intervals of the differences of all pairs of groups under both maps, compared with 0, corrected for "
    "the maps."
)
_DISPARITY_TEST = "Simultaneous paired interval of the change of the disparity on the same images, compared with 0."
_ANOTHER = claim("class map: another best or worst group", _ORDER_TEST)
_CHANGES = claim("class map: another disparity", _DISPARITY_TEST)
_SAME = claim("class map: the same best and worst group under every map", _ORDER_TEST)
_OPEN = no_claim("class map: dependence is open", _ORDER_TEST)
_ERRORS = no_claim("class map: class with most errors")
register_verdicts(
    {
        MapEffect.ANOTHER_GROUP: _ANOTHER,
        MapEffect.DISPARITY: _CHANGES,
        MapEffect.SAME: claim("class map: the same best and worst group", _ORDER_TEST),
        MapEffect.OPEN: _OPEN,
    }
)


def class_map_verdicts(result: ClassMapAudit) -> frozenset[Enum]:
    """The conclusions of the table of maps, for the best model."""
    return frozenset(row.effect for row in _of_best(result) if row.effect is not None)


def class_map_findings(result: ClassMapAudit) -> tuple[Finding, ...]:
    """The best model's conclusion about groups under all maps, and the class with most of its errors."""
    first, *alternatives = _of_best(result)
    candidates = (_conclusion(result, first, [row for row in alternatives if row.effect]), _most_errors(result, first))
    return by_weight(candidates)


def _of_best(result: ClassMapAudit) -> tuple[MapRow, ...]:
    return result.of_model(result.maps[0].model)


def _conclusion(result: ClassMapAudit, first: MapRow, tested: Sequence[MapRow]) -> Finding | None:
    if not tested or first.disparity is None:
        return None
    by_effect = {effect: [row for row in tested if row.effect is effect] for effect in MapEffect}
    extremes = f"{first.model} is right most often for {first.best} and least often for {first.worst}"
    under_first = f"Under {result.first_map}, {extremes}"
    if rows := by_effect[MapEffect.ANOTHER_GROUP]:
        row = rows[0]
        text = f"{under_first}; under {row.map}, most often for {row.best} and least often for {row.worst}."
        return Finding(_ANOTHER, f"Which {result.by} is best or worst depends on the class map", text, 0.9)
    if rows := by_effect[MapEffect.DISPARITY]:
        changes = listed([f"{_signed(row)} points under {row.map}" for row in rows])
        text = f"{under_first}, a disparity of {share(first.disparity)}. It changes by {changes}."
        return Finding(_CHANGES, f"The disparity by {result.by} depends on the class map", text, 0.7)
    if len(by_effect[MapEffect.SAME]) == len(tested):
        text = f"Under all {len(tested) + 1} maps, {extremes}; changes of the disparity are not significant."
        return Finding(_SAME, f"The best and the worst {result.by} are the same under every class map", text, 0.6)
    text = f"{under_first}. It is not shown under every other map that this holds, nor that it changes."
    return Finding(_OPEN, "Whether the conclusion depends on the class map is open", text, 0.4)


def _signed(row: MapRow) -> str:
    change = row.disparity_change
    assert change is not None
    low, high = sorted((100 * change.low, 100 * change.high))
    return f"{100 * change.value:+.1f} ({low:+.1f} to {high:+.1f})"


def _most_errors(result: ClassMapAudit, first: MapRow) -> Finding | None:
    row = next((row for row in result.classes if row.model == first.model and row.share_of_errors), None)
    if row is None or row.share_of_errors is None or not row.wrong:
        return None
    images = sum(each.images for each in result.classes if each.model == first.model)
    text = (
        f"{share(row.share_of_errors)} of the errors of {row.model} are on images of {row.class_name}, which are "
        f"{100 * row.images / images:.1f}% of all images; most often predicted there: "
        f"{listed([f'{name} ({count})' for name, count in row.wrong])}."
    )
    return Finding(_ERRORS, f"{row.class_name} has the most errors of {row.model} on {result.test_set}", text, 0.35)
