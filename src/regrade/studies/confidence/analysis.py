"""Confidence of models: calibration, temperature, selective accuracy and conformal sets, also under shift."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import Estimate, InputError, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import (
    RAPS_FREE,
    SMALLEST_PROBABILITY,
    ReliabilityBins,
    brier_scores,
    conformal_rank,
    conformal_threshold,
    equal_size_bins,
    fit_temperature,
    label_places,
    lac_scores,
    log_losses,
    ordered_aps_scores,
    rank_penalties,
    reliability_bins,
    scale_predictions,
)
from regrade.stats import (
    CertifiedThreshold,
    absolute_mean,
    bonferroni_confidence,
    bounded_mean,
    calibration_error,
    certified_threshold,
    confidence_gap,
    excess_area,
    least_expected_coverage,
    mark_simultaneous,
    reliability_curve,
    risk_coverage_area,
    selective_risks,
    undercoverage_p_value,
)
from regrade.studies.confidence.result import (
    AcceptanceVerdict,
    Accepted,
    CalibrationVerdict,
    Confidence,
    ConformalScore,
    ConformalSets,
    CoverageVerdict,
    ModelConfidence,
    Scaled,
    SelectiveAccuracy,
)
from regrade.studies.image_clusters import mean_credit

NOT_OVER_CLUSTERS = (
    "not over clusters, but as if images were independent: calibration errors and ECE, certified thresholds, tests of "
    "conformal sets; verdicts on calibration follow from confidence − accuracy alone"
)

COVERAGES = (1.0, 0.9, 0.8, 0.5)
"""The coverages of selective accuracy."""

_ROWS = 128  # images whose scores of all classes are computed at a time: they stay in the cache of a core
_CURVE = 200  # points of a risk-coverage curve
_LARGEST_LOSS = -float(np.log(SMALLEST_PROBABILITY))


@dataclass(frozen=True, eq=False)
class ImageConfidences:
    """One model on the n predicted images of one test set.

    ``confidences`` (n,) are the probabilities of the predicted classes, ``correct`` (n,) whether these are right,
    ``labels`` (n,) class indices, ``probabilities`` (n, c) those of all classes if they are stored. ``half`` (n,) is
    true for images of the first of two random halves, ``draws`` (n,) are uniform random numbers. Images of one of the
    ``clusters`` (n,) are dependent.
    """

    model: str
    test_set: str
    confidences: FloatArray
    correct: BoolArray
    labels: IntArray
    probabilities: FloatArray | None
    half: BoolArray
    draws: FloatArray
    clusters: IntArray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, chosen: BoolArray) -> ImageConfidences:
        """Some of the images."""
        kept = {name: getattr(self, name)[chosen] for name in ("confidences", "correct", "labels", "half", "draws")}
        probabilities = None if self.probabilities is None else self.probabilities[chosen]
        clusters = None if self.clusters is None else self.clusters[chosen]
        return replace(self, **kept, probabilities=probabilities, clusters=clusters)


@dataclass(frozen=True)
class Levels:
    """The confidence of intervals, and those of the intervals and tests that verdicts are based on, for all rows."""

    confidence: float
    rows: int

    @property
    def calibration(self) -> float:
        """The confidence of the two intervals behind the verdict of a row."""
        return bonferroni_confidence(2 * self.rows, self.confidence)

    @property
    def coverage(self) -> float:
        """The level of the test of conformal sets."""
        return (1 - self.confidence) / (len(ConformalScore) * self.rows)

    @property
    def acceptance(self) -> float:
        """The confidence of the accuracy above a certified threshold on a new set."""
        return bonferroni_confidence(self.rows, self.confidence)

    def together(self, estimate: Estimate, per_row: int) -> Estimate:
        """An estimate with an interval at a corrected confidence, marked as one of ``per_row`` in every row."""
        return mark_simultaneous(estimate, per_row * self.rows, confidence=self.confidence)


def confidence_study(
    models: Iterable[Sequence[ImageConfidences]],
    *,
    count: int,
    miss: float = 0.1,
    target: float = 0.95,
    confidence: float = 0.95,
    notes: Sequence[str] = (),
) -> Confidence:
    """Study the confidences of ``count`` rows, each model on an original test set and then on new ones.

    On the original, temperature and conformal sets are fitted on one half for the other. On new sets, they are those of
    all images of the original. ``miss`` is the share of labels that conformal sets may miss, ``target`` the accuracy of
    the certified threshold. Models are read one at a time, and verdicts are corrected for all rows.
    """
    rows: list[ModelConfidence] = []
    names: dict[str, None] = {}
    for sets in models:
        levels = Levels(confidence, count)
        rows += _model_rows(sets, miss=miss, target=target, levels=levels)
        names |= dict.fromkeys(images.test_set for images in sets)
    if not rows:
        raise InputError("a study of confidence needs a model with stored scores")
    original, *new = names
    return Confidence(original, tuple(new), miss, target, confidence, tuple(_best_first(rows, original)), tuple(notes))


def _best_first(rows: Sequence[ModelConfidence], original: str) -> list[ModelConfidence]:
    """Models by descending accuracy on the original, each with its test sets in their order."""
    accuracy = {row.model: row.accuracy.value for row in rows if row.test_set == original}
    return sorted(rows, key=lambda row: (-accuracy[row.model], row.model))  # stable: keeps the order of the sets


def _model_rows(
    sets: Sequence[ImageConfidences], *, miss: float, target: float, levels: Levels
) -> Iterable[ModelConfidence]:
    original, *new = sets
    threshold = certified_threshold(original.confidences, original.correct, target=target, confidence=levels.confidence)
    temperature = _temperature(original)
    label_scores = _label_scores(original)
    yield replace(
        _row(original, original.test_set, levels),
        scaled=_cross_scaled(original, temperature, levels),
        accepted=None if threshold is None else _accepted(original, threshold, levels, shifted=False),
        sets=_conformal(
            {score: values[original.half] for score, values in label_scores.items()},
            original.part(~original.half),
            miss,
            levels,
        ),
    )
    for images in new:
        yield replace(
            _row(images, original.test_set, levels),
            scaled=_transferred(images, temperature, levels),
            accepted=None if threshold is None else _accepted(images, threshold, levels, shifted=True),
            sets=_conformal(label_scores, images, miss, levels),
        )


def _row(images: ImageConfidences, calibrated_on: str, levels: Levels) -> ModelConfidence:
    """What follows from the confidences of one test set, without anything fitted."""
    sure, correct, level, clusters = images.confidences, images.correct, levels.confidence, images.clusters
    coverages, risks = _curve(selective_risks(sure, correct))
    overconfidence = confidence_gap(sure, correct, clusters, confidence=levels.calibration)
    error = calibration_error(sure, correct, confidence=levels.calibration)
    return ModelConfidence(
        images.model,
        images.test_set,
        calibrated_on,
        len(images),
        mean_credit(correct, clusters, confidence=level),
        bounded_mean(sure, clusters, largest=1.0, confidence=level),
        levels.together(overconfidence, 2),
        levels.together(error, 2),
        calibration_verdict(overconfidence, error if clusters is None else None),
        _binned_error(reliability_bins(sure, correct), level),
        _binned_error(equal_size_bins(sure, correct), level),
        *_losses(images, level),
        scaled=None,
        bins=reliability_curve(sure, correct, clusters, confidence=level),
        selective=_selective(sure, correct, clusters, level),
        area=risk_coverage_area(sure, correct, clusters, confidence=level),
        excess_area=excess_area(sure, correct, clusters, confidence=level),
        accepted=None,
        sets=(),
        coverages=coverages,
        risks=risks,
    )


def calibration_verdict(overconfidence: Estimate, error: Estimate | None) -> CalibrationVerdict:
    """The sign of confidence minus accuracy if its interval excludes 0, or a calibration error that is above 0.

    Without a calibration ``error``, which has no interval over clusters, the sign alone decides.
    """
    if overconfidence.low > 0:
        return CalibrationVerdict.OVERCONFIDENT
    if overconfidence.high < 0:
        return CalibrationVerdict.UNDERCONFIDENT
    return CalibrationVerdict.MISCALIBRATED if error and error.low > 0 else CalibrationVerdict.NOT_SHOWN


def _binned_error(bins: ReliabilityBins, confidence: float) -> Estimate:
    gaps = bins.accuracy - bins.confidence
    return absolute_mean(gaps, bins.variances, bins.sizes, largest=1.0, confidence=confidence)


def _losses(images: ImageConfidences, confidence: float) -> tuple[Estimate | None, Estimate | None]:
    """Brier score and negative log-likelihood."""
    probabilities, labels, clusters = images.probabilities, images.labels, images.clusters
    if probabilities is None:
        return None, None
    brier = np.clip(brier_scores(probabilities, labels), 0.0, 2.0)
    nll = _nll(log_losses(probabilities, labels), clusters, confidence)
    return bounded_mean(brier, clusters, largest=2.0, confidence=confidence), nll


def _nll(losses: FloatArray, clusters: IntArray | None, confidence: float) -> Estimate:
    return bounded_mean(np.clip(losses, 0.0, _LARGEST_LOSS), clusters, largest=_LARGEST_LOSS, confidence=confidence)


def _temperature(images: ImageConfidences, start: float | None = None) -> float | None:
    if images.probabilities is None or not len(images):
        return None
    try:
        return fit_temperature(images.probabilities, images.labels, start=start or 1.0)
    except UndefinedError:
        return None


def _scaled_parts(images: ImageConfidences, temperature: float) -> FloatArray:
    """Shape (2, n): the scaled probabilities of the predicted class and of the label, in single precision."""
    assert images.probabilities is not None
    scaled = scale_predictions(images.probabilities, images.labels, temperature)
    return np.minimum(np.stack([scaled.confidences, scaled.at_label]).astype(np.float32), 1.0)


def _cross_scaled(images: ImageConfidences, temperature: float | None, levels: Levels) -> Scaled | None:
    """Each half scaled with the temperature of the other; None if any of the three has none."""
    if temperature is None:
        return None
    halves = [images.part(images.half), images.part(~images.half)]
    fitted = [_temperature(half, temperature) for half in halves]
    if fitted[0] is None or fitted[1] is None:
        return None
    scaled = np.empty((2, len(images)), dtype=np.float32)
    scaled[:, images.half] = _scaled_parts(halves[0], fitted[1])
    scaled[:, ~images.half] = _scaled_parts(halves[1], fitted[0])
    return _scaled(images, scaled, temperature, levels)


def _transferred(images: ImageConfidences, temperature: float | None, levels: Levels) -> Scaled | None:
    """All images scaled with a temperature that was fitted on others."""
    if temperature is None or images.probabilities is None:
        return None
    return _scaled(images, _scaled_parts(images, temperature), temperature, levels)


def _scaled(images: ImageConfidences, parts: FloatArray, temperature: float, levels: Levels) -> Scaled:
    sure, at_label = parts.astype(np.float64)  # the order of the classes stays
    return Scaled(
        temperature,
        calibration_error(sure, images.correct, confidence=levels.confidence),
        _binned_error(reliability_bins(sure, images.correct), levels.confidence),
        _nll(-np.log(np.maximum(at_label, SMALLEST_PROBABILITY)), images.clusters, levels.confidence),
    )


def _selective(
    confidences: FloatArray, correct: BoolArray, clusters: IntArray | None, confidence: float
) -> tuple[SelectiveAccuracy, ...]:
    n = len(correct)
    order = np.argsort(-confidences, kind="stable")
    ordered, right = confidences[order], correct[order]
    thresholds = [float(ordered[int(np.ceil(share * n)) - 1]) for share in COVERAGES]
    accepted = np.array([int(np.searchsorted(-ordered, -threshold, side="right")) for threshold in thresholds])
    level = bonferroni_confidence(len(COVERAGES), confidence)
    numbers = None if clusters is None else clusters[order]
    shares = [
        mean_credit(right[:count], None if numbers is None else numbers[:count], confidence=level) for count in accepted
    ]
    return tuple(
        SelectiveAccuracy(
            share, int(count) / n, threshold, mark_simultaneous(accuracy, len(COVERAGES), confidence=confidence)
        )
        for share, count, threshold, accuracy in zip(COVERAGES, accepted, thresholds, shares, strict=True)
    )


def _curve(risks: FloatArray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Some points of a risk-coverage curve: coverages and risks."""
    places = np.unique(np.linspace(0, len(risks) - 1, min(len(risks), _CURVE)).astype(int))
    return tuple(((places + 1) / len(risks)).tolist()), tuple(risks[places].tolist())


