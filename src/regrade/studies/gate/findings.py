"""What the verdicts of a gate claim."""

from __future__ import annotations

from enum import Enum

from regrade.display.finding import claim, no_claim, register_verdicts
from regrade.studies.gate.result import GateResult, GateVerdict

_TEST = "One-sided bounds of every rule on the same images"
register_verdicts(
    {
        GateVerdict.PASS: claim("gate: pass", f"{_TEST}; all rules must pass, which needs no correction."),
        GateVerdict.FAIL: claim("gate: fail", f"{_TEST}, Bonferroni-corrected for the number of rules."),
        GateVerdict.INCONCLUSIVE: no_claim("gate: inconclusive", _TEST),
    }
)


def gate_verdicts(result: GateResult) -> frozenset[Enum]:
    """The verdict of the gate."""
    return frozenset({result.verdict})
