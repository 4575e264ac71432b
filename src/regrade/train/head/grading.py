"""Accuracy before and after a new head, on the same images of every set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from regrade.core import InputError, MismatchError, TestSet
from regrade.store import Store
from regrade.studies.geography.group_frame import ModelCorrectness, correctness_of
from regrade.studies.loading import scored_predictions
from regrade.studies.remedies.analysis import GroupColumns, SetCorrectness, remedies, set_correctness
from regrade.studies.remedies.result import RemedyMeasure, RemedyRow
from regrade.studies.seeded_methods import MethodPair, SeededMethod
from regrade.train.head.result import HeadRow, SetRole

Correctness: TypeAlias = list[ModelCorrectness] | str
"""The correctness of models on a set, or why it is not defined."""


@dataclass(frozen=True)
class GradedSets:
    """The rows of all sets, and notes about them."""

    rows: tuple[HeadRow, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class HeadGrader:
    """Grades pairs of models (base, head), one per seed.

    ``class_map`` is the file of a map to the classes with the digest ``mapped_classes``.
    """

    store: Store
    pairs: tuple[tuple[str, str], ...]
    by: str | None
    clusters: str | None
    class_map: str | Path | None
    mapped_classes: str

    def grade(self, sets: Sequence[tuple[TestSet, SetRole]]) -> GradedSets:
        """The rows of all sets; a set whose labels a model does not predict has no accuracy of it, with the reason."""
        bases, heads = (tuple(dict.fromkeys(names)) for names in zip(*self.pairs, strict=True))
        compared: list[SetCorrectness] = []
        rows: list[HeadRow] = []
        notes: list[str] = []
        roles = {test_set.name: role for test_set, role in sets}
        for test_set, role in sets:
            before, after = self._correctness(test_set, bases), self._correctness(test_set, heads)
            if not isinstance(before, str) and not isinstance(after, str):
                compared.append(self._set(test_set, (*before, *after)))
            elif isinstance(before, str) and isinstance(after, str):
                rows.append(_undefined(test_set, role, f"not defined: {after}"))
            else:
                data, more = self._one_side(test_set, before, after, roles)
                rows += more
                notes += data.notes
        rows += self._compared(compared, self.pairs, roles)
        notes += [note for data in compared for note in data.notes]
        order = list(roles)
        rows.sort(key=lambda row: order.index(row.test_set))
        return GradedSets(tuple(rows), tuple(dict.fromkeys(notes)))

    def _one_side(
        self, test_set: TestSet, before: Correctness, after: Correctness, roles: Mapping[str, SetRole]
    ) -> tuple[SetCorrectness, list[HeadRow]]:
        """The rows of a set on which only the base models or only the heads are defined."""
        models, reason = (after, f"before is not defined: {before}") if isinstance(before, str) else (before, "")
        reason = reason or f"after is not defined: {after}"
        assert not isinstance(models, str)
        data = self._set(test_set, models)
        same = tuple((model.model, model.model) for model in models)
        rows = self._compared([data], same, roles)
        return data, [_one_sided(row, is_after=models is after, reason=reason) for row in rows]

    def _correctness(self, test_set: TestSet, models: tuple[str, ...]) -> Correctness:
        """The correctness of models on a set, or why it is not defined."""
        predicted = self.store.predictions.manifest(test_set.name, models[0])
        labeled = test_set.class_space.digest
        needs_map = predicted.class_space_digest != labeled == self.mapped_classes
        path = self.class_map if needs_map else None
        try:
            scored = list(scored_predictions(self.store, test_set, models, class_map=path))
        except MismatchError:
            return f"no class map from {predicted.class_space} to {test_set.class_space.name}, the classes of the set"
        return [correctness_of(predictions, scoring, 1) for predictions, scoring in scored]

    def _set(self, test_set: TestSet, models: Sequence[ModelCorrectness]) -> SetCorrectness:
        """The correctness on images that count for all models; groups too small for an interval are left out."""
        clusters = self.clusters if self.clusters in test_set.group_columns else None
        by = self.by if self.by in test_set.group_columns else None
        try:
            return set_correctness(test_set, models, GroupColumns(by, clusters))
        except InputError as error:
            if by is None:
                raise
            overall = set_correctness(test_set, models, GroupColumns(None, clusters))
            return SetCorrectness(
                overall.test_set, overall.correct, (), overall.members, overall.clusters,
                (*overall.notes, f"{test_set.name}: overall accuracy only, {error}"),
            )  # fmt: skip

    def _compared(
        self, sets: Sequence[SetCorrectness], pairs: tuple[tuple[str, str], ...], roles: Mapping[str, SetRole]
    ) -> list[HeadRow]:
        """The rows of all sets, with intervals of their differences that hold simultaneously."""
        if not sets:
            return []
        before, after = (SeededMethod(names[0], {name: name for name in names}) for names in zip(*pairs, strict=True))
        pair = MethodPair(before, after, pairs)
        result = remedies(sets, [pair], by=self.by, confidence=self.store.config.confidence)
        return [_row(row, roles[row.test_set]) for row in result.rows]


def _row(row: RemedyRow, role: SetRole) -> HeadRow:
    return HeadRow(row.test_set, role, row.measure, row.group, row.images, row.baseline, row.remedied, row.difference)


def _one_sided(row: HeadRow, *, is_after: bool, reason: str) -> HeadRow:
    """A row with the accuracy before or after only."""
    before, after = (None, row.after) if is_after else (row.before, None)
    return HeadRow(row.test_set, row.role, row.measure, row.group, row.images, before, after, None, reason)


def _undefined(test_set: TestSet, role: SetRole, reason: str) -> HeadRow:
    return HeadRow(test_set.name, role, RemedyMeasure.ACCURACY, None, None, None, None, None, reason)
