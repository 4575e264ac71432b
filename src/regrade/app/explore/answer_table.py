"""What every model and person said of every image of a test set, at hand without reading files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regrade.app.explore.outcomes import Codes, codes_of
from regrade.app.explore.stamps import Stamp
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
from regrade.store import Store
from regrade.studies import Scoring
from regrade.studies.same_images import judge_predictions
from regrade.workspace.loading import scored_predictions

KEPT = 5
"""The best classes of an image that are at hand."""


@dataclass(frozen=True, eq=False)
class AnswerRow:
    """One model or person: the classes it speaks of, how it is scored, and what is stored of it."""

    name: str
    class_space: ClassSpace
    scoring: Scoring
    k: int
    score_kind: ScoreKind | None
    has_features: bool
    asked: BoolArray | None

    @property
    def is_person(self) -> bool:
        """Whether it is a person."""
        return self.name.startswith(PERSON_PREFIX)

    @property
    def own_classes(self) -> bool:
        """Whether it answers in the classes that the test set is labeled in."""
        return self.scoring.class_map is None


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """The answers of all ``rows`` (m,) on a test set of n images.

    ``classes`` and ``scores`` (m, n, 5) lie in a temporary file: -1 and not a number where there are none. ``answered``
    (m, n) is the answer that counts, in the classes of the test set, -1 where it is outside of them, and ``own`` (m, n)
    what comes of it by the images' own labels. ``left_out`` says why a row cannot be shown.
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
        """From name to row."""
        return {row.name: place for place, row in enumerate(self.rows)}

    def place(self, name: str) -> int:
        """The row of a model or person; an unknown one raises."""
        if name not in self.place_of:
            raise UnknownName(f"model on {self.test_set.name}", name, list(self.place_of))
        return self.place_of[name]

    def predictions(self, place: int) -> Predictions:
        """The answers of one row, as far as they are at hand."""
        row = self.rows[place]
        return Predictions(
            row.name,
            self.test_set.name,
            row.class_space.name,
            self.classes[place, :, : min(row.k, KEPT)],
            by=Answerer.PERSON if row.is_person else Answerer.MODEL,
            covered=row.asked,
        )

    def scored(self, store: Store, places: Sequence[int]) -> Iterator[tuple[Predictions, Scoring]]:
        """The answers of some rows with how they are scored; through a class map it may take more than is at hand."""
        for place in places:
            row = self.rows[place]
            known = self.predictions(place) if row.own_classes else store.predictions(self.test_set, row.name)
            yield known, row.scoring


def read_answers(store: Store, test_set: TestSet, stamp: Stamp, before: AnswerTable | None) -> AnswerTable:
    """Read all answers on a test set; those that have not changed since ``before`` are taken over."""
    known = {} if before is None or before.test_set is not test_set else dict(before.stamp)
    n, size = len(test_set), len(stamp)
    classes, scores = _file_array((size, n, KEPT), np.int32), _file_array((size, n, KEPT), np.float32)
    small = len(test_set.class_space) <= np.iinfo(np.int16).max
    answered = np.full((size, n), NO_ANSWER, dtype=np.int16 if small else np.int32)
    own = np.zeros((size, n), dtype=np.uint8)
    rows: list[AnswerRow] = []
    left_out: dict[str, str] = {}
    for name, written in stamp:
        place = len(rows)
        if before is not None and known.get(name) == written and name in before.place_of:
            old = before.place_of[name]
            for new, kept in ((classes, before.classes), (scores, before.scores), (answered, before.answered)):
                new[place] = kept[old]
            own[place] = before.own[old]
            rows.append(before.rows[old])
            continue
        try:
            predictions, scoring = next(scored_predictions(store, test_set, (name,)))
            space = store.class_space(predictions.class_space)
        except RegradeError as error:
            left_out[name] = str(error)
            continue
        k = min(predictions.k, KEPT)
        classes[place], scores[place] = NO_ANSWER, np.nan
        classes[place, :, :k] = predictions.classes[:, :k]
        if predictions.scores is not None:
            scores[place, :, :k] = predictions.scores[:, :k]
        found = judge_predictions(predictions, scoring, None)
        own[place] = codes_of(found)
        answered[place] = _in_own_classes(predictions, scoring, found.right & found.counted)
        rows.append(
            AnswerRow(
                name, space, scoring, predictions.k, predictions.score_kind, predictions.features is not None,
                predictions.covered,
            )
        )  # fmt: skip
    m = len(rows)
    return AnswerTable(test_set, tuple(rows), classes[:m], scores[:m], answered[:m], own[:m], stamp, left_out)


def _in_own_classes(predictions: Predictions, scoring: Scoring, right: BoolArray) -> IntArray:
    """The answer of each image as a class of the test set; -1 where it stands for none of them."""
    chart, test_set = scoring.class_map, scoring.test_set
    if chart is None:
        return predictions.top1
    top1 = predictions.top1
    if chart.rule is MapRule.WITHIN_MAPPED:
        top1 = best_within(predictions.classes, chart.mapped)
    translate = np.full(len(chart.source) + 1, NO_ANSWER, dtype=np.int64)  # the last: no answer (-1)
    for target, sources in zip(chart.target.ids, chart.sources, strict=True):
        for one in sources:
            if translate[one] == NO_ANSWER:
                translate[one] = test_set.class_space.index_of.get(target, NO_ANSWER)
    return np.where(right, test_set.labels, translate[top1])


def _file_array(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """An array in a temporary file, so that the system may put it aside; it goes when no one needs it."""
    if 0 in shape:
        return np.empty(shape, dtype=dtype)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape)
