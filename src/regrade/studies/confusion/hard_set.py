"""The hard set: the images with the highest confusion scores, chosen without labels, and the errors of models on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from regrade.core import UNLABELED, Estimate, InputError, SliceSet, TestSet, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.core.record import Record
from regrade.stats import (
    MIN_SPREAD,
    accuracy_covariance,
    group_shares,
    independent_difference,
    kendall,
    proportion,
    share_difference,
    spread_beyond_noise,
)
from regrade.stats.intervals import method_name
from regrade.studies.confusion.distribution import none_if_undefined
from regrade.studies.image_clusters import numbers_in

_DEFAULT_SHARE = 10  # default: the hardest 1 / 10 of the images


@dataclass(frozen=True)
class HardRule:
    """Which images are hard: those with a score of at least ``above``, or the ``hardest`` N, overall or per class.

    Default: the hardest tenth.
    """

    above: float | None = None
    hardest: int | None = None
    per_class: bool = False

    def __post_init__(self) -> None:
        if self.above is not None and self.hardest is not None:
            raise InputError("hard images are those above a score or the hardest N: give only one of the two")
        if self.per_class and self.hardest is None:
            raise InputError("per class needs the number of hardest images of each class")
        if self.hardest is not None and self.hardest < 1:
            raise InputError(f"a hard set needs at least one image, got {self.hardest}")


@dataclass(frozen=True, eq=False)
class HardSet(Record):
    """The hard images of a test set (``inside`` (n,)), and the rule as text."""

    test_set: str
    inside: BoolArray
    rule: str

    def json_fields(self) -> dict[str, Any]:
        """The rule, and the positions of the hard images in the test set."""
        return {"rule": self.rule, "images": self.images, "places": np.flatnonzero(self.inside)}

    @property
    def images(self) -> int:
        """Number of hard images."""
        return int(self.inside.sum())

    def as_slices(self, name: str, chosen_by: tuple[str, ...] = ()) -> SliceSet:
        """Return the hard images as a slice of their test set, chosen by the scores of an ensemble or models."""
        inside = {name: self.inside}
        return SliceSet(name, self.test_set, len(self.inside), inside, {}, self.rule, True, chosen_by)

    def as_test_set(self, test_set: TestSet, name: str) -> TestSet:
        """Return the hard images as a separate test set, with their labels and groups."""
        return test_set.subset(name, np.flatnonzero(self.inside).tolist())


def hard_set(test_set: TestSet, scores: FloatArray, predictions: IntArray, rule: HardRule, *, unit: str) -> HardSet:
    """Choose the hard images by their scores (n,); ties go to the earlier image.

    The class of an image is its label or, without one, the ensemble's final prediction (``predictions`` (n,)). Raises
    if the rule selects no image, or all of them.
    """
    order = np.argsort(-scores, kind="stable")
    if rule.above is not None:
        inside = scores >= rule.above
        words = f"images with a score of {rule.above:g} {unit} or more"
    elif rule.per_class:
        inside = _hardest_of_each(order, np.where(test_set.labels == UNLABELED, predictions, test_set.labels), rule)
        words = f"the hardest {amount(rule.hardest or 0, 'image')} of each class"
    else:
        count = rule.hardest or max(1, len(scores) // _DEFAULT_SHARE)
        inside = np.zeros(len(scores), dtype=bool)
        inside[order[:count]] = True
        words = f"the hardest {amount(count, 'image')}" if rule.hardest else "the hardest tenth of the images"
    if not inside.any() or inside.all():
        which = "no image" if not inside.any() else "every image"
        raise UndefinedError(
            f"{words}: that is {which} of {test_set.name} (scores lie from {scores.min():.3g} to {scores.max():.3g} "
            f"{unit}, {amount(len(scores), 'image')})"
        )
    return HardSet(test_set.name, inside, words)


def _hardest_of_each(order: IntArray, classes: IntArray, rule: HardRule) -> BoolArray:
    """The first ``rule.hardest`` images of each class in the given order."""
    grouped = order[np.argsort(classes[order], kind="stable")]
    own = classes[grouped]
    begins = np.flatnonzero(np.diff(own, prepend=own[0] - 1))
    within = np.arange(len(own)) - np.repeat(begins, np.diff(np.append(begins, len(own))))
    inside = np.zeros(len(own), dtype=bool)
    inside[grouped[within < (rule.hardest or 0)]] = True
    return inside


@dataclass(frozen=True)
class Transfer:
    """One model's error on hard images and on the rest, and their difference; None without images."""

    hard: Estimate | None
    rest: Estimate | None
    difference: Estimate | None


def transfer(wrong: BoolArray, inside: BoolArray, clusters: IntArray | None = None, *, confidence: float) -> Transfer:
    """Compare a model's mistakes (n,) on hard images with those on the rest, as independent samples.

    Images of one of the ``clusters`` (n,) are dependent, also if they are on both sides.
    """
    if clusters is not None:
        return _clustered_transfer(wrong, inside, clusters, confidence=confidence)
    counts = [(int((wrong & part).sum()), int(part.sum())) for part in (inside, ~inside)]
    hard, rest = (proportion(k, n, confidence=confidence) if n else None for k, n in counts)
    if hard is None or rest is None:
        return Transfer(hard, rest, None)
    bounds = independent_difference(*counts[0], *counts[1], confidence=confidence)
    method = method_name("newcombe", confidence)
    n = hard.n + rest.n
    return Transfer(hard, rest, Estimate(hard.value - rest.value, float(bounds.low), float(bounds.high), n, method))


def _clustered_transfer(wrong: BoolArray, inside: BoolArray, clusters: IntArray, *, confidence: float) -> Transfer:
    if inside.all() or not inside.any():
        (share,) = group_shares(wrong, np.zeros(len(wrong), dtype=np.int64), clusters).estimates(confidence)
        return Transfer(share, None, None) if inside.any() else Transfer(None, share, None)
    shares = group_shares(wrong, (~inside).astype(np.int64), clusters)
    hard, rest = shares.estimates(confidence)
    return Transfer(hard, rest, share_difference(shares, 0, 1, confidence=confidence))


def ranking_holds(
    wrong: Sequence[BoolArray],
    counted: Sequence[BoolArray],
    inside: BoolArray,
    clusters: IntArray | None = None,
    *,
    confidence: float,
) -> Estimate | None:
    """Return Kendall's tau-b between the models' errors on hard images and on the rest; None for fewer than 4 models.

    ``wrong`` and ``counted`` (n,) are per model, ``inside`` (n,) marks the hard images. The interval is over models.
    Sampling noise attenuates tau, so the upper bound is corrected for it (disattenuation, Spearman 1904). If the models
    hardly differ beyond that noise, the upper bound is 1. Images of one of the ``clusters`` (n,) are dependent.
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
    reliability = [_reliability(errors[:, side], own[:, side], numbers_in(clusters, side)) for errors, side in parts]
    high = max(_without_noise(tau.high, reliability[0] * reliability[1]), tau.value)
    return replace(tau, high=high, method=f"{tau.method}, noise of images taken out above")


def _reliability(wrong: BoolArray, counted: BoolArray, clusters: IntArray | None) -> float:
    """The share of the variance of errors (m,) that is not sampling noise; 0 if it cannot be estimated."""
    try:
        noise = accuracy_covariance(wrong, counted, clusters)
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
