"""Four estimates of a model's error on unlabeled images, learned on labeled ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy

from regrade.core import NO_ANSWER, Estimate, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import design_effect, reweighted_proportion
from regrade.stats.influence import effective_sizes, independent_size
from regrade.stats.intervals import exact_bounds, method_name, tail_share
from regrade.stats.paired import score_bounds
from regrade.studies.confusion.graded_models import GradedModel
from regrade.studies.image_clusters import numbers_in

_GROUPS = 100  # groups of images resampled together
_DRAWS = 400
_MODELS = 60  # most models whose pairs determine the line
_MIN_MODELS = 3


@dataclass(frozen=True, eq=False)
class SetClusters:
    """The clusters of the labeled images (n,) and of the unlabeled images (u,); None: they are independent."""

    labeled: IntArray | None = None
    unlabeled: IntArray | None = None

    def of(self, labeled: BoolArray, unlabeled: BoolArray | None = None) -> SetClusters | None:
        """Those of some images of both sets (default: all unlabeled ones); None if all images are independent."""
        of_unlabeled = self.unlabeled if unlabeled is None else numbers_in(self.unlabeled, unlabeled)
        both = SetClusters(numbers_in(self.labeled, labeled), of_unlabeled)
        return None if both.labeled is None and both.unlabeled is None else both


def agreement_lines(
    classes: IntArray,
    correct: BoolArray,
    unlabeled_classes: IntArray,
    *,
    rng: np.random.Generator,
    clusters: SetClusters | None = None,
    confidence: float = 0.95,
) -> list[Estimate]:
    """Estimate each model's error on unlabeled images from the line through agreements (Baek et al. 2022, ALine-S).

    ``classes`` (m, n) and ``correct`` (m, n) are of the labeled images, ``unlabeled_classes`` (m, u) of the unlabeled
    ones. The agreement of pairs of models on the unlabeled images is regressed on their agreement on the labeled
    images, on the probit scale, and the same line maps accuracies. This assumes that the accuracies lie on the same
    line, which cannot be checked without labels. Raises for fewer than three models, or if all agreements are equal.
    Intervals come from a bootstrap of the images of both sets, in a hundred groups. They are at least as wide as the
    exact interval for 0 errors on the unlabeled images, so that they have a width even if the models always agree.
    Images of one of the ``clusters`` are in the same group; an interval for 0 errors is then that for as many clusters.
    """
    models = len(classes)
    if models < _MIN_MODELS:
        raise UndefinedError(f"a line through agreements needs at least {_MIN_MODELS} models, got {models}")
    chosen = _spread(correct.mean(axis=1))
    pairs = np.array(list(combinations(chosen, 2)))
    images, unlabeled_images = classes.shape[1], unlabeled_classes.shape[1]
    numbers = clusters or SetClusters()
    groups, unlabeled_groups = (
        _grouped(np.arange(count) if own is None else own, rng)
        for count, own in ((images, numbers.labeled), (unlabeled_images, numbers.unlabeled))
    )
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
    units = unlabeled_images if numbers.unlabeled is None else len(np.unique(numbers.unlabeled))
    least = float(exact_bounds(np.zeros(1), np.full(1, units), confidence=confidence).high[0])
    low, high = np.maximum(np.minimum(low, value - least), 0.0), np.minimum(np.maximum(high, value + least), 1.0)
    kind = "bootstrap of images" if clusters is None else "bootstrap of clusters"
    method, rows = method_name(kind, confidence), zip(value, low, high, strict=True)
    return [Estimate(float(v), float(a), float(b), unlabeled_images, method) for v, a, b in rows]


def _expanded(tail: float, parts: int) -> float:
    """The tail probability of percentiles, expanded for few groups (Hesterberg 2015)."""
    freedom = max(parts - 1, 1)
    return float(scipy.special.ndtr(scipy.special.stdtrit(freedom, tail) * np.sqrt(parts / freedom)))


def _spread(accuracies: FloatArray) -> IntArray:
    """Up to ``_MODELS`` models, evenly spaced from the worst to the best."""
    order = np.argsort(accuracies, kind="stable")
    return np.sort(order[np.unique(np.linspace(0, len(order) - 1, min(len(order), _MODELS)).round().astype(int))])


def _grouped(clusters: IntArray, rng: np.random.Generator) -> IntArray:
    """Shape (n,): a random group for each image, by its cluster (n,); of equally many clusters, to within one."""
    numbers = np.unique(clusters, return_inverse=True)[1]
    count = int(numbers.max()) + 1
    return (rng.permutation(count) % min(_GROUPS, count))[numbers]


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
    return 1 - scipy.special.ndtr(slope[:, None] * z + offset[:, None])


def _probit(shares: FloatArray, n: int) -> FloatArray:
    return scipy.special.ndtri(np.clip(shares, 0.5 / n, 1 - 0.5 / n))


_MIN_PER_STRATUM, _MAX_STRATA = 10, 100  # images per stratum, and number of strata
_CELLS = 500  # bins of confidence


@dataclass(frozen=True)
class ExpectedError:
    """One model's error on the labeled set, and four estimates of its error on the unlabeled set (None if undefined).

    Each estimate rests on an assumption. ``by_score``: the error depends only on the confusion score.
    ``average_confidence``: the model is calibrated. ``thresholded``: predictions are wrong below a confidence
    threshold, chosen so that as many labeled images are below it as are wrong (Garg et al. 2022). ``agreement_line``:
    accuracies lie on the same line as the models' agreements (Baek et al. 2022). ``actual`` is the true error, if the
    set has labels after all, and ``gap`` is ``by_score`` minus ``actual``.
    """

    model: str
    labeled: Estimate
    by_score: Estimate
    average_confidence: Estimate | None
    thresholded: Estimate | None
    agreement_line: Estimate | None
    actual: Estimate | None
    gap: Estimate | None = None


@dataclass(frozen=True, eq=False)
class SetScores:
    """An ensemble's scores of the labeled images (n,) and of the unlabeled images (u,)."""

    labeled: FloatArray
    unlabeled: FloatArray


