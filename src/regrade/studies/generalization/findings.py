"""Findings of a generalization study: the mean change, whether gains carry over, and models far from the line."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from statistics import median

from regrade.core.amounts import amount
from regrade.display.finding import Finding, by_weight, claim, no_claim, register_verdicts
from regrade.display.wording import listed, plain, points, share, signed
from regrade.stats import widen_for_comparisons
from regrade.studies.generalization.explanations import AdaptivityVerdict
from regrade.studies.generalization.people_findings import judged_distance, people_finding
from regrade.studies.generalization.result import Generalization, ModelShift, SetShift

_LARGE = 0.05  # a mean change that contradicts a first impression
_FEW = 5  # with fewer models, a line is only a rough guide
_FAR, _OFF = 4, 0.02  # far from the line: this many times the median distance, and this much accuracy

_CHANGE_TEST = (
    "t interval of the mean change over models and over images, Bonferroni-corrected for all new sets, compared with 0."
)
_SLOPE_TEST = (
    "Interval of the slope over models and over images, with errors in both accuracies, Bonferroni-corrected for all "
    "new sets, compared with 1."
)
_LINE_TEST = "Interval of a model's distance from the line, Bonferroni-corrected for all models and sets."
_NO_CHANGE = no_claim("generalization: no change shown", _CHANGE_TEST)
_CHANGE = claim("generalization: models lose or gain", _CHANGE_TEST)
_NO_SPREAD = no_claim("generalization: not enough spread", _SLOPE_TEST)
_CARRY_OVER = claim("generalization: gains carry over", _SLOPE_TEST)
_SHRINK = claim("generalization: gains shrink", _SLOPE_TEST)
_SLOPE_OPEN = no_claim("generalization: slope is open", _SLOPE_TEST)
_OFF_THE_LINE = claim("generalization: off the line", _LINE_TEST)

register_verdicts(
    {
        AdaptivityVerdict.NO_SIGN: _CARRY_OVER,
        AdaptivityVerdict.DIMINISHING: _SHRINK,
        AdaptivityVerdict.UNDETERMINED: _SLOPE_OPEN,
        AdaptivityVerdict.NO_SPREAD: _NO_SPREAD,
    }
)


def generalization_verdicts(result: Generalization) -> frozenset[Enum]:
    """The verdicts on adaptive overfitting of all new sets."""
    return frozenset(shift.adaptivity.verdict for shift in result.shifts)


def generalization_findings(result: Generalization) -> tuple[Finding, ...]:
    """The largest change, the verdict on overfitting for that set, and models and people off the line."""
    largest = max(result.shifts, key=lambda shift: abs(shift.mean_change.value))
    candidates = (_change(result, largest), _carried(result, largest), _outlier(result), people_finding(result))
    return by_weight(candidates)


def _change(result: Generalization, shift: SetShift) -> Finding:
    rows, sets, measure = result.of(shift.new_set), len(result.shifts), result.measured
    change = widen_for_comparisons(shift.mean_change, sets, confidence=result.confidence, freedom=shift.models - 1)
    elsewhere = [f"{signed(100 * s.mean_change.value)} on {s.new_set}" for s in result.shifts if s is not shift]
    also = f" Other sets: {listed(elsewhere, most=4)}." if elsewhere else ""
    original, new = measure.images(result.original), measure.images(shift.new_set)
    text = (
        f"The mean change in {measure.accuracy} of {amount(shift.models, 'model')} from {original} is "
        f"{points(change)}{_together(result)}; {rows[0].model}, the best on {original}, has an accuracy of "
        f"{share(shift.best)} there and {share(rows[0].new)} on {new}.{also}"
    )
    if change.low <= 0 <= change.high:
        return Finding(_NO_CHANGE, f"No change in mean {measure.accuracy} detected from {original} to {new}", text, 0.4)
    verb = "lose" if change.value < 0 else "gain"
    if not shift.change_is_shown(change):
        headline = f"Too few predictions are judged to tell whether models {verb} on {new}"
        return Finding(_NO_CHANGE, headline, f"{text} {_unjudged(shift)}", 0.5)
    headline = f"Models {verb} {100 * abs(change.value):.1f} points on {new}"
    return Finding(_CHANGE, headline, text, 0.9 if abs(change.value) >= _LARGE else 0.7)


def _unjudged(shift: SetShift) -> str:
    words = "" if shift.unjudged is None else shift.unjudged.in_words()
    return f"{words[:1].upper()}{words[1:]}."


def _carried(result: Generalization, shift: SetShift) -> Finding:
    """Whether a gain on the original is a gain on the new set."""
    slope, verdict = shift.adaptivity.slope, shift.adaptivity.verdict
    original, new = (result.measured.images(name) for name in (result.original, shift.new_set))
    undecided = f"Not enough data to tell whether gains on {original} carry over to {new}"
    if slope is None:
        text = (
            f"The accuracies of {amount(shift.standard, 'model')} on {original} spread hardly more than sampling"
            " noise of its images would, too little to estimate a slope."
        )
        return Finding(_NO_SPREAD, undecided, text, 0.35)
    text = (
        f"One more point on {original} goes with {plain(slope)} more points on {new}"
        f"{_together(result)} (slope over {amount(shift.standard, 'model')}){shift.adaptivity.open_by_judgments}."
    )
    if shift.standard < _FEW:
        text += " With so few models the interval is only a rough guide."
    if verdict in (AdaptivityVerdict.NO_SIGN, AdaptivityVerdict.DIMINISHING):
        text += _probit(shift)
    if verdict is AdaptivityVerdict.NO_SIGN:
        return Finding(_CARRY_OVER, f"Gains on {original} carry over to {new}", f"{text} {_NO_SIGN}", 0.55)
    if verdict is AdaptivityVerdict.DIMINISHING:
        text += " Adaptive overfitting to the original would give such a slope, but so can other shifts."
        return Finding(_SHRINK, f"Gains on {original} shrink on {new}", text, 0.6)
    return Finding(_SLOPE_OPEN, undecided, text, 0.35)


def _probit(shift: SetShift) -> str:
    """The slope on the probit scale, if it does not show what the slope in points shows."""
    slope = shift.adaptivity.probit_slope
    if shift.adaptivity.on_probit_scale or slope is None:
        return ""
    return f" On the probit scale, which has no ceiling, the slope is {plain(slope)} and may be 1."


def _together(result: Generalization) -> str:
    """What to say of an interval that is corrected for several new sets."""
    sets = len(result.shifts)
    return f", corrected for {sets} new sets" if sets > 1 else ""


_NO_SIGN = "In points, there is no sign of adaptive overfitting; a loss that all models share remains possible."


def _outlier(result: Generalization) -> Finding | None:
    """The model furthest from its line, if it is much further than models usually are."""
    far = [(row, usual) for shift in result.shifts for row, usual in _far_off(result, shift)]
    if not far:
        return None
    row, usual = max(far, key=lambda pair: abs(pair[0].robustness.value))
    return Finding(
        _OFF_THE_LINE, f"{row.model} is far from the line through models on {row.new_set}", _off(row, usual), 0.5
    )


def _far_off(result: Generalization, shift: SetShift) -> Iterator[tuple[ModelShift, float]]:
    """The models that are far from the line of one new set, corrected for all models and sets, and how far most are."""
    rows = result.of(shift.new_set)
    usual = median(abs(row.robustness.value) for row in rows)
    for row in rows if len(rows) >= _FEW else ():
        widened = widen_for_comparisons(row.robustness, len(result.rows), confidence=result.confidence)
        distance = judged_distance(row, shift, widened)
        if (distance.low > 0 or distance.high < 0) and abs(distance.value) >= max(_OFF, _FAR * usual):
            yield row, usual


def _off(row: ModelShift, usual: float) -> str:
    distance = row.robustness
    side = "below" if distance.value < 0 else "above"
    low, high = sorted(100 * abs(bound) for bound in (distance.low, distance.high))
    return (
        f"It is {100 * abs(distance.value):.1f} points ({low:.1f} to {high:.1f}) {side} the line; half of the models "
        f"are within {100 * usual:.1f} points. Its predictions may be faulty, or it may differ from the other models."
    )
