"""What a comparison says in words: who is ahead, who may be, and which steps of the ranking are real."""

from __future__ import annotations

from enum import Enum

from regrade.core import Estimate
from regrade.core.amounts import amount
from regrade.report.finding import Finding, claim, findings, no_claim, register_verdicts, verdicts
from regrade.report.wording import listed, points, share
from regrade.studies import Comparison, PairResult

_PAIR_TEST = "Exact McNemar test of two models on the same images, at the level of the intervals."
_RANK_TEST = "One-sided exact McNemar tests of all ordered pairs on the same images, Holm-corrected for all of them."
_ALL_PAIRS_TEST = "Exact McNemar tests of all pairs on the same images, Holm-corrected for all pairs."
_AHEAD = claim("comparison: one of two is ahead", _PAIR_TEST)
_NOT_TOLD_APART = no_claim("comparison: two are not told apart", _PAIR_TEST)
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


@verdicts.register
def comparison_verdicts(result: Comparison) -> frozenset[Enum]:
    """What the tests conclude of the pairs."""
    return frozenset(pair.result for pair in result.pairs)


@findings.register
def comparison_findings(result: Comparison) -> tuple[Finding, ...]:
    """The one pair there is; or of many models who may be the best, and which steps of the ranking are shown."""
    if len(result.pairs) == 1:
        return (_pair(result),)
    if len(result.ranks) < 2:
        return ()
    return _leaders(result), _steps(result)


def _pair(result: Comparison) -> Finding:
    (pair,), level = result.pairs, 1 - result.basis.confidence
    found = pair.difference
    settled = pair.holm <= level and (found.low > 0 or found.high < 0)
    ahead, behind = pair.first, pair.second
    if found.value < 0:
        ahead, behind = behind, ahead
        found = Estimate(-found.value, -found.high, -found.low, found.n, found.method)
    text = (
        f"The difference is {points(found)} on the same {amount(found.n, 'image')} (exact McNemar test, "
        f"p = {pair.p_values.exact:.2g})."
    )
    on = f"on {result.basis.title}"
    if settled:
        return Finding(_AHEAD, f"{ahead} is ahead of {behind} {on}", text, 0.6)
    if pair.images_needed:
        text += (
            f" About {amount(pair.images_needed, 'image')} give 80 % power to detect it, if it is the true difference."
        )
    return Finding(_NOT_TOLD_APART, f"No difference detected between {ahead} and {behind} {on}", text, 0.6)


def _leaders(result: Comparison) -> Finding:
    leaders, models = [rank for rank in result.ranks if rank.low == 1], len(result.ranks)
    first, on, best = result.ranks[0], result.basis.title, result.best()
    picked = f"The interval holds although {first.model} was picked as the best of {models:,}."
    if len(leaders) == 1:
        text = (
            f"{first.model} is right on {share(best)} of {amount(result.basis.images, 'image')}, and on the same "
            f"images each of the other {models - 1:,} is significantly less accurate. {picked}"
        )
        return Finding(_LEADER, f"{first.model} is ahead of all others on {on}", text, 0.6)
    others = [rank.model for rank in leaders if rank is not first]
    fail = "does not" if result.basis.images == 1 else "do not"
    text = (
        f"{first.model} has the highest accuracy, {share(best)}, but {amount(result.basis.images, 'image')} {fail} "
        f"tell it from {listed(others)}. {picked} Rank ranges hold for all {models:,} models together."
    )
    if len(leaders) == models:
        return Finding(_ANY_LEADS, f"Any of the {models:,} models may be the best on {on}", text, 0.65)
    return Finding(_CONTENDERS, f"{len(leaders)} of {models:,} models may be the best on {on}", text, 0.65)


def _steps(result: Comparison) -> Finding:
    """Neighbors in the ranking that are shown to differ."""
    steps, on = result.steps(), f"on {result.basis.title}"
    shown = int(steps.sum())
    text = (
        f"Of {len(steps):,} pairs of neighbors {shown:,} {'differs' if shown == 1 else 'differ'} significantly, and "
        f"{result.apart:,} of all {len(result.pairs):,} pairs. The others are not shown to be equal: they may "
        "differ by less than these images can detect."
    )
    if shown == len(steps):
        return Finding(_ALL_STEPS, f"A difference is shown for every step in the ranking {on}", text, 0.45)
    if shown == 0:
        return Finding(_NO_STEP, f"No model is shown to be ahead of the next {on}", text, 0.5)
    return Finding(
        _STEPS, f"A difference is shown for {shown:,} of {len(steps):,} steps in the ranking {on}", text, 0.5
    )
