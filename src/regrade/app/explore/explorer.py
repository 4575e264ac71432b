"""What pages ask again and again of a workspace, kept for as long as its files stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from regrade.app.explore.answer_table import AnswerTable, read_answers
from regrade.app.explore.near_duplicates import NearDuplicateFinder
from regrade.app.explore.outcomes import AnswerKind, AnswerOutcome, Codes, are, codes_of
from regrade.app.explore.recent_cache import RecentCache
from regrade.app.explore.stamps import Stamp, answers_stamp, review_stamp, test_set_stamp
from regrade.core import InputError, LabelState, TestSet, UnknownName
from regrade.core.arrays import BoolArray, IntArray
from regrade.store import Store
from regrade.studies import EVERYTHING, Grade, GradeRow, ReviewedLabels, grade
from regrade.studies.same_images import judge_predictions
from regrade.workspace import Workspace
from regrade.workspace.loading import reviewed_labels

_TEST_SETS = 4  # whose answers are kept
_VIEWS = 8  # pairs of test sets and labels whose outcomes are kept
_GRADES = 64
_MOST_VALUES = 60  # of a group column that are offered as slices
_PER_IMAGE = "image"  # the group column of corrupted sets that names the clean image


@dataclass(frozen=True, eq=False)
class View:
    """A test set as a page sees it: its answers, and what comes of them by one kind of labels, as ``codes`` (m, n).

    ``judged`` is none where the images' own labels decide. All parts belong together, whatever is stored meanwhile;
    ``written`` tells one state of the files from another.
    """

    test_set: TestSet
    answers: AnswerTable
    codes: Codes
    judged: ReviewedLabels | None
    written: tuple[Stamp, ...]

    @property
    def labels(self) -> str:
        """The label set with its version; empty for the images' own."""
        return "" if self.judged is None else self.judged.scoring.labels.full_name

    @cached_property
    def missed(self) -> IntArray:
        """Shape (n,): how many models and people have each image wrong."""
        return np.asarray(are(AnswerKind.MISSED, self.codes).sum(axis=0, dtype=np.int32))

    @cached_property
    def counted(self) -> IntArray:
        """Shape (n,): for how many models and people each image counts."""
        return np.asarray((self.codes != AnswerOutcome.NOT_COUNTED).sum(axis=0, dtype=np.int32))

    def of_class(self, class_index: int) -> BoolArray:
        """Shape (n,): the images of a class: those labeled so, or in a set without labels those judged to be so."""
        if self.test_set.labeled.any() or self.judged is None:
            return np.asarray(self.test_set.labels == class_index)
        known = self.judged.scoring.labels
        inside = np.zeros(len(self.test_set), dtype=bool)
        inside[known.examples[(known.classes == class_index) & (known.states == LabelState.CORRECT)]] = True
        return inside


