"""The findings of methodology checks: that some models were judged more often than others."""

from __future__ import annotations

from regrade.display.finding import Finding, claim, no_claim, register_verdicts
from regrade.studies.checks.result import Methodology, MethodologyOutcome

_JUDGED_APART = claim(
    "checks: models were judged differently often",
    "Fisher's exact test of the judged shares of predictions other than the original label, Bonferroni-corrected for "
    "all pairs of models of a label set and for all label sets.",
)
register_verdicts(
    {
        MethodologyOutcome.FOUND: no_claim("checks: a pitfall is in the stored data"),
        MethodologyOutcome.PASSED: no_claim("checks: a pitfall is not in the stored data"),
        MethodologyOutcome.NOT_APPLICABLE: no_claim("checks: a check does not apply"),
    }
)
_WEIGHT = 0.45
_JUDGED = "RG001"


def checks_findings(result: Methodology) -> tuple[Finding, ...]:
    """The only check that is decided by a test; the others describe the stored data."""
    row = result[_JUDGED]
    if row.outcome is not MethodologyOutcome.FOUND:
        return ()
    return (
        Finding(_JUDGED_APART, "Some models were judged more often than others", f"{row.detail}. {row.why}", _WEIGHT),
    )