def _accepted(images: ImageConfidences, certified: CertifiedThreshold, levels: Levels, *, shifted: bool) -> Accepted:
    above = images.confidences > certified.threshold
    n, right = int(above.sum()), int((images.correct & above).sum())
    coverage = mean_credit(above, images.clusters, confidence=levels.confidence)
    if not shifted or not n:
        return Accepted(certified.target, certified.threshold, coverage, right, n, None, None)
    numbers = None if images.clusters is None else images.clusters[above]
    accuracy = levels.together(mean_credit(images.correct[above], numbers, confidence=levels.acceptance), 1)
    verdict = AcceptanceVerdict.BELOW if accuracy.high < certified.target else AcceptanceVerdict.NOT_SHOWN
    return Accepted(certified.target, certified.threshold, coverage, right, n, accuracy, verdict)


_MANY_CLASSES = 4 * RAPS_FREE  # with fewer, sets by RAPS are nearly those by APS


def _conformal(
    calibration: Mapping[ConformalScore, FloatArray], images: ImageConfidences, miss: float, levels: Levels
) -> tuple[ConformalSets, ...]:
    """The sets on ``images`` by every score, with thresholds from the scores (n,) of the labels of other images."""
    if images.probabilities is None or not len(images) or not all(len(values) for values in calibration.values()):
        return ()
    thresholds = {score: conformal_threshold(values, miss=miss) for score, values in calibration.items()}
    return tuple(
        _conformal_sets(sets, images, len(calibration[sets.score]), miss=miss, levels=levels)
        for sets in _image_sets(images, thresholds)
    )


