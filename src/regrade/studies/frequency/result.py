"""The result of a study of selection frequencies: accuracies by frequency bin, and changes at equal frequency."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from regrade.core import Column, Estimate, Table
from regrade.core.amounts import amount
from regrade.core.record import Record, json_key
from regrade.studies.study_result import StudyResult


class FrequencyStudyPart(Enum):
    """The tables of a study of selection frequencies."""

    BINS = "bins"
    MODELS = "models"
    CHANGES = "changes"


@dataclass(frozen=True)
class FrequencyBin(Record):
    """The images of one test set in one frequency bin.

    ``accuracy`` is the mean over the models, with an interval over images; None with fewer than two images.
    ``difference`` is the accuracy minus that on the original's images of the same bin, None for the original. The
    intervals of all accuracies hold simultaneously, and so do those of all differences.
    """

    test_set: str
    bin: str
    images: int
    share: float
    accuracy: Estimate | None
    difference: Estimate | None


@dataclass(frozen=True)
class ModelBin(Record):
    """One model on the images of a bin; the intervals of a model hold for all bins and test sets together."""

    model: str
    test_set: str
    bin: str
    accuracy: Estimate


@dataclass(frozen=True)
class FrequencyChange(Record):
    """The mean accuracy of the models on a new set minus that on the original, ``overall`` and ``at_equal`` frequency.

    At equal frequency, the original's bins are weighted as the new set is composed; ``images`` of the new set are in
    bins that both sets have. None if there is no such bin. Intervals hold for all new sets together.
    """

    test_set: str
    overall: Estimate
    at_equal: Estimate | None
    images: int


@dataclass(frozen=True)
class AnswerNoise(Record):
    """How often two halves of the answers put an image into different bins; ``answers`` is the median per image."""

    test_set: str
    answers: float
    changed: Estimate


@dataclass(frozen=True, repr=False)
class Frequency(StudyResult, records="bins"):
    """Accuracies by selection frequency on the original test set, the first one, and on new ones.

    ``rise`` is the difference of the mean accuracies in the highest and the lowest bin of the original, None if there
    are not two bins with at least two images.
    """

    test_sets: tuple[str, ...]
    models: tuple[str, ...]
    names: tuple[str, ...]
    confidence: float
    bins: tuple[FrequencyBin, ...]
    by_model: tuple[ModelBin, ...]
    changes: tuple[FrequencyChange, ...]
    rise: Estimate | None
    noise: tuple[AnswerNoise, ...]
    notes: tuple[str, ...] = field(metadata=json_key("notes"))

    @property
    def parts(self) -> tuple[FrequencyStudyPart, ...]:
        """The tables that the result has."""
        changes = (FrequencyStudyPart.CHANGES,) if self.changes else ()
        return (FrequencyStudyPart.BINS, FrequencyStudyPart.MODELS, *changes)

    def part(self, part: FrequencyStudyPart) -> Table:
        """One of the tables."""
        tables = {
            FrequencyStudyPart.BINS: self.table,
            FrequencyStudyPart.MODELS: self._models,
            FrequencyStudyPart.CHANGES: self._rows,
        }
        return tables[part]()

    def of(self, test_set: str) -> tuple[FrequencyBin, ...]:
        """The bins of one test set."""
        return tuple(row for row in self.bins if row.test_set == test_set)

    def table(self) -> Table:
        """One row per test set and bin that has images."""
        columns = [
            Column("test_set", "test set"),
            Column("bin", "frequency"),
            Column("images", "images"),
            Column("share", "share of images", detail=True),
            Column("accuracy", "mean accuracy"),
        ]
        if len(self.test_sets) > 1:
            columns.append(Column("difference", f"minus {self.test_sets[0]}"))
        rows = tuple(tuple(getattr(row, column.key) for column in columns) for row in self.bins if row.images)
        title = f"accuracy of {amount(len(self.models), 'model')} by selection frequency, in %"
        return Table(title, tuple(columns), rows, (*self._in_words(), *self.notes))

    def _models(self) -> Table:
        columns = (
            Column("model", "model"), Column("test_set", "test set"), Column("bin", "frequency"),
            Column("accuracy", "accuracy"),
        )  # fmt: skip
        rows = tuple((row.model, row.test_set, row.bin, row.accuracy) for row in self.by_model)
        note = "the intervals of a model hold for all its rows together"
        return Table("accuracy of each model by selection frequency, in %", columns, rows, (note, *self.notes))

    def _rows(self) -> Table:
        columns = (
            Column("test_set", "test set"), Column("overall", "change of accuracy"),
            Column("at_equal", "at equal frequency"), Column("images", "images compared"),
        )  # fmt: skip
        rows = tuple((row.test_set, row.overall, row.at_equal, row.images) for row in self.changes)
        title = f"change of the mean accuracy from {self.test_sets[0]}, in points"
        return Table(title, columns, rows, self.notes)

    def _in_words(self) -> tuple[str, ...]:
        """The changes, one line each."""
        return tuple(
            f"{row.test_set} minus {self.test_sets[0]}: {row.overall} points, at equal observed frequency "
            f"{row.at_equal if row.at_equal else 'undefined (no bin with images of both)'}"
            for row in self.changes
        )
