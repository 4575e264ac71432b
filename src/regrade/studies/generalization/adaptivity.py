"""Adaptive overfitting to the original test set, judged by the slope of the line through models."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from regrade.core import Estimate
from regrade.core.record import NOT_IN_JSON, Record
from regrade.studies.generalization.shift_line import NOT_ENOUGH_SPREAD


class AdaptivityVerdict(Enum):
    """Whether gains on the original test set carry over to the new one, according to the slope."""

    NO_SIGN = "no sign of diminishing returns"
    """One point gained on the original goes with at least one point on the new set."""
    DIMINISHING = "diminishing returns"
    """One point gained on the original goes with less than one point on the new set."""
    UNDETERMINED = "cannot be told"
    NO_SPREAD = NOT_ENOUGH_SPREAD
    """The spread of accuracies on the original is not clearly larger than sampling noise of its images."""


@dataclass(frozen=True)
class Adaptivity(Record):
    """The verdict on adaptive overfitting and the slope it is based on; None if the models' spread is too small.

    ``probit_slope`` is the slope on the probit scale, where ceilings do not bend the line, and the sign of
    ``mean_change`` says which set is easier. A loss that all models share leaves the slope unchanged, so it remains
    possible under every verdict.
    """

    verdict: AdaptivityVerdict
    slope: Estimate | None
    probit_slope: Estimate | None
    mean_change: float = field(metadata=NOT_IN_JSON)

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the verdict in words."""
        return {**super().json_fields(), "in_words": self.in_words()}

    def in_words(self) -> str:
        """The verdict with its reason."""
        if self.slope is None:
            return f"{self.verdict.value}: the spread on the original is not clearly more than chance of its images"
        brings = f"a point on the original goes with {_range(self.slope)} points on the new set"
        if self.verdict is AdaptivityVerdict.NO_SIGN:
            return f"{self.verdict.value}: {brings}; a loss that all models share alike remains possible"
        if self.verdict is not AdaptivityVerdict.DIMINISHING:
            return f"{self.verdict.value}: {brings}"
        if self.probit_slope is None or self.probit_slope.high >= 1:
            return (
                f"{self.verdict.value} in points, not shown on the probit scale{_in_brackets(self.probit_slope)}: "
                f"{brings}"
            )
        if self.mean_change > 0:
            return f"{self.verdict.value}: {brings}; the new set is easier, which alone makes gains smaller"
        return f"{self.verdict.value}: {brings}; adaptive overfitting would give such a slope, and so can other shifts"


def adaptivity_of(slope: Estimate | None, probit_slope: Estimate | None, mean_change: float) -> Adaptivity:
    """The verdict from the slopes on the linear and probit scales: whether the whole interval is above or below 1."""
    if slope is None:
        verdict = AdaptivityVerdict.NO_SPREAD
    elif slope.low >= 1:
        verdict = AdaptivityVerdict.NO_SIGN
    elif slope.high < 1:
        verdict = AdaptivityVerdict.DIMINISHING
    else:
        verdict = AdaptivityVerdict.UNDETERMINED
    return Adaptivity(verdict, slope, probit_slope, mean_change)


def _in_brackets(slope: Estimate | None) -> str:
    return "" if slope is None else f" ({_range(slope)})"


def _range(slope: Estimate) -> str:
    return f"{slope.low:.2f} to {slope.high:.2f}"
