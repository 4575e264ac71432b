"""How sure models are of a class: the softmax scores of those that predict it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from regrade.core import RegradeError, ScoreKind, TestSet
from regrade.core.arrays import FloatArray, IntArray
from regrade.store import Store

_KEPT = 256  # models whose best answers are kept in memory


@dataclass(frozen=True, eq=False)
class _Best:
    """One model's best class of every image (n,), its scores (n,), and all scores (n, c), if they are stored."""

    classes: IntArray
    scores: FloatArray | None
    kind: ScoreKind | None
    full: FloatArray | None

    def share(self, position: int) -> float | None:
        """The softmax score of the best class of an image, none where it cannot be told."""
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
    """A model that predicts a class, and how sure it is; none where that is not stored."""

    model: str
    share: float | None


class ScoreCache:
    """The best answers of a workspace's models, read once and again when they are stored anew."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._best = lru_cache(_KEPT)(self._read)

    def of(self, test_set: TestSet, position: int, class_index: int, *, model: str = "") -> tuple[ModelScore, ...]:
        """The models that predict a class for an image, the surest first; one model alone if it is named."""
        found = []
        for name in [model] if model else self._store.model_names(test_set.name):
            best = self._newest(test_set, name)
            if best is not None and int(best.classes[position]) == class_index:
                found.append(ModelScore(name, best.share(position)))
        return tuple(sorted(found, key=lambda one: -1.0 if one.share is None else one.share, reverse=True))

    def _newest(self, test_set: TestSet, model: str) -> _Best | None:
        try:
            stamp = (self._store.prediction_folder(test_set.name, model) / "manifest.json").stat().st_mtime_ns
            return self._best(test_set, model, stamp)
        except (OSError, RegradeError):
            return None

    def _read(self, test_set: TestSet, model: str, stamp: int) -> _Best | None:  # noqa: ARG002
        """None for a model that answers in other classes than the test set is labeled in."""
        found = self._store.predictions(test_set, model)
        if found.class_space != test_set.class_space.name:
            return None
        scores = None if found.scores is None else found.scores[:, 0].copy()
        return _Best(found.top1.copy(), scores, found.score_kind, found.full_scores)


def in_words(scores: tuple[ModelScore, ...], *, model: str = "") -> str:
    """Scores as a page says them.

    >>> in_words((ModelScore("b", 0.913), ModelScore("a", 0.4)))
    '91.3% by b, the surest of 2 models that say so'
    >>> in_words((), model="a"), in_words(())
    ('a does not predict it any more', 'no model here predicts it')
    """
    if not scores:
        return f"{model} does not predict it any more" if model else "no model here predicts it"
    first, *others = scores
    told = f"not stored for {first.model}" if first.share is None else f"{100 * first.share:.1f}% by {first.model}"
    return f"{told}, the surest of {len(scores)} models that say so" if others else told
