"""The result of a study of confidence: calibration, selective accuracy and conformal sets of each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from regrade.core import Column, Estimate, InputError, Table
from regrade.core.record import NOT_IN_JSON, Record
from regrade.core.table import Cell
from regrade.stats import ReliabilityPoint
from regrade.studies.study_result import StudyResult


class ConfidencePart(Enum):
    """The tables of a study of confidence."""

    CALIBRATION = "calibration"
    LOSSES = "losses"
    TEMPERATURE = "temperature"
    BINS = "bins"
    SELECTIVE = "selective"
    ACCEPTED = "accepted"
    SETS = "sets"


class CalibrationVerdict(Enum):
    """What the confidences of a model are shown to be."""

    OVERCONFIDENT = "overconfident"
    UNDERCONFIDENT = "underconfident"
    MISCALIBRATED = "miscalibrated"
    NOT_SHOWN = "no miscalibration detected"


class CoverageVerdict(Enum):
    """Whether conformal sets are shown to cover fewer labels than exchangeable images would let them."""

    BELOW = "covers less"
    NOT_SHOWN = "no shortfall detected"


class AcceptanceVerdict(Enum):
    """Whether the accuracy above a threshold that was certified on other images is shown to be below the target."""

    BELOW = "below the target"
    NOT_SHOWN = "not shown to be below"


class ConformalScore(Enum):
    """The scores behind conformal sets."""

    LAC = "LAC"
    APS = "APS"
    RAPS = "RAPS"


@dataclass(frozen=True)
class Scaled(Record):
    """A model after temperature scaling; on its own test set, each half is scaled with the temperature of the other.

    ``temperature`` is fitted on all images that the model is calibrated on. ``ece`` has 15 bins of equal width.
    """

    temperature: float
    calibration_error: Estimate
    ece: Estimate
    nll: Estimate


@dataclass(frozen=True)
class SelectiveAccuracy(Record):
    """The accuracy of the most confident predictions.

    ``requested`` is the coverage, the share of images to accept. ``coverage`` is larger where confidences are equal.
    ``threshold`` is the lowest accepted confidence.
    """

    requested: float
    coverage: float
    threshold: float
    accuracy: Estimate


@dataclass(frozen=True)
class Accepted(Record):
    """Predictions with a confidence above a threshold that was certified on the calibration images.

    ``coverage`` is the share of such predictions, and ``right`` of ``n`` are right. ``accuracy`` is given on images
    other than those that the threshold was selected on.
    """

    target: float
    threshold: float
    coverage: Estimate
    right: int
    n: int
    accuracy: Estimate | None
    verdict: AcceptanceVerdict | None


@dataclass(frozen=True)
class ConformalSets(Record):
    """Conformal prediction sets: the threshold of their scores, and what they contain on other images.

    ``sizes`` counts images by the number of classes in their set. ``threshold`` is infinite if there are too few
    calibration images. ``p_value`` is that of so small a coverage if the images are exchangeable, and a coverage below
    ``least_expected`` is significantly small.
    """

    score: ConformalScore
    threshold: float = field(metadata=NOT_IN_JSON)
    calibration_images: int
    coverage: Estimate
    mean_size: Estimate
    sizes: Mapping[int, int]
    least_expected: float
    p_value: float
    verdict: CoverageVerdict

    @property
    def images(self) -> int:
        """The number of images with a set."""
        return sum(self.sizes.values())

    def share_of_size(self, size: int) -> float:
        """The share of images whose set has this number of classes."""
        return self.sizes.get(size, 0) / self.images

    def json_fields(self) -> dict[str, Any]:
        """The fields; an infinite threshold is None."""
        return {**super().json_fields(), "threshold": None if self.threshold == float("inf") else self.threshold}


@dataclass(frozen=True)
class ModelConfidence(Record):
    """One model on one test set.

    ``calibrated_on`` is the test set that temperature, threshold and conformal sets are fitted on; where it is the test
    set itself, one half of it is fitted for the other. ``overconfidence`` is the mean confidence minus the accuracy.
    ``area`` is AURC, and ``excess_area`` AURC minus that of an oracle. Values that require the scores of all classes
    are None without them. ``risks`` are selective risks at ``coverages``, for the figure.
    """

    model: str
    test_set: str
    calibrated_on: str
    images: int
    accuracy: Estimate
    mean_confidence: Estimate
    overconfidence: Estimate
    calibration_error: Estimate
    verdict: CalibrationVerdict
    ece: Estimate
    adaptive_ece: Estimate
    brier: Estimate | None
    nll: Estimate | None
    scaled: Scaled | None
    bins: tuple[ReliabilityPoint, ...]
    selective: tuple[SelectiveAccuracy, ...]
    area: Estimate
    excess_area: Estimate
    accepted: Accepted | None
    sets: tuple[ConformalSets, ...]
    coverages: tuple[float, ...] = field(default=(), metadata=NOT_IN_JSON)
    risks: tuple[float, ...] = field(default=(), metadata=NOT_IN_JSON)

    @property
    def shifted(self) -> bool:
        """Whether the model was calibrated on other images."""
        return self.calibrated_on != self.test_set


@dataclass(frozen=True, repr=False)
class Confidence(StudyResult, records="rows"):
    """The confidences of models on a test set and on new sets; ``miss`` is the share of labels that sets may miss."""

    test_set: str
    new: tuple[str, ...]
    miss: float
    target: float
    confidence: float
    rows: tuple[ModelConfidence, ...]
    notes: tuple[str, ...] = ()

    def table(self) -> Table:
        """Calibration."""
        columns = (
            Column("accuracy", "accuracy"),
            Column("overconfidence", "confidence − accuracy"),
            Column("calibration_error", "calibration error"),
            Column("verdict", "verdict"),
        )
        rows = [
            (row, (row.accuracy, row.overconfidence, row.calibration_error, row.verdict.value)) for row in self.rows
        ]
        return self._table("calibration", columns, rows, _CALIBRATION_NOTES)

    def losses_table(self) -> Table:
        """ECE, Brier score and NLL."""
        columns = (
            Column("ece", "ECE"),
            Column("adaptive_ece", "adaptive ECE"),
            Column("brier", "Brier score", percent=False, digits=3),
            Column("nll", "NLL", percent=False, digits=3),
        )
        rows = [(row, (row.ece, row.adaptive_ece, row.brier, row.nll)) for row in self.rows]
        return self._table("calibration errors and losses", columns, rows, _LOSSES_NOTES)

    def temperature_table(self) -> Table:
        """Temperature scaling, before and after."""
        columns = (
            Column("temperature", "temperature", percent=False, digits=2),
            Column("ece", "ECE"),
            Column("ece_scaled", "ECE, scaled"),
            Column("nll", "NLL", percent=False, digits=3),
            Column("nll_scaled", "NLL, scaled", percent=False, digits=3),
        )
        rows = [
            (row, (row.scaled.temperature, row.ece, row.scaled.ece, row.nll, row.scaled.nll))
            for row in self.rows
            if row.scaled
        ]
        notes = (self._fitted("temperatures are fitted"), "a temperature above 1 makes confidences lower")
        return self._table("temperature scaling", columns, rows, notes)

    def bins_table(self) -> Table:
        """The reliability curves."""
        columns = (
            Column("low", "from"),
            Column("high", "to"),
            Column("images", "images"),
            Column("mean_confidence", "mean confidence"),
            Column("accuracy", "accuracy"),
        )
        rows = [
            (row, (point.low, point.high, point.accuracy.n, point.mean_confidence, point.accuracy))
            for row in self.rows
            for point in row.bins
        ]
        return self._table("reliability curves", columns, rows, _BINS_NOTES)

    def selective_table(self) -> Table:
        """Selective accuracy at fixed coverages, and areas under the risk-coverage curve."""
        requested = [part.requested for part in self.rows[0].selective]
        columns = (
            *(Column(f"at_{round(100 * share)}", f"most confident {100 * share:g}%") for share in requested),
            Column("area", "AURC", digits=2),
            Column("excess_area", "above oracle", digits=2),
        )
        rows = [(row, (*(part.accuracy for part in row.selective), row.area, row.excess_area)) for row in self.rows]
        return self._table("selective accuracy", columns, rows, _SELECTIVE_NOTES)

    def accepted_table(self) -> Table:
        """The predictions above a certified threshold."""
        columns = (
            Column("threshold", "confidence above"),
            Column("coverage", "accepted"),
            Column("accuracy", "accuracy of these"),
            Column("verdict", "verdict"),
        )
        rows = [
            (row, (part.threshold, part.coverage, part.accuracy, part.verdict.value if part.verdict else None))
            for row in self.rows
            if (part := row.accepted)
        ]
        missing = [row.model for row in self.rows if row.accepted is None and not row.shifted]
        notes = (
            f"above the threshold of a model, its accuracy on images like {self.test_set} is at least "
            f"{100 * self.target:g}%, with {100 * self.confidence:g}% confidence (tested in a fixed sequence)",
            "the intervals of the accuracy on new sets hold together, and verdicts follow from them",
            *((f"no threshold shows this for {', '.join(missing)}",) if missing else ()),
        )
        return self._table(f"thresholds for an accuracy of {100 * self.target:g}%", columns, rows, notes)

    def sets_table(self) -> Table:
        """Conformal sets."""
        columns = (
            Column("score", "sets"),
            Column("coverage", "coverage"),
            Column("least_expected", "expected at least"),
            Column("mean_size", "mean size", percent=False, digits=2),
            Column("empty", "empty"),
            Column("single", "one class"),
            Column("verdict", "verdict"),
        )
        rows = [(row, _set_cells(sets)) for row in self.rows for sets in row.sets]
        notes = (self._fitted("thresholds are calibrated"), *_SETS_NOTES)
        return self._table(f"conformal sets of {100 * (1 - self.miss):g}%", columns, rows, notes)

    @property
    def parts(self) -> tuple[ConfidencePart, ...]:
        """The tables with rows."""
        return tuple(part for part in ConfidencePart if self._part(part).rows)

    def part(self, part: ConfidencePart) -> Table:
        """Return one of the tables; an empty one raises with the missing input."""
        table = self._part(part)
        if not table.rows:
            raise InputError(f"the table {part.value} is empty: {_NEEDS[part]}")
        return table

    def _part(self, part: ConfidencePart) -> Table:
        return {
            ConfidencePart.CALIBRATION: self.table,
            ConfidencePart.LOSSES: self.losses_table,
            ConfidencePart.TEMPERATURE: self.temperature_table,
            ConfidencePart.BINS: self.bins_table,
            ConfidencePart.SELECTIVE: self.selective_table,
            ConfidencePart.ACCEPTED: self.accepted_table,
            ConfidencePart.SETS: self.sets_table,
        }[part]()

    def _fitted(self, what: str) -> str:
        half = f"{what} on one half of {self.test_set} for the other"
        return f"{half}, and on all of {self.test_set} for {', '.join(self.new)}" if self.new else half

    def _table(
        self,
        what: str,
        columns: Sequence[Column],
        rows: Sequence[tuple[ModelConfidence, tuple[Cell, ...]]],
        notes: Sequence[str],
    ) -> Table:
        """A table whose first columns are the model, and the test set if there are several."""
        several = bool(self.new)
        names = (Column("model", "model"), *((Column("test_set", "test set"),) if several else ()))
        cells = tuple((row.model, *((row.test_set,) if several else ()), *values) for row, values in rows)
        return Table(
            f"{what} on {', '.join((self.test_set, *self.new))}, in %", (*names, *columns), cells, (*notes, *self.notes)
        )


def _set_cells(sets: ConformalSets) -> tuple[Cell, ...]:
    empty, single = sets.share_of_size(0), sets.share_of_size(1)
    return sets.score.value, sets.coverage, sets.least_expected, sets.mean_size, empty, single, sets.verdict.value


_ALL_SCORES = "it requires the scores of all classes: regrade predict --keep scores, or import probabilities or logits"
_NEEDS = {
    ConfidencePart.TEMPERATURE: f"{_ALL_SCORES}, and a model with errors",
    ConfidencePart.ACCEPTED: "no threshold shows the target accuracy with these images: choose a lower --target",
    ConfidencePart.SETS: _ALL_SCORES,
}
_CALIBRATION_NOTES = (
    "confidence − accuracy: above 0 is overconfident",
    "calibration error: root mean square of accuracy less confidence in 15 bins, without what chance adds",
    "the intervals of both hold for all models and test sets together, and verdicts follow from them",
)
_LOSSES_NOTES = (
    "ECE: 15 bins of equal width; adaptive ECE: of equally many images; both are above 0 by chance",
    "Brier score: from 0 to 2; NLL: in nats",
)
_BINS_NOTES = ("bins of equally many images; the intervals of a curve hold together",)
_SELECTIVE_NOTES = (
    "the intervals of a row's accuracies hold together; AURC: mean error rate over coverages",
    "above oracle: AURC minus that of confidences that rank all right predictions first",
)
_SETS_NOTES = (
    "LAC: smallest sets; APS: coverage more even over images; RAPS (many classes only): APS with smaller sets",
    "expected at least: for images like those of the calibration, by a beta-binomial test, corrected for all sets of "
    "this table; verdicts follow from it",
)
