"""Findings of a study of models: what a measure goes with, and families that differ from the others."""

from __future__ import annotations

from enum import Enum

from regrade.core.amounts import amount
from regrade.display.finding import Finding, by_weight, claim, no_claim, register_verdicts
from regrade.display.wording import points
from regrade.studies.models.result import (
    FamilyDifference,
    FamilyVerdict,
    ModelMeasure,
    ModelTrend,
    ModelTrends,
    TrendVerdict,
)

_TREND_TEST = (
    "Cluster-robust t interval of the slope over models and images, by family, Bonferroni-corrected for all trends, "
    "compared with 0."
)
_FAMILY_TEST = (
    "Robust t interval of the difference over models and images, Bonferroni-corrected for all families and measures, "
    "compared with 0."
)
_TREND = claim("models: a measure goes with an attribute", _TREND_TEST)
_NO_TREND = no_claim("models: no trend shown", _TREND_TEST)
_FAMILY = claim("models: a family differs", _FAMILY_TEST)
_NO_FAMILY = no_claim("models: no family differs", _FAMILY_TEST)

register_verdicts(
    {
        TrendVerdict.RISES: _TREND,
        TrendVerdict.FALLS: _TREND,
        TrendVerdict.NOT_DETECTED: _NO_TREND,
        FamilyVerdict.ABOVE: _FAMILY,
        FamilyVerdict.BELOW: _FAMILY,
        FamilyVerdict.NOT_DETECTED: _NO_FAMILY,
    }
)

_WEIGHTS = {
    ModelMeasure.ACCURACY: 0.35,
    ModelMeasure.DROP: 0.3,
    ModelMeasure.ROBUSTNESS: 0.5,
    ModelMeasure.DISPARITY: 0.5,
}


def model_trends_verdicts(result: ModelTrends) -> frozenset[Enum]:
    """The verdicts on all trends and families."""
    return frozenset({trend.verdict for trend in result.trends}) | {row.verdict for row in result.families}


def model_trends_findings(result: ModelTrends) -> tuple[Finding, ...]:
    """The clearest trend of each measure, and the family that differs most from the others."""
    measures = dict.fromkeys(trend.measure for trend in result.trends)
    trends = [_trend(result, measure) for measure in measures]
    stated = [finding for finding in trends if finding] or _no_trend(result)
    return by_weight([*stated, *_family(result)])


def _trend(result: ModelTrends, measure: ModelMeasure) -> Finding | None:
    """The clearest trend of a measure, if one is detected."""
    shown = [
        trend for trend in result.trends if trend.measure is measure and trend.verdict is not TrendVerdict.NOT_DETECTED
    ]
    if not shown:
        return None
    trend = max(shown, key=_clearness)
    headline = (
        f"{measure.value.capitalize()} on {result.test_set} {trend.verdict.value} with "
        f"{trend.attribute.value.replace('-', ' ')}"
    )
    return Finding(_TREND, headline, _in_words(trend), _WEIGHTS[measure])


def _clearness(trend: ModelTrend) -> float:
    return abs(trend.slope.value) / max(trend.slope.half_width, 1e-12)


def _in_words(trend: ModelTrend) -> str:
    unit = f"A {trend.attribute.unit}" if trend.attribute.is_count else "One more year"
    return (
        f"{unit} goes with {points(trend.slope)}, over {amount(trend.models, 'model')}, corrected for all trends. This "
        "is an association: models that differ in it also differ in many other ways."
    )


def _no_trend(result: ModelTrends) -> list[Finding]:
    if not result.trends:
        return []
    attributes = ", ".join(dict.fromkeys(trend.attribute.value.replace("-", " ") for trend in result.trends))
    headline = f"No trend of {result.trends[0].measure.value} on {result.test_set} with {attributes} detected"
    return [Finding(_NO_TREND, headline, _in_words(max(result.trends, key=_clearness)), 0.2)]


def _family(result: ModelTrends) -> list[Finding]:
    if not result.families:
        return []
    row = max(result.families, key=lambda each: abs(each.difference.value) / max(each.difference.half_width, 1e-12))
    if row.verdict is FamilyVerdict.NOT_DETECTED:
        names = amount(len({each.family for each in result.families}), "family", "families")
        headline = f"No difference of {names} from the other models detected on {result.test_set}"
        return [Finding(_NO_FAMILY, headline, _compared(row), 0.2)]
    headline = f"Models of the family {row.family} are {row.verdict.value} in {row.measure.value} on {result.test_set}"
    return [Finding(_FAMILY, headline, _compared(row), 0.25 if row.measure is ModelMeasure.ACCURACY else 0.4)]


def _compared(row: FamilyDifference) -> str:
    at_equal = " at equal accuracy on the original" if row.measure is ModelMeasure.ROBUSTNESS else ""
    measure = "accuracy" if row.measure is ModelMeasure.ROBUSTNESS else row.measure.value
    return (
        f"The mean {measure} of {amount(row.models, 'model')} of the family {row.family} minus that of the others is "
        f"{points(row.difference)}{at_equal}, corrected for all families and measures."
    )
