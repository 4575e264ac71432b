"""Sets with a chosen mean: the mean is met, classes are balanced, and every image is drawn as often as it should."""

import numpy as np
import pytest

from regrade.build.eligibility import Candidate, Eligibility
from regrade.build.samplers import DrawOptions, Strategy
from regrade.build.target_sampler import matched_mean, target_mean
from regrade.core import InputError


def pool(seed=0, classes=20, size=60):
    rng = np.random.default_rng(seed)
    return [
        Candidate(f"{c:02}-{i:03}", f"class-{c:02}", round(float(rng.beta(3, 1)), 3), 10)
        for c in range(classes)
        for i in range(size)
    ]


def mean_of(sample, candidates):
    frequency = {candidate.image: candidate.frequency for candidate in candidates}
    return np.mean([frequency[image] for image, _ in sample.examples])


@pytest.mark.parametrize("target", [0.45, 0.6, 0.75, 0.95])
def test_target_mean_is_met_with_balanced_classes(target):
    candidates = pool()
    sample = target_mean(candidates, target, DrawOptions(per_class=10, seed=1))
    assert mean_of(sample, candidates) == pytest.approx(target, abs=0.01)
    assert {len(of_class.images) for of_class in sample.classes} == {10}
    assert len(set(sample.examples)) == 200
    assert sample.strategy is Strategy.TARGET_FREQUENCY


def test_target_mean_of_the_pool_is_a_random_draw():
    """Without a tilt all images of a class have the same chance."""
    candidates = pool(classes=1, size=12)
    mean = np.mean([candidate.frequency for candidate in candidates])
    times = np.zeros(12)
    for seed in range(800):
        for image, _ in target_mean(candidates, mean, DrawOptions(per_class=3, seed=seed)).examples:
            times[int(image.split("-")[1])] += 1
    assert times.sum() == 2400
    assert times / 800 == pytest.approx(np.full(12, 0.25), abs=4.5 * np.sqrt(0.25 * 0.75 / 800))


def test_target_mean_uses_scores_in_place_of_frequencies():
    candidates = pool()
    rng = np.random.default_rng(5)
    scores = {candidate.image: float(rng.gamma(2.0)) for candidate in candidates}
    sample = target_mean(candidates, 3.0, DrawOptions(per_class=8), scores=scores)
    assert np.mean([scores[image] for image, _ in sample.examples]) == pytest.approx(3.0, abs=0.2)
    assert sample.strategy is Strategy.TARGET_CONFUSION


def test_target_mean_takes_the_most_extreme_images_if_it_must():
    candidates = pool(classes=3, size=20)
    highest = [sorted(c.frequency for c in candidates if c.class_id == f"class-{i:02}")[-5:] for i in range(3)]
    sample = target_mean(candidates, float(np.mean(highest)), DrawOptions(per_class=5))
    assert mean_of(sample, candidates) == pytest.approx(np.mean(highest))


def test_target_mean_rejects_what_no_draw_can_reach():
    with pytest.raises(InputError, match=r"a mean of 0.05 is not possible .* it can be from 0\.\d+ to 0\.\d+"):
        target_mean(pool(), 0.05, DrawOptions())
    with pytest.raises(InputError, match="not a finite number"):
        target_mean(pool(), 1.0, DrawOptions(), scores={"00-000": float("nan")})


def test_target_mean_names_classes_with_too_few_images():
    candidates = [*pool(classes=2, size=30), Candidate("lone", "zebra", 0.9, 10)]
    sample = target_mean(candidates, 0.75, DrawOptions(per_class=5))
    assert sample.problems == ("zebra: 4 more images that are eligible needed",)
    assert len(sample.examples) == 11


def test_matched_mean_meets_the_mean_of_each_class():
    candidates = pool(size=100)
    references = [
        Candidate(f"ref-{c}-{i}", f"class-{c:02}", f, 10)
        for c in range(20)
        for i, f in enumerate(np.linspace(0.5 + c / 60, 0.7 + c / 60, 20))
    ]
    sample = matched_mean(candidates, references, DrawOptions(per_class=10))
    frequency = {candidate.image: candidate.frequency for candidate in candidates}
    for number, of_class in enumerate(sample.classes):
        assert np.mean([frequency[image] for image in of_class.images]) == pytest.approx(0.6 + number / 60, abs=0.04)
    assert not sample.problems


def test_matched_mean_says_which_means_cannot_be_reached():
    candidates = [Candidate(f"low-{i}", "dog", 0.1, 10) for i in range(30)]
    references = [Candidate(f"ref-{i}", "dog", 0.9, 10) for i in range(20)]
    sample = matched_mean(candidates, references, DrawOptions())
    assert sample.problems == (
        "dog: the mean frequency 0.900 of the reference images cannot be reached: as far as the answers tell, drawn "
        "images have 0.100 to 0.100; more answers tell more",
    )
    assert len(sample.examples) == 10
    few = matched_mean(candidates, references[:5], DrawOptions(eligibility=Eligibility(min_assignments=0)))
    assert few.problems == ("dog: fewer than 20 annotated reference images",)
