"""Coverage of the intervals of a build: frequencies, the bias, predicted accuracies, draws, and the discriminator."""

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
from regrade.stats import subset_difference, subset_share
from regrade.studies.shift.discriminator import discriminate

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


def accuracy_of_a_draw(rng: np.random.Generator, *, n: int) -> Estimate:
    """The mean accuracy of models on n images; most images are easy for all of them."""
    return subset_share(rng.beta(1.8, 0.2, n), np.ones(n, dtype=bool))


def change_between_draws(rng: np.random.Generator, *, n: int) -> Estimate:
    """The change of the mean accuracy between two draws of n images that share half of them."""
    place = np.arange(2 * n)
    return subset_difference(rng.beta(1.8, 0.2, 2 * n), place < n, (place >= n // 2) & (place < n // 2 + n))


def same_images(rng: np.random.Generator, *, n: int, features: int) -> Estimate:
    """New and original images of the same distribution, n of each: the area is 0.5."""
    embeddings = rng.normal(size=(2 * n, features))
    return discriminate(embeddings, np.arange(2 * n) < n, clusters=np.arange(2 * n), rng=rng)


def same_authors(rng: np.random.Generator, *, n: int, features: int) -> Estimate:
    """As `same_images`, with four similar images of each author."""
    author = np.arange(2 * n) // 4
    embeddings = rng.normal(size=(n, features))[author] + 0.5 * rng.normal(size=(2 * n, features))
    return discriminate(embeddings, author < n // 4, clusters=author, rng=rng)


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
for size in (100, 1000):
    coverage_check(
        "mean accuracy on a draw",
        maker="stats.means.korn_graubard",
        case="models agree in part",
        n=size,
        draw=repeated(partial(accuracy_of_a_draw, n=size), 0.9),
    )
    coverage_check(
        "change between draws that share images",
        maker="stats.subset_shares.subset_difference",
        case="half of the images shared",
        n=size,
        draw=repeated(partial(change_between_draws, n=size), 0.0),
    )
for size, features in ((20, 5), (60, 100), (200, 20)):
    coverage_check(
        "area under the ROC curve of the discriminator",
        maker="stats.means.korn_graubard",
        case=f"equal distributions, {features} features",
        n=size,
        draw=repeated(partial(same_images, n=size, features=features), 0.5),
    )
coverage_check(
    "area under the ROC curve of the discriminator",
    maker="stats.means.korn_graubard",
    case="equal distributions, 4 images per author",
    n=100,
    draw=repeated(partial(same_authors, n=100, features=20), 0.5),
)
