"""What a study of confusion says: which images confuse an ensemble, and what that means for models."""

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
    """Whose confusion it is: members, epochs, and what their scores were.

    ``base`` is that of the logarithm; scores lie between 0 and ``top``.
    """

    name: str
    members: tuple[str, ...]
    epochs: tuple[int, ...]
    kind: ScoreKind
    classes: int
    base: float

    @property
    def top(self) -> float:
        """The largest score there can be: all classes equally likely after every epoch."""
        return log(self.classes) / log(self.base)

    @property
    def unit(self) -> str:
        """What a score is counted in."""
        named = {2.0: "bits", e: "nats", 10.0: "hartleys"}
        return next((name for base, name in named.items() if isclose(self.base, base)), f"units of base {self.base:g}")

    def as_dict(self) -> dict[str, Any]:
        """The ensemble, ready for JSON."""
        plain = {**vars(self), "kind": self.kind.value, "members": list(self.members), "epochs": list(self.epochs)}
        return {**plain, "top": self.top, "unit": self.unit}


@dataclass(frozen=True)
class ConfusedModel:
    """One model on the scored images that have labels: its error, the error by score, and on hard images and the rest.

    ``inside`` says that it is the ensemble itself, or one of its members. Without a hard set there is no ``transfer``.
    """

    model: str
    inside: bool
    error: Estimate
    curve: ErrorCurve
    transfer: Transfer | None

    def as_dict(self) -> dict[str, Any]:
        """The row, ready for JSON."""
        return {
            "model": self.model,
            "inside": self.inside,
            "error": self.error.as_dict(),
            **self.curve.as_dict(),
            "transfer": self.transfer.as_dict() if self.transfer else None,
        }


@dataclass(frozen=True)
class UnlabeledSet:
    """A set whose labels are not used: its scores, how many lie beyond the labeled ones, and the errors to expect."""

    test_set: str
    distribution: Distribution
    images: int
    beyond: int
    errors: tuple[ExpectedError, ...]

    def as_dict(self) -> dict[str, Any]:
        """The set, ready for JSON."""
        return {
            **vars(self),
            "distribution": self.distribution.as_dict(),
            "errors": [one.as_dict() for one in self.errors],
        }


@dataclass(frozen=True, repr=False, eq=False)
class Confusion(Tabular):
    """The confusion scores (n,) of a test set's images ``ids`` (n,), and what they say of models, best first.

    ``agreements`` are between ensembles, or between the members of a single one; ``fewer`` is what a part of the
    checkpoints would have given; ``ranking`` is whether models keep their order on the hard images. What there is not
    enough of is none, and ``notes`` say why.
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
    other: UnlabeledSet | None
    notes: tuple[str, ...] = ()

    @property
    def images(self) -> int:
        """How many images have a score."""
        return len(self.scores)

    @property
    def outsiders(self) -> tuple[ConfusedModel, ...]:
        """The models that are no part of the ensemble."""
        return tuple(one for one in self.models if not one.inside)

    @property
    def parts(self) -> tuple[ConfusionPart, ...]:
        """The tables that have anything to say."""
        there = {
            ConfusionPart.MODELS: self.models,
            ConfusionPart.BINS: self.models,
            ConfusionPart.IMAGES: True,
            ConfusionPart.DISTRIBUTION: True,
            ConfusionPart.CHECKPOINTS: self.fewer,
            ConfusionPart.RANKS: self.agreements,
            ConfusionPart.EXPECTED: self.other,
        }
        return tuple(part for part, content in there.items() if content)

    def table(self) -> Table:
        """One line a model; where no model can be graded, the distribution of the scores."""
        return self.part(ConfusionPart.MODELS if self.models else ConfusionPart.DISTRIBUTION)

    def part(self, part: ConfusionPart) -> Table:
        """One of the tables; one that has nothing to say raises and tells what it needs."""
        from regrade.studies.confusion.tables import confusion_table  # it reads results, of which this is one

        return confusion_table(self, part)

    def as_dict(self) -> dict[str, Any]:
        """The study, ready for JSON; the score of each image is in the table of images."""
        return {
            "test_set": self.test_set,
            "ensemble": self.ensemble.as_dict(),
            "images": self.images,
            "confidence": self.confidence,
            "bin_width": self.bins.width,
            "distribution": self.distribution.as_dict(),
            "models": [one.as_dict() for one in self.models],
            "agreements": [one.as_dict() for one in self.agreements],
            "fewer": [one.as_dict() for one in self.fewer],
            "hard": self.hard.as_dict() if self.hard else None,
            "ranking": self.ranking.as_dict() if self.ranking else None,
            "other": self.other.as_dict() if self.other else None,
            "notes": list(self.notes),
        }
