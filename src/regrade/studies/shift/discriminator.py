"""Can new images be told from original ones? A logistic regression on embeddings, cross-fitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core import Estimate, InputError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.stats import cluster_folds, cross_fitted_auc, ridge_logistic
from regrade.stats.cross_fitting import share_below

FOLDS = 5
_MOST_PER_NEW = 5  # original images per new one: more add little


@dataclass(frozen=True, eq=False)
class FoldScores:
    """The log odds (n,) that an image is new, by a classifier of the other ``folds`` (n,) than its own.

    Scores of different folds come from different classifiers, and are compared within a fold only.
    """

    scores: FloatArray
    folds: IntArray

    def typicality(self, is_new: BoolArray) -> FloatArray:
        """Shape (n,): the share of the images of the other set in the same fold that look less like the image's set.

        The mean over new images is the area under the ROC curve. Ties count as half.
        """
        shares = np.zeros(len(self.scores))
        for fold in np.unique(self.folds):
            new, original = (np.flatnonzero((self.folds == fold) & side) for side in (is_new, ~is_new))
            shares[new] = share_below(self.scores[new], self.scores[original])
            shares[original] = 1 - share_below(self.scores[original], self.scores[new])
        return shares


def balanced_images(
    new_labels: IntArray, original_labels: IntArray, *, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Positions of new and of original images with the same share of every class, drawn at random.

    Otherwise different numbers of images per class would tell the sets apart. Classes that one set lacks are left out.
    """
    shared = sorted(set(new_labels.tolist()) & set(original_labels.tolist()) - {-1})
    members = {label: (_of(new_labels, label, rng), _of(original_labels, label, rng)) for label in shared}
    ratios = [len(original) // len(new) for new, original in members.values()]
    ratio = min(max(min(ratios, default=1), 1), _MOST_PER_NEW)
    chosen: tuple[list[int], list[int]] = ([], [])
    for new, original in members.values():
        count = min(len(new), len(original) // ratio)
        chosen[0].extend(new[:count].tolist())
        chosen[1].extend(original[: count * ratio].tolist())
    return np.array(chosen[0], dtype=np.int64), np.array(chosen[1], dtype=np.int64)


def _of(labels: IntArray, label: int, rng: np.random.Generator) -> IntArray:
    return rng.permutation(np.flatnonzero(labels == label))


def fold_scores(
    embeddings: FloatArray, is_new: BoolArray, *, clusters: IntArray, rng: np.random.Generator
) -> FoldScores:
    """The scores of a logistic regression that tells new images from original ones, cross-fitted.

    ``embeddings`` (n, d) are standardized by the training images of each fold. The penalty grows with d, so that the
    log odds vary by about 1 before any image is seen. Images of one of the ``clusters`` (n,), such as an author, are
    never in both training and test images. Raises if a fold would lack a kind of image.
    """
    if embeddings.ndim != 2 or len(embeddings) != len(is_new):
        raise InputError(f"embeddings must be (n, d) for {len(is_new)} images, got {embeddings.shape}")
    folds = cluster_folds(is_new, clusters, FOLDS, rng=rng)
    scores = np.zeros(len(is_new))
    for fold in range(FOLDS):
        inside = folds == fold
        train = embeddings[~inside].astype(np.float64)
        center, scale = train.mean(axis=0), train.std(axis=0)
        scale[scale == 0] = 1.0
        fit = ridge_logistic((train - center) / scale, is_new[~inside], penalty=float(embeddings.shape[1]))
        scores[inside] = fit.scores((embeddings[inside] - center) / scale)
    return FoldScores(scores, folds)


def discriminate(
    embeddings: FloatArray, is_new: BoolArray, *, clusters: IntArray, rng: np.random.Generator, confidence: float = 0.95
) -> Estimate:
    """The area under the ROC curve of `fold_scores`; 0.5 means that the images cannot be told apart."""
    scored = fold_scores(embeddings, is_new, clusters=clusters, rng=rng)
    return cross_fitted_auc(scored.scores, is_new, scored.folds, clusters=clusters, confidence=confidence)
