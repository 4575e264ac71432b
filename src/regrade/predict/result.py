"""The result of a run, one row per model and test set."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from regrade.core import Cell, Column, Table, Tabular
from regrade.core.amounts import amount
from regrade.core.record import Record

_SHOWN = 10  # unreadable images listed per pair


@dataclass(frozen=True)
class ModelRun(Record):
    """One model on one test set: ``resumed`` examples came from an earlier run; ``already`` if all were stored.

    ``unreadable`` maps each example without a prediction to the reason; ``runtime`` computed the scores;
    ``workers_lost`` counts workers of a cluster that died. ``recovered`` counts images that had been stored as
    unreadable and were computed now. ``images_away`` says that the images were missing, so they could not be compared
    with those of the stored predictions. ``together`` is the number of models that shared one pass through the images,
    of which ``seconds`` is the duration.
    """

    model: str
    test_set: str
    examples: int
    resumed: int
    seconds: float
    unreadable: dict[str, str]
    runtime: str
    already: bool = False
    workers_lost: int = 0
    recovered: int = 0
    images_away: bool = False
    together: int = 1

    def json_fields(self) -> dict[str, Any]:
        """The fields, with the rate."""
        return {**super().json_fields(), "rate": self.rate}

    @property
    def rate(self) -> float | None:
        """Images per second, of those that this run has computed."""
        computed = self.examples - self.resumed
        return computed / self.seconds if computed and self.seconds else None


@dataclass(frozen=True)
class Failure:
    """A model that could not be run, and the reason."""

    model: str
    reason: str


@dataclass(frozen=True)
class Run(Tabular):
    """The results of a run, and the models that failed."""

    pairs: tuple[ModelRun, ...]
    failures: tuple[Failure, ...] = ()

    @property
    def unreadable(self) -> int:
        """Number of unreadable images, over all pairs."""
        return sum(len(pair.unreadable) for pair in self.pairs)

    def table(self) -> Table:
        """One row per pair; the notes list the first unreadable images of each."""
        columns = (
            Column("model", "model"),
            Column("test_set", "test set"),
            Column("examples", "examples"),
            Column("resumed", "from before"),
            Column("unreadable", "unreadable"),
            Column("seconds", "seconds", percent=False),
            Column("rate", "images/s", percent=False),
        )
        runtimes = dict.fromkeys(pair.runtime for pair in self.pairs if pair.runtime)
        notes = [f"computed by {runtime}" for runtime in runtimes]
        notes += dict.fromkeys(_note_of_pass(pair) for pair in self.pairs if pair.together > 1)
        notes += [note for pair in self.pairs for note in _notes(pair)]
        notes += [f"failed: {failure.reason}" for failure in self.failures]
        return Table("predictions", columns, tuple(_row(pair) for pair in self.pairs), tuple(notes))


def _row(pair: ModelRun) -> tuple[Cell, ...]:
    seconds = None if pair.already else pair.seconds
    return (pair.model, pair.test_set, pair.examples, pair.resumed, len(pair.unreadable), seconds, pair.rate)


def _note_of_pass(pair: ModelRun) -> str:
    return f"{pair.together} models together on {pair.test_set}: seconds and images/s are those of the whole pass"


def _notes(pair: ModelRun) -> Iterator[str]:
    for example, reason in list(pair.unreadable.items())[:_SHOWN]:
        yield f"unreadable for {pair.model} on {pair.test_set}: {example}: {reason}"
    if len(pair.unreadable) > _SHOWN:
        yield f"... and {len(pair.unreadable) - _SHOWN:,} more, all listed in manifest.json"
    if pair.recovered:
        yield f"computed now, unreadable before: {amount(pair.recovered, 'image')} for {pair.model} on {pair.test_set}"
    if pair.images_away:
        yield (
            f"the images of {pair.test_set} are missing, so they were not compared with those that {pair.model} was "
            "run on"
        )
    if pair.workers_lost:
        yield f"{pair.workers_lost:,} workers were lost; other workers repeated their tasks"
