"""The result of a study of models: how measures go with year, size and training data, and how families differ."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from regrade.core import Column, Estimate, InputError, Table
from regrade.core.amounts import amount
from regrade.core.record import Record
from regrade.studies.attribute_trends import FEWEST_IN_FAMILY, FEWEST_MODELS
from regrade.studies.study_result import StudyResult


class ModelAttribute(Enum):
    """What is stated about models that a measure may go with."""

    YEAR = "year"
    PARAMETERS = "parameters"
    TRAINING_IMAGES = "training-images"
    FAMILY = "family"

    @property
    def field(self) -> str:
        """The name of the field of `ModelAttributes`."""
        return self.value.replace("-", "_")

    def of(self, model: DescribedModel) -> int | None:
        """A numeric attribute of a model; None if it is not stated."""
        number = getattr(model, self.field)
        assert number is None or isinstance(number, int)
        return number

    @property
    def is_count(self) -> bool:
        """Whether slopes are per tenfold value."""
        return self in (ModelAttribute.PARAMETERS, ModelAttribute.TRAINING_IMAGES)

    @property
    def unit(self) -> str:
        """The difference of the attribute that a slope is for."""
        return f"tenfold {self.value.replace('-', ' ')}" if self.is_count else self.value


class ModelMeasure(Enum):
    """What is measured of a model on a test set."""

    ACCURACY = "accuracy"
    DROP = "drop"
    """The accuracy on the original set minus that on the test set."""
    ROBUSTNESS = "effective robustness"
    """The accuracy at equal accuracy on the original set."""
    DISPARITY = "disparity"
    """The accuracy in the best group minus that in the worst."""


class TrendVerdict(Enum):
    """Whether a measure goes with an attribute, corrected for all trends of the result."""

    RISES = "rises"
    FALLS = "falls"
    NOT_DETECTED = "no trend detected"


class FamilyVerdict(Enum):
    """Whether a family differs from the other models, corrected for all families and measures."""

    ABOVE = "above the others"
    BELOW = "below the others"
    NOT_DETECTED = "no difference detected"


@dataclass(frozen=True)
class ModelTrend(Record):
    """How a measure goes with an attribute: the ``slope`` per year, or per tenfold count, over the models.

    For effective robustness, the slope is that of the accuracy at equal accuracy on the original set. ``families`` is
    the number of families, whose models are treated as dependent; None if models are treated as independent.
    """

    measure: ModelMeasure
    attribute: ModelAttribute
    models: int
    families: int | None
    slope: Estimate

    @property
    def verdict(self) -> TrendVerdict:
        """The conclusion from the interval."""
        if self.slope.low > 0:
            return TrendVerdict.RISES
        return TrendVerdict.FALLS if self.slope.high < 0 else TrendVerdict.NOT_DETECTED

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the unit and the verdict."""
        return {**super().json_fields(), "per": self.attribute.unit, "verdict": self.verdict}


