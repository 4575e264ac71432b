"""regrade build forecast: how many more candidates each class needs for its bins of selection frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regrade.build.eligibility import MIN_ASSIGNMENTS
from regrade.build.forecast import BinForecast, forecast
from regrade.build.samplers import bin_counts
from regrade.build.steps.frequencies import load_answers
from regrade.build.steps.tasks import build_name
from regrade.core import Column, InputError, Table, Tabular
from regrade.core.amounts import amount
from regrade.store import Store
from regrade.studies.study import Study, StudyOptions, option


@dataclass(frozen=True)
class ForecastOptions(StudyOptions):
    """The size of the planned set, and which answers count."""

    build: str = build_name()
    per_class: int = option("Images per class of the planned set.", 10, minimum=1)
    min_answers: int = option("Answers that an image needs to count as annotated.", MIN_ASSIGNMENTS, minimum=1)
    exclude_workers: Sequence[str] = option(
        "Leave out the answers of this worker. May be repeated.", (), names=("--exclude-worker",), metavar="WORKER"
    )


@dataclass(frozen=True, repr=False)
class Forecast(Tabular):
    """How many more candidates each bin of each class needs."""

    build: str
    per_class: int
    confidence: float
    short_classes: tuple[str, ...]
    bins: tuple[BinForecast, ...]

    def table(self) -> Table:
        """One row per class and bin that lacks candidates."""
        columns = (
            Column("class", "class"),
            Column("bin", "selection frequency"),
            Column("target", "target"),
            Column("available", "candidates in the bin"),
            Column("annotated", "annotated candidates"),
            Column("needed", "more candidates needed"),
            Column("needed_low", "at least"),
            Column("needed_high", "at most"),
        )
        rows = tuple(
            (
                row.class_id,
                row.bin,
                row.target,
                row.available,
                row.annotated,
                row.needed,
                row.needed_low,
                row.needed_high,
            )
            for row in self.bins
            if row.missing
        )
        lacking = amount(len(self.short_classes), "class lacks", "classes lack")
        notes = (
            f"more candidates needed: enough with a probability of 50%; at least and at most: the "
            f"{100 * self.confidence:g}% interval of the number until the bin is full; – is more than a million",
            "new candidates are assumed to be like those that were annotated; bins do not borrow from each other",
        )
        return Table(f"{self.build}: {lacking} candidates for {self.per_class} images per class", columns, rows, notes)


def run(store: Store, options: ForecastOptions) -> Forecast:
    """Forecast how many more candidates each class needs for matched-frequency sampling, from all answers so far."""
    counted = load_answers(store, options.build, excluded=options.exclude_workers).frequencies()
    references = bin_counts(counted.references(), options.min_answers)
    if not references:
        raise InputError(f"no reference image of {options.build} has {options.min_answers} answers yet")
    bins = forecast(
        bin_counts(counted.candidates(), options.min_answers),
        references,
        per_class=options.per_class,
        confidence=store.config.confidence,
    )
    short = tuple(dict.fromkeys(row.class_id for row in bins if row.missing))
    return Forecast(options.build, options.per_class, store.config.confidence, short, bins)


BUILD_FORECAST = Study(
    name="forecast",
    question="How many more candidates are needed?",
    summary="Forecast how many more candidates each class needs for its bins of selection frequencies.",
    options=ForecastOptions,
    result=Forecast,
    run=run,
)
