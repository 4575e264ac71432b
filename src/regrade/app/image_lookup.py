"""Lookups about one image: its judged labels, the scores of models, and the suggested kind of a mistake."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from regrade.app.cache import RecentCache, predictions_stamp, triage_stamp
from regrade.classes import superclasses
from regrade.core import LabelSet, LabelState, RegradeError, ScoreKind, TestSet
from regrade.core.arrays import FloatArray, IntArray
from regrade.ledger import Item, Queue
from regrade.store import Store
from regrade.studies.loading import reviewed_labels
from regrade.studies.mistakes.mistake_labels import MistakeLabels
from regrade.studies.mistakes.study import pair_labels
from regrade.studies.mistakes.triage import NO_ERROR, Triage, TriageKind, make_triage


@dataclass(frozen=True)
class JudgedLabels:
    """The judged classes of one image, by index, and the reason if the image is problematic and not scored."""

    correct: tuple[int, ...]
    unclear: tuple[int, ...]
    wrong: tuple[int, ...]
    problematic: str


class LabelIndex:
    """A label set with fast lookup of the labels of one image."""

    def __init__(self, labels: LabelSet) -> None:
        self.labels = labels

    @cached_property
    def _order(self) -> IntArray:
        return np.lexsort((self.labels.classes, self.labels.examples))

    @cached_property
    def _examples(self) -> IntArray:
        return self.labels.examples[self._order]

    def of(self, position: int) -> JudgedLabels:
        """The labels of the image at a position."""
        begin, end = np.searchsorted(self._examples, [position, position + 1])
        rows = self._order[begin:end]
        states, classes = self.labels.states[rows], self.labels.classes[rows]

        def judged(state: LabelState) -> tuple[int, ...]:
            return tuple(classes[states == state].tolist())

        return JudgedLabels(
            judged(LabelState.CORRECT),
            judged(LabelState.UNCLEAR),
            judged(LabelState.WRONG),
            self.labels.reasons[position],
        )


_CACHED_MODELS = 256


@dataclass(frozen=True, eq=False)
class _TopPredictions:
    """A model's top-1 classes (n,), their scores (n,) and all scores (n, c); None where not stored."""

    classes: IntArray
    scores: FloatArray | None
    kind: ScoreKind | None
    full: FloatArray | None

    def confidence(self, position: int) -> float | None:
        """The softmax score of the top-1 class of an image, or None if it is not stored."""
        if self.scores is None:
            return None
        score = float(self.scores[position])
        if self.kind is ScoreKind.PROBABILITIES:
            return score
        if self.kind is ScoreKind.LOG_PROBABILITIES:
            return float(np.exp(score))
        if self.full is None:
            return None
        row = np.asarray(self.full[position], dtype=np.float64)
        return float(1 / np.exp(row - row.max()).sum())


@dataclass(frozen=True)
class ModelScore:
    """A model that predicts a class, and its softmax score; None if it is not stored."""

    model: str
    confidence: float | None


class ScoreCache:
    """The top-1 predictions of a workspace's models, cached until they are stored again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._top: RecentCache[_TopPredictions | None] = RecentCache(_CACHED_MODELS)

    def of(self, test_set: TestSet, position: int, class_index: int, *, model: str = "") -> tuple[ModelScore, ...]:
        """The models that predict a class for an image, most confident first; only ``model`` if it is given."""
        scores = []
        for name in [model] if model else self._store.predictions.model_names(test_set.name):
            top = self._newest(test_set, name)
            if top is not None and int(top.classes[position]) == class_index:
                scores.append(ModelScore(name, top.confidence(position)))
        return tuple(
            sorted(scores, key=lambda score: -1.0 if score.confidence is None else score.confidence, reverse=True)
        )

    def _newest(self, test_set: TestSet, model: str) -> _TopPredictions | None:
        try:
            stamp = (test_set, predictions_stamp(self._store, test_set.name, model))
            return self._top.get((test_set.name, model), lambda: self._read(test_set, model), stamp=stamp)
        except (OSError, RegradeError):
            return None

    def _read(self, test_set: TestSet, model: str) -> _TopPredictions | None:
        """The top-1 predictions of a model; None if it predicts classes of another class space."""
        predictions = self._store.predictions.read(test_set, model)
        if predictions.class_space != test_set.class_space.name:
            return None
        scores = None if predictions.scores is None else predictions.scores[:, 0].copy()
        return _TopPredictions(predictions.top1.copy(), scores, predictions.score_kind, predictions.full_scores)


def format_scores(scores: tuple[ModelScore, ...], *, model: str = "") -> str:
    """Scores as text for a page.

    >>> format_scores((ModelScore("b", 0.913), ModelScore("a", 0.4)))
    '91.3% by b, the most confident of 2 models that predict it'
    >>> format_scores((), model="a"), format_scores(())
    ('a no longer predicts it', 'no model predicts it')
    """
    if not scores:
        return f"{model} no longer predicts it" if model else "no model predicts it"
    top = scores[0]
    text = f"not stored for {top.model}" if top.confidence is None else f"{100 * top.confidence:.1f}% by {top.model}"
    return f"{text}, the most confident of {len(scores)} models that predict it" if len(scores) > 1 else text


class Suggestions:
    """The triage of mistakes of any test set, cached until its labels or reviews change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._triage: RecentCache[Triage] = RecentCache(4)

    def of(self, queue: Queue, item: Item) -> str | None:
        """The suggested kind of mistake of an item, or None without a suggestion."""
        try:
            triage = self._triage_of(queue)
        except RegradeError:
            return None
        test_set = triage.ground.test_set
        kind = _kind_of(triage, test_set.position(item.example), test_set.class_space.index(item.class_id))
        return None if kind is None else kind.value

    def _triage_of(self, queue: Queue) -> Triage:
        name, labels = queue.test_set, queue.labels
        return self._triage.get(
            (name, labels),
            lambda: _triage_under(self._store, self._store.test_set(name), labels),
            stamp=triage_stamp(self._store, name),
        )


def _triage_under(store: Store, test_set: TestSet, labels: str) -> Triage:
    """The triage of errors under a label set, from all data stored for its test set."""
    judged_labels = reviewed_labels(store, test_set, labels, collapsed=bool(test_set.class_space.collapsed))
    return make_triage(
        MistakeLabels(test_set, replace(judged_labels, review=None), judged_labels),
        superclasses=superclasses(test_set.class_space),
        pairs_from=pair_labels(store, test_set, labels),
        reviews=[store.mistakes.read(test_set, name) for name in store.mistakes.names(test_set.name)],
    )


def _kind_of(triage: Triage, example: int, answer: int) -> TriageKind | None:
    """The suggested kind of error of a prediction; None if it is not an error, or the image is not scored."""
    if not triage.scored[example]:
        return None
    (kind,) = triage.kinds(np.array([example]), np.array([answer])).tolist()
    return None if kind == NO_ERROR else list(TriageKind)[kind]
