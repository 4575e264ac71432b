"""Which images confuse an ensemble while it is trained, and do they confuse other models too?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regrade.core import Checkpoints, Estimate, InputError, TestSet, UndefinedError
from regrade.core.amounts import amount
from regrade.core.arrays import FloatArray
from regrade.metrics import ConfusionEntropies, LastAnswers, confusion_entropies, confusion_score, last_answers
from regrade.metrics.confusion_score import bits_in
from regrade.stats import proportion
from regrade.studies.confusion.distribution import ScoreBins, distribution
from regrade.studies.confusion.error_curve import error_curve
from regrade.studies.confusion.hard_set import HardRule, HardSet, hard_set
from regrade.studies.confusion.model_answers import Answered, Scored, answered_by_all, own_name, same_size
from regrade.studies.confusion.reduced_checkpoints import RankAgreement, fewer_checkpoints, rank_agreements
from regrade.studies.confusion.result import ConfusedModel, Confusion, ScoredEnsemble
from regrade.studies.confusion.transfer import ranking_holds, transfer
from regrade.studies.confusion.without_labels import LabeledSide, WithoutLabels, expected_errors
from regrade.studies.scoring import Scoring

_ALIKE = 1e-6  # scores this close are told apart by rounding only

BIN_WIDTH = 0.1
"""How wide bins of scores are, in units of the score."""


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
    other: WithoutLabels | None = None,
    confidence: float = 0.95,
) -> Confusion:
    """Score every image by how it confuses the first ensemble, and hold models' mistakes against the scores.

    The score needs no labels; what is said of models is on the images whose labels count. ``own`` says how the
    ensemble's own answers after its last epoch are held against labels; they are then a row too. Further ensembles are
    compared by rank; with one, its members are. ``hard`` chooses the hard set: the hardest tenth unless given, and none
    where all images are alike. ``other`` is a set whose error is to be expected without its labels.
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
    last = last_answers(first)
    found, notes = _hard(test_set, scores, last, hard, unit=ensemble.unit)
    answers = answered_by_all(test_set, first, last, predictions, own, sure=other is not None)
    insiders = {own_name(first), *first.members}
    rows = [
        _model(name, one, scores, bins, found, inside=name in insiders, rng=rng, confidence=confidence)
        for name, one in answers.items()
        if one.counted.any()
    ]
    models = tuple(sorted(rows, key=lambda row: (row.error.value, row.model)))
    outside = [one for name, one in answers.items() if one.counted.any() and name not in insiders]
    if not models:
        notes.append(
            f"no label of {test_set.name} counts, so nothing is said of errors"
            if not test_set.labeled.any()
            else f"no model has predictions on {test_set.name}"
        )
    return Confusion(
        test_set.name,
        ensemble,
        confidence,
        test_set.ids,
        scores,
        bins,
        distribution(scores, bins, confidence=confidence),
        models,
        _agreements(ensembles, scores, entropies, unit, confidence),
        fewer_checkpoints(entropies, first.members, bins, unit=unit, confidence=confidence),
        found,
        _ranking(outside, found, confidence),
        expected_errors(LabeledSide(first, scores, answers), other, bins, unit=unit, rng=rng, confidence=confidence)
        if other
        else None,
        tuple(notes),
    )


def _check_sizes(test_set: TestSet, ensembles: Sequence[Checkpoints]) -> None:
    for each in ensembles:
        same_size(test_set, each)
    names = [each.ensemble for each in ensembles]
    if len(set(names)) < len(names):
        raise InputError("an ensemble is named twice")


def _hard(
    test_set: TestSet, scores: FloatArray, last: LastAnswers, rule: HardRule | None, *, unit: str
) -> tuple[HardSet | None, list[str]]:
    if rule is not None:
        return hard_set(test_set, scores, last.classes, rule, unit=unit), []
    try:
        if np.ptp(scores) < _ALIKE:
            raise UndefinedError(f"{amount(len(scores), 'image')}, all of one score")
        return hard_set(test_set, scores, last.classes, HardRule(), unit=unit), []
    except UndefinedError as error:
        return None, [f"there is no hard set: {error}"]


def _ranking(models: Sequence[Answered], hard: HardSet | None, confidence: float) -> Estimate | None:
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
    """Between ensembles where there are several, or else between the members of the only one."""
    if len(ensembles) > 1:
        named = {ensembles[0].ensemble: scores}
        named |= {each.ensemble: confusion_score(each) / unit for each in ensembles[1:]}
    else:
        named = {f"member {name}": own for name, own in zip(ensembles[0].members, entropies.members, strict=True)}
    return rank_agreements(named, confidence=confidence)


def _model(
    name: str,
    one: Answered,
    scores: FloatArray,
    bins: ScoreBins,
    hard: HardSet | None,
    *,
    inside: bool,
    rng: np.random.Generator,
    confidence: float,
) -> ConfusedModel:
    counted = one.counted
    wrong = one.wrong[counted]
    return ConfusedModel(
        name,
        inside,
        proportion(int(wrong.sum()), len(wrong), confidence=confidence),
        error_curve(scores[counted], wrong, bins, rng=rng, confidence=confidence),
        transfer(wrong, hard.inside[counted], confidence=confidence) if hard else None,
    )
