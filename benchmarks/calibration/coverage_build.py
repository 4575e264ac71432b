"""Coverage of the intervals of a build: selection frequencies, their means, the bias, and predicted accuracies."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.calibration.checks import coverage_check, repeated
from regrade.build.accuracy_forecast import forecast_accuracies
from regrade.build.eligibility import Candidate
from regrade.build.frequencies import Assignment, collect_answers, mean_frequency, selection_frequencies
from regrade.build.selection_noise import selection_bias
from regrade.build.tasks import GridTask, Tile, TileRole
from regrade.core import Estimate

_IMAGES = 40


def _minus(estimate: Estimate, truth: float) -> Estimate:
    """The estimate of how far the truth is from itself: 0, whatever the truth of this draw is."""
    return replace(estimate, value=estimate.value - truth, low=estimate.low - truth, high=estimate.high - truth)


def frequency_of_an_image(rng: np.random.Generator, *, n: int) -> Estimate:
    """One image with a random true frequency, seen by n workers."""
    chance = float(rng.random())
    task = GridTask("task", "dog", (Tile("image", TileRole.CANDIDATE),))
    answers = [Assignment("task", str(i), frozenset({"image"} if rng.random() < chance else ())) for i in range(n)]
    return _minus(selection_frequencies(collect_answers([task], answers)).estimate("image", "dog"), chance)


def mean_of_images(rng: np.random.Generator, *, n: int) -> Estimate:
    """40 images seen by n workers, who differ in how much they select."""
    chances = np.clip(0.5 + rng.normal(0, 0.12, n)[:, None] + rng.normal(0, 0.15, _IMAGES), 0, 1)
    names = [str(i) for i in range(_IMAGES)]
    task = GridTask("task", "dog", tuple(Tile(name, TileRole.CANDIDATE) for name in names))
    answers = [
        Assignment("task", str(worker), frozenset(name for name, p in zip(names, row, strict=True) if rng.random() < p))
        for worker, row in enumerate(chances)
    ]
    return mean_frequency(collect_answers([task], answers), TileRole.CANDIDATE)


def bias_of_a_draw(rng: np.random.Generator, *, n: int) -> Estimate:
    """The images selected by at least 4 of 5 workers, of a pool of n images that is harder than the reference set."""
    pool, chances = _answered(rng, rng.beta(1.2, 1, n))
    references, reference_chances = _answered(rng, rng.beta(3, 1, n // 4))
    drawn = [number for number, image in enumerate(pool) if image.frequency >= 0.8]
    truth = float(chances[drawn].mean() - reference_chances.mean())
    return _minus(selection_bias([pool[i] for i in drawn], pool, references, draws=40), truth)


def _answered(rng: np.random.Generator, chances: np.ndarray) -> tuple[list[Candidate], np.ndarray]:
    selected = rng.binomial(5, chances)
    return [Candidate(str(i), "dog", int(k) / 5, 5) for i, k in enumerate(selected)], chances


def predicted_accuracy(rng: np.random.Generator, *, n: int) -> Estimate:
    """The accuracy on 200 harder images, predicted from n reference images."""
    frequencies, drawn = rng.beta(3, 1, n), rng.beta(2, 1.2, 200)
    correct, drawn_correct = (rng.random(len(part)) < 0.45 + 0.5 * part for part in (frequencies, drawn))
    return _minus(forecast_accuracies(correct, frequencies, drawn)[0], float(drawn_correct.mean()))


for size in (5, 10, 40):
    coverage_check(
        "selection frequency of an image",
        maker="build.frequencies.estimate",
        case="any true frequency",
        n=size,
        draw=repeated(partial(frequency_of_an_image, n=size), 0.0),
    )
for size in (10, 40):
    coverage_check(
        "mean selection frequency",
        maker="stats.two_way.two_way_clustered_mean",
        case="40 images, workers differ",
        n=size,
        draw=repeated(partial(mean_of_images, n=size), 0.5),
    )
for size in (400, 2000):
    coverage_check(
        "selection bias",
        maker="build.selection_noise.selection_bias",
        case="5 answers, harder pool",
        n=size,
        draw=repeated(partial(bias_of_a_draw, n=size), 0.0),
    )
for size in (60, 400):
    coverage_check(
        "predicted accuracy",
        maker="build.accuracy_forecast._forecast",
        case="harder images",
        n=size,
        draw=repeated(partial(predicted_accuracy, n=size), 0.0),
    )
