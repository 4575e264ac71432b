"""Are images that confuse the ensemble hard for other models too?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from regrade.core import Estimate
from regrade.core.arrays import BoolArray
from regrade.stats import independent_difference, kendall, proportion
from regrade.stats.intervals import method_name
from regrade.studies.confusion.defined import defined


@dataclass(frozen=True)
class Transfer:
    """One model's error on hard images and on the rest, and the first less the second; none where there is no image."""

    hard: Estimate | None
    rest: Estimate | None
    difference: Estimate | None

    def as_dict(self) -> dict[str, Any]:
        """The three, ready for JSON."""
        return {name: one.as_dict() if one else None for name, one in vars(self).items()}


def transfer(wrong: BoolArray, inside: BoolArray, *, confidence: float) -> Transfer:
    """Hold a model's mistakes (n,) on hard images against those on the others, which are samples of their own."""
    counts = [(int((wrong & part).sum()), int(part.sum())) for part in (inside, ~inside)]
    hard, rest = (proportion(k, n, confidence=confidence) if n else None for k, n in counts)
    if hard is None or rest is None:
        return Transfer(hard, rest, None)
    bounds = independent_difference(*counts[0], *counts[1], confidence=confidence)
    method = method_name("newcombe", confidence)
    n = hard.n + rest.n
    return Transfer(hard, rest, Estimate(hard.value - rest.value, float(bounds.low), float(bounds.high), n, method))


def ranking_holds(found: Sequence[Transfer], *, confidence: float) -> Estimate | None:
    """Kendall's tau-b between the models' errors on hard images and on the rest; none with fewer than four models."""
    both = [(one.hard.value, one.rest.value) for one in found if one.hard and one.rest]
    return defined(kendall, [hard for hard, _ in both], [rest for _, rest in both], confidence=confidence)