@dataclass(frozen=True, eq=False)
class _ImageSets:
    """Conformal sets of n images by one score: the scores (n,) of their labels, and the sizes (n,) of their sets."""

    score: ConformalScore
    threshold: float
    label_scores: FloatArray
    sizes: IntArray


def _conformal_sets(
    sets: _ImageSets, predicted: ImageConfidences, calibration_images: int, *, miss: float, levels: Levels
) -> ConformalSets:
    assert predicted.probabilities is not None
    images, rank = len(sets.sizes), conformal_rank(calibration_images, miss)
    is_covered, largest = sets.label_scores <= sets.threshold, float(predicted.probabilities.shape[1])
    covered = int(is_covered.sum())
    sizes_of_samples = {"rank": rank, "calibration_images": calibration_images}
    least = least_expected_coverage(images, level=levels.coverage, **sizes_of_samples)
    return ConformalSets(
        sets.score,
        sets.threshold,
        calibration_images,
        mean_credit(is_covered, predicted.clusters, confidence=levels.confidence),
        bounded_mean(sets.sizes.astype(np.float64), predicted.clusters, largest=largest, confidence=levels.confidence),
        {size: int(count) for size, count in enumerate(np.bincount(sets.sizes)) if count},
        least / images,
        undercoverage_p_value(covered, images, **sizes_of_samples),
        CoverageVerdict.BELOW if covered < least else CoverageVerdict.NOT_SHOWN,
    )


