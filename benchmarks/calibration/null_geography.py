"""Null checks of the findings of `study geography`: equal groups, equal progress, constant or tripled disparity."""

from __future__ import annotations

import numpy as np
from scipy import special

from benchmarks.calibration.checks import null_check
from benchmarks.calibration.worlds import counted, model_names
from regrade.core import ClassSpace, Predictions, TestSet
from regrade.core.arrays import BoolArray, FloatArray
from regrade.studies import Geography, Scoring
from regrade.studies.geography.analysis import geography

_SPACE = ClassSpace("ten", tuple("abcdefghij"))
_DRAWS = 20  # bootstrap draws, for intervals that no finding uses
_DIFFER = ("geography: some groups differ", "geography: worst and best group")
_GAP = "geography: progress reaches it less or more"
_GROWTH = "geography: disparity grows or shrinks"
_TRIPLED = ("geography: disparity has tripled", "geography: disparity has not tripled")


@null_check(*_DIFFER, case="6 equal groups, the best of 8 models, 200 images per group")
def equal_groups(rng: np.random.Generator) -> Geography:
    return studied(rng, models=8, sizes=(200,) * 6, harder=(0.0,) * 6)


@null_check(*_DIFFER, case="6 equal groups in households, one of 24 images")
def equal_groups_in_households(rng: np.random.Generator) -> Geography:
    return studied(rng, models=4, sizes=(24, 200, 200, 200, 200, 400), harder=(0.0,) * 6, household=4)


@null_check(_GAP, case="equal progress, 8 models, 1,000 images per set")
def equal_progress(rng: np.random.Generator) -> Geography:
    return studied(rng, models=8, sizes=(250,) * 4, harder=(0.0, 0.2, 0.4, 0.6), images=1_000)


@null_check(_GAP, case="equal progress, 25 models, 1,000 images per set")
def equal_progress_of_many(rng: np.random.Generator) -> Geography:
    return studied(rng, models=25, sizes=(250,) * 4, harder=(0.0, 0.2, 0.4, 0.6), images=1_000)


@null_check(_GAP, _GROWTH, case="equal progress and disparity, 25 models, households of 8 images on every set")
def equal_progress_in_households(rng: np.random.Generator) -> Geography:
    return studied(rng, models=25, sizes=(400, 400), harder=(0.0, 0.5), household=8, images=800)


@null_check(_GROWTH, case="constant disparity, 8 models, 1,000 images")
def constant_disparity(rng: np.random.Generator) -> Geography:
    return studied(rng, models=8, sizes=(500, 500), harder=(0.0, 0.5), images=1_000)


@null_check(_GROWTH, case="constant disparity, 25 models, 1,000 images")
def constant_disparity_of_many(rng: np.random.Generator) -> Geography:
    return studied(rng, models=25, sizes=(500, 500), harder=(0.0, 0.5), images=1_000)


@null_check(_GROWTH, case="constant disparity, 60 models, 1,000 images")
def constant_disparity_of_very_many(rng: np.random.Generator) -> Geography:
    return studied(rng, models=60, sizes=(500, 500), harder=(0.0, 0.5), images=1_000)


@null_check(*_TRIPLED, case="disparity 3 times as large, 8 models, 500 images per group")
def tripled_disparity(rng: np.random.Generator) -> Geography:
    return studied(rng, models=8, sizes=(500, 500), harder=(0.0, 0.33), times=3.0)


@null_check(*_TRIPLED, case="disparity 3 times as large, 4 groups in households, one of 100 images")
def tripled_disparity_in_households(rng: np.random.Generator) -> Geography:
    return studied(rng, models=8, sizes=(100, 500, 500, 500), harder=(0.0, 0.1, 0.2, 0.33), household=4, times=3.0)


def studied(
    rng: np.random.Generator,
    *,
    models: int,
    sizes: tuple[int, ...],
    harder: tuple[float, ...],
    household: int = 1,
    images: int = 2_000,
    times: float = 1.0,
) -> Geography:
    """Models of different abilities on groups that are ``harder``, and on an original and a standard set.

    Accuracy is linear in ability, so that every set and group gains as much with ability as the standard set, and the
    differences between groups are constant; for the better half of the models they are ``times`` as large.
    """
    abilities = rng.uniform(0.35, 0.75, models)
    disparity = np.where(abilities > np.median(abilities), times, 1.0)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    homes = [f"{group}-{place // household}" for group, size in enumerate(sizes) for place in range(size)]
    columns = {"region": tuple(f"region {group}" for group in groups)}
    columns |= {"household": tuple(homes)} if household > 1 else {}
    labels = np.arange(len(groups), dtype=np.int32) % len(_SPACE)
    test_set = TestSet("far", _SPACE, tuple(map(str, range(len(groups)))), labels, columns)
    hardness = 0.3 * np.outer(disparity, np.asarray(harder)[groups])
    right = _right(rng, abilities, hardness, np.unique(homes, return_inverse=True)[1])
    scoring, answers = Scoring(test_set), np.where(right, labels, (labels + 1) % len(_SPACE)).astype(np.int32)
    predictions = [
        (Predictions(name, "far", _SPACE.name, row[:, None]), scoring)
        for name, row in zip(model_names(models), answers, strict=True)
    ]
    places = np.arange(images) // household
    sets = [
        counted(name, _right(rng, abilities, np.zeros((1, images)), places), places if household > 1 else None)
        for name in ("old", "standard")
    ]
    return geography(test_set, predictions, by="region", rng=rng, original=sets[0], standard=sets[1:], draws=_DRAWS)


def _right(rng: np.random.Generator, abilities: FloatArray, harder: FloatArray, homes: np.ndarray) -> BoolArray:
    """Correctness (m, n) with accuracy ability - ``harder`` (m, n); part of the difficulty is common to all models."""
    shared = (rng.standard_normal(homes.max() + 1)[homes] + rng.standard_normal(len(homes))) / 2
    noise = shared + rng.standard_normal((len(abilities), len(homes))) / np.sqrt(2)
    return special.ndtr(noise) < np.clip(abilities[:, None] - harder, 0, 1)
