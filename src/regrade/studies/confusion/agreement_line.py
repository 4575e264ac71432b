"""Agreement on the line: where accuracies lie on a line between two sets, so do agreements, which need no labels."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np
from scipy import special

from regrade.core import Estimate, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats.intervals import exact_bounds, method_name, tail_share

_GROUPS = 100  # parts of the images that are drawn anew together
_DRAWS = 400
_MODELS = 60  # models whose pairs make up the line
_LEAST = 3


def agreement_lines(
    classes: IntArray,
    correct: BoolArray,
    other_classes: IntArray,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
) -> list[Estimate]:
    """The error of each model on other images by the line through the models' agreements (Baek et al. 2022, ALine-S).

    ``classes`` (m, n) and ``correct`` (m, n) are of the labeled images, ``other_classes`` (m, u) of the others. How
    often two models agree there is fitted by least squares to how often they agree here, on the probit scale, and the
    accuracies are carried over by the same line. It holds where the accuracies of these models lie on a line, which no
    one knows without labels; fewer than three models, or agreements that are all alike, raise. Intervals come from
    drawing the images of both sets anew, in a hundred parts; they reach at least as far as as many other images without
    an error leave open, so that models which always agree there have a width.
    """
    models = len(classes)
    if models < _LEAST:
        raise UndefinedError(f"a line through agreements needs at least {_LEAST} models, got {models}")
    chosen = _spread(correct.mean(axis=1))
    pairs = np.array(list(combinations(chosen, 2)))
    here, there = (_grouped(each.shape[1], rng) for each in (classes, other_classes))
    agree = _counts((classes[i] == classes[j] for i, j in pairs), here)
    agree_there = _counts((other_classes[i] == other_classes[j] for i, j in pairs), there)
    right = _counts(correct, here)
    draw, draw_there = (_weights(groups, rng) for groups in (here, there))
    found = _carried(draw @ agree, draw_there @ agree_there, draw @ right, classes.shape[1], other_classes.shape[1])
    value, drawn = found[0], found[1:]
    if not np.isfinite(value).all():
        raise UndefinedError("all pairs of models agree equally often: there is no line through their agreements")
    tail = _expanded(tail_share(confidence), min(len(draw[0]), len(draw_there[0])))
    low, high = np.nanquantile(drawn, [tail, 1 - tail], axis=0)
    others, method = other_classes.shape[1], method_name("bootstrap of images", confidence)
    least = float(exact_bounds(np.zeros(1), np.full(1, others), confidence=confidence).high[0])
    low, high = np.maximum(np.minimum(low, value - least), 0.0), np.minimum(np.maximum(high, value + least), 1.0)
    return [Estimate(float(v), float(a), float(b), others, method) for v, a, b in zip(value, low, high, strict=True)]


def _expanded(tail: float, parts: int) -> float:
    """The tail of percentiles that makes up for few parts, as Student's t does for the normal (Hesterberg 2015)."""
    freedom = max(parts - 1, 1)
    return float(special.ndtr(special.stdtrit(freedom, tail) * np.sqrt(parts / freedom)))


def _spread(accuracies: FloatArray) -> IntArray:
    """Models from the worst to the best, as many as make up the line."""
    order = np.argsort(accuracies, kind="stable")
    return np.sort(order[np.unique(np.linspace(0, len(order) - 1, min(len(order), _MODELS)).round().astype(int))])


def _grouped(images: int, rng: np.random.Generator) -> IntArray:
    """Shape (n,): a part for each image, at random, all of one size to within one."""
    return rng.permutation(images) % min(_GROUPS, images)


def _counts(rows: Iterable[BoolArray], groups: IntArray) -> FloatArray:
    """Shape (groups, rows): of how many images of each part a row is true."""
    return np.stack([np.bincount(groups, row) for row in rows], axis=1)


def _weights(groups: IntArray, rng: np.random.Generator) -> FloatArray:
    """Shape (1 + draws, groups): how often each part counts, over the images this makes; first once each."""
    sizes = np.bincount(groups)
    count = len(sizes)
    drawn = np.concatenate([np.ones((1, count)), rng.multinomial(count, np.full(count, 1 / count), size=_DRAWS)])
    return drawn / (drawn @ sizes)[:, None]


def _carried(here: FloatArray, there: FloatArray, accuracy: FloatArray, images: int, others: int) -> FloatArray:
    """Shape (d, m): errors by the line from agreements (d, p) here to those there; not a number without a line."""
    x, y, z = _probit(here, images), _probit(there, others), _probit(accuracy, images)
    dx = x - x.mean(axis=1, keepdims=True)
    spread = (dx**2).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(spread > 1e-12, (dx * y).sum(axis=1) / spread, np.nan)
    offset = y.mean(axis=1) - slope * x.mean(axis=1)
    return 1 - special.ndtr(slope[:, None] * z + offset[:, None])


def _probit(shares: FloatArray, n: int) -> FloatArray:
    return special.ndtri(np.clip(shares, 0.5 / n, 1 - 0.5 / n))