def _label_scores(images: ImageConfidences) -> dict[ConformalScore, FloatArray]:
    """The scores (n,) of the labels; empty without the probabilities of all classes."""
    if images.probabilities is None or not len(images):
        return {}
    few = images.probabilities.shape[1] < _MANY_CLASSES
    never = {score: -np.inf for score in ConformalScore if not (few and score is ConformalScore.RAPS)}
    return {sets.score: sets.label_scores for sets in _image_sets(images, never)}


def _image_sets(images: ImageConfidences, thresholds: Mapping[ConformalScore, float]) -> Iterator[_ImageSets]:
    """The sets of all classes up to the threshold, by score."""
    blocks: dict[ConformalScore, list[tuple[FloatArray, IntArray]]] = {score: [] for score in thresholds}
    for start in range(0, len(images), _ROWS):
        for score, of_labels, of_classes in _block_scores(images, slice(start, start + _ROWS)):
            if score in thresholds:
                blocks[score].append((of_labels, (of_classes <= thresholds[score]).sum(axis=1)))
    for score, threshold in thresholds.items():
        label_scores, sizes = map(np.concatenate, zip(*blocks[score], strict=True))
        yield _ImageSets(score, threshold, label_scores, sizes)


def _block_scores(images: ImageConfidences, rows: slice) -> Iterator[tuple[ConformalScore, FloatArray, FloatArray]]:
    """Each score of the labels (b,) of some images, and of all classes (b, c) in any order, with one sort per image."""
    assert images.probabilities is not None
    probabilities, labels = images.probabilities[rows], images.labels[rows]
    each = np.arange(len(labels))
    lac = lac_scores(probabilities)
    yield ConformalScore.LAC, lac[each, labels], lac
    places, aps = label_places(probabilities, labels), ordered_aps_scores(probabilities, images.draws[rows])
    yield ConformalScore.APS, aps[each, places], aps
    raps = aps + rank_penalties(probabilities.shape[1])
    yield ConformalScore.RAPS, raps[each, places], raps
