"""Findings of a geography study: disparity between groups, progress on the test set, and growth of the disparity."""

from __future__ import annotations

from enum import Enum

from regrade.core.amounts import amount
from regrade.display.finding import Finding, by_weight, claim, no_claim, register_verdicts
from regrade.display.wording import plain, share
from regrade.stats import Ratio
from regrade.studies.geography.progress import GrowthVerdict
from regrade.studies.geography.result import Geography

_LARGE = 0.1  # a disparity that contradicts a first impression

_DISPARITY_TEST = "Simultaneous intervals of the differences of all pairs of groups, compared with 0."
_GAP_TEST = "Robust t interval of the difference of two slopes, over models and over images, compared with 0."
_GROWTH_TEST = (
    "Robust t interval, over models and over images, of the slope of the best group's accuracy minus the worst's, "
    "compared with 0, where simultaneous intervals show that these two groups differ."
)
_NO_DISPARITY = no_claim("geography: no disparity shown", _DISPARITY_TEST)
_SOME_DISPARITY = claim("geography: some groups differ", _DISPARITY_TEST)
_DISPARITY = claim("geography: worst and best group", _DISPARITY_TEST)
_PROGRESS_DIFFERS = claim("geography: progress reaches it less or more", _GAP_TEST)
_PROGRESS_OPEN = no_claim("geography: progress gap is open", _GAP_TEST)
_GROWTH_UNTESTED = no_claim("geography: extremes are not told apart", _DISPARITY_TEST)
_GROWS_OR_SHRINKS = claim("geography: disparity grows or shrinks", _GROWTH_TEST)
_GROWTH_OPEN = no_claim("geography: growth is open", _GROWTH_TEST)

_TRIPLED_TEST = (
    "Simultaneous Fieller interval over images, for these models, of the best models' disparity over the weakest "
    "models', compared with 3."
)
register_verdicts(
    {
        GrowthVerdict.SUPPORTED: claim("geography: disparity has tripled", _TRIPLED_TEST),
        GrowthVerdict.NOT_SETTLED: no_claim("geography: whether disparity has tripled is open", _TRIPLED_TEST),
        GrowthVerdict.CONTRADICTED: claim("geography: disparity has not tripled", _TRIPLED_TEST),
    }
)


def geography_verdicts(result: Geography) -> frozenset[Enum]:
    """Whether disparity has tripled, if that was tested."""
    return frozenset({result.growth.verdict} if result.growth else ())


def geography_findings(result: Geography) -> tuple[Finding, ...]:
    """The best model's disparity, the progress gap, and whether disparity grows with accuracy."""
    candidates = (_disparity(result), _gap(result), _growth(result))
    return by_weight(candidates)


def _disparity(result: Geography) -> Finding | None:
    row = next((row for row in result.rows if row.disparity), None)
    if row is None or row.disparity is None:
        return None
    gap, accuracy = row.disparity, dict(zip(result.names, row.groups, strict=True))
    best, worst = accuracy[gap.best], accuracy[gap.worst]
    if best is None or worst is None:
        return None
    low, high = 100 * gap.value.low, 100 * gap.value.high
    worst_there, best_there = (group_phrase(result, name) for name in (gap.worst, gap.best))
    between = f"{row.model} is right on {share(worst)} {worst_there} and {share(best)} {best_there}"
    chance = f"chance alone would show {100 * gap.chance:.1f} points"
    if gap.value.low <= 0:
        headline = f"No difference by {result.by} detected for {row.model} on {result.test_set}"
        text = (
            f"{between}. If all groups were equal, {chance}; differences of up to {high:.1f} points are compatible "
            "with the data."
        )
        return Finding(_NO_DISPARITY, headline, text, 0.4)
    if not gap.settled:
        headline = f"The accuracy of {row.model} on {result.test_set} differs by {result.by}"
        text = (
            f"{between}. Some groups differ by {low:.1f} to {high:.1f} points, but there is not enough data to tell "
            "which are the best and the worst."
        )
        return Finding(_SOME_DISPARITY, headline, text, 0.6)
    headline = f"{row.model} is right less often {worst_there} than {best_there}"
    text = (
        f"{between}: a difference of {100 * gap.value.value:.1f} points ({low:.1f} to {high:.1f}); {chance} if all "
        "groups were equal."
    )
    return Finding(_DISPARITY, headline, text, 0.9 if gap.value.low >= _LARGE else 0.7)


