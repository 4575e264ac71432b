"""Result of the confusion study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import e, isclose, log
from typing import Any

from regrade.core import Estimate, ScoreKind, Table, Tabular
from regrade.core.arrays import FloatArray
from regrade.studies.confusion.distribution import Distribution, ScoreBins
from regrade.studies.confusion.error_curve import ErrorCurve
from regrade.studies.confusion.expected_error import ExpectedError
from regrade.studies.confusion.hard_set import HardSet
from regrade.studies.confusion.reduced_checkpoints import RankAgreement, ReducedCheckpoints
from regrade.studies.confusion.transfer import Transfer


class ConfusionPart(Enum):
    """The tables of a study of confusion."""

    MODELS = "models"
    BINS = "bins"
    IMAGES = "images"
    DISTRIBUTION = "distribution"
    CHECKPOINTS = "checkpoints"
    RANKS = "ranks"
    EXPECTED = "expected"


@dataclass(frozen=True)
class ScoredEnsemble:
    """The ensemble that confusion scores come from: members, epochs and the kind of stored scores.

    ``base`` is the base of the logarithm; confusion scores lie between 0 and ``top``.
    """

    name: str
    members: tuple[str, ...]
    epochs: tuple[int, ...]
    kind: ScoreKind
    classes: int
    base: float

    @property
    def top(self) -> float:
        """The largest possible score: all classes equally probable after every epoch."""
        return log(self.classes) / log(self.base)

    @property
    def unit(self) -> str:
        """The unit of a score."""
        named = {2.0: "bits", e: "nats", 10.0: "hartleys"}
        return next((name for base, name in named.items() if isclose(self.base, base)), f"units of base {self.base:g}")

    def as_dict(self) -> dict[str, Any]:
        """Return the ensemble as a dict for JSON."""
        plain = {**vars(self), "kind": self.kind.value, "members": list(self.members), "epochs": list(self.epochs)}
        return {**plain, "top": self.top, "unit": self.unit}


@dataclass(frozen=True)
class ConfusedModel:
    """One model on the labeled images: its error overall, by score, and on hard images and the rest.

    ``inside`` is true for the ensemble itself and its members. ``transfer`` is None without a hard set.
    """

    model: str
    inside: bool
    error: Estimate
    curve: ErrorCurve
    transfer: Transfer | None

    def as_dict(self) -> dict[str, Any]:
        """Return the row as a dict for JSON."""
        return {
            "model": self.model,
            "inside": self.inside,
            "error": self.error.as_dict(),
            **self.curve.as_dict(),
            "transfer": self.transfer.as_dict() if self.transfer else None,
        }


@dataclass(frozen=True)
class UnlabeledSet:
    """An unlabeled set: its scores, the number ``beyond`` the range of labeled scores, and the expected errors."""

    test_set: str
    distribution: Distribution
    images: int
    beyond: int
    errors: tuple[ExpectedError, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the set as a dict for JSON."""
        return {
            **vars(self),
            "distribution": self.distribution.as_dict(),
            "errors": [row.as_dict() for row in self.errors],
        }


@dataclass(frozen=True, repr=False, eq=False)
class Confusion(Tabular):
    """Confusion scores (n,) of the images ``ids`` (n,), and their relation to the errors of models, best model first.

    ``agreements`` are between ensembles, or between the members of a single one. ``fewer`` holds scores from a subset
    of the checkpoints. ``ranking`` is the rank correlation of models between hard images and the rest. Undefined parts
    are None, and ``notes`` explain why.
    """

    test_set: str
    ensemble: ScoredEnsemble
    confidence: float
    ids: Sequence[str]
    scores: FloatArray
    bins: ScoreBins
    distribution: Distribution
    models: tuple[ConfusedModel, ...]
    agreements: tuple[RankAgreement, ...]
    fewer: tuple[ReducedCheckpoints, ...]
    hard: HardSet | None
    ranking: Estimate | None
    unlabeled: UnlabeledSet | None
    notes: tuple[str, ...] = ()

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
        }
        return tuple(part for part, content in contents.items() if content)

    def table(self) -> Table:
        """Return one row per model; the distribution of the scores if no model can be graded."""
        return self.part(ConfusionPart.MODELS if self.models else ConfusionPart.DISTRIBUTION)

    def part(self, part: ConfusionPart) -> Table:
        """Return one of the tables; raises with the missing input if it is not available."""
        from regrade.studies.confusion.tables import confusion_table  # avoids a circular import

        return confusion_table(self, part)

    def as_dict(self) -> dict[str, Any]:
        """Return the study as a dict for JSON; the scores of single images are in the images table."""
        return {
            "test_set": self.test_set,
            "ensemble": self.ensemble.as_dict(),
            "images": self.images,
            "confidence": self.confidence,
            "bin_width": self.bins.width,
            "distribution": self.distribution.as_dict(),
            "models": [model.as_dict() for model in self.models],
            "agreements": [agreement.as_dict() for agreement in self.agreements],
            "fewer": [row.as_dict() for row in self.fewer],
            "hard": self.hard.as_dict() if self.hard else None,
            "ranking": self.ranking.as_dict() if self.ranking else None,
            "other": self.unlabeled.as_dict() if self.unlabeled else None,
            "notes": list(self.notes),
        }
