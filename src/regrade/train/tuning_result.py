"""The result of tuning hyperparameters on a new test set: the grid with its accuracies, and what was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from regrade.core import Cell, Column, Estimate, Table, Tabular
from regrade.core.amounts import amount
from regrade.core.record import Record


@dataclass(frozen=True)
class GridPoint(Record):
    """A point of the grid: its settings, and its mean accuracies over seeds on the halves and on the whole set.

    ``predicts_first`` and ``predicts_second`` are the numbers of seeds whose images of a half it predicts, and
    ``predicts_rest`` that of the seeds whose images of other test sets it predicts.
    """

    settings: Mapping[str, float]
    first_half: Estimate
    second_half: Estimate
    accuracy: Estimate
    predicts_first: int
    predicts_second: int
    predicts_rest: int


@dataclass(frozen=True, repr=False)
class TunedEnsemble(Tabular):
    """A grid of hyperparameters whose points were trained with every seed, and tuned on the set ``new``.

    ``accuracies`` of the chosen points are by test set, None without labels. Images of ``new`` are predicted by the
    point that is best for the other seeds on the other half, other sets by the one that is best on both halves.
    """

    name: str
    network: str
    training_set: str
    images: int
    new: str
    seeds: tuple[int, ...]
    points: tuple[GridPoint, ...]
    accuracies: Mapping[str, Estimate | None]
    new_epochs: int
    confidence: float

    def table(self) -> Table:
        """One row per point of the grid."""
        names = tuple(self.points[0].settings)
        columns = (
            *(Column(name, name.replace("_", "-")) for name in names),
            Column("first_half", f"accuracy on half 1 of {self.new}"),
            Column("second_half", "on half 2"),
            Column("accuracy", "on both"),
            Column("predicts_first", "predicts half 1"),
            Column("predicts_second", "half 2"),
            Column("predicts_rest", "other sets"),
        )
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (
                *(f"{point.settings[name]:g}" for name in names), point.first_half, point.second_half, point.accuracy,
                point.predicts_first, point.predicts_second, point.predicts_rest,
            )
            for point in self.points
        )  # fmt: skip
        title = (
            f"{self.name}: {self.network} on {amount(self.images, 'image')} of {self.training_set}, tuned on {self.new}"
        )
        return Table(title, columns, rows, self._notes())

    def _notes(self) -> tuple[str, ...]:
        rest = [
            f"{100 * estimate.value:.1f} [{100 * estimate.low:.1f}, {100 * estimate.high:.1f}] on {name}"
            for name, estimate in self.accuracies.items()
            if estimate is not None
        ]
        seeds = f"means over {amount(len(self.seeds), 'seed')}" if len(self.seeds) > 1 else "a single seed"
        notes = (
            f"accuracy in %, {seeds}, each with its own {100 * self.confidence:g}% interval",
            f"predicts: the number of seeds whose images it predicts. An image of {self.new} is predicted by the point "
            "that is best for the other seeds on the other half, so that the accuracy is not biased by the choice; "
            "other sets by the point that is best for the other seeds on both halves",
            f"accuracy of the tuned networks: {', '.join(rest)}",
            f"predictions are stored as trained:{self.name}/seed-{self.seeds[0]}, and so on: regrade study remedies "
            f"--remedy {self.name}",
        )
        return notes if self.new_epochs else (*notes, "all points were trained before")
