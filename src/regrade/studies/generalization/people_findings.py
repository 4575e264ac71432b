"""Whether people keep more or less of their accuracy on new images than the line through models predicts."""

from __future__ import annotations

from dataclasses import replace

from regrade.core import Estimate
from regrade.core.amounts import amount
from regrade.display.finding import Finding, claim, no_claim
from regrade.display.wording import listed, points
from regrade.stats import Scale, widen_for_comparisons
from regrade.studies.generalization.result import Generalization, ModelShift, PersonShift, SetShift

_TEST = "Interval of a person's distance from the line through models, Bonferroni-corrected for all people and sets."
_OFF = claim("generalization: people off the line", _TEST)
_ON = no_claim("generalization: people near the line", _TEST)


def people_finding(result: Generalization) -> Finding | None:
    """The people who are significantly off the line, within the range of the models; None without people."""
    if not result.people:
        return None
    distances = {id(row): _distance(result, row) for row in result.people}
    above, below = (
        [row for row in result.people if not result.is_beyond_models(row) and is_off(distances[id(row)])]
        for is_off in (lambda distance: distance.low > 0, lambda distance: distance.high < 0)
    )
    text = _in_words(result, distances)
    if not (above or below):
        return Finding(_ON, "No difference detected between people and the line through models", text, 0.4)
    rows, more = (above, "more") if above else (below, "less")
    names = listed(list(dict.fromkeys(row.person for row in rows)))
    verb = "keeps" if len({row.person for row in rows}) == 1 else "keep"
    return Finding(_OFF, f"{names} {verb} {more} accuracy on new images than models do", text, 0.65)


def judged_distance(row: ModelShift | PersonShift, shift: SetShift, distance: Estimate) -> Estimate:
    """A distance to the line, widened by what judgments of the row's unjudged predictions could change."""
    slope = shift.line(Scale.LINEAR).slope
    steepness = 1.0 if slope is None else abs(slope.value)
    down, up = (row.original_novel or 0) / row.original.n * steepness, (row.new_novel or 0) / row.new.n
    return replace(distance, low=distance.low - down, high=distance.high + up)


def _distance(result: Generalization, row: PersonShift) -> Estimate:
    shift = next(shift for shift in result.shifts if shift.new_set == row.new_set)
    people = result.people or ()
    return judged_distance(row, shift, widen_for_comparisons(row.robustness, len(people), confidence=result.confidence))


def _in_words(result: Generalization, distances: dict[int, Estimate]) -> str:
    people = result.people or ()
    words = [
        f"{row.person} {points(distances[id(row)])} on {row.new_set}"
        + (" (beyond the models, so that nothing is concluded)" if result.is_beyond_models(row) else "")
        for row in people
    ]
    corrected = f", corrected for {amount(len(people), 'distance')}" if len(people) > 1 else ""
    return f"Distance to the line through models, above if positive{corrected}: {listed(words, most=6)}."
