"""regrade train finish: store the captured scores of an ensemble once all its seeds are there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from regrade.core import ClassSpace, Column, Table, Tabular, UnknownName
from regrade.core.record import Record
from regrade.store import Store
from regrade.studies.loading import resolve_class_space
from regrade.studies.study import Study, StudyOptions, option
from regrade.train.member import ensemble_writer
from regrade.train.plan import refuse_incomplete


@dataclass(frozen=True)
class FinishOptions(StudyOptions):
    """The ensemble, and the classes of its scores."""

    name: str = option("Name of the ensemble.", is_argument=True, metavar="NAME")
    classes: str | Path | ClassSpace | None = option(
        "Class space of the scores, if it was given to regrade.capture.", None, kind=str | None
    )


@dataclass(frozen=True)
class FinishedSet(Record):
    """An ensemble on one test set; ``new`` is False if the same scores were stored before."""

    test_set: str
    members: tuple[str, ...]
    epochs: tuple[int, ...]
    new: bool


@dataclass(frozen=True, repr=False)
class FinishedEnsemble(Tabular):
    """An ensemble on every test set that it was captured on."""

    name: str
    sets: tuple[FinishedSet, ...]

    def table(self) -> Table:
        """One row per test set."""
        columns = (
            Column("test_set", "test set"),
            Column("members", "members"),
            Column("epochs", "epochs"),
            Column("first", "first epoch"),
            Column("last", "last epoch"),
            Column("stored", "stored"),
        )
        rows = tuple(
            (
                row.test_set,
                len(row.members),
                len(row.epochs),
                row.epochs[0],
                row.epochs[-1],
                "now" if row.new else "before",
            )
            for row in self.sets
        )
        return Table(f"ensemble {self.name}", columns, rows)


def run(store: Store, options: FinishOptions) -> FinishedEnsemble:
    """Store the captured scores of an ensemble on all test sets; raises if its seeds have different epochs.

    An ensemble of ``ensemble`` must be trained to the end.
    """
    space = None if options.classes is None else resolve_class_space(store, options.classes)
    unfinished = store.ensembles.unfinished(options.name)
    stored = [name for name in store.test_sets.names() if store.ensembles.has(name, options.name)]
    if not unfinished and not stored:
        raise UnknownName("ensemble", options.name, None, hint="; there are no captured scores of it")
    if unfinished:
        refuse_incomplete(store, options.name)
    new = {name: ensemble_writer(store, options.name, name, space).finish() for name in unfinished}
    names = sorted({*stored, *unfinished})
    manifests = {name: store.ensembles.manifest(name, options.name) for name in names}
    return FinishedEnsemble(
        options.name,
        tuple(
            FinishedSet(name, tuple(manifest.members), tuple(manifest.epochs), new.get(name, False))
            for name, manifest in manifests.items()
        ),
    )


TRAIN_FINISH = Study(
    name="finish",
    question="Are the scores of all seeds there?",
    summary="Store the captured scores of an ensemble, once all its seeds have the same epochs.",
    options=FinishOptions,
    result=FinishedEnsemble,
    run=run,
)
