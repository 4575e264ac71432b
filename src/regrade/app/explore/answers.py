"""The predictions of all models and the answers of all people on a test set, in memory, and their outcomes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regrade.app.cache import Stamp
from regrade.core import (
    NO_ANSWER,
    PERSON_PREFIX,
    Answerer,
    ClassSpace,
    MapRule,
    Predictions,
    RegradeError,
    ScoreKind,
    TestSet,
    UnknownName,
)
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import best_within
from regrade.store import PartialReads, Store
from regrade.studies import Scoring
from regrade.studies.image_basis import JudgedPredictions, judge_predictions
from regrade.studies.loading import scored_predictions

Codes: TypeAlias = NDArray[np.uint8]
"""Outcomes (m, n) of models and people on images, one byte each."""


class AnswerOutcome(IntEnum):
    """The outcome of one answer."""

    NOT_COUNTED = 0
    RIGHT = 1
    WRONG = 2
    NOVEL = 3
    """Not judged yet; counts as wrong until it is."""


class AnswerKind(Enum):
    """Kinds of answers by which images can be filtered."""

    RIGHT = "right"
    WRONG = "wrong"
    NOVEL = "novel"
    MISSED = "missed"
    """Wrong or novel."""
    NOT_IN_FIVE = "not-in-five"
    """The original label is not among the top five."""


WORDS = {
    AnswerOutcome.NOT_COUNTED: "not scored",
    AnswerOutcome.RIGHT: "right",
    AnswerOutcome.WRONG: "wrong",
    AnswerOutcome.NOVEL: "novel",
}
"""Names of outcomes on pages."""

KIND_WORDS = {
    AnswerKind.RIGHT: "right",
    AnswerKind.WRONG: "wrong",
    AnswerKind.NOVEL: "novel",
    AnswerKind.MISSED: "wrong or novel",
    AnswerKind.NOT_IN_FIVE: "not in the top five",
}
"""Names of kinds of answers on pages."""

_CODES = {
    AnswerKind.RIGHT: (AnswerOutcome.RIGHT,),
    AnswerKind.WRONG: (AnswerOutcome.WRONG,),
    AnswerKind.NOVEL: (AnswerOutcome.NOVEL,),
    AnswerKind.MISSED: (AnswerOutcome.WRONG, AnswerOutcome.NOVEL),
}


def codes_of(judged: JudgedPredictions) -> Codes:
    """Shape (n,): the outcomes of one model's answers."""
    codes = np.zeros(len(judged.right), dtype=np.uint8)
    codes[judged.counted] = AnswerOutcome.WRONG
    codes[judged.counted & judged.novel] = AnswerOutcome.NOVEL
    codes[judged.counted & judged.right] = AnswerOutcome.RIGHT
    return codes


def has_kind(kind: AnswerKind, codes: Codes) -> BoolArray:
    """Which answers are of a kind, in the shape of the codes."""
    outcomes = _CODES[kind]
    return np.asarray(codes == outcomes[0]) if len(outcomes) == 1 else np.asarray(codes >= AnswerOutcome.WRONG)


TOP_K = 5
"""Top classes kept per image."""


@dataclass(frozen=True, eq=False)
class AnswerRow:
    """One model or person: its class space, its scoring, and which data is stored."""

    name: str
    class_space: ClassSpace
    scoring: Scoring
    k: int
    score_kind: ScoreKind | None
    has_features: bool
    was_asked: BoolArray | None

    @property
    def is_person(self) -> bool:
        """Whether the row is a person."""
        return self.name.startswith(PERSON_PREFIX)

    @property
    def own_classes(self) -> bool:
        """Whether its classes are those of the test set, without a class map."""
        return self.scoring.class_map is None


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """The answers of all ``rows`` (m,), models and people, on a test set of n images.

    ``classes`` and ``scores`` (m, n, 5) are memory-mapped, with -1 and NaN for missing values. ``answered`` (m, n) is
    the scored answer as a class of the test set, or -1 outside of them, and ``own`` (m, n) its outcome under the
    original labels. ``left_out`` holds, by name, the reason why a row cannot be shown.
    """

    test_set: TestSet
    rows: tuple[AnswerRow, ...]
    classes: IntArray
    scores: FloatArray
    answered: IntArray
    own: Codes
    stamp: Stamp
    left_out: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def place_of(self) -> Mapping[str, int]:
        """Row numbers by name."""
        return {row.name: place for place, row in enumerate(self.rows)}

    @cached_property
    def coverage_notes(self) -> tuple[str, ...]:
        """Which models have predictions on some of the images only, as in the tables of studies."""
        name, images = self.test_set.name, len(self.test_set)
        covered = {row.name: row.was_asked for row in self.rows if row.was_asked is not None and not row.is_person}
        return PartialReads({(name, model): (int(mask.sum()), images) for model, mask in covered.items()}).notes

    def place(self, name: str) -> int:
        """The row number of a model or person; an unknown name raises."""
        if name not in self.place_of:
            raise UnknownName(f"model on {self.test_set.name}", name, list(self.place_of))
        return self.place_of[name]

    def predictions(self, place: int) -> Predictions:
        """The top-5 answers of one row."""
        row = self.rows[place]
        return Predictions(
            row.name,
            self.test_set.name,
            row.class_space.name,
            self.classes[place, :, : min(row.k, TOP_K)],
            by=Answerer.PERSON if row.is_person else Answerer.MODEL,
            covered=row.was_asked,
        )

    def scored(self, store: Store, places: Sequence[int]) -> Iterator[tuple[Predictions, Scoring]]:
        """The answers of some rows with their scoring; rows with a class map are read from the store in full."""
        for place in places:
            row = self.rows[place]
            predictions = (
                self.predictions(place) if row.own_classes else store.predictions.read(self.test_set, row.name)
            )
            yield predictions, row.scoring

    def with_scores(self, store: Store, places: Sequence[int]) -> Iterator[tuple[Predictions, Scoring]]:
        """The answers of some rows with their scoring, as stored: with all their scores."""
        for place in places:
            row = self.rows[place]
            yield store.predictions.read(self.test_set, row.name), row.scoring


