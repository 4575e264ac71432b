"""Comparison of two label versions: which judgments changed, and the accuracy of every model under both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from regrade.core import Column, Estimate, InputError, Predictions, Table, Tabular, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray
from regrade.metrics import MultilabelRule
from regrade.stats import bonferroni_confidence, paired_difference
from regrade.stats.intervals import method_name
from regrade.stats.ranks import rank_ranges
from regrade.studies.label_change.diff import LabelDiff, label_diff, state_word
from regrade.studies.multilabel_grade import ReviewedLabels, multilabel_accuracy
from regrade.studies.same_images import JudgedPredictions, judge_predictions
from regrade.studies.scoring import Scoring


class LabelChangePart(Enum):
    """The tables of a study of a label change."""

    MODELS = "models"
    COUNTS = "counts"
    PAIRS = "pairs"


@dataclass(frozen=True)
class ModelChange:
    """One model under two versions of the labels; undefined values are None.

    ``before`` and ``after`` are its multi-label accuracies over the images that each version scores, with novel
    predictions counted as wrong. ``difference`` is after minus before over the ``shared`` images that both versions
    score, with a paired interval that is simultaneous for all models: on ``gained`` images the prediction is correct
    only under the second version, on ``lost`` only under the first. ``left`` counts images that are no longer scored,
    ``came`` those that are newly scored. Rank 1 is the best; tied models share the ranks from ``rank_before`` to
    ``rank_before_last``.
    """

    model: str
    before: Estimate | None
    after: Estimate | None
    difference: Estimate | None
    gained: int
    lost: int
    left: int
    came: int
    novel_before: int
    novel_after: int
    shared: int
    rank_before: int | None = None
    rank_after: int | None = None
    rank_before_last: int | None = None
    rank_after_last: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class LabelChange(Tabular, records="models"):
    """The differences between two label versions, and every model under both, largest change first."""

    test_set: TestSet
    diff: LabelDiff
    rule: str
    models: tuple[ModelChange, ...]
    notes: tuple[str, ...]

    def json_fields(self) -> dict[str, Any]:
        """The label sets, what changed between them, and the models."""
        return {
            "test_set": self.test_set.name,
            "before": self.diff.before,
            "after": self.diff.after,
            "rule": self.rule,
            "counts": self.diff.counts(),
            "pairs": self.pair_table().records(),
            "models": self.models,
            "notes": self.notes,
        }

    def table(self) -> Table:
        """One row per model; without models, the counts of changes."""
        if not self.models:
            return self.count_table()
        columns = [
            Column("model", "model"),
            Column("before", self.diff.before),
            Column("after", self.diff.after),
            Column("difference", "difference", digits=2),
            Column("gained", "right only now", detail=True),
            Column("lost", "right only before", detail=True),
            Column("rank_before", "rank before", detail=True),
            Column("rank_before_last", "to", detail=True),
            Column("rank_after", "rank after", detail=True),
            Column("rank_after_last", "to", detail=True),
        ]
        columns = [column for column in columns if not column.key.endswith("_last") or self._shares(column.key)]
        rows = tuple(tuple(getattr(row, column.key) for column in columns) for row in self.models)
        counts = ", ".join(f"{number:,} {what}" for what, number in self.diff.counts().items()) or "nothing"
        return Table(f"{self._title}, in %", tuple(columns), rows, (f"changed: {counts}", *self.notes))

    def _shares(self, last: str) -> bool:
        """Whether any models are tied in the rank that this column ends."""
        return any(getattr(row, last) != getattr(row, last.removesuffix("_last")) for row in self.models)

    @property
    def parts(self) -> tuple[LabelChangePart, ...]:
        """The tables."""
        return tuple(LabelChangePart)

    def part(self, part: LabelChangePart) -> Table:
        """Return one of the tables."""
        tables = {
            LabelChangePart.MODELS: self.table,
            LabelChangePart.COUNTS: self.count_table,
            LabelChangePart.PAIRS: self.pair_table,
        }
        return tables[part]()

    def count_table(self) -> Table:
        """One row per kind of change."""
        columns = (Column("change", "change"), Column("number", "number"))
        return Table(f"changes from {self._title}", columns, tuple(self.diff.counts().items()), ())

    def pair_table(self) -> Table:
        """One row per pair of image and class that changed, and one per image whose problem status changed."""
        columns = tuple(Column(key, key) for key in ("image", "class", "name", "before", "after"))
        space, ids, diff = self.test_set.class_space, self.test_set.ids, self.diff
        pairs = zip(diff.examples.tolist(), diff.classes.tolist(), diff.was.tolist(), diff.now.tolist(), strict=True)
        rows = [(ids[e], space.ids[c], space.names[c], state_word(was), state_word(now)) for e, c, was, now in pairs]
        problems = [
            (ids[change.example], None, None, _problem(change.before), _problem(change.after))
            for change in diff.problems
        ]
        return Table(f"changes from {self._title}", columns, (*rows, *problems), ())

    @property
    def _title(self) -> str:
        return f"{self.diff.before} to {self.diff.after} of {self.test_set.name}"


def label_change(
    test_set: TestSet,
    predictions: Iterable[tuple[Predictions, Scoring]],
    *,
    before: ReviewedLabels,
    after: ReviewedLabels,
    confidence: float = 0.95,
) -> LabelChange:
    """Compare two label versions, and score models under both; predictions are read one model at a time.

    Both versions are scored by the same rule; decisions of their reviews count. An image that became problematic counts
    for the accuracy before, but neither for the accuracy after nor for the difference.
    """
    rule = before.scoring.rule
    if rule is not after.scoring.rule:
        raise InputError("both label versions must be scored by the same rule")
    rows = [
        _model_change(
            test_set,
            judge_predictions(model_predictions, scoring, before),
            judge_predictions(model_predictions, scoring, after),
            rule=rule,
            confidence=confidence,
        )
        for model_predictions, scoring in predictions
    ]
    rows = [replace(row, difference=_difference(row, len(rows), confidence)) for row in rows]
    diff = label_diff(before.scoring.labels, after.scoring.labels)
    return LabelChange(test_set, diff, rule.value, _ranked(rows), _notes(rows, before, after))


def _model_change(
    test_set: TestSet, before: JudgedPredictions, after: JudgedPredictions, *, rule: MultilabelRule, confidence: float
) -> ModelChange:
    both = before.counted & after.counted
    gained = int((after.right & ~before.right & both).sum())
    lost = int((before.right & ~after.right & both).sum())
    return ModelChange(
        before.model,
        _accuracy(before, test_set, rule, confidence),
        _accuracy(after, test_set, rule, confidence),
        None,
        gained,
        lost,
        int((before.counted & ~after.counted).sum()),
        int((after.counted & ~before.counted).sum()),
        int((before.novel & before.counted).sum()),
        int((after.novel & after.counted).sum()),
        int(both.sum()),
    )


def _accuracy(judged: JudgedPredictions, test_set: TestSet, rule: MultilabelRule, confidence: float) -> Estimate | None:
    inside: BoolArray = judged.counted
    if not inside.any():
        return None
    return multilabel_accuracy(judged.right, inside, test_set.labels, rule=rule, confidence=confidence)


def _difference(row: ModelChange, models: int, confidence: float) -> Estimate | None:
    """The paired difference, with an interval that is simultaneous for all models."""
    if not row.shared:
        return None
    bounds = paired_difference(row.gained, row.lost, row.shared, confidence=bonferroni_confidence(models, confidence))
    name = method_name("paired score" if models == 1 else f"paired score, {models:,} together", confidence)
    value = (row.gained - row.lost) / row.shared
    return Estimate(value, float(bounds.low), float(bounds.high), row.shared, name)


def _ranked(rows: list[ModelChange]) -> tuple[ModelChange, ...]:
    """The rows with their ranks under both versions, largest change first."""
    scored = [(row.model, row.before.value, row.after.value) for row in rows if row.before and row.after]
    models, before, after = zip(*scored, strict=True) if scored else ((), (), ())
    columns = [column.tolist() for values in (before, after) for column in rank_ranges(values)]
    places = dict(zip(models, zip(*columns, strict=True), strict=True))
    ranked = [_with_ranks(row, *places[row.model]) if row.model in places else row for row in rows]
    return tuple(sorted(ranked, key=lambda row: (-abs(row.difference.value) if row.difference else 1.0, row.model)))


def _with_ranks(row: ModelChange, before: int, before_last: int, after: int, after_last: int) -> ModelChange:
    return replace(row, rank_before=before, rank_before_last=before_last, rank_after=after, rank_after_last=after_last)


def _notes(rows: list[ModelChange], before: ReviewedLabels, after: ReviewedLabels) -> tuple[str, ...]:
    if not rows:
        return ()
    estimates = [estimate for row in rows for estimate in (row.before, row.after, row.difference) if estimate]
    methods = sorted({estimate.method for estimate in estimates})
    notes = [
        f"intervals: {', '.join(methods)}",
        f"right if {before.scoring.accepted_in_words}; mean over {before.scoring.rule.value}",
        f"{before.scoring.labels.full_name} scores {amount(before.scored.sum(), 'image')}, "
        f"{after.scoring.labels.full_name} {after.scored.sum():,}; the difference is over the "
        f"{amount((before.scored & after.scored).sum(), 'image')} that both score",
    ]
    if before.scoring.rule is MultilabelRule.CLASSES:
        notes.append("accuracies are means over classes, the difference is one over images")
    reviewed = [labels.scoring.labels.full_name for labels in (before, after) if labels.review is not None]
    if reviewed:
        notes.append(f"decisions of the review of {' and of '.join(reviewed)} count")
    if any(row.novel_before or row.novel_after for row in rows):
        notes.append("predictions that no one has judged count as wrong")
    return tuple(notes)


def _problem(reason: str) -> str:
    return f"problematic: {reason}" if reason else "not problematic"
