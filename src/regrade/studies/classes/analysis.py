"""Classes: counts of labels and predictions, scores per class with intervals, and the confusion matrix in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from regrade.classes import superclasses
from regrade.core import ClassSpace, Estimate, InputError, UndefinedError
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.metrics import confusions
from regrade.stats import (
    GroupShares,
    balanced_proportion,
    bonferroni_confidence,
    cluster,
    clustered_f1_scores,
    f1_scores,
    group_shares,
    macro_f1,
    mark_simultaneous,
    proportions,
    weighted_f1,
)
from regrade.stats.intervals import tail_share
from regrade.studies.classes.result import (
    ClassAverages,
    ClassGrades,
    ClassOrder,
    ClassScores,
    ConfusedClasses,
    ConfusionMatrix,
)
from regrade.studies.image_clusters import mean_credit, numbers_in

DRAWN_CLASSES = 40
"""The most classes of a confusion matrix; with more, it shows those in the most frequent confusions."""

_NO_SUPERCLASS = "no superclass"


@dataclass(frozen=True, eq=False)
class PredictedClasses:
    """One model on the labeled images: labels (n,) and predicted classes (n,), -1 without a prediction.

    Images of one of the ``clusters`` (n,) are dependent; None: all are independent.
    """

    model: str
    labels: IntArray
    predicted: IntArray
    clusters: IntArray | None = None

    @property
    def accuracy(self) -> float:
        """The share of right predictions."""
        return float((self.labels == self.predicted).mean())


@dataclass(frozen=True, eq=False)
class _ClassCounts:
    """Counts (c,) of images, predictions and right predictions per class."""

    supports: IntArray
    predicted: IntArray
    right: IntArray


def class_study(
    test_set: str,
    space: ClassSpace,
    models: Iterable[PredictedClasses],
    *,
    order: ClassOrder | None = None,
    most: int = 10,
    confidence: float = 0.95,
    notes: Sequence[str] = (),
) -> ClassGrades:
    """Grade every class of a class space: precision, recall and F1 of models with intervals, and confusions.

    An image without a prediction counts as missed for its label, and for no predicted class. ``order`` is that of the
    confusion matrix (default: the hierarchy of the class space, or clusters if it has none); ``most`` is the number of
    pairs per model.
    """
    chosen = sorted(models, key=lambda model: (-model.accuracy, model.model))
    if not chosen:
        raise InputError(f"no model has predictions on {test_set}")
    counts = [_counted(model, len(space)) for model in chosen]
    pairs = zip(chosen, counts, strict=True)
    scored = [row for model, count in pairs for row in class_rows(model, space, count, confidence=confidence)]
    best = full_matrix(chosen[0], space)
    return ClassGrades(
        test_set,
        len(chosen[0].labels),
        confidence,
        tuple(scored),
        tuple(_averages(model, count, confidence) for model, count in zip(chosen, counts, strict=True)),
        tuple(pair for model in chosen for pair in _confused(model, space, most, confidence)),
        drawn_matrix(best, space, order),
        _superclass_matrix(best, space) if len(space) > DRAWN_CLASSES else None,
        tuple(notes),
        _design_effects(chosen[0], space, confidence),
    )


def _design_effects(model: PredictedClasses, space: ClassSpace, confidence: float) -> dict[str, float] | None:
    """By how much the clusters of each class reduce its images for the recall; None if all images are independent."""
    if model.clusters is None:
        return None
    present, shares = _by_class(model.labels == model.predicted, model.labels, model.clusters)
    level = bonferroni_confidence(len(present), confidence)
    worth = np.clip(shares.adjusted_sizes(1 - tail_share(level)), 1, shares.sizes)
    return dict(zip((space.names[place] for place in present), (shares.sizes / worth).tolist(), strict=True))


def _counted(model: PredictedClasses, classes: int) -> _ClassCounts:
    answered = model.predicted[model.predicted >= 0]
    right = model.labels[model.labels == model.predicted]
    supports, predicted, hits = (np.bincount(part, minlength=classes) for part in (model.labels, answered, right))
    return _ClassCounts(supports, predicted, hits)


def class_rows(
    model: PredictedClasses, space: ClassSpace, counts: _ClassCounts, *, confidence: float
) -> list[ClassScores]:
    """The scores of the classes with images or predictions, the lowest F1 first."""
    present = np.flatnonzero(counts.supports + counts.predicted)
    precision = _shares(model, model.predicted, counts.right, counts.predicted, confidence)
    recall = _shares(model, model.labels, counts.right, counts.supports, confidence)
    f1 = _f1_scores(model, present, counts, bonferroni_confidence(len(present), confidence))
    rows = [
        ClassScores(
            model.model,
            space.ids[place],
            space.names[place],
            int(counts.supports[place]),
            int(counts.predicted[place]),
            precision[place],
            recall[place],
            mark_simultaneous(score, len(present), confidence=confidence),
        )
        for place, score in zip(present.tolist(), f1, strict=True)
    ]
    return sorted(rows, key=lambda row: row.f1.value if row.f1 else 1.0)


def _f1_scores(model: PredictedClasses, present: IntArray, counts: _ClassCounts, level: float) -> list[Estimate]:
    if model.clusters is None:
        parts = (part[present] for part in (counts.right, counts.supports, counts.predicted))
        return f1_scores(*parts, confidence=level)
    scores = clustered_f1_scores(model.labels, model.predicted, model.clusters, confidence=level)
    return [scores[place] for place in present.tolist()]


def _shares(
    model: PredictedClasses, classes: IntArray, right: IntArray, of: IntArray, confidence: float
) -> list[Estimate | None]:
    """The share of right images of each class with a denominator, with simultaneous intervals; None for the others.

    ``classes`` (n,) are those of the images, -1 for none; ``right`` and ``of`` (c,) are their counts.
    """
    defined = np.flatnonzero(of)
    level = bonferroni_confidence(len(defined), confidence)
    shares: list[Estimate | None] = [None] * len(of)
    if defined.size:
        if model.clusters is None:
            estimates = proportions(right[defined], of[defined], confidence=level)
        else:
            inside = classes >= 0
            correct, clusters = model.labels == model.predicted, model.clusters
            estimates = _by_class(correct[inside], classes[inside], clusters[inside])[1].estimates(level)
        for place, share in zip(defined.tolist(), estimates, strict=True):
            shares[place] = mark_simultaneous(share, len(defined), confidence=confidence)
    return shares


def _by_class(values: BoolArray, classes: IntArray, clusters: IntArray) -> tuple[IntArray, GroupShares]:
    """The classes (c,) that occur, and the share of ``values`` (n,) in each over clusters."""
    present, members = np.unique(classes, return_inverse=True)
    return present, group_shares(values, members, clusters)


def _averages(model: PredictedClasses, counts: _ClassCounts, confidence: float) -> ClassAverages:
    right, answered = model.labels == model.predicted, model.predicted >= 0
    clusters = model.clusters
    inside = None if clusters is None else clusters[answered]
    precision = (
        balanced_proportion(right[answered], model.predicted[answered], inside, confidence=confidence)[0]
        if answered.any()
        else None
    )
    return ClassAverages(
        model.model,
        len(right),
        mean_credit(right, clusters, confidence=confidence),
        balanced_proportion(right, model.labels, clusters, confidence=confidence)[0],
        precision,
        *_mean_f1_scores(model, confidence),
        int(((counts.supports > 0) & (counts.predicted == 0)).sum()),
    )


def _mean_f1_scores(model: PredictedClasses, confidence: float) -> tuple[Estimate | None, Estimate | None]:
    """Macro and weighted F1."""
    parts = model.labels, model.predicted, model.clusters
    try:
        return macro_f1(*parts, confidence=confidence), weighted_f1(*parts, confidence=confidence)
    except UndefinedError:
        return None, None


def _confused(model: PredictedClasses, space: ClassSpace, most: int, confidence: float) -> list[ConfusedClasses]:
    """The confusions with the most images; then those with the largest share."""
    pairs = confusions(model.labels, model.predicted)
    supports = np.bincount(model.labels, minlength=len(space))
    chosen = np.lexsort((-pairs.counts / supports[pairs.first], -pairs.counts))[:most]
    tested = int((supports > 0).sum()) * (len(space) - 1)
    level = bonferroni_confidence(tested, confidence)
    first, second, counts = (part[chosen] for part in (pairs.first, pairs.second, pairs.counts))
    return [
        ConfusedClasses(
            model.model,
            space.names[a],
            space.names[b],
            count,
            mark_simultaneous(_confusion(model, a, b, level), tested, confidence=confidence),
        )
        for a, b, count in zip(first.tolist(), second.tolist(), counts.tolist(), strict=True)
    ]


def _confusion(model: PredictedClasses, label: int, predicted: int, level: float) -> Estimate:
    """The share of the images of a label that are predicted as another class."""
    inside = model.labels == label
    return mean_credit(model.predicted[inside] == predicted, numbers_in(model.clusters, inside), confidence=level)


def full_matrix(model: PredictedClasses, space: ClassSpace) -> ConfusionMatrix:
    """The confusion matrix of all classes, in their own order."""
    answered = model.predicted >= 0
    keys = model.labels[answered].astype(np.int64) * len(space) + model.predicted[answered]
    counts = np.bincount(keys, minlength=len(space) ** 2).reshape(len(space), len(space))
    supports = np.bincount(model.labels, minlength=len(space))
    return ConfusionMatrix(model.model, space.names, "class index", len(space), supports, counts)


def drawn_matrix(matrix: ConfusionMatrix, space: ClassSpace, order: ClassOrder | None) -> ConfusionMatrix:
    """At most `DRAWN_CLASSES` classes, those in the most frequent confusions, in the wanted order."""
    if order is ClassOrder.HIERARCHY and space.hierarchy is None:
        raise InputError(f"class space {space.name} has no hierarchy: use --order clusters")
    chosen = np.arange(len(space)) if len(space) <= DRAWN_CLASSES else most_confused(matrix.counts, DRAWN_CLASSES)
    by_hierarchy = order is ClassOrder.HIERARCHY or (order is None and space.hierarchy is not None)
    if by_hierarchy:
        return _selected(matrix, hierarchy_order(space, chosen), "hierarchy")
    clustered = chosen[cluster_order(_selected(matrix, chosen, "").shares)]
    return _selected(matrix, clustered, "clustering of confusions")


def _selected(matrix: ConfusionMatrix, places: IntArray, order: str) -> ConfusionMatrix:
    names = tuple(matrix.classes[place] for place in places)
    counts = matrix.counts[np.ix_(places, places)]
    return ConfusionMatrix(matrix.model, names, order, matrix.of, matrix.supports[places], counts)


def most_confused(counts: IntArray, size: int) -> IntArray:
    """The classes, ascending, of the most frequent confusions in either direction, up to ``size`` classes.

    If no class is confused, the first ``size`` classes.
    """
    first, second = np.nonzero(np.triu(counts + counts.T, k=1))
    chosen: dict[int, None] = {}
    for place in np.argsort(-(counts[first, second] + counts[second, first]), kind="stable"):
        pair = {int(first[place]), int(second[place])}
        if len(chosen.keys() | pair) > size:
            break
        chosen |= dict.fromkeys(pair)
    return np.array(sorted(chosen or range(size)), dtype=np.int64)


def hierarchy_order(space: ClassSpace, places: IntArray) -> IntArray:
    """Classes in the order of a walk through the hierarchy, so that relatives are neighbors."""
    hierarchy = space.hierarchy
    assert hierarchy is not None
    paths = {place: tuple(reversed(hierarchy.first_path_ancestors(space.ids[place]))) for place in places.tolist()}
    return np.array(sorted(paths, key=lambda place: paths[place]), dtype=np.int64)


def cluster_order(shares: FloatArray) -> IntArray:
    """Classes in the leaf order of a clustering by how often they are confused, in either direction."""
    rates = np.nan_to_num(shares)
    distances = 1 - (rates + rates.T) / 2
    np.fill_diagonal(distances, 0.0)
    return cluster(distances, threshold=0.0).order


def _superclass_matrix(matrix: ConfusionMatrix, space: ClassSpace) -> ConfusionMatrix | None:
    """The matrix of superclasses, each class in the first of its superclasses; None if there are fewer than two."""
    groups = superclasses(space)
    if len(groups.names) < 2:
        return None
    member = np.where(groups.members.any(axis=1), groups.members.argmax(axis=1), len(groups.names))
    sums = np.zeros((len(groups.names) + 1, len(space)), dtype=np.int64)
    sums[member, np.arange(len(space))] = 1
    names = (*groups.names, _NO_SUPERCLASS)
    return ConfusionMatrix(
        matrix.model, names, groups.rule, len(names), sums @ matrix.supports, sums @ matrix.counts @ sums.T
    )
