"""Result of the confusion study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import e, isclose, log
from typing import Any

from regrade.core import Estimate, ScoreKind, Table
from regrade.core.arrays import FloatArray
from regrade.core.record import INLINE, NOT_IN_JSON, Record, json_key
from regrade.studies.confusion.bands import BandComparison
from regrade.studies.confusion.distribution import Distribution, ErrorCurve, ScoreBins
from regrade.studies.confusion.expected_error import ExpectedError
from regrade.studies.confusion.hard_set import HardSet, Transfer
from regrade.studies.confusion.reduced_checkpoints import RankAgreement, ReducedCheckpoints, StridedScore
from regrade.studies.confusion.rivals import Rival
from regrade.studies.confusion.trends import ScoreTrends
from regrade.studies.study_result import StudyResult


class ConfusionPart(Enum):
    """The tables of a study of confusion."""

    MODELS = "models"
    BINS = "bins"
    IMAGES = "images"
    DISTRIBUTION = "distribution"
    CHECKPOINTS = "checkpoints"
    RANKS = "ranks"
    EXPECTED = "expected"
    RIVALS = "rivals"
    STRIDES = "strides"
    ENSEMBLES = "ensembles"
    BANDS = "bands"
    TRENDS = "trends"


@dataclass(frozen=True)
class ScoredEnsemble(Record):
    """The ensemble that confusion scores come from: members, epochs and the kind of stored scores.

    ``base`` is the base of the logarithm; confusion scores lie between 0 and ``top``.
    """

    name: str
    members: tuple[str, ...]
    epochs: tuple[int, ...]
    kind: ScoreKind
    classes: int
    base: float

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the range and the unit of the scores."""
        return {**super().json_fields(), "top": self.top, "unit": self.unit}

    @property
    def top(self) -> float:
        """The largest possible score: all classes equally probable after every epoch."""
        return log(self.classes) / log(self.base)

    @property
    def unit(self) -> str:
        """The unit of a score."""
        named = {2.0: "bits", e: "nats", 10.0: "hartleys"}
        return next((name for base, name in named.items() if isclose(self.base, base)), f"units of base {self.base:g}")


@dataclass(frozen=True)
class ConfusedModel:
    """One model on the labeled images: its error overall, by score, and on hard images and the rest.

    ``inside`` is true for the ensemble itself and its members. ``transfer`` is None without a hard set, ``family`` None
    if it is not stated.
    """

    model: str
    inside: bool
    error: Estimate
    curve: ErrorCurve = field(metadata=INLINE)
    transfer: Transfer | None
    family: str | None = field(default=None, metadata=json_key("family", only_if_set=True))


@dataclass(frozen=True)
class UnlabeledSet:
    """An unlabeled set: its scores, the number ``beyond`` the range of labeled scores, and the expected errors."""

    test_set: str
    distribution: Distribution
    images: int
    beyond: int
    errors: tuple[ExpectedError, ...]


@dataclass(frozen=True)
class EnsembleSummary:
    """One ensemble on the test set: its mean score and its accuracy after the last epoch, None without labels.

    ``skewness`` is that of its scores, None if all are equal.
    """

    ensemble: str
    members: int
    epochs: int
    mean: Estimate
    skewness: float | None
    accuracy: Estimate | None


@dataclass(frozen=True)
class TrainingSet:
    """The scores of the same ensemble on its training images."""

    test_set: str
    images: int
    distribution: Distribution


@dataclass(frozen=True, repr=False, eq=False)
class Confusion(StudyResult, records="models"):
    """Confusion scores (n,) of the images ``ids`` (n,), and their relation to the errors of models, best model first.

    ``agreements`` are between ensembles, or between the members of a single one. ``fewer`` holds scores from a subset
    of the checkpoints. ``ranking`` is the rank correlation of models between hard images and the rest. Undefined parts
    are None, and ``notes`` explain why. ``compared`` are the scores (n,) of the ensembles or members in ``agreements``.
    """

    test_set: str
    ensemble: ScoredEnsemble
    ids: Sequence[str] = field(metadata=json_key("images", len))
    confidence: float
    scores: FloatArray = field(metadata=NOT_IN_JSON)
    bins: ScoreBins = field(metadata=json_key("bin_width", lambda bins: bins.width))
    distribution: Distribution
    models: tuple[ConfusedModel, ...]
    agreements: tuple[RankAgreement, ...]
    fewer: tuple[ReducedCheckpoints, ...]
    hard: HardSet | None
    ranking: Estimate | None
    unlabeled: UnlabeledSet | None = field(metadata=json_key("other"))
    notes: tuple[str, ...] = ()
    compared: Mapping[str, FloatArray] = field(default_factory=dict, metadata=NOT_IN_JSON)
    ensembles: tuple[EnsembleSummary, ...] = ()
    strides: tuple[StridedScore, ...] = ()
    rivals: tuple[Rival, ...] = ()
    train: TrainingSet | None = None
    bands: BandComparison | None = None
    trends: ScoreTrends | None = field(default=None, metadata=json_key("trends", only_if_set=True))

    @property
    def images(self) -> int:
        """Number of scored images."""
        return len(self.scores)

    @property
    def outsiders(self) -> tuple[ConfusedModel, ...]:
        """The models outside the ensemble."""
        return tuple(model for model in self.models if not model.inside)

    @property
    def parts(self) -> tuple[ConfusionPart, ...]:
        """The available tables."""
        contents = {
            ConfusionPart.MODELS: self.models,
            ConfusionPart.BINS: self.models,
            ConfusionPart.IMAGES: True,
            ConfusionPart.DISTRIBUTION: True,
            ConfusionPart.CHECKPOINTS: self.fewer,
            ConfusionPart.RANKS: self.agreements,
            ConfusionPart.EXPECTED: self.unlabeled,
            ConfusionPart.RIVALS: len(self.rivals) > 1,
            ConfusionPart.STRIDES: len(self.strides) > 1,
            ConfusionPart.ENSEMBLES: self.ensembles,
            ConfusionPart.BANDS: self.bands,
            ConfusionPart.TRENDS: self.trends,
        }
        return tuple(part for part, content in contents.items() if content)

    def table(self) -> Table:
        """Return one row per model; the distribution of the scores if no model can be graded."""
        return self.part(ConfusionPart.MODELS if self.models else ConfusionPart.DISTRIBUTION)

    def part(self, part: ConfusionPart) -> Table:
        """Return one of the tables; raises with the missing input if it is not available."""
        from regrade.studies.confusion.tables import confusion_table  # avoids a circular import

        return confusion_table(self, part)
