"""The result of a new head: accuracies before and after on every set, and the penalties that were tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from regrade.core import Column, Estimate, Table, Tabular
from regrade.core.amounts import amount
from regrade.core.record import Record
from regrade.studies.remedies.result import RemedyMeasure


@dataclass(frozen=True)
class PenaltyTrial(Record):
    """A penalty on the path: loss and accuracy of the worst group on the images held out, and the solver's work.

    Both are None if a single penalty was given, for nothing is chosen; without groups there is no worst one.
    """

    l2: float
    held_out_loss: float | None
    held_out_worst_group: float | None
    objective: float
    iterations: int
    gradient_norm: float
    converged: bool


@dataclass(frozen=True)
class SeedFit(Record):
    """The head of one seed: its model, its base model, the chosen penalty after the last fit, and all trials."""

    seed: int
    model: str
    base: str
    chosen: PenaltyTrial
    path: tuple[PenaltyTrial, ...]


class SetRole(Enum):
    """What a set is for a head."""

    TEST = "test"
    TRAINING = "training, out of fold"
    ORIGINAL = "original"


@dataclass(frozen=True)
class HeadRow(Record):
    """One measure of the base model and of the head on the same images; ``reason`` says why it is not defined."""

    test_set: str
    role: SetRole
    measure: RemedyMeasure
    group: str | None
    images: int | None
    before: Estimate | None
    after: Estimate | None
    difference: Estimate | None
    reason: str = ""


class HeadPart(Enum):
    """The tables of a result."""

    ACCURACY = "accuracy"
    PENALTIES = "penalties"


@dataclass(frozen=True, repr=False)
class TrainedHead(Tabular):
    """Heads on the embeddings of a base model, one per seed, graded on every set.

    ``classes`` is the class space that they predict. ``groups`` are the sizes of the groups of training images.
    ``scale`` converts penalties: in the units of the stored embeddings they are l2 times its square.
    """

    name: str
    base: str
    training_set: str
    images: int
    classes: str
    keeps_classes: bool
    solver: str
    balance: str
    by: str | None
    clusters: str | None
    folds: int
    scale: float
    groups: Mapping[str, int]
    fits: tuple[SeedFit, ...]
    new_fits: int
    rows: tuple[HeadRow, ...]
    notes: tuple[str, ...]

    @property
    def parts(self) -> tuple[HeadPart, ...]:
        """The tables."""
        return tuple(HeadPart)

    def part(self, part: HeadPart) -> Table:
        """One of the tables."""
        return self.table() if part is HeadPart.ACCURACY else self._penalties()

    def table(self) -> Table:
        """One row per set and measure."""
        columns = (
            Column("test_set", "set"),
            Column("role", "role"),
            Column("measure", "measure"),
            *((Column("group", self.by),) if self.by else ()),
            Column("images", "images"),
            Column("before", "before"),
            Column("after", "after"),
            Column("difference", "difference"),
        )
        rows = tuple(
            (
                row.test_set, row.role.value, row.measure.value, *((row.group,) if self.by else ()), row.images,
                row.before, row.after, row.difference,
            )
            for row in self.rows
        )  # fmt: skip
        title = f"head {self.name} on {self.base}: top-1 accuracy in %, differences in points"
        reasons = dict.fromkeys(f"{row.test_set}: {row.reason}" for row in self.rows if row.reason)
        return Table(title, columns, rows, (*self._own_notes(), *self.notes, *reasons))

    def _penalties(self) -> Table:
        columns = (
            Column("seed", "seed"),
            Column("l2", "L2", percent=False, digits=6),
            Column("held_out_loss", "held-out loss", percent=False, digits=4),
            Column("held_out_worst_group", "held-out worst group"),
            Column("iterations", "iterations", detail=True),
            Column("objective", "objective", percent=False, digits=6, detail=True),
            Column("gradient_norm", "gradient norm", percent=False, digits=9, detail=True),
            Column("converged", "converged"),
            Column("chosen", "chosen"),
        )
        rows = tuple(
            (
                fit.seed, trial.l2, trial.held_out_loss, trial.held_out_worst_group, trial.iterations, trial.objective,
                trial.gradient_norm, "yes" if trial.converged else "no", "yes" if trial.l2 == fit.chosen.l2 else "",
            )
            for fit in self.fits
            for trial in fit.path
        )  # fmt: skip
        return Table(f"head {self.name}: penalties from strong to weak", columns, rows)

    def _own_notes(self) -> tuple[str, ...]:
        heads = "the base model's, its logits plus a linear map" if self.keeps_classes else "a new linear layer"
        chosen = ", ".join(f"{l2:g}" for l2 in dict.fromkeys(fit.chosen.l2 for fit in self.fits))
        notes = [
            f"fitted on {amount(self.images, 'image')} of {self.training_set}, classes {self.classes} ({heads}), "
            f"solver {self.solver}, balance {self.balance}, L2 {chosen}",
            "difference: after minus before on the same images, simultaneously for all rows (Bonferroni); before and "
            "after have intervals of their own",
        ]
        if self.groups:
            notes.append("groups: " + ", ".join(f"{name}: {size:,}" for name, size in self.groups.items()))
        if late := [fit.model for fit in self.fits if not fit.chosen.converged]:
            notes.append(
                f"not converged: {', '.join(late)} (the gradient is above --tolerance; see --show penalties)"
                if self.solver == "lbfgs"
                else "Adam stops after --epochs, not at the minimum: see the gradient norms with --show penalties"
            )
        if not self.new_fits:
            notes.append("all heads were fitted before")
        notes.append(f"as models: {self.fits[0].model}" + (", and so on" if len(self.fits) > 1 else ""))
        return tuple(notes)
