"""Findings of a study of remedies: which remedies help or cost, on which test sets and groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from regrade.core.amounts import amount
from regrade.display.finding import Finding, claim, no_claim, register_verdicts
from regrade.display.wording import listed, points
from regrade.studies.remedies.result import Remedies, RemedyMeasure, RemedyRow, RemedyVerdict

_TEST = (
    "Interval of the paired difference over seeds and images, compared with 0, Bonferroni-corrected for all "
    "differences of the run."
)
_DIFFERS = claim("remedies: a remedy changes accuracy or disparity", _TEST)
_DROP_DIFFERS = claim("remedies: a remedy changes the drop to a new test set", _TEST)
_GROUPS_DIFFER = claim("remedies: a remedy changes the accuracy of groups", _TEST)
_NOTHING = no_claim("remedies: no difference detected", _TEST)
register_verdicts(
    {
        RemedyVerdict.BETTER: claim("remedies: a row is better", _TEST),
        RemedyVerdict.WORSE: claim("remedies: a row is worse", _TEST),
        RemedyVerdict.NOT_DETECTED: no_claim("remedies: a row is not told apart", _TEST),
    }
)


def remedies_verdicts(result: Remedies) -> frozenset[Enum]:
    """The verdicts of all rows."""
    return frozenset(row.verdict for row in result.rows)


def remedies_findings(result: Remedies) -> tuple[Finding, ...]:
    """Every measure that differs, the groups that differ together, or that nothing differs."""
    summarized = {
        RemedyMeasure.GROUP,
        RemedyMeasure.DROP,
        *((RemedyMeasure.ACCURACY,) if result.baseline is None else ()),
    }
    detected = [row for row in result.rows if row.verdict is not RemedyVerdict.NOT_DETECTED]
    if not detected:
        return (_nothing(result),)
    drops = [_drop(result, row) for row in detected if row.measure is RemedyMeasure.DROP]
    measures = [*drops, *(_measure(row) for row in detected if row.measure not in summarized)]
    keys = dict.fromkeys(
        (row.remedy, row.test_set, row.verdict) for row in detected if row.measure is RemedyMeasure.GROUP
    )
    groups = [
        _groups(
            result,
            [
                row
                for row in detected
                if row.measure is RemedyMeasure.GROUP and (row.remedy, row.test_set, row.verdict) == key
            ],
        )
        for key in keys
    ]
    return (*_interventions(result), *measures, *groups)


def _interventions(result: Remedies) -> Iterator[Finding]:
    """One finding per test set or slice: how many interventions raise or lower accuracy, each on its base model."""
    if result.baseline is not None:
        return
    rows = [row for row in result.rows if row.measure is RemedyMeasure.ACCURACY]
    for place in dict.fromkeys(row.place for row in rows):
        of_place = [row for row in rows if row.place == place]
        for verdict, direction in ((RemedyVerdict.BETTER, "raise"), (RemedyVerdict.WORSE, "lower")):
            if differing := [row for row in of_place if row.verdict is verdict]:
                yield _several(differing, len(of_place), direction)


def _several(rows: Sequence[RemedyRow], count: int, direction: str) -> Finding:
    ordered = sorted(rows, key=lambda row: -abs(row.difference.value))
    each = [f"{row.remedy} compared with {row.compared_with}: {points(row.difference)}" for row in ordered]
    verb = direction if len(rows) > 1 else f"{direction}s"
    headline = f"{len(rows)} of {amount(count, 'intervention')} {verb} accuracy on {rows[0].place}"
    text = f"{listed(each)}. Intervals hold for all differences of the run together."
    return Finding(_DIFFERS, headline, text, 0.6)


def _measure(row: RemedyRow) -> Finding:
    direction = "raises" if row.difference.value > 0 else "lowers"
    headline = f"{row.remedy} {direction} {row.measure.value} on {row.place}"
    text = (
        f"Compared with {row.compared_with}, the difference is {points(row.difference)}, from "
        f"{100 * row.baseline.value:.1f}% to {100 * row.remedied.value:.1f}% ({_based_on(row)})."
    )
    return Finding(_DIFFERS, headline, text, 0.6 if row.measure is RemedyMeasure.ACCURACY else 0.65)


def _drop(result: Remedies, row: RemedyRow) -> Finding:
    direction = "shrinks" if row.verdict is RemedyVerdict.BETTER else "grows"
    text = (
        f"Compared with {row.compared_with}, the drop of accuracy changes by {points(row.difference)}, from "
        f"{100 * row.baseline.value:.1f} to {100 * row.remedied.value:.1f} points ({_based_on(row)})."
    )
    headline = f"With {row.remedy}, the drop from {result.original} to {row.test_set} {direction}"
    return Finding(_DROP_DIFFERS, headline, text, 0.7)


def _groups(result: Remedies, rows: Sequence[RemedyRow]) -> Finding:
    first = rows[0]
    direction = "raises" if first.verdict is RemedyVerdict.BETTER else "lowers"
    names = [f"{row.group}: {points(row.difference)}" for row in rows]
    headline = f"{first.remedy} {direction} accuracy in {amount(len(rows), 'group')} by {result.by} on {first.test_set}"
    text = (
        f"Compared with {first.compared_with}, {listed(names)}. The other groups may differ by less than is detectable."
    )
    return Finding(_GROUPS_DIFFER, headline, text, 0.5)


def _nothing(result: Remedies) -> Finding:
    widest = max(result.rows, key=lambda row: row.difference.half_width)
    text = (
        f"None of {amount(len(result.rows), 'difference')} excludes 0. The remedies may still differ by less than is "
        f"detectable: the widest interval, of {widest.label} on {widest.place}, is {points(widest.difference)} "
        f"({_based_on(widest)})."
    )
    return Finding(
        _NOTHING, f"No difference detected between {listed(result.remedies)} and {result.reference}", text, 0.5
    )


def _based_on(row: RemedyRow) -> str:
    seeds = f"{amount(row.seeds, 'seed')}, " if row.seeds > 1 else "a single pair of models, "
    return f"{seeds}{amount(row.images, 'image')}"