def expected_by_score(
    wrong: BoolArray, scores: SetScores, clusters: SetClusters | None = None, *, confidence: float
) -> Estimate:
    """Estimate the error on the unlabeled images, assuming that it depends only on the score.

    The labeled images are split into strata of equal size by score and weighted by the strata of the unlabeled images;
    unlabeled images outside the range of labeled scores are assigned to the nearest stratum. ``wrong`` (n,) belongs to
    the labeled scores. The interval covers the sampling of both sets, not a violation of the assumption. Images of one
    of the ``clusters`` of either set are dependent.
    """
    count = int(np.clip(len(wrong) // _MIN_PER_STRATUM, 1, _MAX_STRATA))
    edges = np.unique(np.quantile(scores.labeled, np.arange(1, count) / count))
    bins = [np.searchsorted(edges, values, side="right") for values in (scores.labeled, scores.unlabeled)]
    occupied = np.unique(bins[0])  # ties may leave a stratum empty
    labeled, unlabeled = (np.clip(np.searchsorted(occupied, each, side="right") - 1, 0, None) for each in bins)
    numbers = clusters or SetClusters()
    return reweighted_proportion(wrong, labeled, unlabeled, numbers.labeled, numbers.unlabeled, confidence=confidence)


def expectation_gap(expected: Estimate, actual: Estimate, *, confidence: float) -> Estimate:
    """Return the expected minus the actual error, combining their intervals as independent (Newcombe 1998).

    Both use the same unlabeled images; if that makes their errors positively correlated, the interval is conservative.
    """
    value = expected.value - actual.value
    low = value - np.hypot(expected.value - expected.low, actual.high - actual.value)
    high = value + np.hypot(expected.high - expected.value, actual.value - actual.low)
    method = method_name("newcombe of both", confidence)
    return Estimate(value, max(float(low), -1.0), min(float(high), 1.0), actual.n, method)


def expected_by_confidence(confidences: FloatArray, clusters: IntArray | None = None, *, confidence: float) -> Estimate:
    """Return 1 - the mean of ``confidences`` (u,), with a t interval; valid only if the model is calibrated.

    One image is added for each bound, with error 1 for the upper and 0 for the lower bound, because images rarer than
    one in u may be missing from the sample. So the interval has a width even if the model is always certain. It covers
    the sampling of the images, not miscalibration. At 95% its coverage is at least 0.95 with 10 or more images. With 20
    images it is 1.5 to 3 times as wide as a normal interval, whose coverage is only 0.69 to 0.93; with 1,000 images
    1.05 to 1.15 times. Images of one of the ``clusters`` (u,) are dependent: they count as the number of images that
    they are worth, and a single cluster has the interval [0, 1].
    """
    doubt = 1 - np.asarray(confidences, dtype=np.float64)
    value = float(doubt.mean())
    n = independent_size(doubt - value, clusters, upper=1 - tail_share(confidence))
    kind = "mean, t with one image more" if clusters is None else "clustered mean, t with one image more"
    if n <= 0:
        return Estimate(value, 0.0, 1.0, len(doubt), method_name(kind, confidence))
    quantile, bounds = scipy.special.stdtrit(n, 1 - tail_share(confidence)), []
    for extreme, side in ((0.0, -1), (1.0, 1)):
        mean = (n * value + extreme) / (n + 1)
        squares = n * (float(doubt.var()) + (value - mean) ** 2) + (extreme - mean) ** 2
        bounds.append(mean + side * quantile * np.sqrt(squares / n / (n + 1)))
    low, high = max(min(float(bounds[0]), value), 0.0), min(max(float(bounds[1]), value), 1.0)
    return Estimate(value, low, high, len(doubt), method_name(kind, confidence))


def expected_by_threshold(
    wrong: BoolArray,
    labeled: FloatArray,
    unlabeled: FloatArray,
    clusters: SetClusters | None = None,
    *,
    confidence: float,
) -> Estimate:
    """Return the share of unlabeled images below a confidence threshold learned on labeled ones (ATC).

    The threshold is chosen so that as many labeled images lie below it as are ``wrong`` (n,). ``labeled`` (n,) and
    ``unlabeled`` (u,) are confidences, binned into up to 500 bins. The interval combines two independent errors: that
    of the threshold (Tango's paired interval for wrong predictions against predictions below it) and the sampling of
    the unlabeled images (Clopper-Pearson). At 95% its coverage is at least 0.95 with 30 or more images. Raises if all
    predictions are right or all are wrong, because no threshold separates them. Images of one of the ``clusters`` of
    either set are dependent: counts are divided by the design effects.
    """
    if wrong.all() or not wrong.any():
        raise UndefinedError("a threshold needs both right and wrong predictions")
    n, count = len(wrong), len(unlabeled)
    edges = np.unique(np.quantile(np.concatenate([labeled, unlabeled]), np.linspace(0, 1, _CELLS + 1)[1:-1]))
    labeled_cells, unlabeled_cells, wrong_cells = (
        np.bincount(np.searchsorted(edges, values, side="right"), minlength=len(edges) + 1)
        for values in (labeled, unlabeled, labeled[wrong])
    )
    errors = int(wrong.sum())
    missed = errors - round(float(_below(errors, labeled_cells, wrong_cells)))  # wrong predictions above the threshold
    numbers = clusters or SetClusters()
    effect = 1.0
    if numbers.labeled is not None:
        is_below = np.argsort(np.argsort(labeled, kind="stable")) < errors
        effect = design_effect(wrong, is_below, numbers.labeled)
    shift = score_bounds(*(np.array(part / effect) for part in (missed, missed, n)), confidence=confidence)
    value, *moved = (
        float(_below(min(max(errors + n * float(step), 0.0), n), labeled_cells, unlabeled_cells)) / count
        for step in (0.0, shift.low, shift.high)
    )
    worth: FloatArray = np.array([count], dtype=np.float64)
    if numbers.unlabeled is not None:
        is_below = np.argsort(np.argsort(unlabeled, kind="stable")) < round(value * count)
        worth = effective_sizes(is_below - is_below.mean(), numbers.unlabeled, upper=1 - tail_share(confidence))
    sampling = exact_bounds(value * worth, worth, confidence=confidence)
    low = value - np.hypot(value - moved[0], value - sampling.low[0])
    high = value + np.hypot(moved[1] - value, sampling.high[0] - value)
    kind = "threshold, paired score" if clusters is None else "clustered threshold, paired score"
    method = method_name(kind, confidence)
    return Estimate(value, max(float(low), 0.0), min(float(high), 1.0), count, method)


def _below(count: float, cells: IntArray, counted: IntArray) -> float:
    """How many of ``counted`` (cells,) lie below the confidence that has ``count`` images of ``cells`` below it.

    Images are assumed to be spread evenly within a cell.
    """
    ends = np.cumsum(cells)
    cell = min(int(np.searchsorted(ends, count)), len(cells) - 1)
    part = (count - (ends[cell] - cells[cell])) / cells[cell] if cells[cell] else 0.0
    return float(counted[:cell].sum() + part * counted[cell])


def expected_by_agreement(
    labeled: Sequence[GradedModel],
    unlabeled: Sequence[GradedModel],
    clusters: SetClusters | None = None,
    *,
    rng: np.random.Generator,
    confidence: float,
) -> list[Estimate | None]:
    """Return the estimate of `agreement_lines` per model; None for models outside the most common class space.

    Only images with predictions of all these models are used, because a missing prediction is not a disagreement.
    """
    spaces = [model.class_space for model in labeled]
    common = max(set(spaces), key=spaces.count, default="")
    chosen = [i for i, space in enumerate(spaces) if space == common and unlabeled[i].class_space == common]
    estimates: list[Estimate | None] = [None] * len(labeled)
    if not chosen:
        return estimates
    counted, unlabeled_counted = (
        np.logical_and.reduce([models[i].classes != NO_ANSWER for i in chosen]) for models in (labeled, unlabeled)
    )
    counted &= np.logical_and.reduce([labeled[i].counted for i in chosen])
    if not counted.any() or not unlabeled_counted.any():
        return estimates
    try:
        lines = agreement_lines(
            np.stack([labeled[i].classes[counted] for i in chosen]),
            np.stack([~labeled[i].wrong[counted] for i in chosen]),
            np.stack([unlabeled[i].classes[unlabeled_counted] for i in chosen]),
            rng=rng,
            clusters=None if clusters is None else clusters.of(counted, unlabeled_counted),
            confidence=confidence,
        )
    except UndefinedError:
        return estimates
    for i, estimate in zip(chosen, lines, strict=True):
        estimates[i] = estimate
    return estimates