class Explorer:
    """What pages show of a workspace, at hand: all of it is bounded, and new files are noticed."""

    def __init__(self, workspace: Workspace) -> None:
        self.store: Store = workspace.store
        self.likeness = NearDuplicateFinder(workspace.store)
        self._test_sets: RecentCache[TestSet] = RecentCache(16)
        self._answers: RecentCache[AnswerTable] = RecentCache(_TEST_SETS)
        self._views: RecentCache[View] = RecentCache(_VIEWS)
        self._grades: RecentCache[Grade] = RecentCache(_GRADES)
        self._slices: RecentCache[BoolArray] = RecentCache(_GRADES)
        self._offered: RecentCache[Mapping[str, tuple[str, ...]]] = RecentCache(16)

    def test_set(self, name: str) -> TestSet:
        """A test set with all its slices."""
        return self._test_sets.get(name, test_set_stamp(self.store, name), lambda _: self.store.test_set(name))

    def labels_named(self, test_set: str, labels: str) -> str:
        """A label set by its name and version, the newest unless one is named; empty for the images' own labels."""
        known = self.store.label_set_names(test_set) if labels else ()
        found = [full for full in known if labels in (full, full.rpartition("@")[0])]
        if labels and not found:
            raise UnknownName(f"label set of {test_set}", labels, known)
        return found[-1] if found else ""

    def view(self, name: str, labels: str) -> View:
        """A test set with all answers, held against a label set or against the images' own labels."""
        stored = test_set_stamp(self.store, name)
        test_set = self._test_sets.get(name, stored, lambda _: self.store.test_set(name))
        given = answers_stamp(self.store, name)
        answers = self._answers.get(
            name, (stored, given), lambda before: read_answers(self.store, test_set, given, before)
        )
        written = (stored, given, review_stamp(self.store, name, labels) if labels else ())
        return self._views.get((name, labels), written, lambda _: self._seen(test_set, answers, labels, written))

    def grade(self, view: View, slice_name: str) -> Grade:
        """The grade of all models and people on a test set or one of its slices, as `Workspace.grade` gives it."""
        asked = (view.test_set.name, view.labels, slice_name)
        return self._grades.get(asked, view.written, lambda _: self._graded(view, slice_name))

    def inside(self, view: View, slice_name: str) -> BoolArray:
        """Shape (n,): the images of a slice, all without one."""
        test_set = view.test_set
        if not slice_name:
            return np.ones(len(test_set), dtype=bool)
        asked = (test_set.name, slice_name)
        return self._slices.get(asked, view.written[0], lambda _: test_set.slice(slice_name))

    def slices_offered(self, view: View) -> Mapping[str, tuple[str, ...]]:
        """The slices of a test set under headings: subsets, values of group columns, groups of classes."""
        return self._offered.get(view.test_set.name, view.written[0], lambda _: _slices_of(view.test_set))

    def _seen(self, test_set: TestSet, answers: AnswerTable, labels: str, written: tuple[Stamp, ...]) -> View:
        if not labels:
            return View(test_set, answers, answers.own, None, written)
        judged = reviewed_labels(self.store, test_set, labels)
        return View(test_set, answers, _held_against(answers, judged), judged, written)

    def _graded(self, view: View, slice_name: str) -> Grade:
        answers, judged = view.answers, view.judged
        if not answers.rows:
            raise InputError(f"no model has predictions on {view.test_set.name} yet")
        slices = [slice_name] if slice_name else []
        plain = [place for place, row in enumerate(answers.rows) if row.own_classes]
        mapped = [place for place, row in enumerate(answers.rows) if not row.own_classes]
        groups = [(plain, judged), (mapped, None)] if judged else [([*plain, *mapped], None)]
        grades = [
            grade(
                view.test_set,
                answers.scored(self.store, places),
                labels=labels,
                slices=slices,
                confidence=self.store.config.confidence,
            )
            for places, labels in groups
            if places
        ]
        rows = [row for found in grades for row in found.rows if row.slice == (slice_name or EVERYTHING)]
        notes = tuple(dict.fromkeys(note for found in grades for note in found.notes))
        return replace(grades[0], rows=tuple(sorted(rows, key=_best_first)), notes=notes)


def _held_against(answers: AnswerTable, judged: ReviewedLabels) -> Codes:
    """Outcomes by a label set; of answers in other classes than its own it says nothing."""
    codes = np.zeros(answers.own.shape, dtype=np.uint8)
    for place, row in enumerate(answers.rows):
        if row.own_classes:
            codes[place] = codes_of(judge_predictions(answers.predictions(place), row.scoring, judged))
    return codes


def _best_first(row: GradeRow) -> tuple[float, str]:
    found = row.top1 or row.multilabel
    return (-found.value if found else 1.0, row.model)


def _slices_of(test_set: TestSet) -> dict[str, tuple[str, ...]]:
    offered: dict[str, tuple[str, ...]] = {}
    if test_set.subsets:
        offered["subsets"] = tuple(test_set.subsets)
    for column in test_set.group_columns:
        if column == _PER_IMAGE:
            continue
        values = test_set.slices_of(column)
        if len(values) <= _MOST_VALUES:
            offered[column] = values
    if test_set.labeled.any() and test_set.class_space.groups:
        offered["classes"] = tuple(test_set.class_space.groups)
    return offered