def read_answers(store: Store, test_set: TestSet, stamp: Stamp, before: AnswerTable | None) -> AnswerTable:
    """Read all answers on a test set; rows that have not changed since ``before`` are copied from it."""
    unchanged = {} if before is None or before.test_set is not test_set else dict(before.stamp)
    n, size = len(test_set), len(stamp)
    classes, scores = _file_array((size, n, TOP_K), np.int32), _file_array((size, n, TOP_K), np.float32)
    small = len(test_set.class_space) <= np.iinfo(np.int16).max
    answered = np.full((size, n), NO_ANSWER, dtype=np.int16 if small else np.int32)
    own = np.zeros((size, n), dtype=np.uint8)
    rows: list[AnswerRow] = []
    left_out: dict[str, str] = {}
    for name, written in stamp:
        place = len(rows)
        if before is not None and unchanged.get(name) == written and name in before.place_of:
            old = before.place_of[name]
            for new, kept in ((classes, before.classes), (scores, before.scores), (answered, before.answered)):
                new[place] = kept[old]
            own[place] = before.own[old]
            rows.append(before.rows[old])
            continue
        try:
            predictions, scoring = next(scored_predictions(store, test_set, (name,)))
            space = store.class_spaces.read(predictions.class_space)
        except RegradeError as error:
            left_out[name] = str(error)
            continue
        k = min(predictions.k, TOP_K)
        classes[place], scores[place] = NO_ANSWER, np.nan
        classes[place, :, :k] = predictions.classes[:, :k]
        if predictions.scores is not None:
            scores[place, :, :k] = predictions.scores[:, :k]
        judged = judge_predictions(predictions, scoring, None)
        own[place] = codes_of(judged)
        answered[place] = _in_own_classes(predictions, scoring, judged.right & judged.counted)
        rows.append(
            AnswerRow(
                name, space, scoring, predictions.k, predictions.score_kind, predictions.features is not None,
                predictions.covered,
            )
        )  # fmt: skip
    m = len(rows)
    return AnswerTable(test_set, tuple(rows), classes[:m], scores[:m], answered[:m], own[:m], stamp, left_out)


def _in_own_classes(predictions: Predictions, scoring: Scoring, right: BoolArray) -> IntArray:
    """The answer on each image as a class of the test set; -1 if it maps to none of them."""
    class_map, test_set = scoring.class_map, scoring.test_set
    if class_map is None:
        return predictions.top1
    top1 = predictions.top1
    if class_map.rule is MapRule.WITHIN_MAPPED:
        top1 = best_within(predictions.classes, class_map.mapped)
    translate = np.full(len(class_map.source) + 1, NO_ANSWER, dtype=np.int64)  # the last: no answer (-1)
    for target, sources in zip(class_map.target.ids, class_map.sources, strict=True):
        for source in sources:
            if translate[source] == NO_ANSWER:
                translate[source] = test_set.class_space.index_of.get(target, NO_ANSWER)
    return np.where(right, test_set.labels, translate[top1])


def _file_array(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """A memory-mapped array in a temporary file, which is removed with the array."""
    if 0 in shape:
        return np.empty(shape, dtype=dtype)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape)