@dataclass(frozen=True)
class FamilyDifference(Record):
    """The mean of a measure over the ``models`` of a family minus that over all others.

    For effective robustness, it is the difference at equal accuracy on the original set.
    """

    measure: ModelMeasure
    family: str
    models: int
    difference: Estimate

    @property
    def verdict(self) -> FamilyVerdict:
        """The conclusion from the interval."""
        if self.difference.low > 0:
            return FamilyVerdict.ABOVE
        return FamilyVerdict.BELOW if self.difference.high < 0 else FamilyVerdict.NOT_DETECTED

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the verdict."""
        return {**super().json_fields(), "verdict": self.verdict}


@dataclass(frozen=True)
class DescribedModel(Record):
    """A model with its attributes and measures; what is not stated or not measured is empty or None."""

    model: str
    family: str
    year: int | None
    parameters: int | None
    training_images: int | None
    accuracy: Estimate
    original: Estimate | None = None
    drop: Estimate | None = None
    robustness: Estimate | None = None
    disparity: Estimate | None = None

    def measured(self, measure: ModelMeasure) -> Estimate | None:
        """A measure of this model; effective robustness is relative to the line through all models."""
        by_measure = {
            ModelMeasure.ACCURACY: self.accuracy, ModelMeasure.DROP: self.drop,
            ModelMeasure.ROBUSTNESS: self.robustness, ModelMeasure.DISPARITY: self.disparity,
        }  # fmt: skip
        return by_measure[measure]


class ModelTrendsPart(Enum):
    """The tables of a study of models."""

    TRENDS = "trends"
    FAMILIES = "families"
    MODELS = "models"


_NEEDED = {
    ModelTrendsPart.TRENDS: f"a trend takes an attribute that {FEWEST_MODELS} models with predictions on {{test_set}} "
    "have",
    ModelTrendsPart.FAMILIES: f"a comparison takes a family of {FEWEST_IN_FAMILY} models, and {FEWEST_IN_FAMILY} "
    "others, with predictions on {test_set}",
}
"""What a table takes to have rows."""


@dataclass(frozen=True, repr=False)
class ModelTrends(StudyResult, records="trends"):
    """How measures of models on a test set go with their attributes; associations over these models, not effects.

    The intervals of all trends hold simultaneously, and so do those of all family differences.
    """

    test_set: str
    original: str | None
    by: str | None
    confidence: float
    models: tuple[DescribedModel, ...]
    trends: tuple[ModelTrend, ...]
    families: tuple[FamilyDifference, ...]
    notes: tuple[str, ...]

    @property
    def parts(self) -> tuple[ModelTrendsPart, ...]:
        """The tables that the result has."""
        filled = {ModelTrendsPart.TRENDS: self.trends, ModelTrendsPart.FAMILIES: self.families}
        return tuple(part for part in ModelTrendsPart if filled.get(part, self.models))

    def part(self, part: ModelTrendsPart) -> Table:
        """One of the tables; one without rows raises."""
        if part not in self.parts:
            needed = _NEEDED[part].format(test_set=self.test_set)
            raise InputError(f"{needed}: state them with regrade models describe, or leave out --by")
        tables = {ModelTrendsPart.TRENDS: self._trends, ModelTrendsPart.FAMILIES: self._families}
        return tables.get(part, self._models)()

    def table(self) -> Table:
        """The trends, or the families if there is no trend."""
        return self.part(self.parts[0])

    @property
    def _from(self) -> str:
        return f"{self.test_set}, compared with {self.original}" if self.original else self.test_set

    def _trends(self) -> Table:
        columns = (
            Column("measure", "measure"), Column("attribute", "goes with"), Column("per", "per", detail=True),
            Column("slope", "points per unit"), Column("models", "models"), Column("families", "families", detail=True),
            Column("verdict", "result"),
        )  # fmt: skip
        rows = tuple(
            (
                row.measure.value, row.attribute.value, row.attribute.unit, row.slope, row.models, row.families,
                row.verdict.value,
            )
            for row in self.trends
        )  # fmt: skip
        units = "unit: a year, or a tenfold number of parameters or training images"
        title = f"what goes with the accuracy of {amount(len(self.models), 'model')} on {self._from}"
        return Table(title, columns, rows, (units, *self.notes))

    def _families(self) -> Table:
        columns = (
            Column("family", "family"), Column("models", "models"), Column("measure", "measure"),
            Column("difference", "minus the others"), Column("verdict", "result"),
        )  # fmt: skip
        rows = tuple(
            (row.family, row.models, row.measure.value, row.difference, row.verdict.value) for row in self.families
        )
        return Table(f"families of models on {self._from}, in points", columns, rows, self.notes)

    def _models(self) -> Table:
        columns = [
            Column("model", "model"), Column("family", "family"), Column("year", "year", digits=0),
            Column("parameters", "parameters"), Column("training_images", "training images", detail=True),
            Column("accuracy", "accuracy"),
        ]  # fmt: skip
        optional = (
            ("original", str(self.original)), ("drop", "drop"), ("robustness", "effective robustness"),
            ("disparity", "disparity"),
        )  # fmt: skip
        columns += [
            Column(key, heading) for key, heading in optional if any(getattr(row, key) for row in self.models)
        ]  # fmt: skip
        rows = tuple(
            tuple(_stated(getattr(row, column.key), column.key) for column in columns) for row in self.models
        )  # fmt: skip
        return Table(f"attributes of models and accuracy on {self._from}, in %", tuple(columns), rows, self.notes)


def _stated(value: Any, key: str) -> Any:
    """A cell: an empty family is a dash, and a year has no separator of thousands."""
    if key == "year" and value is not None:
        return str(value)
    return None if value == "" else value
