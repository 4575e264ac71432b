"""Null checks of the findings of `study leakage`: duplicates that are as hard as other images."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import equal_models, model_names
from regrade.core import ClassSpace, Distance, NearPairs, Predictions, TestSet
from regrade.core.arrays import IntArray
from regrade.studies import Leakage, Scoring
from regrade.studies.leakage.analysis import leakage

_DUPLICATES, _ALIKE = "leakage: duplicates move accuracies", "leakage: similar images move accuracies"


@null_check(_DUPLICATES, case="duplicates as hard as the rest, 1 model, about 10 of 500 images")
def one_model(rng: np.random.Generator) -> Leakage:
    return _as_hard(rng, models=1, images=500, share=0.02, exact=True)


@null_check(_DUPLICATES, case="duplicates as hard as the rest, 10 models, about 100 of 1,000 images")
def many_models(rng: np.random.Generator) -> Leakage:
    return _as_hard(rng, models=10, images=1_000, share=0.1, exact=True)


@null_check(_ALIKE, case="similar images as hard as the rest, 10 models, about 300 of 1,000 images")
def alike(rng: np.random.Generator) -> Leakage:
    return _as_hard(rng, models=10, images=1_000, share=0.3, exact=False)


def _as_hard(rng: np.random.Generator, *, models: int, images: int, share: float, exact: bool) -> Leakage:
    """Models of equal accuracy on images of which a random part is in a training set."""
    space = ClassSpace("two", ("first", "second"))
    ids, labels = tuple(map(str, range(images))), np.zeros(images, dtype=np.int32)
    test_set, train = (TestSet(name, space, ids, labels) for name in ("test", "train"))
    duplicates = np.flatnonzero(rng.random(images) < share)
    pairs = [_pairs(Distance.EXACT, duplicates if exact else duplicates[:0], images)]
    pairs += [] if exact else [_pairs(Distance.PHASH, duplicates, images)]
    correct = equal_models(rng, models=models, images=images)
    predictions = [
        (Predictions(name, test_set.name, space.name, (~row).astype(np.int32)[:, None]), Scoring(test_set))
        for name, row in zip(model_names(models), correct, strict=True)
    ]
    return leakage(test_set, pairs, predictions, against=train)


def _pairs(distance: Distance, positions: IntArray, images: int) -> NearPairs:
    """Each of these images has the image of the same number as near duplicate."""
    nearest = np.full(images, np.nan)
    nearest[positions] = 0.0
    not_mirrored = np.zeros(len(positions), dtype=bool)
    return NearPairs(
        distance, 1.0, positions, positions, nearest[positions], not_mirrored, np.ones(images, dtype=bool), nearest
    )
