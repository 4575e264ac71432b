"""Findings of a study of selection frequencies: does accuracy go with frequency, and changes at equal frequency."""

from __future__ import annotations

from regrade.core.amounts import amount
from regrade.display.finding import Finding, by_weight, claim, no_claim
from regrade.display.wording import listed, points
from regrade.studies.frequency.result import Frequency, FrequencyChange

_RISE_TEST = (
    "Interval over images of the mean accuracy in the highest frequency bin minus that in the lowest, compared with 0."
)
_CHANGE_TEST = (
    "Interval over images of the change at equal observed frequency, Bonferroni-corrected for all new sets and for the "
    "overall changes, compared with 0."
)
_RISES = claim("frequency: accuracy rises or falls with frequency", _RISE_TEST)
_NO_RISE = no_claim("frequency: no relation shown", _RISE_TEST)
_CHANGE = claim("frequency: change at equal frequency", _CHANGE_TEST)
_NO_CHANGE = no_claim("frequency: no change at equal frequency shown", _CHANGE_TEST)


def frequency_findings(result: Frequency) -> tuple[Finding, ...]:
    """Whether accuracy rises with frequency, and the largest change at equal frequency."""
    compared = [change for change in result.changes if change.at_equal]
    candidates = [_rise(result)]
    if compared:
        candidates.append(_change(result, max(compared, key=_size)))
    return by_weight(candidates)


def _size(change: FrequencyChange) -> float:
    return abs(change.at_equal.value) if change.at_equal else 0.0


def _rise(result: Frequency) -> Finding | None:
    rise, original = result.rise, result.test_sets[0]
    if rise is None:
        return None
    filled = [row.bin for row in result.of(original) if row.accuracy]
    text = (
        f"The mean accuracy of {amount(len(result.models), 'model')} on images of {original} with a selection "
        f"frequency in {filled[-1]} minus that in {filled[0]} is {points(rise)}. Frequencies are observed: the "
        "noise of few answers per image usually makes this difference smaller."
    )
    if rise.low <= 0 <= rise.high:
        headline = f"No relation between selection frequency and accuracy detected on {original}"
        return Finding(_NO_RISE, headline, text, 0.3)
    more = "more" if rise.value > 0 else "less"
    headline = f"Models are {more} accurate on images of {original} that more people select"
    return Finding(_RISES, headline, text, 0.5)


def _change(result: Frequency, change: FrequencyChange) -> Finding:
    original, at_equal = result.test_sets[0], change.at_equal
    assert at_equal is not None
    rest = [row.test_set for row in result.changes if row is not change]
    also = f" Also compared: {listed(rest)}." if rest else ""
    text = (
        f"The mean accuracy of {amount(len(result.models), 'model')} on {change.test_set} differs from that on "
        f"{original} by {points(change.overall)}, and by {points(at_equal)} if the frequency bins of {original} are "
        f"weighted as {change.test_set} is composed.{also} Images of equal observed frequency can differ in their true "
        "frequency, since the answers are few: that alone makes new images from a harder pool harder."
    )
    if at_equal.low <= 0 <= at_equal.high:
        headline = f"No change from {original} to {change.test_set} detected at equal selection frequency"
        return Finding(_NO_CHANGE, headline, text, 0.4)
    verb = "lose" if at_equal.value < 0 else "gain"
    headline = f"At equal observed frequency, models {verb} {100 * abs(at_equal.value):.1f} points on {change.test_set}"
    return Finding(_CHANGE, headline, text, 0.6)
