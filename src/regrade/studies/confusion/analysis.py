"""The confusion study: score images by an ensemble's entropy over training, and relate scores to models' errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regrade.core import Checkpoints, Estimate, InputError, TestSet, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import FloatArray
from regrade.metrics import (
    ConfusionEntropies,
    FinalPredictions,
    confusion_entropies,
    confusion_score,
    final_predictions,
)
from regrade.metrics.confusion_score import bits_in
from regrade.stats import proportion
from regrade.studies.confusion.distribution import ScoreBins, distribution, error_curve
from regrade.studies.confusion.graded_models import GradedModel, Scored, grade_models, own_name, same_size
from regrade.studies.confusion.hard_set import HardRule, HardSet, hard_set, ranking_holds, transfer
from regrade.studies.confusion.reduced_checkpoints import RankAgreement, fewer_checkpoints, rank_agreements
from regrade.studies.confusion.result import ConfusedModel, Confusion, ScoredEnsemble
from regrade.studies.confusion.unlabeled import LabeledSet, UnlabeledInputs, expected_errors
from regrade.studies.scoring import Scoring

_TOLERANCE = 1e-6  # scores this close are equal up to rounding

BIN_WIDTH = 0.1
"""Default width of score bins, in units of the score."""


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
    entropies = confusion_entropies(first)
    unit = bits_in(base)
    ensemble = ScoredEnsemble(first.ensemble, first.members, first.epochs, first.kind, first.classes, float(base))
    bins = ScoreBins(bin_width, ensemble.top)
    scores = np.clip(entropies.score / unit, 0.0, ensemble.top)
    last = final_predictions(first)
    hard_images, notes = _hard(test_set, scores, last, hard, unit=ensemble.unit)
    graded = grade_models(test_set, first, last, predictions, own, with_confidence=unlabeled is not None)
    insiders = {own_name(first), *first.members}
    rows = [
        _model(name, model, scores, bins, hard_images, inside=name in insiders, rng=rng, confidence=confidence)
        for name, model in graded.items()
        if model.counted.any()
    ]
    models = tuple(sorted(rows, key=lambda row: (row.error.value, row.model)))
    outside = [model for name, model in graded.items() if model.counted.any() and name not in insiders]
    if not models:
        notes.append(
            f"no label of {test_set.name} counts, so nothing is said of errors"
            if not test_set.labeled.any()
            else f"no model has predictions on {test_set.name}"
        )
    return Confusion(
        test_set.name,
        ensemble,
        test_set.ids,
        confidence,
        scores,
        bins,
        distribution(scores, bins, confidence=confidence),
        models,
        _agreements(ensembles, scores, entropies, unit, confidence),
        fewer_checkpoints(entropies, first.members, bins, unit=unit, confidence=confidence),
        hard_images,
        _ranking(outside, hard_images, confidence),
        expected_errors(LabeledSet(first, scores, graded), unlabeled, bins, unit=unit, rng=rng, confidence=confidence)
        if unlabeled
        else None,
        tuple(notes),
    )


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


def _ranking(models: Sequence[GradedModel], hard: HardSet | None, confidence: float) -> Estimate | None:
    if hard is None:
        return None
    return ranking_holds(
        [model.wrong for model in models], [model.counted for model in models], hard.inside, confidence=confidence
    )


def _agreements(
    ensembles: Sequence[Checkpoints],
    scores: FloatArray,
    entropies: ConfusionEntropies,
    unit: float,
    confidence: float,
) -> tuple[RankAgreement, ...]:
    """Rank agreements between ensembles, or between the members of a single one."""
    if len(ensembles) > 1:
        named = {ensembles[0].ensemble: scores}
        named |= {ensemble.ensemble: confusion_score(ensemble) / unit for ensemble in ensembles[1:]}
    else:
        named = {f"member {name}": own for name, own in zip(ensembles[0].members, entropies.members, strict=True)}
    return rank_agreements(named, confidence=confidence)


def _model(
    name: str,
    model: GradedModel,
    scores: FloatArray,
    bins: ScoreBins,
    hard: HardSet | None,
    *,
    inside: bool,
    rng: np.random.Generator,
    confidence: float,
) -> ConfusedModel:
    counted = model.counted
    wrong = model.wrong[counted]
    return ConfusedModel(
        name,
        inside,
        proportion(int(wrong.sum()), len(wrong), confidence=confidence),
        error_curve(scores[counted], wrong, bins, rng=rng, confidence=confidence),
        transfer(wrong, hard.inside[counted], confidence=confidence) if hard else None,
    )
