"""What explains a change of accuracy: the difficulty of images, parts of the loss, and adaptive overfitting."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import scipy

from regrade.core import Estimate
from regrade.core.record import NOT_IN_JSON, Record, json_key
from regrade.stats import SampledShares
from regrade.stats.intervals import method_name
from regrade.studies.generalization.shift_line import NOT_ENOUGH_SPREAD, ShiftLine, with_interval
from regrade.studies.generalization.unjudged import Unjudged


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
    ``mean_change`` says which set is easier. ``unjudged`` predictions may change the slope: the verdict holds for all
    of these changes. A loss that all models share leaves the slope unchanged, so it remains
    possible under every verdict.
    """

    verdict: AdaptivityVerdict
    slope: Estimate | None
    probit_slope: Estimate | None
    mean_change: float = field(metadata=NOT_IN_JSON)
    unjudged: Unjudged | None = field(default=None, metadata=NOT_IN_JSON)

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the verdict in words."""
        return {**super().json_fields(), "in_words": self.in_words()}

    @property
    def on_probit_scale(self) -> bool:
        """Whether the slope on the probit scale supports a verdict for or against diminishing returns."""
        if self.probit_slope is None:
            return False
        return self.probit_slope.low >= 1 if self.verdict is AdaptivityVerdict.NO_SIGN else self.probit_slope.high < 1

    @property
    def _probit_range(self) -> str:
        return "" if self.probit_slope is None else f" ({_range(self.probit_slope)})"

    @property
    def open_by_judgments(self) -> str:
        """That predictions which no one has judged leave the verdict open; empty if they do not."""
        if self.slope is None or self.unjudged is None or self.slope.low < 1 <= self.slope.high:
            return ""
        low, high = self.unjudged.lowest_slope_change, self.unjudged.highest_slope_change
        return f", which people's judgments of novel predictions could change by {low:+.2f} to {high:+.2f}"

    def in_words(self) -> str:
        """The verdict with its reason."""
        if self.slope is None:
            return f"{self.verdict.value}: the spread on the original is not clearly more than chance of its images"
        brings = f"a point on the original goes with {_range(self.slope)} points on the new set"
        if self.verdict is AdaptivityVerdict.NO_SIGN:
            scale = "" if self.on_probit_scale else f" in points, not shown on the probit scale{self._probit_range}"
            return f"{self.verdict.value}{scale}: {brings}; a loss that all models share alike remains possible"
        if self.verdict is not AdaptivityVerdict.DIMINISHING:
            return f"{self.verdict.value}: {brings}{self.open_by_judgments}"
        if not self.on_probit_scale:
            return f"{self.verdict.value} in points, not shown on the probit scale{self._probit_range}: {brings}"
        if self.mean_change > 0:
            return f"{self.verdict.value}: {brings}; the new set is easier, which alone makes gains smaller"
        return f"{self.verdict.value}: {brings}; adaptive overfitting would give such a slope, and so can other shifts"


def adaptivity_of(
    slope: Estimate | None, probit_slope: Estimate | None, mean_change: float, unjudged: Unjudged | None = None
) -> Adaptivity:
    """The verdict from the slopes on the linear and probit scales: whether the whole interval is above or below 1.

    The interval is widened by what judgments of ``unjudged`` predictions could change.
    """
    down, up = (0.0, 0.0) if unjudged is None else (unjudged.lowest_slope_change, unjudged.highest_slope_change)
    if slope is None:
        verdict = AdaptivityVerdict.NO_SPREAD
    elif slope.low + down >= 1:
        verdict = AdaptivityVerdict.NO_SIGN
    elif slope.high + up < 1:
        verdict = AdaptivityVerdict.DIMINISHING
    else:
        verdict = AdaptivityVerdict.UNDETERMINED
    return Adaptivity(verdict, slope, probit_slope, mean_change, unjudged)


def _range(slope: Estimate) -> str:
    return f"{slope.low:.2f} to {slope.high:.2f}"


@dataclass(frozen=True)
class Difficulty(Record):
    """How the difficulties of a new set compare to the original's: ``u`` and ``v`` of the line on the probit scale.

    With mean m and variance s2 of the difficulties, m' and s2' on the new set, ``u`` is sqrt((1 + s2) / (1 + s2')) and
    ``v`` is (m - m') / sqrt(1 + s2'). Means and variances themselves are not identified by accuracies. Both are None
    if the models' spread is too small for a line.
    """

    u: Estimate | None
    v: Estimate | None

    def json_fields(self) -> dict[str, Any]:
        """The fields, with their meaning."""
        return {**super().json_fields(), "in_words": self.in_words()}

    def in_words(self) -> str:
        """What u and v mean."""
        if self.u is None or self.v is None:
            return NOT_ENOUGH_SPREAD
        return (
            f"u {with_interval(self.u, 1, 2)}: {_spread(self.u)}; v {with_interval(self.v, 1, 2)}: {_level(self.v)}; "
            "extended to a model right on half of the original images, the line gives "
            f"{_percent(self.v.value)}% [{_percent(self.v.low)}, {_percent(self.v.high)}] of the new ones"
        )


def difficulty_of(line: ShiftLine) -> Difficulty:
    """The difficulty parameters of a line on the probit scale."""
    return Difficulty(line.slope, line.intercept)


def _percent(v: float) -> str:
    """The accuracy on the new set that goes with one of a half on the original, in percent."""
    return f"{100 * scipy.special.ndtr(v):.1f}"


def _spread(u: Estimate) -> str:
    if u.low > 1:
        return "difficulties spread less on the new images"
    return "difficulties spread more on the new images" if u.high < 1 else "no other spread of difficulties is shown"


def _level(v: Estimate) -> str:
    if v.high < 0:
        return "the new images are harder"
    return "the new images are easier" if v.low > 0 else "neither harder nor easier is shown"


@dataclass(frozen=True)
class LossParts(Record):
    """The mean over models of L_S - L_S', where the loss is the error rate (Recht et al. 2019, section 2).

    It is a sum of three gaps: adaptivity (L_S - L_D), distribution (L_D - L_D') and sampling (L_D' - L_S'), where S and
    S' are the test sets and D and D' the distributions they were drawn from. Only the sum is ``observed``. ``sampling``
    bounds the effect of drawing the new images, exactly and simultaneously for all models. ``rest`` is adaptivity and
    distribution together; accuracies alone do not separate them.
    """

    observed: float
    sampling: Estimate
    rest: Estimate = field(metadata=json_key("adaptivity_and_distribution"))

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the names of the parts that are not identified."""
        not_identified = ("adaptivity", "distribution")
        return {**super().json_fields(), "not_identified": not_identified, "in_words": self.in_words()}

    def in_words(self) -> str:
        """The parts in one sentence."""
        low, high = 100 * self.sampling.low, 100 * self.sampling.high
        return (
            f"of {100 * self.observed:+.1f} points that the accuracy changes, drawing the new images explains between "
            f"{low:+.1f} and {high:+.1f}; the rest, {100 * self.rest.low:+.1f} to {100 * self.rest.high:+.1f}, is "
            "adaptivity and distribution, which accuracies alone do not tell apart"
        )


def loss_parts(original: SampledShares, new: SampledShares, *, confidence: float) -> LossParts:
    """The parts from the accuracies of m models on the original and on a new test set."""
    bounds = new.exact(1 - (1 - confidence) / len(new.values))
    observed = float(np.mean(new.values - original.values))
    low, high = float(np.mean(new.values - bounds.high)), float(np.mean(new.values - bounds.low))
    name = "clopper-pearson" if new.effective is None else "clustered korn-graubard"
    method = method_name(f"{name}, all models at once", confidence)
    n = int(new.images.min())
    return LossParts(
        observed,
        Estimate(0.0, low, high, n, method),
        Estimate(observed, observed - high, observed - low, n, method),
    )
