"""Null checks of the findings of `remedies`: two methods that are equally accurate, and seeds that vary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import special

from benchmarks.calibration.checks import null_check
from regrade.core.arrays import BoolArray, FloatArray, IntArray
from regrade.studies import Remedies
from regrade.studies.remedies.analysis import SetCorrectness, remedies
from regrade.studies.seeded_methods import MethodPair, SeededMethod, paired_methods

GROUPS = ("a", "b", "c")
"""The groups of the images, a third each."""
_KINDS = (
    "remedies: a remedy changes accuracy or disparity",
    "remedies: a remedy changes the accuracy of groups",
    "remedies: a row is better",
    "remedies: a row is worse",
)
_DROP = "remedies: a remedy changes the drop to a new test set"


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
    data = _set_correctness("images", correct, groups)
    return remedies([data], [_pair(correct.shape[1])], by="group" if groups else None)


def compared_drops(
    original: BoolArray,
    new: BoolArray,
    *,
    clusters: tuple[IntArray | None, IntArray | None] = (None, None),
    confidence: float = 0.95,
) -> Remedies:
    """The study of two methods on two test sets, from their correctness (2, k, n) on each; the seeds are the same."""
    old_set, new_set = (
        replace(_set_correctness(name, correct, 0), clusters=numbers)
        for name, correct, numbers in zip(("old", "new"), (original, new), clusters, strict=True)
    )
    return remedies([old_set, new_set], [_pair(original.shape[1])], confidence=confidence, original="old")


def _set_correctness(name: str, correct: BoolArray, groups: int) -> SetCorrectness:
    names = [model for method in _methods(correct.shape[1]) for model in method.models.values()]
    rows = dict(zip(names, np.concatenate(correct), strict=True))
    return SetCorrectness(name, rows, GROUPS[:groups], np.arange(correct.shape[2]) % max(groups, 1))


def _methods(seeds: int) -> tuple[SeededMethod, SeededMethod]:
    plain, remedy = (
        SeededMethod(side, {str(seed): f"{side}-{seed}" for seed in range(seeds)}) for side in ("plain", "remedy")
    )
    return plain, remedy


def _pair(seeds: int) -> MethodPair:
    return paired_methods(*_methods(seeds))


def seeded_drops(
    rng: np.random.Generator, skills: FloatArray, *, seeds: int, images: tuple[int, int], seed_spread: float = 0.15
) -> tuple[BoolArray, BoolArray]:
    """Correctness (2, k, n) of two methods on an original and a new set, with ``skills`` (2, 2) by method and set.

    A model has the same random skill on both sets, and another one on each set, of half of the variance each.
    """
    shared, *own = seed_spread / np.sqrt(2) * rng.standard_normal((3, 2, seeds, 1))
    drawn = []
    for place, count in enumerate(images):
        noise = rng.standard_normal(count) + rng.standard_normal((2, seeds, count))
        drawn.append(skills[:, place, None, None] + shared + own[place] > noise)
    return drawn[0], drawn[1]


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


def compared_interventions(correct: BoolArray, *, split: int, in_slice: int) -> Remedies:
    """The study of p interventions with base models of their own, from the correctness (2, p, n) of both.

    The first ``split`` images are one test set and the others a second one, of which the first ``in_slice`` images are
    also compared as a slice.
    """
    names = [[f"{side}-{place}" for place in range(correct.shape[1])] for side in ("base", "modified")]
    pairs = [
        paired_methods(SeededMethod(base, {"": base}), SeededMethod(modified, {"": modified}))
        for base, modified in zip(*names, strict=True)
    ]
    rows = dict(zip([*names[0], *names[1]], np.concatenate(correct), strict=True))
    parts: dict[tuple[str, str | None], slice] = {("old", None): slice(0, split), ("new", None): slice(split, None)}
    parts |= {("new", "night"): slice(split, split + in_slice)} if in_slice else {}
    sets = [
        _part(name, {model: row[part] for model, row in rows.items()}, night) for (name, night), part in parts.items()
    ]
    return remedies(sets, pairs)


def _part(test_set: str, correct: dict[str, BoolArray], slice_name: str | None) -> SetCorrectness:
    images = len(next(iter(correct.values())))
    return SetCorrectness(test_set, correct, (), np.zeros(images, dtype=np.int64), slice=slice_name)


@null_check(_KINDS[0], *_KINDS[2:], case="4 interventions with base models, 2 sets and a slice, 300 images each")
def equal_interventions(rng: np.random.Generator) -> Remedies:
    correct = seeded_correctness(rng, np.full((2, 1), 1.0), seeds=4, images=600, seed_spread=0.0)
    return compared_interventions(correct, split=300, in_slice=60)


@null_check(_DROP, case="4 seeds that vary, equal drops of methods that differ, 400 and 300 images")
def equal_drops(rng: np.random.Generator) -> Remedies:
    accuracies = true_accuracies(np.array([1.2, 0.7]))
    skills = np.array([[1.2, 0.7], skills_of(accuracies - 0.03)])  # less accurate on both sets, by 3 points
    return compared_drops(*seeded_drops(rng, skills, seeds=4, images=(400, 300)))


@null_check(_DROP, *_KINDS[2:], case="single models that are equally accurate on two sets, 300 images each")
def single_models_without_effect(rng: np.random.Generator) -> Remedies:
    skills = np.tile([1.5, 0.5], (2, 1))
    return compared_drops(*seeded_drops(rng, skills, seeds=1, images=(300, 300), seed_spread=0.0))


def true_accuracies(skills: FloatArray, seed_spread: float = 0.15) -> FloatArray:
    """Shape (2, g): the expected accuracies in `seeded_correctness`."""
    shares: FloatArray = special.ndtr(skills / np.sqrt(2 + seed_spread**2))
    return shares


def skills_of(accuracies: FloatArray, seed_spread: float = 0.15) -> FloatArray:
    """The skills with these expected accuracies, the inverse of `true_accuracies`."""
    skills: FloatArray = special.ndtri(accuracies) * np.sqrt(2 + seed_spread**2)
    return skills
