"""Conformal prediction sets: nonconformity scores of all classes, and the threshold that calibrates them.

A class is in the set of an image if its score is at most the threshold. If the images of the calibration and the new
image are exchangeable, the set contains the label with a probability of at least 1 - ``miss``.
"""

from __future__ import annotations

import numpy as np

from regrade.core.arrays import FloatArray, IntArray
from regrade.core.errors import InputError, UndefinedError

RAPS_PENALTY = 0.01
"""Default penalty of `raps_scores` per rank, which Angelopoulos et al. (2021) use for ImageNet."""

RAPS_FREE = 5
"""Default number of ranks without a penalty in `raps_scores`, which Angelopoulos et al. (2021) use for ImageNet."""

_ROUNDING = 1e-9  # (n + 1) * (1 - miss) may exceed a whole number by rounding


def lac_scores(probabilities: FloatArray) -> FloatArray:
    """Shape (n, c): one minus the ``probabilities`` (n, c) (Sadinle et al. 2019): the smallest sets on average.

    >>> lac_scores(np.array([[0.75, 0.25]])).tolist()
    [[0.25, 0.75]]
    """
    return 1.0 - probabilities


def aps_scores(probabilities: FloatArray, draws: FloatArray) -> FloatArray:
    """Shape (n, c): the mass of more probable classes and a random part of the class's own (Romano et al. 2020).

    ``draws`` (n,) are uniform random numbers, one per image, which make the coverage exact. Classes of equal
    probability are ordered by index.

    >>> aps_scores(np.array([[0.25, 0.75]]), np.array([0.5])).tolist()
    [[0.875, 0.375]]
    """
    return _restored(ordered_aps_scores(probabilities, draws), probabilities)


def raps_scores(
    probabilities: FloatArray, draws: FloatArray, *, penalty: float = RAPS_PENALTY, free: int = RAPS_FREE
) -> FloatArray:
    """Shape (n, c): `aps_scores` with a ``penalty`` for each rank above ``free`` (Angelopoulos et al. 2021).

    The penalty keeps sets small if there are many classes of small probability.
    """
    penalties = rank_penalties(probabilities.shape[1], penalty=penalty, free=free)
    return _restored(ordered_aps_scores(probabilities, draws) + penalties, probabilities)


def ordered_aps_scores(probabilities: FloatArray, draws: FloatArray) -> FloatArray:
    """Shape (n, c): `aps_scores` of the classes of each image, the most probable first; several times faster.

    >>> ordered_aps_scores(np.array([[0.25, 0.75]]), np.array([0.5])).tolist()
    [[0.375, 0.875]]
    """
    ordered = -np.sort(-probabilities, axis=1)
    return np.cumsum(ordered, axis=1, dtype=np.float64) - (1.0 - draws[:, None]) * ordered


def rank_penalties(classes: int, *, penalty: float = RAPS_PENALTY, free: int = RAPS_FREE) -> FloatArray:
    """Shape (c,): what `raps_scores` adds to `ordered_aps_scores`.

    >>> rank_penalties(4, penalty=0.5, free=2).tolist()
    [0.0, 0.0, 0.5, 1.0]
    """
    return penalty * np.maximum(np.arange(1, classes + 1) - free, 0)


def label_places(probabilities: FloatArray, labels: IntArray) -> IntArray:
    """Shape (n,): how many classes precede the label, the most probable first, classes of equal probability by index.

    >>> label_places(np.array([[0.25, 0.5, 0.25]]), np.array([2])).tolist()
    [2]
    """
    own = probabilities[np.arange(len(labels)), labels][:, None]
    before = np.arange(probabilities.shape[1]) < labels[:, None]
    return np.asarray(((probabilities > own) | ((probabilities == own) & before)).sum(axis=1))


def _restored(ordered: FloatArray, probabilities: FloatArray) -> FloatArray:
    scores = np.empty_like(ordered)
    np.put_along_axis(scores, np.argsort(-probabilities, axis=1, kind="stable"), ordered, axis=1)
    return scores


def conformal_rank(images: int, miss: float) -> int:
    """Which smallest score of so many calibration images is the threshold; above ``images``, no score is enough.

    >>> conformal_rank(99, 0.1), conformal_rank(100, 0.1), conformal_rank(8, 0.1)
    (90, 91, 9)
    """
    if not 0 < miss < 1:
        raise InputError(f"the share of missed labels must lie between 0 and 1, got {miss}")
    if images < 1:
        raise UndefinedError("conformal sets need at least one calibration image, got 0")
    return int(np.ceil((images + 1) * (1 - miss) - _ROUNDING))


def conformal_threshold(label_scores: FloatArray, *, miss: float = 0.1) -> float:
    """The threshold from the scores (n,) of the labels of calibration images: split conformal prediction.

    It is the ceil((n + 1)(1 - ``miss``))-th smallest score (Vovk et al. 2005), and infinite if there are too few
    images: then a set contains every class.

    >>> conformal_threshold(np.arange(1, 100) / 100, miss=0.1)
    0.9
    """
    rank = conformal_rank(len(label_scores), miss)
    return float(np.sort(label_scores)[rank - 1]) if rank <= len(label_scores) else float("inf")
