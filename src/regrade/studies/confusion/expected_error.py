"""The error to expect on images without labels, learnt on labeled ones in four ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core import NO_ANSWER, Estimate, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import reweighted_proportion
from regrade.stats.intervals import method_name, normal_quantile, tail_share
from regrade.studies.confusion.agreement_line import agreement_lines
from regrade.studies.confusion.answered import Answered

_STRATUM, _STRATA = 10, 100  # images of one score, at least, and how many such strata at most
_CELLS = 500  # confidences that are told apart when images are drawn anew
_DRAWS = 400


@dataclass(frozen=True)
class ExpectedError:
    """One model's error on the labeled set, and what four methods expect on the other; what cannot be told is none.

    ``by_score``: images of one confusion score err alike in both sets. ``average_confidence``: the model is as often
    right as it says. ``thresholded``: answers are wrong below a confidence that separates as many labeled images as
    are wrong (Garg et al. 2022). ``agreement_line``: accuracies lie on the line that the models' agreements lie on
    (Baek et al. 2022). ``actual`` is the error itself, where the other set has labels after all.
    """

    model: str
    labeled: Estimate
    by_score: Estimate
    average_confidence: Estimate | None
    thresholded: Estimate | None
    agreement_line: Estimate | None
    actual: Estimate | None

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


def expected_by_confidence(other: FloatArray, *, confidence: float) -> Estimate:
    """One less the mean confidence (u,), with a normal interval; right only where the model is calibrated there."""
    doubt = 1 - np.asarray(other, dtype=np.float64)
    n = len(doubt)
    reach = normal_quantile(confidence) * (doubt.std(ddof=1) / np.sqrt(n) if n > 1 else 1.0)
    low, high = np.clip([doubt.mean() - reach, doubt.mean() + reach], 0.0, 1.0)
    return Estimate(float(doubt.mean()), float(low), float(high), n, method_name("mean, normal", confidence))


def expected_by_threshold(
    wrong: BoolArray, own: FloatArray, other: FloatArray, *, rng: np.random.Generator, confidence: float
) -> Estimate:
    """The share of the other images below a confidence that as many labeled ones lie below as are wrong (ATC).

    ``wrong`` and ``own`` (n,) are of the labeled images, ``other`` (u,) are confidences of the others. Confidences are
    told apart in up to 500 steps. The interval comes from drawing the images of both sets anew.
    """
    pooled = np.concatenate([own, other])
    edges = np.unique(np.quantile(pooled, np.linspace(0, 1, _CELLS + 1)[1:-1]))
    cells = len(edges) + 1
    place_own, place_other = (np.searchsorted(edges, each, side="right") for each in (own, other))
    table = np.concatenate([np.bincount(place_own[part], minlength=cells) for part in (wrong, ~wrong)])
    others = np.bincount(place_other, minlength=cells)
    drawn = rng.multinomial(len(own), table / len(own), size=_DRAWS)
    drawn_others = rng.multinomial(len(other), others / len(other), size=_DRAWS)
    value = _below(table[None], others[None])[0]
    tail = tail_share(confidence)
    low, high = np.quantile(_below(drawn, drawn_others), [tail, 1 - tail])
    method = method_name("bootstrap of images", confidence)
    return Estimate(float(value), min(float(low), float(value)), max(float(high), float(value)), len(other), method)


def _below(tables: IntArray, others: IntArray) -> FloatArray:
    """Shape (d,): the share of others below the threshold, from counts (d, 2 cells) wrong and right and (d, cells).

    Within the cell that the threshold falls into, images are taken to be spread evenly.
    """
    cells = others.shape[1]
    errors = tables[:, :cells].sum(axis=1)
    own = np.cumsum(tables[:, :cells] + tables[:, cells:], axis=1)
    cell = (own < errors[:, None]).sum(axis=1)
    rows = np.arange(len(others))
    before = np.where(cell > 0, own[rows, np.maximum(cell - 1, 0)], 0)
    inside = own[rows, cell] - before
    part = np.where(inside > 0, (errors - before) / np.maximum(inside, 1), 0.0)
    below = np.cumsum(others, axis=1)
    below_before = np.where(cell > 0, below[rows, np.maximum(cell - 1, 0)], 0)
    return (below_before + part * others[rows, cell]) / others.sum(axis=1)


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
