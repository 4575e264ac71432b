"""Models' predictions mixed among people's answers, so that judges cannot tell them apart (Shankar et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core import NO_ANSWER, MismatchError
from regrade.core.arrays import IntArray


@dataclass(frozen=True, eq=False)
class Seeds:
    """Models' predictions to be judged: ``examples`` and ``classes`` (s,), and images ``unanswered`` by all models."""

    examples: IntArray
    classes: IntArray
    unanswered: IntArray


def draw_seeds(
    examples: IntArray, classes: IntArray, predicted: IntArray, *, preferred: IntArray, rng: np.random.Generator
) -> Seeds:
    """For each image under review, draw a model's prediction, unless some model predicts a class under review already.

    ``examples`` and ``classes`` (r,) are under review; ``predicted`` (m, n) are the classes that models predict, -1 for
    none. The prediction is drawn from those of the image with the highest ``preferred`` (m, n), for example those that
    no one has judged yet.
    """
    if predicted.shape != preferred.shape:
        raise MismatchError(f"predicted {predicted.shape} and preferred {preferred.shape} differ in shape")
    images = np.unique(examples)
    candidates = predicted[:, images]
    base = max(int(candidates.max(initial=0)), int(classes.max(initial=0))) + 1
    under_review = examples.astype(np.int64) * base + classes
    answered = candidates != NO_ANSWER
    covered = (answered & np.isin(images * base + candidates.astype(np.int64), under_review)).any(axis=0)
    first = np.lexsort((rng.random(candidates.shape), -preferred[:, images], ~answered), axis=0)[0]
    places = np.flatnonzero(answered.any(axis=0) & ~covered)
    return Seeds(images[places], candidates[first[places], places].astype(np.int64), images[~answered.any(axis=0)])
