"""Findings of a mistakes study: errors that are not mistakes, the severity of the others, and confused classes."""

from __future__ import annotations

from regrade.core.amounts import amount
from regrade.display.finding import Finding, by_weight, no_claim
from regrade.display.wording import share
from regrade.studies.mistakes.categories import CategoryCount
from regrade.studies.mistakes.result import Mistakes
from regrade.studies.mistakes.triage import TriageKind

_NONE_OVERTURNED = no_claim("mistakes: none overturned")
_OVERTURNED = no_claim("mistakes: overturned")
_RIGHT_ANSWERS = no_claim("mistakes: right by the labels")
_NOT_JUDGED = no_claim("mistakes: not judged yet")
_MAJOR = no_claim("mistakes: major")
_CONFUSED = no_claim("mistakes: confused classes")


def mistakes_findings(result: Mistakes) -> tuple[Finding, ...]:
    """Overturned mistakes, errors that the labels accept, severity, confused classes; the three with most weight."""
    candidates = (_overturned(result), _accepted_errors(result), _severity(result), _confused(result))
    return by_weight(candidates)[:3]


def _overturned(result: Mistakes) -> Finding | None:
    """How many of the best model's mistakes the review overturned."""
    best = next((flow for flow in result.flows if flow.mistakes), None)
    if best is None or not best.judged + best.overturned:
        return None
    gone = best.overturned_share
    assert gone is not None
    text = (
        f"People overturned {best.overturned:,} of {amount(best.mistakes, 'mistake')} of {best.model}, {share(gone)}; "
        f"{best.remaining:,} remain"
    )
    text += f", {best.open:,} of them not judged by anyone yet." if best.open else "."
    if not best.overturned:
        return Finding(
            _NONE_OVERTURNED,
            f"The review overturned none of {best.model}'s mistakes on {result.images_title}",
            text,
            0.5,
        )
    headline = (
        f"{100 * gone.value:.0f}% of {best.model}'s mistakes on {result.images_title} are not mistakes by the review"
    )
    return Finding(_OVERTURNED, headline, text, 0.85)


def _accepted_errors(result: Mistakes) -> Finding | None:
    """How many errors of the best model the labels accept, and how many the triage leaves unexplained."""
    row = next((row for row in result.triage if row.errors), None)
    if row is None:
        return None
    right, fine = row.accepted, row.accepted_share
    assert fine is not None and row.shares is not None
    bad = row.shares[list(TriageKind).index(TriageKind.FAILURE)]
    text = (
        f"Of {amount(row.errors, 'error')} of {row.model}, the best model, under the original labels, {right:,} or "
        f"{share(fine)} are correct under {result.labels}, and an automatic triage leaves {share(bad)} unexplained. "
        "The triage is a suggestion; predictions that no one has judged count as wrong."
    )
    if row.rejected:
        rejects = f"equal an original label that {result.labels} rejects"
        text += f" A further {amount(row.rejected, 'prediction')} {rejects}."
    flow = next((flow for flow in result.flows if flow.model == row.model), None)
    if flow is not None and not right and flow.open == flow.mistakes > 0:
        headline = f"No one has judged the best model's errors on {result.images_title} for {result.labels} yet"
        return Finding(_NOT_JUDGED, headline, text, 0.45)
    part = f"{100 * fine.value:.0f}%" if right else "None"
    headline = f"{part} of the best model's errors on {result.images_title} are correct under {result.labels}"
    return Finding(_RIGHT_ANSWERS, headline, text, 0.8 if fine.low > 0.1 else 0.45)


def _severity(result: Mistakes) -> Finding | None:
    """How many reviewed mistakes are major, in the review with most of them."""
    counts = result.categories.counts
    totals = [count for count in counts if count.category is None and count.major_share]
    if not totals:
        return None
    first = max(totals, key=lambda count: count.mistakes)
    assert first.major_share is not None
    kinds = [count for count in counts if count.review == first.review and count.category and count.share]
    most = max(kinds, key=lambda count: count.mistakes, default=None)
    text = f"Reviewers call {share(first.major_share)} of {amount(first.mistakes, 'mistake')} of {first.review} major"
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
        f"{amount(len(result.pairs.sources), 'model')} mistook one for the other {amount(top.count, 'time')}; "
        f"{amount(len(result.pairs), 'pair')} of classes {'is' if len(result.pairs) == 1 else 'are'} confused at least "
        "once."
    )
    return Finding(_CONFUSED, f"The most confused classes are {top.first_name} and {top.second_name}", text, 0.3)
