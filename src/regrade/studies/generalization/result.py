"""The result of a generalization study: every model on every new test set, and summaries over models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from regrade.core import PERSON_PREFIX, Column, Estimate, Table
from regrade.core.amounts import amount
from regrade.core.record import NOT_IN_JSON, json_key
from regrade.stats import Scale, widen_for_comparisons
from regrade.studies.generalization.explanations import Adaptivity, Difficulty, LossParts
from regrade.studies.generalization.measure import TOP1, AccuracyMeasure
from regrade.studies.generalization.shift_line import ShiftLine
from regrade.studies.generalization.unjudged import Unjudged
from regrade.studies.study_result import StudyResult

_NAMED = 5  # left-out models that a note names; the data lists all of them


@dataclass(frozen=True)
class ModelShift:
    """One model on the original and on a new test set.

    ``gap`` is the original accuracy minus the new one. Ranks are among the models on both sets, 1 is the best; tied
    models share the ranks from ``original_rank`` to ``original_rank_last``. ``rank_change`` is positive for a model
    that moves up on the new set.
    ``robustness`` is effective robustness: the new accuracy minus the accuracy that the line predicts. The line is
    fitted through ``standard`` models only. ``original_novel`` and ``new_novel`` are the numbers of predictions that no
    one has judged, which count as wrong; None without such predictions.
    """

    model: str
    new_set: str
    original: Estimate
    new: Estimate
    gap: Estimate
    original_rank: int
    new_rank: int
    rank_change: int
    expected: float
    robustness: Estimate
    original_top5: Estimate | None
    new_top5: Estimate | None
    standard: bool
    original_rank_last: int
    new_rank_last: int
    original_novel: int | None = field(default=None, metadata=json_key("original_novel", only_if_set=True))
    new_novel: int | None = field(default=None, metadata=json_key("new_novel", only_if_set=True))

    @property
    def name(self) -> str:
        """The model."""
        return self.model


@dataclass(frozen=True)
class PersonShift:
    """One person on the original and on a new test set, on the images that they were asked about.

    The other fields are those of `ModelShift`. The line is never fitted through people.
    """

    person: str
    new_set: str
    original: Estimate
    new: Estimate
    gap: Estimate
    expected: float
    robustness: Estimate
    original_novel: int | None = field(default=None, metadata=json_key("original_novel", only_if_set=True))
    new_novel: int | None = field(default=None, metadata=json_key("new_novel", only_if_set=True))

    @property
    def name(self) -> str:
        """The person, without the prefix of people."""
        return self.person.removeprefix(PERSON_PREFIX)


def _by_scale(lines: tuple[ShiftLine, ...]) -> dict[Scale, ShiftLine]:
    return {line.scale: line for line in lines}


@dataclass(frozen=True)
class SetShift:
    """Summaries over all models on one new test set.

    ``mean_change`` and ``mean_change_top5`` are the mean over models of new minus original accuracy; the latter is None
    if some model has no top-5 predictions. ``lines`` has one line per scale, and ``left_out`` names the models that
    have predictions on one set only. ``unjudged`` is the effect of predictions that no one has judged, if any, and
    ``best`` the highest accuracy on the original, with an interval for the best of all models.
    """

    new_set: str
    models: int
    standard: int
    mean_change: Estimate
    mean_change_top5: Estimate | None
    lines: tuple[ShiftLine, ...] = field(metadata=json_key("lines", _by_scale))
    difficulty: Difficulty
    losses: LossParts
    adaptivity: Adaptivity
    left_out: tuple[str, ...]
    unjudged: Unjudged | None = field(metadata=json_key("unjudged", only_if_set=True))
    best: Estimate = field(metadata=NOT_IN_JSON)

    def change_is_shown(self, change: Estimate) -> bool:
        """Whether an interval of the mean change excludes 0, whatever people would say of unjudged predictions."""
        up, down = (0.0, 0.0) if self.unjudged is None else (self.unjudged.new, self.unjudged.original)
        return change.low - down > 0 or change.high + up < 0

    def line(self, scale: Scale) -> ShiftLine:
        """The line on a scale."""
        return next(line for line in self.lines if line.scale is scale)

    def in_words(self, scale: Scale, measure: AccuracyMeasure = TOP1) -> tuple[str, ...]:
        """The summaries as sentences, one per line."""
        top5 = "" if self.mean_change_top5 is None else f", top-5 {_signed(self.mean_change_top5)}"
        other_lines = [line for line in self.lines if line.scale is not scale]
        words = [
            f"{self.new_set}: mean change of {measure.name} {_signed(self.mean_change)}{top5} points over "
            f"{amount(self.models, 'model')}",
            f"  line, {scale.value}: {self.line(scale).in_words()}",
            *(f"  line, {line.scale.value}: {line.in_words()}" for line in other_lines),
            f"  adaptive overfitting: {self.adaptivity.in_words()}",
            f"  difficulty: {self.difficulty.in_words()}",
            f"  losses: {self.losses.in_words()}",
        ]
        if self.unjudged is not None:
            words.append(f"  not judged: {self.unjudged.in_words()}")
        if self.left_out:
            words.append(f"  left out, since they have predictions on one of the two sets only: {_few(self.left_out)}")
        return tuple(words)


@dataclass(frozen=True, repr=False)
class Generalization(StudyResult, records="rows"):
    """Models on an original and on new test sets, the best on the original first.

    ``people`` are compared with the line through models, None without people. ``measure`` is None for top-1 accuracy on
    all images.
    """

    original: str
    scale: Scale
    confidence: float
    shifts: tuple[SetShift, ...] = field(metadata=json_key("sets"))
    rows: tuple[ModelShift, ...]
    notes: tuple[str, ...] = ()
    people: tuple[PersonShift, ...] | None = field(default=None, metadata=json_key("people", only_if_set=True))
    measure: AccuracyMeasure | None = field(default=None, metadata=json_key("measure", only_if_set=True))

    @property
    def measured(self) -> AccuracyMeasure:
        """What the accuracies are."""
        return self.measure or TOP1

    def of(self, new_set: str) -> tuple[ModelShift, ...]:
        """The rows of one new set."""
        return tuple(row for row in self.rows if row.new_set == new_set)

    def people_of(self, new_set: str) -> tuple[PersonShift, ...]:
        """The people of one new set."""
        return tuple(row for row in self.people or () if row.new_set == new_set)

    def is_beyond_models(self, row: PersonShift) -> bool:
        """Whether the line is extrapolated to a person: no standard model is as good, or none is as bad."""
        accuracies = [model.original.value for model in self.of(row.new_set) if model.standard]
        return not min(accuracies) <= row.original.value <= max(accuracies)

    def table(self) -> Table:
        """One row per person, then per model, and new set; summaries over models are in the notes."""
        keys = {
            "model": "model",
            **({"new_set": "new set"} if len(self.shifts) > 1 else {}),
            "original": "original",
            "new": "new",
            "gap": "gap",
            "original_rank": "rank",
            **(
                {"original_rank_last": "to rank"}
                if any(r.original_rank < r.original_rank_last for r in self.rows)
                else {}
            ),
            "new_rank": "new rank",
            **({"new_rank_last": "to new rank"} if any(r.new_rank < r.new_rank_last for r in self.rows) else {}),
            "rank_change": "rank change",
            "robustness": "effective robustness",
            **({"original_novel": "novel", "new_novel": "new novel"} if any(s.unjudged for s in self.shifts) else {}),
        }
        columns = tuple(Column(key, heading, detail="rank" in key or "novel" in key) for key, heading in keys.items())
        people = tuple(tuple(_of_person(row, key) for key in keys) for row in self.people or ())
        rows = tuple(tuple(getattr(row, key) for key in keys) for row in self.rows)
        new = self.shifts[0].new_set if len(self.shifts) == 1 else f"{len(self.shifts)} new test sets"
        summaries = tuple(
            words
            for shift in self.shifts
            for words in (*shift.in_words(self.scale, self.measured), self._furthest(shift.new_set))
        )
        title = f"{self.measured.of_both(self.original, new)}, in %"
        return Table(title, columns, (*people, *rows), (*summaries, *self._beyond(), *self._methods(), *self.notes))

    def sets_table(self) -> Table:
        """One row per new test set: the effect of how its images were chosen (Recht et al. 2019, Table 2)."""
        columns = (
            Column("new_set", "new set"),
            Column("models", "models"),
            Column("mean_change", f"mean change of {self.measured.name}"),
            Column("mean_change_top5", "of top-5"),
            Column("slope", "slope", percent=False, digits=2),
            Column("u", "u", percent=False, digits=2),
            Column("v", "v", percent=False, digits=2),
            Column("overfitting", "adaptive overfitting"),
        )
        rows = tuple(
            (
                shift.new_set,
                shift.models,
                shift.mean_change,
                shift.mean_change_top5,
                shift.line(Scale.LINEAR).slope,
                shift.difficulty.u,
                shift.difficulty.v,
                shift.adaptivity.verdict.value,
            )
            for shift in self.shifts
        )
        where = self.measured.place(self.original)
        return Table(f"new test sets compared with {where}, changes in points", columns, rows, self._methods())

    def lines_table(self) -> Table:
        """One row per new test set and scale."""
        plain = ("slope", "intercept")
        columns = (
            Column("new_set", "new set"),
            Column("scale", "scale"),
            *(Column(key, key.replace("_", " "), percent=False, digits=3) for key in plain),
            Column("r_squared", "R²", percent=False, digits=4),
            Column("reliability", "reliability", percent=False, digits=3),
        )
        rows = tuple(
            (shift.new_set, line.scale.value, line.slope, line.intercept, line.r_squared, line.reliability)
            for shift in self.shifts
            for line in shift.lines
        )
        return Table(f"lines through models, {self.original} to new sets", columns, rows, self._methods())

    def _beyond(self) -> tuple[str, ...]:
        people = dict.fromkeys(row.person for row in self.people or () if self.is_beyond_models(row))
        return (f"the line is extrapolated to people beyond the models: {', '.join(people)}",) if people else ()

    def _summary(self, shift: SetShift) -> tuple[str, ...]:
        return (*shift.in_words(self.scale, self.measured), self._furthest(shift.new_set))

    def _furthest(self, new_set: str) -> str:
        """The models furthest above and below the line; predictions of a model far off may be faulty."""
        rows = sorted(self.of(new_set), key=lambda row: row.robustness.value)
        above, below = (
            f"{row.model} {_signed(widen_for_comparisons(row.robustness, len(rows), confidence=self.confidence))}"
            for row in (rows[-1], rows[0])
        )
        return f"  furthest from the line, with intervals for all {len(rows)} models together: {above}, {below}"

    def _methods(self) -> tuple[str, ...]:
        first, shift = self.rows[0], self.shifts[0]
        slope_methods = [line.slope.method for shift in self.shifts for line in shift.lines if line.slope is not None]
        lines = f", lines {slope_methods[0]}" if slope_methods else ""
        accuracies = (first.original.method, *(row.new.method for row in self.rows))
        through = "all models" if all(row.standard for row in self.rows) else f"{shift.standard} standard models"
        return (
            f"intervals: accuracies {' and '.join(dict.fromkeys(accuracies))}, gap {first.gap.method}, mean change "
            f"{shift.mean_change.method}{lines}",
            f"effective robustness: new accuracy minus the prediction of the {self.scale.value} line through {through}",
        )


def _of_person(row: PersonShift, key: str) -> Any:
    """A cell of a person's row; people have no ranks."""
    return row.person if key == "model" else getattr(row, key, None)


def _signed(estimate: Estimate) -> str:
    return f"{100 * estimate.value:+.1f} [{100 * estimate.low:+.1f}, {100 * estimate.high:+.1f}]"


def _few(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
