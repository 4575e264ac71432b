"""Models' answers seeded among people's, so that no judge can tell whose answer is judged (Shankar et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core import NO_ANSWER, MismatchError
from regrade.core.arrays import IntArray


@dataclass(frozen=True, eq=False)
class Seeds:
    """Models' answers to be judged too: ``examples`` and ``classes`` (s,), and images that no model has answered."""

    examples: IntArray
    classes: IntArray
    unanswered: IntArray


def seeds_among(
    examples: IntArray, classes: IntArray, answers: IntArray, *, preferred: IntArray, rng: np.random.Generator
) -> Seeds:
    """For each image under review a random model's answer, unless an answer under review is some model's already.

    ``examples`` and ``classes`` (r,) are under review, ``answers`` (m, n) what models say, -1 for nothing. It is drawn
    from an image's answers that are ``preferred`` (m, n) the most, such as those that no one has judged yet.
    """
    if answers.shape != preferred.shape:
        raise MismatchError(f"answers {answers.shape} and how they are preferred {preferred.shape} differ in shape")
    images = np.unique(examples)
    given = answers[:, images]
    base = max(int(given.max(initial=0)), int(classes.max(initial=0))) + 1
    under_review = examples.astype(np.int64) * base + classes
    answered = given != NO_ANSWER
    covered = (answered & np.isin(images * base + given.astype(np.int64), under_review)).any(axis=0)
    first = np.lexsort((rng.random(given.shape), -preferred[:, images], ~answered), axis=0)[0]
    places = np.flatnonzero(answered.any(axis=0) & ~covered)
    return Seeds(images[places], given[first[places], places].astype(np.int64), images[~answered.any(axis=0)])
