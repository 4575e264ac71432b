"""Null checks of findings on expected errors: images of equal score have the same error rate in both sets."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.coverage_confusion import scored
from benchmarks.calibration.worlds import model_names
from regrade.core import ScoreKind
from regrade.stats import proportion
from regrade.studies import Confusion
from regrade.studies.confusion.distribution import ScoreBins, distribution
from regrade.studies.confusion.expected_error import ExpectedError, SetScores, expectation_gap, expected_by_score
from regrade.studies.confusion.result import ScoredEnsemble, UnlabeledSet

_OFF = "confusion: the expected error is off"


@null_check(_OFF, case="sets of the same distribution, 1 model, 200 images")
def one_model(rng: np.random.Generator) -> Confusion:
    return _study(rng, models=1, images=200, shift=0.0)


@null_check(_OFF, case="a harder set with equal error rates at equal scores, 10 models, 1,000 images")
def harder_set(rng: np.random.Generator) -> Confusion:
    return _study(rng, models=10, images=1_000, shift=0.5)


def _study(rng: np.random.Generator, *, models: int, images: int, shift: float) -> Confusion:
    """Models that err independently, with an error rate given by the score."""
    (scores, odds), (unlabeled_scores, unlabeled_odds) = scored(rng, images), scored(rng, images, shift)
    wrong, wrong_unlabeled = (rng.random((models, images)) < each for each in (odds, unlabeled_odds))
    rows = []
    for name, labeled_wrong, unlabeled_wrong in zip(model_names(models), wrong, wrong_unlabeled, strict=True):
        expected = expected_by_score(labeled_wrong, SetScores(scores, unlabeled_scores), confidence=0.95)
        labeled, actual = (proportion(int(errors.sum()), images) for errors in (labeled_wrong, unlabeled_wrong))
        gap = expectation_gap(expected, actual, confidence=0.95)
        rows.append(ExpectedError(name, labeled, expected, None, None, None, actual, gap))
    ensemble = ScoredEnsemble("ensemble", ("member",), (1,), ScoreKind.PROBABILITIES, 1024, 2.0)
    bins = ScoreBins(0.1, ensemble.top)
    shapes = [distribution(each, bins, confidence=0.95) for each in (scores, unlabeled_scores)]
    unlabeled = UnlabeledSet("other", shapes[1], images, 0, tuple(rows))
    ids = tuple(map(str, range(images)))
    return Confusion("labeled", ensemble, ids, 0.95, scores, bins, shapes[0], (), (), (), None, None, unlabeled)
