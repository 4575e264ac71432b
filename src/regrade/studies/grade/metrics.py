"""Metrics that `grade` adds to its table: balanced accuracy, calibration and losses, and users' own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from regrade.core import NO_ANSWER, Column, Estimate, InputError, Predictions, ScoreKind, UndefinedError, UnknownName
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import (
    SMALLEST_PROBABILITY,
    ReliabilityBins,
    brier_scores,
    equal_size_bins,
    log_losses,
    reliability_bins,
)
from regrade.stats import absolute_mean, balanced_proportion, bounded_mean

_ROWS = 512  # images whose probabilities are in memory at a time


@dataclass(frozen=True, eq=False)
class GradedImages:
    """One model on the n images of a slice: what a metric is computed from.

    ``positions`` (n,) are those of the images in the test set, ``labels`` (n,) and ``predicted`` (n,) class indices,
    ``correct`` (n,) whether the prediction is right. Images without a prediction are left out, unless the metric uses
    no scores: then their predicted class is -1, and they count as wrong.
    """

    predictions: Predictions
    positions: IntArray
    labels: IntArray
    correct: BoolArray

    @property
    def predicted(self) -> IntArray:
        """Shape (n,): the predicted classes."""
        return self.predictions.top1[self.positions]

    def answered(self) -> GradedImages:
        """The images that have a prediction."""
        kept = self.predicted != NO_ANSWER
        return replace(self, positions=self.positions[kept], labels=self.labels[kept], correct=self.correct[kept])

    def confidences(self) -> FloatArray:
        """Shape (n,): the probability of the predicted class; raises where no probabilities are stored."""
        predictions = self.predictions
        if predictions.score_kind is ScoreKind.PROBABILITIES and predictions.scores is not None:
            return predictions.scores[self.positions, 0].astype(np.float64)
        blocks = [block[np.arange(len(rows)), self.predicted[rows]] for rows, block in self.probabilities()]
        return np.concatenate(blocks).astype(np.float64)

    def probabilities(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """The probabilities (b, c) of all classes with the rows (b,) of the images, a block at a time.

        Logits go through a softmax. Raises where only the scores of the best classes are stored, or none.
        """
        scores, kind = self.predictions.full_scores, self.predictions.score_kind
        if scores is None or kind is None:
            raise UndefinedError(f"{self.predictions.model!r} has no scores of all classes")
        for start in range(0, len(self.positions), _ROWS):
            rows = np.arange(start, min(start + _ROWS, len(self.positions)))
            block = np.asarray(scores[self.positions[rows]], dtype=np.float64)
            yield rows, block if kind is ScoreKind.PROBABILITIES else scipy.special.softmax(block, axis=1)

    def per_image(self, loss: Callable[[FloatArray, IntArray], FloatArray]) -> FloatArray:
        """Shape (n,): a loss of probabilities (b, c) and labels (b,), for all images."""
        return np.concatenate([loss(np.minimum(block, 1.0), self.labels[rows]) for rows, block in self.probabilities()])


MetricFunction = Callable[..., Estimate]
"""From `GradedImages` and the keyword ``confidence`` to an estimate; what has no value raises `UndefinedError`."""


@dataclass(frozen=True)
class GradeMetric:
    """A metric of `grade`: a function, its key in JSON, its heading in tables, and how values are printed.

    ``definition`` says in a few words what it is, for the notes below a table. A metric that ``uses_scores`` is
    computed on images with a prediction, and only if predictions and labels have the same classes. One that needs
    nothing but labels and ``correct`` is computed on the same images as top-1 accuracy, also through a class map.
    """

    name: str
    function: MetricFunction
    heading: str = ""
    percent: bool = True
    digits: int = 1
    definition: str = ""
    uses_scores: bool = True

    def __post_init__(self) -> None:
        if not self.name:
            raise InputError("a metric needs a name")
        if not self.heading:
            object.__setattr__(self, "heading", self.name)

    @property
    def column(self) -> Column:
        """The column of tables."""
        return Column(self.name, self.heading, percent=self.percent, digits=self.digits)

    @property
    def explained(self) -> str:
        """The definition, followed by a separator; empty where none is given."""
        return f"{self.definition}; " if self.definition else ""

    def estimate(self, images: GradedImages, *, confidence: float) -> Estimate | None:
        """The metric's estimate; none where it has no value."""
        usable = images.answered() if self.uses_scores else images
        try:
            return self.function(usable, confidence=confidence) if len(usable.positions) else None
        except UndefinedError:
            return None


