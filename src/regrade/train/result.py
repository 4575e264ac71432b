"""The result of training an ensemble: one row per member, and the learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from regrade.core import Column, Estimate, Table, Tabular
from regrade.core.amounts import amount
from regrade.core.record import NOT_IN_JSON, Record
from regrade.stats import proportion
from regrade.train.member import EpochReport
from regrade.train.parallel import TrainedCurves
from regrade.train.plan import TrainingPlan
from regrade.train.training_data import TrainingData


@dataclass(frozen=True)
class TrainedMember(Record):
    """A member after its last epoch: the loss of that epoch, and the accuracies of the trained network.

    ``test_accuracies`` are by test set, None where no image has a label. ``seconds`` are those of all epochs.
    """

    seed: int
    epochs: int
    loss: float
    training_accuracy: Estimate
    test_accuracies: Mapping[str, Estimate | None]
    seconds: float


@dataclass(frozen=True, repr=False)
class TrainedEnsemble(Tabular):
    """The members of an ensemble; ``stored`` are the test sets on which its scores are finished.

    ``curves`` are the reports of all epochs by seed. ``new_epochs`` is the number that this run has trained. ``groups``
    are the sizes of the groups that a remedy pays attention to, by name. ``added`` is the set whose images were added
    to the training set, all but one of ``folds`` at a time; curves and training accuracies are then those of fold 0.
    """

    name: str
    network: str
    training_set: str
    images: int
    test_sets: tuple[str, ...]
    stored: tuple[str, ...]
    new_epochs: int
    members: tuple[TrainedMember, ...]
    curves: tuple[tuple[EpochReport, ...], ...] = field(metadata=NOT_IN_JSON)
    groups: Mapping[str, int] = field(default_factory=dict)
    added: str | None = None
    folds: int | None = None

    def json_fields(self) -> dict[str, Any]:
        """The fields, and the learning curves."""
        return {**super().json_fields(), "curves": self.curves}

    def table(self) -> Table:
        """One row per member."""
        columns = (
            Column("seed", "seed"),
            Column("epochs", "epochs"),
            Column("loss", "loss", percent=False, digits=3),
            Column("training_accuracy", "training accuracy"),
            *(Column(f"accuracy {name}", f"accuracy on {name}") for name in self.test_sets),
            Column("seconds", "seconds", percent=False),
        )
        rows = tuple(
            (
                member.seed,
                member.epochs,
                member.loss,
                member.training_accuracy,
                *(member.test_accuracies[name] for name in self.test_sets),
                member.seconds,
            )
            for member in self.members
        )
        added = f" and {self.folds - 1} of {self.folds} folds of {self.added}" if self.folds else ""
        title = f"{self.name}: {self.network} on {amount(self.images, 'image')} of {self.training_set}{added}"
        return Table(title, columns, rows, self._notes())

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.groups:
            sizes = ", ".join(f"{name}: {size:,}" for name, size in self.groups.items())
            notes.append(f"groups of training images: {sizes}")
        notes += self._fold_notes() if self.folds else self._score_notes()
        if not self.new_epochs:
            notes.append("all members were trained before")
        return tuple(notes)

    def _score_notes(self) -> tuple[str, str]:
        models = f"as models: trained:{self.name}/seed-{self.members[0].seed}, and so on"
        if not self.stored:
            rest = f"scores are not stored yet: regrade train finish {self.name}, once all seeds are trained"
            return models, rest
        return models, (
            f"scores are stored as ensemble {self.name} on {', '.join(self.stored)}: regrade study confusion -t "
            f"{self.stored[0]} --ensemble {self.name}"
        )

    def _fold_notes(self) -> tuple[str, str]:
        return (
            f"accuracy on {self.added}: every image by the one of {self.folds} networks that never saw it; other "
            "accuracies are those of the network of fold 0",
            f"predictions are stored as trained:{self.name}/seed-{self.members[0].seed}, and so on: regrade study "
            f"remedies --remedy {self.name}",
        )


def trained_ensemble(
    plan: TrainingPlan,
    data: TrainingData,
    trained: TrainedCurves,
    members: Sequence[TrainedMember],
    stored: Sequence[str] = (),
) -> TrainedEnsemble:
    """The result of a training, from its curves and the rows of its members."""
    groups = plan.remedy.groups if plan.remedy else None
    return TrainedEnsemble(
        plan.name,
        plan.network.architecture,
        data.training_set,
        len(data.sets[data.training_set].labels),
        plan.test_sets,
        tuple(stored),
        trained.new_epochs,
        tuple(members),
        tuple(trained.curves.values()),
        {} if groups is None else dict(zip(groups.names, groups.sizes, strict=True)),
        plan.added.name if plan.added else None,
        plan.added.folds if plan.added else None,
    )


def trained_member(
    curve: Sequence[EpochReport], training_set: str, test_sets: Sequence[str], confidence: float
) -> TrainedMember:
    """The row of a member from the reports of all its epochs."""
    last = curve[-1]
    accuracies = {
        name: proportion(*last.right[name], confidence=confidence) if last.right[name][1] else None
        for name in dict.fromkeys((*test_sets, training_set))
    }
    own = accuracies[training_set]
    assert own is not None and last.loss is not None  # every training image has a label
    seconds = sum(report.seconds for report in curve)
    tested = {name: accuracies[name] for name in test_sets}
    return TrainedMember(last.seed, last.epoch, last.loss, own, tested, seconds)