def _gap(result: Geography) -> Finding | None:
    if result.progress is None or not result.progress.gaps:
        return None
    progress, gap = result.progress, result.progress.gaps[-1]
    rates = {rate.benchmark: rate.rate for rate in progress.rates}
    standard = f"the {gap.standard}" if len(progress.gaps) > 1 else gap.standard  # the last of several is their mean
    text = (
        f"One more point on {progress.original} goes with {plain(rates[gap.standard])} more points on {standard} and "
        f"{plain(rates[result.test_set])} on {result.test_set}, over {amount(len(progress.models), 'model')}; "
        f"{_times(gap.ratio)}."
    )
    original, test_set = progress.original, result.test_set
    if gap.difference.low > 0:
        headline = f"Gains on {original} carry over less to {test_set} than to standard test sets"
        return Finding(_PROGRESS_DIFFERS, headline, text, 0.8)
    if gap.difference.high < 0:
        headline = f"Gains on {original} carry over more to {test_set} than to standard test sets"
        return Finding(_PROGRESS_DIFFERS, headline, text, 0.6)
    headline = f"No difference detected in how gains on {original} carry over to {test_set} and to standard test sets"
    return Finding(_PROGRESS_OPEN, headline, text, 0.4)


def _times(ratio: Ratio) -> str:
    if ratio.value is None or ratio.low is None or ratio.high is None:
        return "their ratio is undefined, since the second may be 0"
    return f"the first is {ratio.value:.1f} times the second ({ratio.low:.1f} to {ratio.high:.1f})"


def _growth(result: Geography) -> Finding | None:
    if result.progress is None:
        return None
    slope, original = result.progress.apart, result.progress.original
    best, worst = result.progress.extremes
    text = (
        f"One more point on {original} goes with a difference between {best} and {worst} that is {plain(slope)} points "
        f"larger; they are the best and the worst {result.by} over {amount(len(result.progress.models), 'model')}."
    )
    if result.growth:
        text += f" {_tripled(result)}"
    undecided = f"Not enough data to tell whether disparity by {result.by} changes with accuracy on {original}"
    if not result.progress.settled:
        text += f" No difference between {best} and {worst} is detected."
        return Finding(_GROWTH_UNTESTED, undecided, text, 0.3)
    if slope.low > 0:
        headline = f"Disparity by {result.by} is larger for models that are better on {original}"
        return Finding(_GROWS_OR_SHRINKS, headline, text, 0.75)
    if slope.high < 0:
        headline = f"Disparity by {result.by} is smaller for models that are better on {original}"
        return Finding(_GROWS_OR_SHRINKS, headline, text, 0.65)
    return Finding(_GROWTH_OPEN, undecided, text, 0.35)


def _tripled(result: Geography) -> str:
    growth = result.growth
    if growth is None:
        return ""
    ratio = growth.ratio
    value = "" if ratio.value is None else f"{ratio.value:.1f} times"
    high = "upwards" if ratio.high is None else f"to {ratio.high:.1f}"
    says = {
        GrowthVerdict.SUPPORTED: "it has at least tripled",
        GrowthVerdict.CONTRADICTED: "it has not tripled",
        GrowthVerdict.NOT_SETTLED: "there is not enough data to tell whether it has tripled",
    }[growth.verdict]
    return f"From the weakest models to the best, disparity is {value} as large ({ratio.low or 0:.1f} {high}): {says}."


def group_phrase(result: Geography, group: str) -> str:
    """A group with its preposition: "at" for numeric bins, "in" for places."""
    return f"at {result.by} {group}" if result.edges else f"in {group}"
