"""The bias of matching noisy frequencies: estimated from the answers, and removed by corrected frequencies."""

from dataclasses import replace

import numpy as np
import pytest

from regrade.build.eligibility import Candidate, Eligibility
from regrade.build.samplers import DrawOptions, matched_frequency
from regrade.build.selection_noise import debiased, fit_distribution, selection_bias
from regrade.build.target_sampler import matched_mean
from regrade.core import InputError, UndefinedError

CLASSES = 20


def answered(rng, probabilities, workers, prefix):
    """Images with simulated answers, and their true frequencies."""
    selected = rng.binomial(workers, probabilities)
    images = [
        Candidate(f"{prefix}{i:05}", f"class-{i % CLASSES:02}", int(k) / workers, workers)
        for i, k in enumerate(selected)
    ]
    return images, {image.image: float(p) for image, p in zip(images, probabilities, strict=True)}


def simulated(seed, workers, harder):
    """A pool, of which more images are hard if ``harder``, and a reference set."""
    rng = np.random.default_rng(seed)
    pool, truth = answered(rng, rng.beta(*((1.2, 1) if harder else (3, 1)), 4000), workers, "pool")
    references, reference_truth = answered(rng, rng.beta(3, 1, 1000), workers, "reference")
    return pool, references, {**truth, **reference_truth}


def options(workers, seed=0):
    return DrawOptions(per_class=20, seed=seed, eligibility=Eligibility(min_assignments=workers))


def true_mean(images, truth):
    return np.mean([truth[image] for image in images])


def naive_draw(pool, references, workers, seed=0):
    sample = matched_frequency(pool, references, options(workers, seed))
    by_name = {candidate.image: candidate for candidate in pool}
    return [by_name[image] for image, _ in sample.examples]


def test_the_distribution_of_true_frequencies_is_recovered():
    rng = np.random.default_rng(0)
    probabilities = rng.beta(2, 1, 20_000)
    selected = rng.binomial(10, probabilities)
    distribution = fit_distribution(selected, np.full(20_000, 10))
    assert distribution.mean == pytest.approx(2 / 3, abs=0.01)
    spread = np.sqrt(distribution.weights @ (distribution.grid - distribution.mean) ** 2)
    assert spread == pytest.approx(np.sqrt(1 / 18), abs=0.01)
    assert np.std(selected / 10) > spread + 0.03  # the observed frequencies are wider


def test_expected_frequencies_are_right_on_average_for_each_answer():
    rng = np.random.default_rng(1)
    probabilities = rng.beta(1, 1, 30_000)
    selected = rng.binomial(5, probabilities)
    images = [Candidate(str(i), f"class-{i % 3}", int(count) / 5, 5) for i, count in enumerate(selected)]
    expected = np.array([image.frequency for image in debiased(images)])
    for count in range(6):
        chosen = selected == count
        assert expected[chosen].mean() == pytest.approx((count + 1) / 7, abs=0.02)  # of a uniform prior, exactly
        assert expected[chosen].mean() == pytest.approx(probabilities[chosen].mean(), abs=0.02)


def test_expected_frequencies_are_right_in_classes_of_different_difficulty():
    """With one distribution for all classes, hard images of a hard class would look too easy."""
    rng = np.random.default_rng(2)
    shapes = {"easy": (8, 1), "hard": (1, 2)}
    truth, images = {}, []
    for class_id, shape in shapes.items():
        for number, chance in enumerate(rng.beta(*shape, 3000)):
            image = Candidate(f"{class_id}-{number}", class_id, int(rng.binomial(3, chance)) / 3, 3)
            truth[image.image] = chance
            images.append(image)
    corrected = {image.image: image.frequency for image in debiased(images)}
    pooled = {image.image: image.frequency for image in debiased([replace(i, class_id="all") for i in images])}
    for class_id, (a, b) in shapes.items():
        everyone = [image.image for image in images if image.class_id == class_id and image.frequency == 1]
        exact = (a + 3) / (a + b + 3)
        assert np.mean([truth[image] for image in everyone]) == pytest.approx(exact, abs=0.02)
        error, pooled_error = (abs(own[everyone[0]] - exact) for own in (corrected, pooled))
        assert error < min(0.08, pooled_error)


def test_a_class_with_few_images_has_the_distribution_of_all():
    rng = np.random.default_rng(3)
    images = [
        Candidate(str(i), "large", int(count) / 5, 5) for i, count in enumerate(rng.binomial(5, rng.beta(2, 1, 4000)))
    ]
    alone = Candidate("alone", "small", 1.0, 5)
    corrected = {image.image: image.frequency for image in debiased([*images, alone])}
    everyone = next(image.image for image in images if image.frequency == 1)
    assert corrected["alone"] == pytest.approx(corrected[everyone], abs=0.01)


