"""Null checks of the findings of `remedies`: two methods that are equally accurate, and seeds that vary."""

from __future__ import annotations

import numpy as np
from scipy import special

from benchmarks.calibration.checks import null_check
from regrade.core.arrays import BoolArray, FloatArray
from regrade.studies import Remedies
from regrade.studies.remedies.analysis import SetCorrectness, remedies
from regrade.studies.seeded_methods import SeededMethod, paired_methods

GROUPS = ("a", "b", "c")
"""The groups of the images, a third each."""
_KINDS = (
    "remedies: a remedy changes accuracy or disparity",
    "remedies: a remedy changes the accuracy of groups",
    "remedies: a row is better",
    "remedies: a row is worse",
)


def seeded_correctness(
    rng: np.random.Generator, skills: FloatArray, *, seeds: int, images: int, seed_spread: float = 0.15
) -> BoolArray:
    """Correctness (2, k, n) of two methods with ``skills`` (2, g) in the groups; each model has its own random skill.

    Images are shared by all models, and half of the variance of their difficulty is common to all. A model is right
    with probability Phi(skill / sqrt(2 + seed_spread^2)), on average over seeds.
    """
    members = np.arange(images) % skills.shape[1]
    own = seed_spread * rng.standard_normal((2, seeds, 1))
    noise = rng.standard_normal(images) + rng.standard_normal((2, seeds, images))
    correct: BoolArray = skills[:, None, members] + own > noise
    return correct


def compared_methods(correct: BoolArray, *, groups: int) -> Remedies:
    """The study of two methods, from their correctness (2, k, n)."""
    names = [{str(seed): f"{side}-{seed}" for seed in range(correct.shape[1])} for side in ("plain", "remedy")]
    rows = dict(zip([*names[0].values(), *names[1].values()], np.concatenate(correct), strict=True))
    members = np.arange(correct.shape[2]) % max(groups, 1)
    data = SetCorrectness("images", rows, GROUPS[:groups], members)
    pair = paired_methods(SeededMethod("plain", names[0]), SeededMethod("remedy", names[1]))
    return remedies([data], [pair], by="group" if groups else None)


@null_check(*_KINDS, case="4 seeds that vary, 3 equal groups, 600 images")
def equal_groups(rng: np.random.Generator) -> Remedies:
    return compared_methods(seeded_correctness(rng, np.full((2, 3), 1.0), seeds=4, images=600), groups=3)


@null_check(_KINDS[0], *_KINDS[2:], case="2 seeds that vary, 300 images")
def two_seeds(rng: np.random.Generator) -> Remedies:
    return compared_methods(seeded_correctness(rng, np.full((2, 1), 1.0), seeds=2, images=300), groups=0)


@null_check(*_KINDS, case="single models, 3 groups that differ, 300 images")
def single_models(rng: np.random.Generator) -> Remedies:
    skills = np.tile([1.5, 1.0, 0.5], (2, 1))
    return compared_methods(seeded_correctness(rng, skills, seeds=1, images=300, seed_spread=0.0), groups=3)


def true_accuracies(skills: FloatArray, seed_spread: float = 0.15) -> FloatArray:
    """Shape (2, g): the expected accuracies in `seeded_correctness`."""
    shares: FloatArray = special.ndtr(skills / np.sqrt(2 + seed_spread**2))
    return shares
