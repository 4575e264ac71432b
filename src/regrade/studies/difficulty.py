"""The gaussian model of difficulty: what moves between two test sets if images are only harder or easier.

An image's difficulty is normal, and a model of skill k has an image of difficulty t right with probability
Phi(k - t) (Recht et al. 2019, appendix B). Then the accuracies of all models lie on one line on the probit scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy import special

from regrade.core import Estimate
from regrade.studies.lines import ModelLine


@dataclass(frozen=True)
class Difficulty:
    """How the difficulties of a new set compare to the original's: ``u`` and ``v`` of the line on the probit scale.

    With mean m and variance s2 of the difficulties, m' and s2' on the new set, ``u`` is sqrt((1 + s2) / (1 + s2')) and
    ``v`` is (m - m') / sqrt(1 + s2'). Means and variances themselves cannot be told from accuracies. What is said of
    them rests on ``robust_u`` and ``robust_v``, whose intervals hold with few models too.
    """

    u: Estimate
    v: Estimate
    robust_u: Estimate
    robust_v: Estimate

    def as_dict(self) -> dict[str, Any]:
        """Both, ready for JSON, with their meaning."""
        parts = {name: getattr(self, name).as_dict() for name in ("u", "v", "robust_u", "robust_v")}
        return {**parts, "in_words": self.in_words()}

    def in_words(self) -> str:
        """What u and v mean."""
        return (
            f"u {_text(self.robust_u)}: {_spread(self.robust_u)}; v {_text(self.robust_v)}: {_level(self.robust_v)}, a "
            f"model right on half of the original images is right on {100 * special.ndtr(self.v.value):.1f}% of the "
            "new ones (robust t)"
        )


def difficulty_of(line: ModelLine) -> Difficulty:
    """The difficulties behind a line on the probit scale."""
    return Difficulty(line.slope, line.intercept, line.robust_slope, line.robust_intercept)


def _spread(u: Estimate) -> str:
    if u.low > 1:
        return "difficulties spread less on the new images"
    return "difficulties spread more on the new images" if u.high < 1 else "no other spread of difficulties is shown"


def _level(v: Estimate) -> str:
    if v.high < 0:
        return "the new images are harder"
    return "the new images are easier" if v.low > 0 else "neither harder nor easier is shown"


def _text(estimate: Estimate) -> str:
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
