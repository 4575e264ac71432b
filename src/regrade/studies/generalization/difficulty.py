"""The Gaussian difficulty model: two test sets that differ only in how hard their images are.

Difficulties are normally distributed, and a model of skill k predicts an image of difficulty t correctly with
probability Phi(k - t) (Recht et al. 2019, appendix B). Then all models lie on one line on the probit scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy import special

from regrade.core import Estimate
from regrade.studies.generalization.shift_line import NOT_ENOUGH_SPREAD, ShiftLine, with_interval


@dataclass(frozen=True)
class Difficulty:
    """How the difficulties of a new set compare to the original's: ``u`` and ``v`` of the line on the probit scale.

    With mean m and variance s2 of the difficulties, m' and s2' on the new set, ``u`` is sqrt((1 + s2) / (1 + s2')) and
    ``v`` is (m - m') / sqrt(1 + s2'). Means and variances themselves are not identified by accuracies. Both are None
    if the models' spread is too small for a line.
    """

    u: Estimate | None
    v: Estimate | None

    def as_dict(self) -> dict[str, Any]:
        """Both parameters, ready for JSON, with their meaning."""
        estimates = {"u": self.u, "v": self.v}
        parts = {name: None if estimate is None else estimate.as_dict() for name, estimate in estimates.items()}
        return {**parts, "in_words": self.in_words()}

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
    return f"{100 * special.ndtr(v):.1f}"


def _spread(u: Estimate) -> str:
    if u.low > 1:
        return "difficulties spread less on the new images"
    return "difficulties spread more on the new images" if u.high < 1 else "no other spread of difficulties is shown"


def _level(v: Estimate) -> str:
    if v.high < 0:
        return "the new images are harder"
    return "the new images are easier" if v.low > 0 else "neither harder nor easier is shown"
