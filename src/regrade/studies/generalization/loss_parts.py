"""The parts of the difference in loss between two test sets: observed, bounded and not identified."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from regrade.core import Estimate
from regrade.core.arrays import IntArray
from regrade.core.record import Record, json_key
from regrade.stats import clopper_pearson
from regrade.stats.intervals import method_name


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


def loss_parts(
    right: IntArray, images: IntArray, new_right: IntArray, new_images: IntArray, *, confidence: float
) -> LossParts:
    """The parts from the counts of m models on the original and on a new test set."""
    models = len(right)
    new = new_right / new_images
    bounds = clopper_pearson(new_right, new_images, confidence=1 - (1 - confidence) / models)
    observed = float(np.mean(new - right / images))
    low, high = float(np.mean(new - bounds.high)), float(np.mean(new - bounds.low))
    method = method_name("clopper-pearson, all models at once", confidence)
    n = int(new_images.min())
    return LossParts(
        observed,
        Estimate(0.0, low, high, n, method),
        Estimate(observed, observed - high, observed - low, n, method),
    )
