"""Findings of a comparison: which model is ahead, and which neighbors in the ranking differ."""

from __future__ import annotations

from enum import Enum

from regrade.core import Estimate
from regrade.core.amounts import amount
from regrade.display.finding import Finding, claim, no_claim, register_verdicts
from regrade.display.wording import listed, points, share
from regrade.studies.compare.model_pairs import PairResult
from regrade.studies.compare.result import Comparison

_PAIR_TEST = "Exact McNemar test of two models on the same images, at the level of the intervals."
_RANK_TEST = "One-sided exact McNemar tests of all ordered pairs on the same images, Holm-corrected for all of them."
_ALL_PAIRS_TEST = "Exact McNemar tests of all pairs on the same images, Holm-corrected for all pairs."
_AHEAD = claim("comparison: one of two is ahead", _PAIR_TEST)
_NO_DIFFERENCE = no_claim("comparison: two are not told apart", _PAIR_TEST)
_LEADER = claim("comparison: one is ahead of all", _RANK_TEST)
_ANY_LEADS = no_claim("comparison: any may be the best", _RANK_TEST)
_CONTENDERS = claim("comparison: some cannot be the best", _RANK_TEST)
_ALL_STEPS = claim("comparison: every step of the ranking", _ALL_PAIRS_TEST)
_NO_STEP = no_claim("comparison: no step of the ranking", _ALL_PAIRS_TEST)
_STEPS = claim("comparison: steps of the ranking", _ALL_PAIRS_TEST)

_EQUIVALENCE_TEST = (
    "Two one-sided score tests of the difference on the same images, compared with the margin, Holm-corrected for all "
    "pairs."
)
register_verdicts(
    {
        PairResult.DIFFERENT: claim("comparison: a pair differs", _ALL_PAIRS_TEST),
        PairResult.NOT_DETECTED: no_claim("comparison: a pair is not told apart", _ALL_PAIRS_TEST),
        PairResult.EQUIVALENT: claim("comparison: a pair is equivalent", _EQUIVALENCE_TEST),
        PairResult.SLIGHTLY_DIFFERENT: claim(
            "comparison: a pair differs within the margin", f"{_ALL_PAIRS_TEST} {_EQUIVALENCE_TEST}"
        ),
    }
)


def comparison_verdicts(result: Comparison) -> frozenset[Enum]:
    """The conclusions of the tests of all pairs."""
    return frozenset(pair.result for pair in result.pairs)


def comparison_findings(result: Comparison) -> tuple[Finding, ...]:
    """For two models their difference; for more, the candidates for the best and the neighbors that differ."""
    if len(result.pairs) == 1:
        return (_pair(result),)
    if len(result.ranks) < 2:
        return ()
    return _leaders(result), _steps(result)


def _pair(result: Comparison) -> Finding:
    (pair,), level = result.pairs, 1 - result.basis.confidence
    difference = pair.difference
    settled = pair.holm <= level
    ahead, behind = pair.first, pair.second
    if difference.value < 0:
        ahead, behind = behind, ahead
        difference = Estimate(-difference.value, -difference.high, -difference.low, difference.n, difference.method)
    text = (
        f"The difference is {points(difference)} on the same {amount(difference.n, 'image')} (exact McNemar test, "
        f"p = {pair.p_values.exact:.2g})."
    )
    on = f"on {result.basis.title}"
    if settled:
        return Finding(_AHEAD, f"{ahead} is ahead of {behind} {on}", text, 0.6)
    if pair.images_needed:
        text += (
            f" About {amount(pair.images_needed, 'image')} give 80 % power to detect it, if it is the true difference."
        )
    return Finding(_NO_DIFFERENCE, f"No difference detected between {ahead} and {behind} {on}", text, 0.6)


def _leaders(result: Comparison) -> Finding:
    leaders, models = [rank for rank in result.ranks if rank.low == 1], len(result.ranks)
    first, on, best = result.ranks[0], result.basis.title, result.best()
    corrected = f"The interval is corrected for selecting the best of {models:,} models."
    if len(leaders) == 1:
        text = (
            f"{first.model} is right on {share(best)} of {amount(result.basis.images, 'image')}, and on the same "
            f"images each of the other {models - 1:,} is significantly less accurate. {corrected}"
        )
        return Finding(_LEADER, f"{first.model} is ahead of all others on {on}", text, 0.6)
    candidates = [rank.model for rank in leaders if rank is not first]
    tied = [rank.model for rank in result.ranks if rank.accuracy.value == first.accuracy.value]
    highest = (
        f"{first.model} has the highest accuracy, {share(best)}, but on"
        if len(tied) == 1
        else f"{listed(tied)} have the same accuracy, {share(best)}, the highest. On"
    )
    text = (
        f"{highest} {amount(result.basis.images, 'image')} {'it' if len(tied) == 1 else first.model} is "
        f"not significantly ahead of {listed(candidates)}. {corrected} Rank ranges are simultaneous for all "
        f"{models:,} models."
    )
    if len(leaders) == models:
        return Finding(_ANY_LEADS, f"Any of the {models:,} models may be the best on {on}", text, 0.65)
    return Finding(_CONTENDERS, f"{len(leaders)} of {models:,} models may be the best on {on}", text, 0.65)


def _steps(result: Comparison) -> Finding:
    """Neighbors in the ranking that differ significantly."""
    steps, on = result.steps(), f"on {result.basis.title}"
    shown = int(steps.sum())
    text = (
        f"Of {len(steps):,} pairs of neighbors {shown:,} {'differs' if shown == 1 else 'differ'} significantly, and "
        f"{result.different_pairs:,} of all {len(result.pairs):,} pairs. The others are not necessarily equal: they "
        "may differ by less than these images can detect."
    )
    if shown == len(steps):
        return Finding(_ALL_STEPS, f"Each model differs from the next one in the ranking {on}", text, 0.45)
    if shown == 0:
        return Finding(_NO_STEP, f"No difference detected between neighbors in the ranking {on}", text, 0.5)
    verb = "differs" if shown == 1 else "differ"
    return Finding(_STEPS, f"{shown:,} of {len(steps):,} neighboring pairs in the ranking {verb} {on}", text, 0.5)
