"""Confidence of models: calibration, temperature, selective accuracy and conformal sets, also under shift."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from regrade.core import Estimate, InputError, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import (
    RAPS_FREE,
    SMALLEST_PROBABILITY,
    ReliabilityBins,
    aps_scores,
    brier_scores,
    conformal_rank,
    conformal_threshold,
    equal_size_bins,
    fit_temperature,
    lac_scores,
    log_losses,
    raps_scores,
    reliability_bins,
    scale_probabilities,
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
    proportion,
    proportions,
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

COVERAGES = (1.0, 0.9, 0.8, 0.5)
"""The coverages of selective accuracy."""

_ROWS = 4096  # images whose scores of all classes are computed at a time
_CURVE = 200  # points of a risk-coverage curve
_LARGEST_LOSS = -float(np.log(SMALLEST_PROBABILITY))


@dataclass(frozen=True, eq=False)
class ImageConfidences:
    """One model on the n predicted images of one test set.

    ``confidences`` (n,) are the probabilities of the predicted classes, ``correct`` (n,) whether these are right,
    ``labels`` (n,) class indices, ``probabilities`` (n, c) those of all classes if they are stored. ``half`` (n,) is
    true for images of the first of two random halves, ``draws`` (n,) are uniform random numbers.
    """

    model: str
    test_set: str
    confidences: FloatArray
    correct: BoolArray
    labels: IntArray
    probabilities: FloatArray | None
    half: BoolArray
    draws: FloatArray

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, chosen: BoolArray) -> ImageConfidences:
        """Some of the images."""
        kept = {name: getattr(self, name)[chosen] for name in ("confidences", "correct", "labels", "half", "draws")}
        probabilities = None if self.probabilities is None else self.probabilities[chosen]
        return replace(self, **kept, probabilities=probabilities)


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
    yield replace(
        _row(original, original.test_set, levels),
        scaled=_cross_scaled(original, temperature, levels),
        accepted=None if threshold is None else _accepted(original, threshold, levels, shifted=False),
        sets=_conformal(original.part(original.half), original.part(~original.half), miss, levels),
    )
    for images in new:
        yield replace(
            _row(images, original.test_set, levels),
            scaled=None
            if temperature is None
            else _scaled(images, _softened(images, temperature), temperature, levels),
            accepted=None if threshold is None else _accepted(images, threshold, levels, shifted=True),
            sets=_conformal(original, images, miss, levels),
        )


def _row(images: ImageConfidences, calibrated_on: str, levels: Levels) -> ModelConfidence:
    """What follows from the confidences of one test set, without anything fitted."""
    sure, correct, level = images.confidences, images.correct, levels.confidence
    coverages, risks = _curve(selective_risks(sure, correct))
    overconfidence = confidence_gap(sure, correct, confidence=levels.calibration)
    error = calibration_error(sure, correct, confidence=levels.calibration)
    return ModelConfidence(
        images.model,
        images.test_set,
        calibrated_on,
        len(images),
        proportion(int(correct.sum()), len(images), confidence=level),
        bounded_mean(sure, largest=1.0, confidence=level),
        levels.together(overconfidence, 2),
        levels.together(error, 2),
        calibration_verdict(overconfidence, error),
        _binned_error(reliability_bins(sure, correct), level),
        _binned_error(equal_size_bins(sure, correct), level),
        *_losses(images.probabilities, images.labels, level),
        scaled=None,
        bins=reliability_curve(sure, correct, confidence=level),
        selective=_selective(sure, correct, level),
        area=risk_coverage_area(sure, correct, confidence=level),
        excess_area=excess_area(sure, correct, confidence=level),
        accepted=None,
        sets=(),
        coverages=coverages,
        risks=risks,
    )


def calibration_verdict(overconfidence: Estimate, error: Estimate) -> CalibrationVerdict:
    """The sign of confidence minus accuracy if its interval excludes 0, or a calibration error that is above 0."""
    if overconfidence.low > 0:
        return CalibrationVerdict.OVERCONFIDENT
    if overconfidence.high < 0:
        return CalibrationVerdict.UNDERCONFIDENT
    return CalibrationVerdict.MISCALIBRATED if error.low > 0 else CalibrationVerdict.NOT_SHOWN


def _binned_error(bins: ReliabilityBins, confidence: float) -> Estimate:
    gaps = bins.accuracy - bins.confidence
    return absolute_mean(gaps, bins.variances, bins.sizes, largest=1.0, confidence=confidence)


def _losses(
    probabilities: FloatArray | None, labels: IntArray, confidence: float
) -> tuple[Estimate | None, Estimate | None]:
    """Brier score and negative log-likelihood."""
    if probabilities is None:
        return None, None
    brier = np.clip(brier_scores(probabilities, labels), 0.0, 2.0)
    return bounded_mean(brier, largest=2.0, confidence=confidence), _nll(probabilities, labels, confidence)


def _nll(probabilities: FloatArray, labels: IntArray, confidence: float) -> Estimate:
    losses = np.clip(log_losses(probabilities, labels), 0.0, _LARGEST_LOSS)
    return bounded_mean(losses, largest=_LARGEST_LOSS, confidence=confidence)


def _temperature(images: ImageConfidences, start: float | None = None) -> float | None:
    if images.probabilities is None or not len(images):
        return None
    try:
        return fit_temperature(images.probabilities, images.labels, start=start or 1.0)
    except UndefinedError:
        return None


def _softened(images: ImageConfidences, temperature: float) -> FloatArray:
    assert images.probabilities is not None
    blocks = [
        scale_probabilities(images.probabilities[start : start + _ROWS], temperature).astype(np.float32)
        for start in range(0, len(images), _ROWS)
    ]
    return np.minimum(np.concatenate(blocks), 1.0)


def _cross_scaled(images: ImageConfidences, temperature: float | None, levels: Levels) -> Scaled | None:
    """Each half scaled with the temperature of the other; None if any of the three has none."""
    halves = [images.part(images.half), images.part(~images.half)]
    fitted = [_temperature(half, temperature) for half in halves]
    if temperature is None or fitted[0] is None or fitted[1] is None or images.probabilities is None:
        return None
    scaled = np.empty_like(images.probabilities, dtype=np.float32)
    scaled[images.half] = _softened(halves[0], fitted[1])
    scaled[~images.half] = _softened(halves[1], fitted[0])
    return _scaled(images, scaled, temperature, levels)


def _transferred(images: ImageConfidences, temperature: float | None, levels: Levels) -> Scaled | None:
    """All images scaled with a temperature that was fitted on others."""
    if temperature is None or images.probabilities is None:
        return None
    return _scaled(images, _softened(images, temperature), temperature, levels)


def _scaled(images: ImageConfidences, probabilities: FloatArray, temperature: float, levels: Levels) -> Scaled:
    sure = probabilities.max(axis=1).astype(np.float64)  # the order of the classes stays
    return Scaled(
        temperature,
        calibration_error(sure, images.correct, confidence=levels.confidence),
        _binned_error(reliability_bins(sure, images.correct), levels.confidence),
        _nll(probabilities, images.labels, levels.confidence),
    )


def _selective(confidences: FloatArray, correct: BoolArray, confidence: float) -> tuple[SelectiveAccuracy, ...]:
    n = len(correct)
    order = np.argsort(-confidences, kind="stable")
    ordered, right = confidences[order], np.cumsum(correct[order])
    thresholds = [float(ordered[int(np.ceil(share * n)) - 1]) for share in COVERAGES]
    accepted = np.array([int(np.searchsorted(-ordered, -threshold, side="right")) for threshold in thresholds])
    level = bonferroni_confidence(len(COVERAGES), confidence)
    shares = proportions(right[accepted - 1], accepted, confidence=level)
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
    coverage = proportion(n, len(images), confidence=levels.confidence)
    if not shifted or not n:
        return Accepted(certified.target, certified.threshold, coverage, right, n, None, None)
    accuracy = levels.together(proportion(right, n, confidence=levels.acceptance), 1)
    verdict = AcceptanceVerdict.BELOW if accuracy.high < certified.target else AcceptanceVerdict.NOT_SHOWN
    return Accepted(certified.target, certified.threshold, coverage, right, n, accuracy, verdict)


ClassScores = Callable[[FloatArray, FloatArray], FloatArray]
_SCORES: Mapping[ConformalScore, ClassScores] = {
    ConformalScore.LAC: lambda probabilities, _: lac_scores(probabilities),
    ConformalScore.APS: aps_scores,
    ConformalScore.RAPS: raps_scores,
}
_MANY_CLASSES = 4 * RAPS_FREE  # with fewer, sets by RAPS are nearly those by APS


def _conformal(
    calibration: ImageConfidences, images: ImageConfidences, miss: float, levels: Levels
) -> tuple[ConformalSets, ...]:
    """The sets on ``images`` whose thresholds are calibrated on other images, by every score."""
    if calibration.probabilities is None or images.probabilities is None or not len(calibration) or not len(images):
        return ()
    few = images.probabilities.shape[1] < _MANY_CLASSES
    scores = [score for score in ConformalScore if not (few and score is ConformalScore.RAPS)]
    return tuple(_conformal_sets(score, calibration, images, miss=miss, levels=levels) for score in scores)


def _conformal_sets(
    score: ConformalScore, calibration: ImageConfidences, images: ImageConfidences, *, miss: float, levels: Levels
) -> ConformalSets:
    label_scores, _ = _per_image(calibration, _SCORES[score], np.inf)
    threshold = conformal_threshold(label_scores, miss=miss)
    of_labels, sizes = _per_image(images, _SCORES[score], threshold)
    covered, rank = int((of_labels <= threshold).sum()), conformal_rank(len(calibration), miss)
    sizes_of_samples = {"rank": rank, "calibration_images": len(calibration)}
    least = least_expected_coverage(len(images), level=levels.coverage, **sizes_of_samples)
    assert images.probabilities is not None
    largest = float(images.probabilities.shape[1])
    return ConformalSets(
        score,
        threshold,
        len(calibration),
        proportion(covered, len(images), confidence=levels.confidence),
        bounded_mean(sizes.astype(np.float64), largest=largest, confidence=levels.confidence),
        {size: int(count) for size, count in enumerate(np.bincount(sizes)) if count},
        least / len(images),
        undercoverage_p_value(covered, len(images), **sizes_of_samples),
        CoverageVerdict.BELOW if covered < least else CoverageVerdict.NOT_SHOWN,
    )


def _per_image(images: ImageConfidences, scores: ClassScores, threshold: float) -> tuple[FloatArray, IntArray]:
    """The score (n,) of each image's label, and the number (n,) of classes with a score up to the threshold."""
    assert images.probabilities is not None
    of_labels, sizes = [], []
    for start in range(0, len(images), _ROWS):
        rows = slice(start, start + _ROWS)
        block = scores(images.probabilities[rows], images.draws[rows])
        of_labels.append(block[np.arange(len(block)), images.labels[rows]])
        sizes.append((block <= threshold).sum(axis=1))
    return np.concatenate(of_labels), np.concatenate(sizes)
