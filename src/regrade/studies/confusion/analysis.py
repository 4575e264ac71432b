"""The confusion study: score images by an ensemble's entropy over training, and relate scores to models' errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from regrade.core import Checkpoints, Estimate, InputError, ModelAttributes, TestSet, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import FloatArray, IntArray
from regrade.metrics import (
    EARLY_CHECKPOINTS,
    ConfusionEntropies,
    FinalPredictions,
    confusion_score,
    final_predictions,
    training_scores,
)
from regrade.metrics.confusion_scores import bits_in
from regrade.studies.confusion.bands import Remedy, compare_bands
from regrade.studies.confusion.distribution import ScoreBins, distribution, error_curve
from regrade.studies.confusion.ensembles import score_training_set, summarize_ensembles
from regrade.studies.confusion.graded_models import GradedModel, Scored, grade_models, own_name, same_size
from regrade.studies.confusion.hard_set import HardRule, HardSet, hard_set, ranking_holds, transfer
from regrade.studies.confusion.reduced_checkpoints import fewer_checkpoints, rank_agreements, strided_scores
from regrade.studies.confusion.result import ConfusedModel, Confusion, ScoredEnsemble
from regrade.studies.confusion.rivals import compare_rivals, error_share, image_scores
from regrade.studies.confusion.trends import score_trends
from regrade.studies.confusion.unlabeled import LabeledSet, UnlabeledInputs, expected_errors
from regrade.studies.image_clusters import mean_credit, numbers_in
from regrade.studies.scoring import Scoring

_TOLERANCE = 1e-6  # scores this close are equal up to rounding

BIN_WIDTH = 0.1
"""Default width of score bins, in units of the score."""


@dataclass(frozen=True, eq=False)
class FurtherInputs:
    """What only some parts of the study need.

    ``scorings`` are those of the further ensembles' predictions, in their order; ``human`` (n,) is the entropy of
    people's answers, NaN without; ``early`` is the number of checkpoints of EL2N. ``train`` are checkpoints of the
    first ensemble on its training images, and ``remedy`` names two models to compare on easy and on hard images.
    ``attributes`` are what is stated about models, by name. Images of the test set of one of the ``clusters`` (n,) are
    dependent, and so are training images of one of the ``train_clusters``.
    """

    scorings: Sequence[Scoring | None] = ()
    human: FloatArray | None = None
    early: int = EARLY_CHECKPOINTS
    train: Checkpoints | None = None
    remedy: Remedy | None = None
    attributes: Mapping[str, ModelAttributes] = field(default_factory=dict)
    clusters: IntArray | None = None
    train_clusters: IntArray | None = None


def confusion(
    test_set: TestSet,
    ensembles: Sequence[Checkpoints],
    predictions: Scored = (),
    *,
    rng: np.random.Generator,
    own: Scoring | None = None,
    base: float = 2.0,
    bin_width: float = BIN_WIDTH,
    hard: HardRule | None = None,
    unlabeled: UnlabeledInputs | None = None,
    further: FurtherInputs | None = None,
    confidence: float = 0.95,
) -> Confusion:
    """Score every image by the confusion of the first ensemble, and relate models' mistakes to the scores.

    The score needs no labels; models are graded on the images whose labels count. ``own`` is the scoring of the
    ensemble's predictions after its last epoch, which then get a row too. Further ensembles are compared by rank; with
    a single ensemble its members are. ``hard`` chooses the hard set (default: the hardest tenth, or none if all images
    have the same score). ``unlabeled`` is a set on which errors are estimated without labels.
    """
    if not ensembles:
        raise InputError("name at least one ensemble")
    first = ensembles[0]
    _check_sizes(test_set, ensembles)
    extra = further or FurtherInputs()
    clusters = extra.clusters
    training = training_scores(first, _labels_of(test_set, first), early=extra.early)
    entropies = training.entropies
    unit = bits_in(base)
    ensemble = ScoredEnsemble(first.ensemble, first.members, first.epochs, first.kind, first.classes, float(base))
    bins = ScoreBins(bin_width, ensemble.top)
    scores = np.clip(entropies.score / unit, 0.0, ensemble.top)
    last = final_predictions(first)
    hard_images, notes = _hard(test_set, scores, last, hard, unit=ensemble.unit)
    graded = grade_models(test_set, first, last, predictions, own, with_confidence=unlabeled is not None)
    insiders = {own_name(first), *first.members}
    rows = [
        replace(
            _model(
                name,
                model,
                _Scores(scores, bins, hard_images, clusters),
                rng,
                inside=name in insiders,
                confidence=confidence,
            ),
            family=extra.attributes.get(name, ModelAttributes()).family or None,
        )
        for name, model in graded.items()
        if model.counted.any()
    ]
    models = tuple(sorted(rows, key=lambda row: (row.error.value, row.model)))
    outsiders = {name: model for name, model in graded.items() if model.counted.any() and name not in insiders}
    outside = list(outsiders.values())
    if not models:
        notes.append(
            f"no label of {test_set.name} counts, so nothing is said of errors"
            if not test_set.labeled.any()
            else f"no model has predictions on {test_set.name}"
        )
    compared = _compared(ensembles, scores, entropies, unit)
    return Confusion(
        test_set.name,
        ensemble,
        test_set.ids,
        confidence,
        scores,
        bins,
        distribution(scores, bins, clusters, confidence=confidence),
        models,
        rank_agreements(compared, clusters, confidence=confidence),
        fewer_checkpoints(entropies, first.members, bins, clusters, unit=unit, confidence=confidence),
        hard_images,
        _ranking(outside, hard_images, clusters, confidence),
        expected_errors(
            LabeledSet(first, scores, graded, clusters), unlabeled, bins, unit=unit, rng=rng, confidence=confidence
        )
        if unlabeled
        else None,
        tuple(notes),
        compared,
        summarize_ensembles(
            test_set,
            ensembles,
            {**compared, first.ensemble: scores},
            [own, *extra.scorings],
            clusters,
            unit=unit,
            confidence=confidence,
        ),
        strided_scores(training, bins, _error_share(outside, len(scores)), clusters, unit=unit, confidence=confidence),
        compare_rivals(
            image_scores(first, training, extra.human, early=extra.early), outside, clusters, confidence=confidence
        ),
        None
        if extra.train is None
        else score_training_set(first, extra.train, bins, extra.train_clusters, unit=unit, confidence=confidence),
        None
        if extra.remedy is None
        else compare_bands(extra.remedy, graded, scores, clusters, top=ensemble.top, confidence=confidence),
        score_trends(scores, outsiders, extra.attributes, clusters, confidence=confidence),
    )


def _labels_of(test_set: TestSet, ensemble: Checkpoints) -> IntArray | None:
    """Shape (n,): the labels as classes of the ensemble; None if it has other classes, or if no image has a label."""
    same_classes = ensemble.class_space in ("", test_set.class_space.name)
    return test_set.labels if same_classes and test_set.labeled.any() else None


def _error_share(models: Sequence[GradedModel], images: int) -> FloatArray:
    if not models:
        return np.full(images, np.nan)
    return error_share(np.stack([model.wrong for model in models]), np.stack([model.counted for model in models]))


def _check_sizes(test_set: TestSet, ensembles: Sequence[Checkpoints]) -> None:
    for ensemble in ensembles:
        same_size(test_set, ensemble)
    names = [ensemble.ensemble for ensemble in ensembles]
    if len(set(names)) < len(names):
        raise InputError("an ensemble is named twice")


def _hard(
    test_set: TestSet, scores: FloatArray, last: FinalPredictions, rule: HardRule | None, *, unit: str
) -> tuple[HardSet | None, list[str]]:
    if rule is not None:
        return hard_set(test_set, scores, last.classes, rule, unit=unit), []
    try:
        if np.ptp(scores) < _TOLERANCE:
            raise UndefinedError(f"{amount(len(scores), 'image')}, all of one score")
        return hard_set(test_set, scores, last.classes, HardRule(), unit=unit), []
    except UndefinedError as error:
        return None, [f"there is no hard set: {error}"]


def _ranking(
    models: Sequence[GradedModel], hard: HardSet | None, clusters: IntArray | None, confidence: float
) -> Estimate | None:
    if hard is None:
        return None
    wrong, counted = [model.wrong for model in models], [model.counted for model in models]
    return ranking_holds(wrong, counted, hard.inside, clusters, confidence=confidence)


def _compared(
    ensembles: Sequence[Checkpoints], scores: FloatArray, entropies: ConfusionEntropies, unit: float
) -> dict[str, FloatArray]:
    """The scores (n,) of the ensembles, or of the members of a single one."""
    if len(ensembles) > 1:
        named = {ensembles[0].ensemble: scores}
        return named | {ensemble.ensemble: confusion_score(ensemble) / unit for ensemble in ensembles[1:]}
    return {f"member {name}": own / unit for name, own in zip(ensembles[0].members, entropies.members, strict=True)}


@dataclass(frozen=True, eq=False)
class _Scores:
    """The scores (n,) of the images, their bins, the hard images, and the clusters (n,) of dependent images."""

    values: FloatArray
    bins: ScoreBins
    hard: HardSet | None
    clusters: IntArray | None


def _model(
    name: str, model: GradedModel, scores: _Scores, rng: np.random.Generator, *, inside: bool, confidence: float
) -> ConfusedModel:
    counted, hard = model.counted, scores.hard
    wrong, numbers = model.wrong[counted], numbers_in(scores.clusters, counted)
    return ConfusedModel(
        name,
        inside,
        mean_credit(wrong, numbers, confidence=confidence),
        error_curve(scores.values[counted], wrong, scores.bins, numbers, rng=rng, confidence=confidence),
        transfer(wrong, hard.inside[counted], numbers, confidence=confidence) if hard else None,
    )
