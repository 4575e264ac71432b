"""Comparison of two label versions: which judgments changed, and the accuracy of every model under both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from regrade.core import Cell, Column, Estimate, InputError, Predictions, Table, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, IntArray
from regrade.core.record import Record
from regrade.metrics import MultilabelRule
from regrade.stats import bonferroni_confidence, mark_simultaneous, paired_share_difference
from regrade.stats.ranking import rank_ranges
from regrade.studies.image_basis import JudgedPredictions, judge_predictions
from regrade.studies.image_clusters import ImageClusters, numbers_of, share_of
from regrade.studies.image_slice import ImageSlice
from regrade.studies.label_change.diff import LabelDiff, label_diff, state_word
from regrade.studies.multilabel_grade import ReviewedLabels, multilabel_accuracy
from regrade.studies.scoring import EVERYTHING, Scoring
from regrade.studies.study_result import StudyResult


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


@dataclass(frozen=True, eq=False)
class SliceChange(Record):
    """What changed on the ``images`` of a slice, and every model there; intervals hold for all slices together."""

    name: str
    images: int
    diff: LabelDiff
    models: tuple[ModelChange, ...]

    def json_fields(self) -> dict[str, Any]:
        """The size of the slice, the number of changes of each kind, and the models."""
        return {"slice": self.name, "images": self.images, "counts": self.diff.counts(), "models": self.models}


@dataclass(frozen=True, eq=False, repr=False)
class LabelChange(StudyResult, records="models"):
    """The differences between two label versions, and every model under both, largest change first.

    ``slices`` have the same on parts of the images.
    """

    test_set: TestSet
    diff: LabelDiff
    rule: str
    models: tuple[ModelChange, ...]
    notes: tuple[str, ...]
    slices: tuple[SliceChange, ...] = ()

    def json_fields(self) -> dict[str, Any]:
        """The label sets, what changed between them, and the models; the slices, if there are any."""
        return self._json_of_all() | ({"slices": self.slices} if self.slices else {})

    def _json_of_all(self) -> dict[str, Any]:
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
        """One row per model, and slice if there are any; without models, the counts of changes."""
        if not self.models:
            return self.count_table()
        columns = [
            Column("model", "model"),
            *([Column("slice", "slice")] if self.slices else []),
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
        rows = tuple(
            tuple(name if column.key == "slice" else getattr(row, column.key) for column in columns)
            for model in self.models
            for name, row in self._parts_of(model)
        )
        counts = ", ".join(f"{number:,} {what}" for what, number in self.diff.counts().items()) or "nothing"
        return Table(f"{self._title}, in %", tuple(columns), rows, (f"changed: {counts}", *self.notes))

    def _parts_of(self, model: ModelChange) -> list[tuple[str, ModelChange]]:
        """A model on all images and on each slice, by name."""
        same = [(part.name, row) for part in self.slices for row in part.models if row.model == model.model]
        return [(EVERYTHING, model), *same]

    def _shares(self, last: str) -> bool:
        """Whether any models are tied in the rank that this column ends."""
        rows = [*self.models, *(row for part in self.slices for row in part.models)]
        return any(getattr(row, last) != getattr(row, last.removesuffix("_last")) for row in rows)

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
        """One row per kind of change, and one column per slice."""
        parts = [part.diff.counts() for part in self.slices]
        columns = (
            Column("change", "change"),
            Column("number", "number"),
            *(Column(part.name, f"in {part.name}") for part in self.slices),
        )
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (change, number, *(part.get(change, 0) for part in parts)) for change, number in self.diff.counts().items()
        )
        return Table(f"changes from {self._title}", columns, rows, ())

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
    slices: Sequence[ImageSlice] = (),
    clusters: ImageClusters | None = None,
    confidence: float = 0.95,
) -> LabelChange:
    """Compare two label versions, and score models under both; predictions are read one model at a time.

    Both versions are scored by the same rule; decisions of their reviews count. An image that became problematic counts
    for the accuracy before, but neither for the accuracy after nor for the difference. ``slices`` are compared too.
    With ``clusters``, intervals of differences and of means over images are over clusters.
    """
    rule = before.scoring.rule
    if rule is not after.scoring.rule:
        raise InputError("both label versions must be scored by the same rule")
    names = f"{before.scoring.labels.full_name} or {after.scoring.labels.full_name}"
    for part in slices:
        part.check_scored(before.scored | after.scored, names)
    masks = {EVERYTHING: np.ones(len(test_set), dtype=bool)} | {part.name: part.inside for part in slices}
    rows: dict[str, list[tuple[ModelChange, _SharedImages]]] = {name: [] for name in masks}
    for model_predictions, scoring in predictions:
        judged = [judge_predictions(model_predictions, scoring, labels) for labels in (before, after)]
        for name, inside in masks.items():
            old, new = (replace(model, counted=model.counted & inside) for model in judged)
            row = _model_change(test_set, old, new, rule=rule, clusters=clusters, confidence=confidence)
            rows[name].append((row, _SharedImages.of(old, new, clusters)))
    models = {name: _ranked(_with_differences(part, len(masks) - 1, name, confidence)) for name, part in rows.items()}
    labels = before.scoring.labels, after.scoring.labels
    return LabelChange(
        test_set,
        label_diff(*labels),
        rule.value,
        models[EVERYTHING],
        (
            *_notes([row for part in models.values() for row in part], before, after),
            *_cluster_notes(clusters, before.scored | after.scored, rule),
            *_slice_notes(models),
        ),
        tuple(
            SliceChange(part.name, part.images, label_diff(*labels, inside=part.inside), models[part.name])
            for part in slices
        ),
    )


@dataclass(frozen=True, eq=False)
class _SharedImages:
    """Which images that both versions score are correct under the ``before`` (k,) and the ``after`` (k,) one."""

    before: BoolArray
    after: BoolArray
    clusters: IntArray | None

    @classmethod
    def of(cls, before: JudgedPredictions, after: JudgedPredictions, clusters: ImageClusters | None) -> _SharedImages:
        both = before.counted & after.counted
        return cls(before.right[both], after.right[both], numbers_of(clusters, both))

    def difference(self, together: int, confidence: float) -> Estimate | None:
        """The paired difference, with an interval that is simultaneous for as many differences."""
        if not len(self.before):
            return None
        level = bonferroni_confidence(together, confidence)
        difference = paired_share_difference(self.after, self.before, self.clusters, confidence=level)
        return mark_simultaneous(difference, together, confidence=confidence)


def _with_differences(
    rows: list[tuple[ModelChange, _SharedImages]], slices: int, name: str, confidence: float
) -> list[ModelChange]:
    """The rows of a slice with their differences, simultaneous for its models, and for all slices but the whole."""
    together = len(rows) * (1 if name == EVERYTHING else slices)
    return [replace(row, difference=shared.difference(together, confidence)) for row, shared in rows]


def _slice_notes(models: Mapping[str, Sequence[ModelChange]]) -> tuple[str, ...]:
    if len(models) == 1 or not models[EVERYTHING]:
        return ()
    return ("differences on slices: intervals hold for all models and all slices together",)


def _model_change(
    test_set: TestSet,
    before: JudgedPredictions,
    after: JudgedPredictions,
    *,
    rule: MultilabelRule,
    clusters: ImageClusters | None,
    confidence: float,
) -> ModelChange:
    both = before.counted & after.counted
    gained = int((after.right & ~before.right & both).sum())
    lost = int((before.right & ~after.right & both).sum())
    return ModelChange(
        before.model,
        _accuracy(before, test_set, rule, clusters, confidence),
        _accuracy(after, test_set, rule, clusters, confidence),
        None,
        gained,
        lost,
        int((before.counted & ~after.counted).sum()),
        int((after.counted & ~before.counted).sum()),
        int((before.novel & before.counted).sum()),
        int((after.novel & after.counted).sum()),
        int(both.sum()),
    )


def _accuracy(
    judged: JudgedPredictions,
    test_set: TestSet,
    rule: MultilabelRule,
    clusters: ImageClusters | None,
    confidence: float,
) -> Estimate | None:
    inside: BoolArray = judged.counted
    if not inside.any():
        return None
    if clusters is not None and rule is MultilabelRule.IMAGES:
        return share_of(judged.right, inside, clusters, confidence=confidence)
    return multilabel_accuracy(judged.right, inside, test_set.labels, rule=rule, confidence=confidence)


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


def _notes(rows: Sequence[ModelChange], before: ReviewedLabels, after: ReviewedLabels) -> tuple[str, ...]:
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


def _cluster_notes(clusters: ImageClusters | None, scored: BoolArray, rule: MultilabelRule) -> Iterator[str]:
    if clusters is not None:
        yield from clusters.notes(scored)
        if rule is MultilabelRule.CLASSES:
            yield "not over clusters, but as if images were independent: intervals of accuracies, means over classes"


def _problem(reason: str) -> str:
    return f"problematic: {reason}" if reason else "not problematic"