def balanced_accuracy(images: GradedImages, *, confidence: float) -> Estimate:
    """The mean over classes of the accuracy on each class."""
    return balanced_proportion(images.correct, images.labels, confidence=confidence)[0]


def expected_calibration_error(images: GradedImages, *, confidence: float) -> Estimate:
    """ECE in 15 bins of equal width."""
    return _calibration(reliability_bins(images.confidences(), images.correct), confidence)


def adaptive_calibration_error(images: GradedImages, *, confidence: float) -> Estimate:
    """ECE in 15 bins of equally many images."""
    return _calibration(equal_size_bins(images.confidences(), images.correct), confidence)


def brier(images: GradedImages, *, confidence: float) -> Estimate:
    """The mean squared distance of the probabilities from the label, from 0 to 2."""
    return bounded_mean(np.clip(images.per_image(brier_scores), 0.0, 2.0), largest=2.0, confidence=confidence)


def negative_log_likelihood(images: GradedImages, *, confidence: float) -> Estimate:
    """The mean of minus the natural log of the label's probability, which counts as 2**-24 where it is less."""
    largest = -float(np.log(SMALLEST_PROBABILITY))
    return bounded_mean(np.clip(images.per_image(log_losses), 0.0, largest), largest=largest, confidence=confidence)


def _calibration(bins: ReliabilityBins, confidence: float) -> Estimate:
    gaps = bins.accuracy - bins.confidence
    return absolute_mean(gaps, bins.variances, bins.sizes, largest=1.0, confidence=confidence)


BUILT_IN: Mapping[str, GradeMetric] = {
    metric.name: metric
    for metric in (
        GradeMetric(
            "balanced-accuracy",
            balanced_accuracy,
            "balanced accuracy",
            definition="mean over classes of the accuracy on each",
            uses_scores=False,
        ),
        GradeMetric("ece", expected_calibration_error, "ECE", definition="15 bins of equal width"),
        GradeMetric("adaptive-ece", adaptive_calibration_error, "adaptive ECE", definition="15 bins of equal size"),
        GradeMetric("brier", brier, "Brier score", percent=False, digits=3, definition="from 0 to 2"),
        GradeMetric("nll", negative_log_likelihood, "NLL", percent=False, digits=3, definition="in nats"),
    )
}
"""The metrics that come with regrade, by name."""


def chosen_metrics(
    metrics: Sequence[str | GradeMetric | MetricFunction], installed: Mapping[str, GradeMetric] = BUILT_IN
) -> tuple[GradeMetric, ...]:
    """Metrics by name among those installed, as records, or as functions, which are named after themselves."""
    chosen: dict[str, GradeMetric] = {}
    for metric in metrics:
        record = _record(metric, installed)
        if chosen.setdefault(record.name, record) != record:
            raise InputError(f"two different metrics are called {record.name!r}")
    return tuple(chosen.values())


def _record(metric: str | GradeMetric | MetricFunction, installed: Mapping[str, GradeMetric]) -> GradeMetric:
    if isinstance(metric, GradeMetric):
        return metric
    if callable(metric):
        return GradeMetric(metric.__name__, metric, metric.__name__.replace("_", " "))
    if metric not in installed:
        raise UnknownName("metric", metric, installed)
    return installed[metric]


def graded_images(predictions: Predictions, labels: IntArray, correct: BoolArray, inside: BoolArray) -> GradedImages:
    """One model on the images of a slice, ``inside`` (n,)."""
    positions = np.flatnonzero(inside)
    return GradedImages(predictions, positions, labels[positions], correct[positions])


def stored_confidences(predictions: Predictions) -> FloatArray | None:
    """Shape (n,): the probability of each predicted class, NaN without a prediction; None for other kinds of scores.

    Confidences from logits would need the scores of all classes, which `grade` does not read.
    """
    if predictions.score_kind is not ScoreKind.PROBABILITIES:
        return None
    answered = np.flatnonzero(predictions.top1 != NO_ANSWER)
    confidences = np.full(len(predictions), np.nan)
    if predictions.scores is not None:
        confidences[answered] = predictions.scores[answered, 0]
    elif predictions.full_scores is not None:
        confidences[answered] = predictions.full_scores[answered, predictions.top1[answered]]
    else:
        return None
    return confidences
