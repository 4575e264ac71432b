"""Findings of a study of people on several test sets: who is less accurate on a new set, and how the lead changes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from regrade.core.amounts import amount
from regrade.display.finding import Finding, claim, no_claim, register_verdicts
from regrade.display.wording import points
from regrade.studies.people.accuracy import Contender
from regrade.studies.people.sets_result import GapVerdict, PeopleOnSets, SetsRow

_GAP_TEST = (
    "Fisher's exact test of each gap, that of the mean of people, of their lead and over clusters of images from its "
    "interval; Holm-corrected for all people, models, subsets and new sets."
)
_DIFFERENT = claim("people: accuracy differs between test sets", _GAP_TEST)
_NOT_DETECTED = no_claim("people: no gap between test sets is detected", _GAP_TEST)
_LEAD = claim("people: their lead over models differs between test sets", _GAP_TEST)
_SAME_LEAD = no_claim("people: no change of their lead is detected", _GAP_TEST)

register_verdicts({GapVerdict.LOWER: _DIFFERENT, GapVerdict.HIGHER: _DIFFERENT, GapVerdict.NOT_DETECTED: _NOT_DETECTED})


def sets_findings(result: PeopleOnSets) -> tuple[Finding, ...]:
    """For each new set the gaps of people and models on all images, and the change of the lead of people."""
    findings = [finding for name in result.names[1:] for finding in (_gaps(result, name), _lead(result, name))]
    return tuple(finding for finding in findings if finding)


def sets_verdicts(result: PeopleOnSets) -> frozenset[Enum]:
    """The distinct verdicts on gaps."""
    return frozenset(row.verdict for row in result.rows)


def _gaps(result: PeopleOnSets, name: str) -> Finding:
    rows = [row for row in result.on(name) if row.kind in (Contender.PERSON, Contender.MODEL)]
    largest = max(rows, key=lambda row: abs(row.gap.value))
    text = (
        f"Compared with {result.original}: {result.counted(name)}. The largest difference is that of {largest.who}, "
        f"{points(largest.change)} on {name}."
    )
    if all(row.verdict is GapVerdict.NOT_DETECTED for row in rows):
        headline = f"No difference in accuracy between {result.original} and {name} detected for anyone"
        return Finding(_NOT_DETECTED, headline, text, 0.4)
    people, models = (_moved(rows, kind) for kind in (Contender.PERSON, Contender.MODEL))
    headline = f"Accuracy on {name} differs from {result.original} for {people}" + (f" and {models}" if models else "")
    return Finding(_DIFFERENT, headline, text, 0.6)


def _moved(rows: Sequence[SetsRow], kind: Contender) -> str:
    """How many people or models have a verdict on their gap; empty if there are none of this kind."""
    own = [row for row in rows if row.kind is kind]
    words = ("person", "people") if kind is Contender.PERSON else ("model", "models")
    moved = sum(row.verdict is not GapVerdict.NOT_DETECTED for row in own)
    return f"{moved or 'none'} of {amount(len(own), *words)}" if own else ""


def _lead(result: PeopleOnSets, name: str) -> Finding | None:
    row = result.lead(name)
    if row is None:
        return None
    text = (
        f"The mean of people minus the mean of models is {points(row.original)} on {result.original} and "
        f"{points(row.accuracy)} on {name}, a change of {points(row.change)}."
    )
    if row.verdict is GapVerdict.NOT_DETECTED:
        headline = f"No change of people relative to models between {result.original} and {name} detected"
        return Finding(_SAME_LEAD, headline, text, 0.4)
    direction = "worse" if row.verdict is GapVerdict.LOWER else "better"
    headline = f"Relative to models, people are {direction} on {name} than on {result.original}"
    return Finding(_LEAD, headline, text, 0.7)