@pytest.mark.parametrize("workers", [3, 5, 10])
def test_matching_a_harder_pool_is_biased_and_the_correction_removes_it(workers):
    pool, references, truth = simulated(workers, workers, harder=True)
    intended = true_mean((reference.image for reference in references), truth)
    naive = true_mean((candidate.image for candidate in naive_draw(pool, references, workers)), truth) - intended
    corrected = matched_mean(debiased(pool), references, options(workers))
    remaining = true_mean((image for image, _ in corrected.examples), truth) - intended
    assert naive < -0.03
    assert abs(remaining) < 0.025
    assert abs(remaining) < abs(naive) / 2


def test_the_bias_grows_as_workers_fall():
    biases = []
    for workers in (20, 10, 5, 3):
        pool, references, truth = simulated(7, workers, harder=True)
        drawn = naive_draw(pool, references, workers)
        intended = true_mean((reference.image for reference in references), truth)
        biases.append(true_mean((candidate.image for candidate in drawn), truth) - intended)
    assert biases == sorted(biases, reverse=True)
    assert biases[-1] < 2 * biases[0] < 0


@pytest.mark.parametrize("workers", [3, 5])
def test_the_interval_of_the_bias_covers_it(workers):
    inside, runs = 0, 40
    for seed in range(runs):
        pool, references, truth = simulated(100 + seed, workers, harder=True)
        drawn = naive_draw(pool, references, workers, seed)
        estimate = selection_bias(drawn, pool, references, draws=40, seed=seed)
        bias = true_mean((c.image for c in drawn), truth) - true_mean((r.image for r in references), truth)
        inside += estimate.low <= bias <= estimate.high
    assert inside / runs >= 0.93 - 2 * np.sqrt(0.05 * 0.95 / runs)


def test_the_estimate_equals_a_plain_restatement():
    """Expectation maximization image by image, and resamples of images, as the definitions say."""
    pool, references, _ = simulated(5, 4, harder=True)
    pool, references = pool[:300], references[:80]
    unanswered = replace(pool[0], image="unanswered", frequency=0.0, assignments=0)
    pool[7] = unanswered
    drawn = pool[50:90]

    def counts(images):
        return np.array([(round(image.frequency * image.assignments), image.assignments) for image in images])

    def difference(chosen_pool, chosen_drawn, chosen_references):
        grid = np.linspace(0, 1, 101)
        inside = np.clip(grid, 0.5e-4, 1 - 0.5e-4)
        weights = np.full(101, 1 / 101)
        answered = [row for row in counts(pool)[chosen_pool] if row[1]]
        likelihoods = np.array([inside**k * (1 - inside) ** (n - k) for k, n in answered])
        for _ in range(200):
            posterior = likelihoods * weights
            weights = (posterior / posterior.sum(axis=1, keepdims=True)).mean(axis=0)
        posterior = np.array([inside**k * (1 - inside) ** (n - k) for k, n in counts(drawn)[chosen_drawn]]) * weights
        expected = (posterior @ grid) / posterior.sum(axis=1)
        return expected.mean() - np.array([image.frequency for image in references])[chosen_references].mean()

    generator, sizes = np.random.default_rng(3), (len(pool), len(drawn), len(references))
    estimate = selection_bias(drawn, pool, references, draws=6, seed=3)
    assert estimate.value == pytest.approx(difference(*map(np.arange, sizes)), abs=1e-9)
    again = [difference(*(generator.integers(0, size, size) for size in sizes)) for _ in range(6)]
    assert estimate.low == pytest.approx(min(np.quantile(again, 0.025), estimate.value), abs=1e-9)
    assert estimate.high == pytest.approx(max(np.quantile(again, 0.975), estimate.value), abs=1e-9)


def test_no_bias_is_claimed_where_pool_and_reference_are_alike():
    claimed, runs = 0, 40
    for seed in range(runs):
        pool, references, _ = simulated(200 + seed, 5, harder=False)
        estimate = selection_bias(naive_draw(pool, references, 5, seed), pool, references, draws=40, seed=seed)
        claimed += not estimate.low <= 0 <= estimate.high
    assert claimed / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


def test_selection_bias_rejects_what_it_cannot_use():
    pool, references, _ = simulated(0, 5, harder=True)
    with pytest.raises(UndefinedError, match="needs drawn images"):
        selection_bias([], pool, references)
    with pytest.raises(InputError, match="may have been corrected before"):
        selection_bias(debiased(pool)[:5], pool, references)
    with pytest.raises(UndefinedError, match="needs answers"):
        fit_distribution(np.array([0]), np.array([0]))
