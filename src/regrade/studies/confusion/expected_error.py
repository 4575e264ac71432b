"""The error to expect on images without labels, learned on labeled ones in four ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from regrade.core import NO_ANSWER, Estimate, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import paired_difference, reweighted_proportion
from regrade.stats.intervals import exact_bounds, method_name, tail_share
from regrade.studies.confusion.agreement_line import agreement_lines
from regrade.studies.confusion.model_answers import Answered

_STRATUM, _STRATA = 10, 100  # images of one score, at least, and how many such strata at most
_CELLS = 500  # confidences that are told apart


@dataclass(frozen=True)
class ExpectedError:
    """One model's error on the labeled set, and what four methods expect on the other; what cannot be told is none.

    ``by_score``: images of one confusion score err alike in both sets. ``average_confidence``: the model is as often
    right as it says. ``thresholded``: answers are wrong below a confidence that separates as many labeled images as
    are wrong (Garg et al. 2022). ``agreement_line``: accuracies lie on the line that the models' agreements lie on
    (Baek et al. 2022). ``actual`` is the error itself, where the other set has labels after all, and ``gap`` the error
    expected by score less the actual one.
    """

    model: str
    labeled: Estimate
    by_score: Estimate
    average_confidence: Estimate | None
    thresholded: Estimate | None
    agreement_line: Estimate | None
    actual: Estimate | None
    gap: Estimate | None = None

    def as_dict(self) -> dict[str, Any]:
        """The row, ready for JSON."""
        return {name: one.as_dict() if isinstance(one, Estimate) else one for name, one in vars(self).items()}


@dataclass(frozen=True, eq=False)
class Sides:
    """The same ensemble's scores of the labeled images (n,) and of the others (u,)."""

    labeled: FloatArray
    other: FloatArray


