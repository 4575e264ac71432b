"""Train every member once per fold of an added set, and predict each image of the set by the network without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from regrade.stats import proportion
from regrade.train.member import EpochReport
from regrade.train.member_predictions import MemberPredictions, PredictedImages
from regrade.train.parallel import TrainedCurves
from regrade.train.plan import TrainingPlan
from regrade.train.result import TrainedEnsemble, TrainedMember, trained_ensemble, trained_member


def train_folds(
    predictions: MemberPredictions, seeds: Sequence[int], train: Callable[[TrainingPlan], TrainedCurves]
) -> TrainedEnsemble:
    """Train all folds by ``train``, and store the predictions of every member.

    On the added set these are out-of-fold. On other test sets they are those of the network of fold 0: the baseline of
    a comparison is a single network, and a mean over networks would be ahead of it for another reason.
    """
    plan, added = predictions.plan, predictions.plan.added
    assert added is not None
    parts = [replace(plan, fold=fold) for fold in range(added.folds)]
    trained = [train(part) for part in parts]
    for seed in seeds:
        predicted = {name: [PredictedImages(parts[0])] for name in plan.test_sets}
        predicted[added.name] = [PredictedImages(part, added.held_out(seed, fold)) for fold, part in enumerate(parts)]
        predictions.add(seed, predicted)
    confidence = predictions.store.config.confidence
    members = [_member(predictions, [curves.curves[seed] for curves in trained], confidence) for seed in seeds]
    first = TrainedCurves(trained[0].curves, sum(curves.new_epochs for curves in trained))
    return trained_ensemble(plan, predictions.data, first, members)


def _member(
    predictions: MemberPredictions, curves: Sequence[Sequence[EpochReport]], confidence: float
) -> TrainedMember:
    """The row of a member: the network of fold 0, with the accuracy on the added set over all folds."""
    plan, added = predictions.plan, predictions.plan.added
    assert added is not None
    trained_on = added.enlarged(predictions.data.training_set)
    first = trained_member(curves[0], trained_on, plan.test_sets, confidence)
    right, labels = (sum(curve[-1].right[added.name][place] for curve in curves) for place in range(2))
    accuracies = {**first.test_accuracies, added.name: proportion(right, labels, confidence=confidence)}
    seconds = sum(report.seconds for curve in curves for report in curve)
    return replace(first, test_accuracies=accuracies, seconds=seconds)
