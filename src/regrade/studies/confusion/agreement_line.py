"""Agreement-on-the-line: estimate errors on unlabeled images from the agreement of models (Baek et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np
from scipy import special

from regrade.core import Estimate, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats.intervals import exact_bounds, method_name, tail_share

_GROUPS = 100  # groups of images resampled together
_DRAWS = 400
_MODELS = 60  # most models whose pairs determine the line
_MIN_MODELS = 3


def agreement_lines(
    classes: IntArray,
    correct: BoolArray,
    unlabeled_classes: IntArray,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> list[Estimate]:
    """Estimate each model's error on unlabeled images from the line through agreements (Baek et al. 2022, ALine-S).

    ``classes`` (m, n) and ``correct`` (m, n) are of the labeled images, ``unlabeled_classes`` (m, u) of the unlabeled
    ones. The agreement of pairs of models on the unlabeled images is regressed on their agreement on the labeled
    images, on the probit scale, and the same line maps accuracies. This assumes that the accuracies lie on the same
    line, which cannot be checked without labels. Raises for fewer than three models, or if all agreements are equal.
    Intervals come from a bootstrap of the images of both sets, in a hundred groups. They are at least as wide as the
    exact interval for 0 errors on the unlabeled images, so that they have a width even if the models always agree.
    """
    models = len(classes)
    if models < _MIN_MODELS:
        raise UndefinedError(f"a line through agreements needs at least {_MIN_MODELS} models, got {models}")
    chosen = _spread(correct.mean(axis=1))
    pairs = np.array(list(combinations(chosen, 2)))
    images, unlabeled_images = classes.shape[1], unlabeled_classes.shape[1]
    groups, unlabeled_groups = (_grouped(count, rng) for count in (images, unlabeled_images))
    agree = _counts((classes[i] == classes[j] for i, j in pairs), groups)
    unlabeled_agree = _counts((unlabeled_classes[i] == unlabeled_classes[j] for i, j in pairs), unlabeled_groups)
    right = _counts(correct, groups)
    weights, unlabeled_weights = (_weights(members, rng) for members in (groups, unlabeled_groups))
    errors = _errors_on_line(
        weights @ agree, unlabeled_weights @ unlabeled_agree, weights @ right, images, unlabeled_images
    )
    value, drawn = errors[0], errors[1:]
    if not np.isfinite(value).all():
        raise UndefinedError("all pairs of models agree equally often: the line through agreements is undefined")
    tail = _expanded(tail_share(confidence), min(len(weights[0]), len(unlabeled_weights[0])))
    low, high = np.nanquantile(drawn, [tail, 1 - tail], axis=0)
    least = float(exact_bounds(np.zeros(1), np.full(1, unlabeled_images), confidence=confidence).high[0])
    low, high = np.maximum(np.minimum(low, value - least), 0.0), np.minimum(np.maximum(high, value + least), 1.0)
    method, rows = method_name("bootstrap of images", confidence), zip(value, low, high, strict=True)
    return [Estimate(float(v), float(a), float(b), unlabeled_images, method) for v, a, b in rows]


def _expanded(tail: float, parts: int) -> float:
    """The tail probability of percentiles, expanded for few groups (Hesterberg 2015)."""
    freedom = max(parts - 1, 1)
    return float(special.ndtr(special.stdtrit(freedom, tail) * np.sqrt(parts / freedom)))


def _spread(accuracies: FloatArray) -> IntArray:
    """Up to ``_MODELS`` models, evenly spaced from the worst to the best."""
    order = np.argsort(accuracies, kind="stable")
    return np.sort(order[np.unique(np.linspace(0, len(order) - 1, min(len(order), _MODELS)).round().astype(int))])


def _grouped(images: int, rng: np.random.Generator) -> IntArray:
    """Shape (n,): a random group for each image, of equal sizes to within one."""
    return rng.permutation(images) % min(_GROUPS, images)


def _counts(rows: Iterable[BoolArray], groups: IntArray) -> FloatArray:
    """Shape (groups, rows): the number of images in each group for which a row is true."""
    return np.stack([np.bincount(groups, row) for row in rows], axis=1)


def _weights(groups: IntArray, rng: np.random.Generator) -> FloatArray:
    """Shape (1 + draws, groups): bootstrap weights of the groups per image; the first row is the sample itself."""
    sizes = np.bincount(groups)
    count = len(sizes)
    drawn = np.concatenate([np.ones((1, count)), rng.multinomial(count, np.full(count, 1 / count), size=_DRAWS)])
    return drawn / (drawn @ sizes)[:, None]


def _errors_on_line(
    agree: FloatArray, unlabeled_agree: FloatArray, accuracy: FloatArray, images: int, unlabeled_images: int
) -> FloatArray:
    """Shape (d, m): errors by the line from labeled to unlabeled agreements (d, p); NaN without a line."""
    x, y, z = _probit(agree, images), _probit(unlabeled_agree, unlabeled_images), _probit(accuracy, images)
    dx = x - x.mean(axis=1, keepdims=True)
    spread = (dx**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(spread > 1e-12, (dx * y).sum(axis=1) / spread, np.nan)
    offset = y.mean(axis=1) - slope * x.mean(axis=1)
    return 1 - special.ndtr(slope[:, None] * z + offset[:, None])


def _probit(shares: FloatArray, n: int) -> FloatArray:
    return special.ndtri(np.clip(shares, 0.5 / n, 1 - 0.5 / n))
