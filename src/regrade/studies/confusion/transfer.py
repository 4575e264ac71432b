"""Are images that confuse the ensemble hard for other models too?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regrade.core import Estimate, UndefinedError
from regrade.core.arrays import BoolArray
from regrade.stats import ENOUGH_SPREAD, accuracy_covariance, independent_difference, kendall, proportion, spread_of
from regrade.stats.intervals import method_name
from regrade.studies.confusion.undefined_scores import defined


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


def ranking_holds(
    wrong: Sequence[BoolArray], counted: Sequence[BoolArray], inside: BoolArray, *, confidence: float
) -> Estimate | None:
    """Kendall's tau-b between the errors of models on hard images and on the rest; none with fewer than four models.

    ``wrong`` and ``counted`` (n,) are each model's, ``inside`` (n,) says which images are hard. The interval is over
    models. Errors that are measured on few images look more out of order than they are: at the upper end the noise of
    images is taken out, as for normal errors (disattenuation, Spearman 1904). Where the models differ hardly more than
    by that noise, the upper end is 1.
    """
    both = [(row & own & inside, row & own & ~inside, own) for row, own in zip(wrong, counted, strict=True)]
    kept = [(hard, rest, own) for hard, rest, own in both if (own & inside).any() and (own & ~inside).any()]
    if not kept:
        return None
    parts = [(np.stack([row[place] for row in kept]), side) for place, side in ((0, inside), (1, ~inside))]
    own = np.stack([row[2] for row in kept])
    hard, rest = (errors.sum(axis=1) / (own & side).sum(axis=1) for errors, side in parts)
    tau = defined(kendall, hard.tolist(), rest.tolist(), confidence=confidence)
    if tau is None:
        return None
    reliability = [_reliability(errors[:, side], own[:, side]) for errors, side in parts]
    high = max(_without_noise(tau.high, reliability[0] * reliability[1]), tau.value)
    return replace(tau, high=high, method=f"{tau.method}, noise of images taken out above")


def _reliability(wrong: BoolArray, counted: BoolArray) -> float:
    """The share of the spread of errors (m,) that is not noise of images; 0 where that cannot be told."""
    try:
        noise = accuracy_covariance(wrong, counted)
    except UndefinedError:
        return 0.0
    reliability, sure = spread_of((wrong & counted).sum(axis=1) / counted.sum(axis=1), noise)
    return reliability if sure >= ENOUGH_SPREAD else 0.0


def _without_noise(tau: float, reliability: float) -> float:
    """Tau of normal pairs from that of measured ones, whose noise leaves so much of both spreads."""
    if reliability <= 0:
        return 1.0
    correlation = np.sin(np.pi / 2 * tau) / np.sqrt(reliability)
    return float(2 / np.pi * np.arcsin(np.clip(correlation, -1.0, 1.0))) if correlation > 0 else tau
