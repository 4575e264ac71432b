"""Findings of a study of a shift: whether new images can be told from original ones."""

from __future__ import annotations

from enum import Enum

from regrade.display.finding import Finding, claim, no_claim, register_verdicts
from regrade.display.wording import plain
from regrade.studies.shift.result import Shift, ShiftVerdict

_TEST = (
    "Interval of the area under the ROC curve of a cross-fitted classifier, Bonferroni-corrected for all models, above "
    "0.5."
)
_TOLD_APART = claim("shift: told apart", _TEST)
_NOT_SHOWN = no_claim("shift: no difference detected", _TEST)
register_verdicts({ShiftVerdict.TOLD_APART: _TOLD_APART, ShiftVerdict.NOT_SHOWN: _NOT_SHOWN})


def shift_verdicts(result: Shift) -> frozenset[Enum]:
    """The verdicts of all models."""
    return frozenset(row.verdict for row in result.rows)


def shift_findings(result: Shift) -> tuple[Finding, ...]:
    """Whether the model that tells the sets apart best does so beyond chance."""
    best = max(result.rows, key=lambda row: (row.auc.low, row.auc.value))
    text = (
        f"A classifier on embeddings of {best.model}, tested on images it has not seen, has an area under the ROC "
        f"curve of {plain(best.auc)}; 0.5 is chance."
    )
    if best.verdict is ShiftVerdict.TOLD_APART:
        headline = f"Images of {result.new} can be told from those of {result.original}"
        text += " Other sizes or JPEG compression would do that, too."
        return (Finding(_TOLD_APART, headline, text, 0.45),)
    headline = f"No difference detected between images of {result.new} and {result.original}"
    return (Finding(_NOT_SHOWN, headline, text, 0.3),)
