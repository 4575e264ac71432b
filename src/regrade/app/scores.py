"""Softmax scores of the models that predict a class for an image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.app.cache import RecentCache, predictions_stamp
from regrade.core import RegradeError, ScoreKind, TestSet
from regrade.core.arrays import FloatArray, IntArray
from regrade.store import Store

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