def expected_by_score(wrong: BoolArray, sides: Sides, *, confidence: float) -> Estimate:
    """The error on the other images if it depends on the score alone.

    The labeled images, cut into strata of equal size by score, are weighted as the others have them; others beyond the
    labeled scores count as the nearest stratum. ``wrong`` (n,) belongs to the labeled scores. The interval covers the
    drawing of the images of both sets, not a model whose errors depend on more than the score.
    """
    count = int(np.clip(len(wrong) // _STRATUM, 1, _STRATA))
    edges = np.unique(np.quantile(sides.labeled, np.arange(1, count) / count))
    known, other = (np.searchsorted(edges, scores, side="right") for scores in (sides.labeled, sides.other))
    there = np.unique(known)  # ties may leave a stratum empty
    known, other = (np.clip(np.searchsorted(there, each, side="right") - 1, 0, None) for each in (known, other))
    return reweighted_proportion(wrong, known, other, confidence=confidence)


def expectation_gap(expected: Estimate, actual: Estimate, *, confidence: float) -> Estimate:
    """The expected error less the actual one; both intervals' errors together as independent ones are (Newcombe 1998).

    The actual error is of images whose scores the expectation rests on: where that makes their errors go together, the
    interval is wider than it need be.
    """
    value = expected.value - actual.value
    low = value - np.hypot(expected.value - expected.low, actual.high - actual.value)
    high = value + np.hypot(expected.high - expected.value, actual.value - actual.low)
    method = method_name("newcombe of both", confidence)
    return Estimate(value, max(float(low), -1.0), min(float(high), 1.0), actual.n, method)


def expected_by_confidence(other: FloatArray, *, confidence: float) -> Estimate:
    """One less the mean confidence (u,), with a t interval; right only where the model is calibrated there.

    Each bound is that of the images and one more, which is wrong for the upper and right for the lower bound: images
    that are rarer than one in u may be among those that were not drawn. So a model that is always sure has a width too.
    The interval covers the drawing of the images, not a model that is more or less sure than it is right. At 95% it
    covers 0.95 or more from 10 images on. With 20 images it is 1.5 to 3 times as wide as a normal interval, which
    covers 0.69 to 0.93 there; with 1,000 images 1.05 to 1.15 times.
    """
    doubt = 1 - np.asarray(other, dtype=np.float64)
    n, quantile = len(doubt), special.stdtrit(len(doubt), 1 - tail_share(confidence))
    bounds = []
    for extreme, side in ((0.0, -1), (1.0, 1)):
        widened = np.append(doubt, extreme)
        bounds.append(widened.mean() + side * quantile * widened.std(ddof=1) / np.sqrt(n + 1))
    value = float(doubt.mean())
    low, high = max(min(float(bounds[0]), value), 0.0), min(max(float(bounds[1]), value), 1.0)
    return Estimate(value, low, high, n, method_name("mean, t with one image more", confidence))


def expected_by_threshold(wrong: BoolArray, own: FloatArray, other: FloatArray, *, confidence: float) -> Estimate:
    """The share of the other images below a confidence that as many labeled ones lie below as are wrong (ATC).

    ``wrong`` and ``own`` (n,) are of the labeled images, ``other`` (u,) are confidences of the others. Confidences are
    told apart in up to 500 steps. Two errors are taken together as independent ones are: the threshold may be off by
    as much as wrong answers and answers below it may differ in number (Tango's paired interval), and the others are a
    sample (Clopper-Pearson). At 95% it covers 0.95 or more from 30 images on. Answers that are all right, or all wrong,
    raise: no confidence separates them.
    """
    if wrong.all() or not wrong.any():
        raise UndefinedError("a threshold needs right and wrong answers to lie between")
    pooled = np.concatenate([own, other])
    edges = np.unique(np.quantile(pooled, np.linspace(0, 1, _CELLS + 1)[1:-1]))
    cells = len(edges) + 1
    own_cells, other_cells = (
        np.bincount(np.searchsorted(edges, each, side="right"), minlength=cells) for each in (own, other)
    )
    wrong_cells = np.bincount(np.searchsorted(edges, own[wrong], side="right"), minlength=cells)
    errors, n = int(wrong.sum()), len(wrong)
    missed = errors - round(float(_below(errors, own_cells, wrong_cells)))  # wrong answers above the threshold
    off = paired_difference(missed, missed, n, confidence=confidence)
    value, *moved = (
        float(_below(min(max(errors + n * float(step), 0.0), n), own_cells, other_cells)) / len(other)
        for step in (0.0, off.low, off.high)
    )
    drawn = exact_bounds(np.array([value * len(other)]), np.array([len(other)]), confidence=confidence)
    low = value - np.hypot(value - moved[0], value - drawn.low[0])
    high = value + np.hypot(moved[1] - value, drawn.high[0] - value)
    method = method_name("threshold, paired score", confidence)
    return Estimate(value, max(float(low), 0.0), min(float(high), 1.0), len(other), method)


def _below(count: float, cells: IntArray, counted: IntArray) -> float:
    """How many of what is ``counted`` (cells,) lie below the confidence that ``count`` images of ``cells`` lie below.

    Within a cell images are taken to be spread evenly.
    """
    ends = np.cumsum(cells)
    cell = min(int(np.searchsorted(ends, count)), len(cells) - 1)
    part = (count - (ends[cell] - cells[cell])) / cells[cell] if cells[cell] else 0.0
    return float(counted[:cell].sum() + part * counted[cell])


def expected_by_agreement(
    labeled: Sequence[Answered], other: Sequence[Answered], *, rng: np.random.Generator, confidence: float
) -> list[Estimate | None]:
    """For each model what `agreement_lines` expects of those that share most of the classes; none for the others.

    Only images that all of these have answered are looked at: not to answer is not to agree.
    """
    spaces = [one.class_space for one in labeled]
    common = max(set(spaces), key=spaces.count, default="")
    chosen = [i for i, space in enumerate(spaces) if space == common and other[i].class_space == common]
    found: list[Estimate | None] = [None] * len(labeled)
    if not chosen:
        return found
    counted, there = (
        np.logical_and.reduce([side[i].classes != NO_ANSWER for i in chosen]) for side in (labeled, other)
    )
    counted &= np.logical_and.reduce([labeled[i].counted for i in chosen])
    if not counted.any() or not there.any():
        return found
    try:
        lines = agreement_lines(
            np.stack([labeled[i].classes[counted] for i in chosen]),
            np.stack([~labeled[i].wrong[counted] for i in chosen]),
            np.stack([other[i].classes[there] for i in chosen]),
            rng=rng,
            confidence=confidence,
        )
    except UndefinedError:
        return found
    for i, estimate in zip(chosen, lines, strict=True):
        found[i] = estimate
    return found
