"""Whether scores of a file are probabilities or logits, by their name in the file and by their sums."""

from __future__ import annotations

import numpy as np

from regrade.core import InputError, ScoreKind
from regrade.core.arrays import BoolArray, FloatArray

_TOLERANCE = 1e-2  # the rounding error of a sum of many classes in half precision
_MOST = 0.75  # if this share of the rows sums to 1, the other rows should too
_STATED = {
    "logits": ScoreKind.LOGITS,
    "logit": ScoreKind.LOGITS,
    "prob": ScoreKind.PROBABILITIES,
    "probs": ScoreKind.PROBABILITIES,
    "probability": ScoreKind.PROBABILITIES,
    "probabilities": ScoreKind.PROBABILITIES,
}


def stated_kind(name: str) -> ScoreKind | None:
    """The kind of scores that the name of a column or array states; None if it states none."""
    return _STATED.get(name.casefold())


def sum_to_1(scores: FloatArray) -> bool:
    """Whether every row of scores (n, c) sums to 1, as probabilities do."""
    return bool(_near_1(scores).all())


def kind_of_all(scores: FloatArray, *, name: str, stated: ScoreKind | None = None) -> ScoreKind:
    """The kind of finite scores (n, c) of all classes; raise if stated probabilities are not, or only nearly."""
    sums, near_one = scores.sum(axis=1, dtype=np.float64), _near_1(scores)
    positive = scores.min() >= 0
    if positive and near_one.all():
        return ScoreKind.PROBABILITIES
    if positive and (np.abs(sums - 100) < 100 * _TOLERANCE).all():
        raise InputError(f"scores of {name!r}: every row sums to 100, as percentages do: divide them by 100")
    row = int(np.flatnonzero(~near_one)[0]) if positive else int(np.argmin(scores.min(axis=1)))
    if stated is ScoreKind.PROBABILITIES:
        what = f"sum to {sums[row]:.4g}, not to 1" if positive else "are below 0"
        raise InputError(f"scores of {name!r} are said to be probabilities, but those of row {row + 1} {what}")
    if positive and scores.max() <= 1 and near_one.mean() > _MOST:
        raise InputError(
            f"scores of {name!r}: those of row {row + 1} sum to {sums[row]:.4g}, those of most rows to 1: are they "
            "probabilities?"
        )
    return ScoreKind.LOGITS


def kind_of_best(scores: FloatArray, *, name: str, stated: ScoreKind | None = None) -> ScoreKind:
    """The kind of finite scores (n, k) of the best classes, of which probabilities sum to at most 1."""
    possible = _may_be_probabilities(scores)
    if possible.all():
        return ScoreKind.PROBABILITIES
    if stated is ScoreKind.PROBABILITIES:
        row = int(np.flatnonzero(~possible)[0])
        raise InputError(
            f"scores of {name!r} are said to be probabilities, but those of row {row + 1} are below 0 or sum to more "
            "than 1"
        )
    return ScoreKind.LOGITS


def kind_note(scores: FloatArray, kind: ScoreKind, *, stated: ScoreKind | None = None) -> tuple[str, ...]:
    """A note if the kind of scores (n, c) was decided against their name or is doubtful."""
    if kind is ScoreKind.PROBABILITIES and stated is ScoreKind.LOGITS:
        return ("the scores are said to be logits, and taken as probabilities: every row sums to 1",)
    if kind is ScoreKind.LOGITS and scores.min() >= 0 and scores.max() <= 1:
        low, high = np.quantile(scores.sum(axis=1, dtype=np.float64), [0, 1])
        return (f"the scores are between 0 and 1, and taken as logits: rows sum to {low:.4g} to {high:.4g}, not to 1",)
    return ()


def best_kind_note(
    scores: FloatArray, kind: ScoreKind, *, name: str, stated: ScoreKind | None = None
) -> tuple[str, ...]:
    """A note if the kind of scores (n, k) of the best classes is not the one that their name states."""
    if kind is ScoreKind.PROBABILITIES and stated is ScoreKind.LOGITS:
        return (
            f"the scores of {name!r} are said to be logits, and taken as probabilities: no row sums to more than 1",
        )
    if kind is ScoreKind.LOGITS and stated is None:
        row = int(np.flatnonzero(~_may_be_probabilities(scores))[0])
        reason = "are below 0" if scores[row].min() < 0 else f"sum to {scores[row].sum(dtype=np.float64):.4g}"
        return (f"the scores of {name!r} are taken as logits: those of row {row + 1} {reason}",)
    return ()


def _may_be_probabilities(scores: FloatArray) -> BoolArray:
    """Which rows of scores (n, k) of the best classes can be probabilities."""
    sums = scores.sum(axis=1, dtype=np.float64)
    return np.asarray((scores.min(axis=1) >= 0) & (sums <= 1 + _TOLERANCE))


def _near_1(scores: FloatArray) -> BoolArray:
    return np.asarray(np.abs(scores.sum(axis=1, dtype=np.float64) - 1) < _TOLERANCE)
