"""Errors of models on hard images compared with the rest, and whether the ranking of models is the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import Estimate, UndefinedError
from regrade.core.arrays import BoolArray
from regrade.stats import (
    MIN_SPREAD,
    accuracy_covariance,
    independent_difference,
    kendall,
    proportion,
    spread_beyond_noise,
)
from regrade.stats.intervals import method_name
from regrade.studies.confusion.undefined import none_if_undefined


@dataclass(frozen=True)
class Transfer:
    """One model's error on hard images and on the rest, and their difference; None without images."""

    hard: Estimate | None
    rest: Estimate | None
    difference: Estimate | None


def transfer(wrong: BoolArray, inside: BoolArray, *, confidence: float) -> Transfer:
    """Compare a model's mistakes (n,) on hard images with those on the rest, as independent samples."""
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
    """Return Kendall's tau-b between the models' errors on hard images and on the rest; None for fewer than 4 models.

    ``wrong`` and ``counted`` (n,) are per model, ``inside`` (n,) marks the hard images. The interval is over models.
    Sampling noise attenuates tau, so the upper bound is corrected for it (disattenuation, Spearman 1904). If the models
    hardly differ beyond that noise, the upper bound is 1.
    """
    both = [(row & own & inside, row & own & ~inside, own) for row, own in zip(wrong, counted, strict=True)]
    kept = [(hard, rest, own) for hard, rest, own in both if (own & inside).any() and (own & ~inside).any()]
    if not kept:
        return None
    parts = [(np.stack([row[place] for row in kept]), side) for place, side in ((0, inside), (1, ~inside))]
    own = np.stack([row[2] for row in kept])
    hard, rest = (errors.sum(axis=1) / (own & side).sum(axis=1) for errors, side in parts)
    tau = none_if_undefined(kendall, hard.tolist(), rest.tolist(), confidence=confidence)
    if tau is None:
        return None
    reliability = [_reliability(errors[:, side], own[:, side]) for errors, side in parts]
    high = max(_without_noise(tau.high, reliability[0] * reliability[1]), tau.value)
    return replace(tau, high=high, method=f"{tau.method}, noise of images taken out above")


def _reliability(wrong: BoolArray, counted: BoolArray) -> float:
    """The share of the variance of errors (m,) that is not sampling noise; 0 if it cannot be estimated."""
    try:
        noise = accuracy_covariance(wrong, counted)
    except UndefinedError:
        return 0.0
    reliability, spread = spread_beyond_noise((wrong & counted).sum(axis=1) / counted.sum(axis=1), noise)
    return reliability if spread >= MIN_SPREAD else 0.0


def _without_noise(tau: float, reliability: float) -> float:
    """Tau of normal pairs without noise, from the tau of measured pairs with this reliability."""
    if reliability <= 0:
        return 1.0
    correlation = np.sin(np.pi / 2 * tau) / np.sqrt(reliability)
    return float(2 / np.pi * np.arcsin(np.clip(correlation, -1.0, 1.0))) if correlation > 0 else tau
