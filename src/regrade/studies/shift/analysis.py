"""The shift by the embeddings of one model: the area under the ROC curve, and how typical each image is."""

from __future__ import annotations

import numpy as np

from regrade.stats import bonferroni_confidence, cross_fitted_auc, mark_simultaneous
from regrade.studies.shift.discriminator import fold_scores
from regrade.studies.shift.images import SetEmbeddings, pooled_embeddings
from regrade.studies.shift.result import EmbeddingShift, ShiftScores, ShiftVerdict


def embedding_shift(
    model: str,
    new: SetEmbeddings,
    original: SetEmbeddings,
    *,
    column: str | None = None,
    rng: np.random.Generator,
    models: int = 1,
    confidence: float = 0.95,
) -> EmbeddingShift:
    """How well the embeddings of a model tell new images from original ones.

    Images with the same value of the group ``column`` belong together, and the interval holds for all of ``models``
    together. Raises if there are too few images of a set for the folds.
    """
    pooled = pooled_embeddings(model, new, original, column=column)
    is_new, clusters = pooled.is_new, pooled.clusters
    scored = fold_scores(pooled.embeddings, is_new, clusters=clusters, rng=rng)
    level = bonferroni_confidence(models, confidence)
    auc = cross_fitted_auc(scored.scores, is_new, scored.folds, clusters=clusters, confidence=level)
    typicality = scored.typicality(is_new)
    return EmbeddingShift(
        model,
        int(is_new.sum()),
        int((~is_new).sum()),
        len(new.positions) + len(original.positions) - len(is_new),
        mark_simultaneous(auc, models, confidence=confidence),
        ShiftVerdict.TOLD_APART if auc.low > 0.5 else ShiftVerdict.NOT_SHOWN,
        ShiftScores(new.test_set, pooled.positions[is_new], typicality[is_new], scored.scores[is_new]),
        ShiftScores(original.test_set, pooled.positions[~is_new], typicality[~is_new], -scored.scores[~is_new]),
    )
