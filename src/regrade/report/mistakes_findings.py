"""What a study of mistakes says in words: how many are none, how grave the others are, and what is confused."""

from __future__ import annotations

from regrade.core.amounts import amount
from regrade.report.finding import Finding, findings, no_claim
from regrade.report.wording import share
from regrade.stats import proportion
from regrade.studies import Mistakes, TriageKind
from regrade.studies.mistakes import CategoryCount

_RIGHT, _FAILED = (TriageKind.COLLAPSED, TriageKind.MULTILABEL), (TriageKind.FAILURE,)

_NONE_OVERTURNED = no_claim("mistakes: none overturned")
_OVERTURNED = no_claim("mistakes: overturned")
_RIGHT_ANSWERS = no_claim("mistakes: right by the labels")
_MAJOR = no_claim("mistakes: major")
_CONFUSED = no_claim("mistakes: confused classes")


@findings.register
def mistakes_findings(result: Mistakes) -> tuple[Finding, ...]:
    """The errors that are none, what the review overturned, how grave mistakes are; at most three, weightiest first."""
    told = (_overturned(result), _right_after_all(result), _grave(result), _confused(result))
    return tuple(sorted((one for one in told if one), key=lambda one: -one.weight)[:3])


def _overturned(result: Mistakes) -> Finding | None:
    """What people made of the best model's mistakes."""
    best = next((flow for flow in result.flows if flow.mistakes), None)
    if best is None or not best.judged + best.overturned:
        return None
    gone = proportion(best.overturned, best.mistakes, confidence=result.confidence)
    text = (
        f"People overturned {best.overturned:,} of {amount(best.mistakes, 'mistake')} of {best.model}, {share(gone)}; "
        f"{best.remaining:,} remain"
    )
    text += f", {best.open:,} of them not judged by anyone yet." if best.open else "."
    if not best.overturned:
        return Finding(
            _NONE_OVERTURNED, f"The review overturned none of {best.model}'s mistakes on {result.test_set}", text, 0.5
        )
    headline = f"{100 * gone.value:.0f}% of {best.model}'s mistakes on {result.test_set} are not mistakes by the review"
    return Finding(_OVERTURNED, headline, text, 0.85)


def _right_after_all(result: Mistakes) -> Finding | None:
    """How many errors of the best model the labels accept, and how many nothing mild explains."""
    row = next((one for one in result.triage if one.errors), None)
    if row is None:
        return None
    kinds = list(TriageKind)
    right, failed = (sum(row.counts[kinds.index(kind)] for kind in chosen) for chosen in (_RIGHT, _FAILED))
    fine, bad = (proportion(count, row.errors, confidence=result.confidence) for count in (right, failed))
    text = (
        f"Of {amount(row.errors, 'error')} of {row.model}, the best model, {share(fine)} are right by {result.labels}, "
        "or of a class that is treated as the same, and an automatic triage finds no mild explanation for "
        f"{share(bad)}. The triage is no judgment: answers that no one has judged count as errors here."
    )
    part = f"{100 * fine.value:.0f}%" if right else "None"
    headline = f"{part} of the best model's errors on {result.test_set} are right by {result.labels}"
    return Finding(_RIGHT_ANSWERS, headline, text, 0.8 if fine.low > 0.1 else 0.45)


def _grave(result: Mistakes) -> Finding | None:
    """How many reviewed mistakes are major, in the review with most of them."""
    whole = [one for one in result.categories.counts if one.category is None and one.major_share]
    if not whole:
        return None
    first = max(whole, key=lambda one: one.mistakes)
    assert first.major_share is not None
    kinds = [one for one in result.categories.counts if one.review == first.review and one.category and one.share]
    most = max(kinds, key=lambda one: one.mistakes, default=None)
    text = f"People call {share(first.major_share)} of {amount(first.mistakes, 'mistake')} of {first.review} major"
    return Finding(
        _MAJOR,
        f"{first.major:,} of {amount(first.mistakes, 'reviewed mistake')} of {first.review} are major",
        f"{text}{_most_common(most)}.",
        0.6,
    )


def _most_common(most: CategoryCount | None) -> str:
    if most is None or most.category is None or most.share is None:
        return ""
    return f"; the most common kind is {most.category.value}, {share(most.share)}"


def _confused(result: Mistakes) -> Finding | None:
    top = next(result.pairs.rows(1), None)
    if top is None or len(result.pairs.sources) < 1:
        return None
    text = (
        f"{amount(len(result.pairs.sources), 'model')} took one for the other {amount(top.count, 'time')}; "
        f"{amount(len(result.pairs), 'pair')} of classes {'is' if len(result.pairs) == 1 else 'are'} confused at all."
    )
    return Finding(_CONFUSED, f"The most confused classes are {top.first_name} and {top.second_name}", text, 0.3)
