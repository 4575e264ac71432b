"""Adaptive overfitting to the original test set, judged by the slope of the line through models."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from regrade.core import Estimate
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
class Adaptivity:
    """The verdict on adaptive overfitting and the slope it is based on; None if the models' spread is too small.

    ``probit_slope`` is the slope on the probit scale, where ceilings do not bend the line, and the sign of
    ``mean_change`` says which set is easier. A loss that all models share leaves the slope unchanged, so it remains
    possible under every verdict.
    """

    verdict: AdaptivityVerdict
    slope: Estimate | None
    probit_slope: Estimate | None
    mean_change: float

    def as_dict(self) -> dict[str, Any]:
        """The verdict, ready for JSON."""
        return {
            "verdict": self.verdict.value,
            "slope": None if self.slope is None else self.slope.as_dict(),
            "probit_slope": None if self.probit_slope is None else self.probit_slope.as_dict(),
            "in_words": self.in_words(),
        }

    @property
    def on_probit_scale(self) -> bool:
        """Whether the slope on the probit scale supports a verdict for or against diminishing returns."""
        if self.probit_slope is None:
            return False
        return self.probit_slope.low >= 1 if self.verdict is AdaptivityVerdict.NO_SIGN else self.probit_slope.high < 1

    @property
    def _probit_range(self) -> str:
        return "" if self.probit_slope is None else f" ({_range(self.probit_slope)})"

    def in_words(self) -> str:
        """The verdict with its reason."""
        if self.slope is None:
            return f"{self.verdict.value}: the spread on the original is not clearly more than chance of its images"
        brings = f"a point on the original goes with {_range(self.slope)} points on the new set"
        if self.verdict is AdaptivityVerdict.NO_SIGN:
            scale = "" if self.on_probit_scale else f" in points, not shown on the probit scale{self._probit_range}"
            return f"{self.verdict.value}{scale}: {brings}; a loss that all models share alike remains possible"
        if self.verdict is not AdaptivityVerdict.DIMINISHING:
            return f"{self.verdict.value}: {brings}"
        if not self.on_probit_scale:
            return f"{self.verdict.value} in points, not shown on the probit scale{self._probit_range}: {brings}"
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


def _range(slope: Estimate) -> str:
    return f"{slope.low:.2f} to {slope.high:.2f}"
