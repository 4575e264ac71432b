"""Null checks of findings on expected errors: images of equal score have the same error rate in both sets."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.coverage_clustered_confusion import score_and_errors
from benchmarks.calibration.coverage_confusion import scored
from benchmarks.calibration.worlds import model_names
from regrade.core import ScoreKind
from regrade.core.arrays import BoolArray
from regrade.studies import Confusion
from regrade.studies.confusion.distribution import ScoreBins, distribution
from regrade.studies.confusion.expected_error import (
    ExpectedError,
    SetClusters,
    SetScores,
    expectation_gap,
    expected_by_score,
)
from regrade.studies.confusion.result import ScoredEnsemble, UnlabeledSet
from regrade.studies.image_clusters import mean_credit

_OFF = "confusion: the expected error is off"


@null_check(_OFF, case="sets of the same distribution, 1 model, 200 images")
def one_model(rng: np.random.Generator) -> Confusion:
    return _study(rng, models=1, images=200, shift=0.0)


@null_check(_OFF, case="a harder set with equal error rates at equal scores, 10 models, 1,000 images")
def harder_set(rng: np.random.Generator) -> Confusion:
    return _study(rng, models=10, images=1_000, shift=0.5)


@null_check(_OFF, case="sets of the same distribution, 3 models, 80 households of 1 to 8 images on each")
def sets_of_households(rng: np.random.Generator) -> Confusion:
    (score, wrong, homes), (unlabeled, new_wrong, new_homes) = (score_and_errors(rng, 80) for _ in range(2))
    return _result(SetScores(score, unlabeled), wrong, new_wrong, SetClusters(homes, new_homes))


def _study(rng: np.random.Generator, *, models: int, images: int, shift: float) -> Confusion:
    """Models that err independently, with an error rate given by the score."""
    (scores, odds), (unlabeled_scores, unlabeled_odds) = scored(rng, images), scored(rng, images, shift)
    wrong, wrong_unlabeled = (rng.random((models, images)) < each for each in (odds, unlabeled_odds))
    return _result(SetScores(scores, unlabeled_scores), wrong, wrong_unlabeled, SetClusters())


def _result(scores: SetScores, wrong: BoolArray, wrong_unlabeled: BoolArray, clusters: SetClusters) -> Confusion:
    """The study of models with these mistakes (m, n) and (m, u)."""
    rows = []
    for name, labeled_wrong, unlabeled_wrong in zip(model_names(len(wrong)), wrong, wrong_unlabeled, strict=True):
        expected = expected_by_score(labeled_wrong, scores, clusters, confidence=0.95)
        labeled = mean_credit(labeled_wrong, clusters.labeled, confidence=0.95)
        actual = mean_credit(unlabeled_wrong, clusters.unlabeled, confidence=0.95)
        gap = expectation_gap(expected, actual, confidence=0.95)
        rows.append(ExpectedError(name, labeled, expected, None, None, None, actual, gap))
    ensemble = ScoredEnsemble("ensemble", ("member",), (1,), ScoreKind.PROBABILITIES, 1024, 2.0)
    bins = ScoreBins(0.1, ensemble.top)
    shapes = [distribution(each, bins, confidence=0.95) for each in (scores.labeled, scores.unlabeled)]
    unlabeled = UnlabeledSet("other", shapes[1], len(scores.unlabeled), 0, tuple(rows))
    ids = tuple(map(str, range(len(scores.labeled))))
    return Confusion("labeled", ensemble, ids, 0.95, scores.labeled, bins, shapes[0], (), (), (), None, None, unlabeled)
