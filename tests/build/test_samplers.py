"""The samplers of Recht et al. 2019: equal to a slow restatement on random pools, and worked by hand."""

import math
import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.build.eligibility import Candidate, Eligibility, Exclusion
from regrade.build.samplers import (
    DrawOptions,
    Strategy,
    frequency_bins,
    keyword_matched,
    keyword_targets,
    largest_remainder,
    matched_frequency,
    threshold,
    top,
)
from regrade.core import InputError

POOLS = 1500
"""The number of random pools on which each sampler is compared with its restatement."""


def random_images(rng, prefix, classes=("ant", "bee", "cat"), most=40):
    """Candidates whose frequencies often lie on the edges of bins; some classes have none."""
    drawn = []
    for class_id in classes:
        for number in range(rng.choice([rng.randint(0, most), most, most, most])):
            assignments = rng.choice([0, 3, 9, 10, 10, 10, 15])
            frequency = rng.randint(0, assignments) / assignments if assignments else 0.0
            drawn.append(Candidate(f"{prefix}-{class_id}-{number:02}", class_id, frequency, assignments))
    return drawn


def random_draw(seed):
    """A pool in random order, reference images, and options."""
    rng = random.Random(seed)
    pool, references = random_images(rng, "pool"), random_images(rng, "reference")
    rng.shuffle(pool)

    def subset(share):
        return frozenset(candidate.image for candidate in pool if rng.random() < share)

    rules = Eligibility(subset(0.1), subset(0.1), subset(0.1), rng.choice([0, 10]))
    return pool, references, DrawOptions(rng.randint(1, 6), seed, rules, subset(rng.choice([0.0, 0.3])))


# A slow restatement of METHODS A3 to A6, with fractions and loops.


def reason_of(candidate, rules, lowest):
    checks = [
        ("blacklisted", candidate.image in rules.blacklist),
        ("few_assignments", candidate.assignments < rules.min_assignments),
        ("below_threshold", candidate.frequency < lowest),
        ("near_duplicate", candidate.image in rules.near_duplicates),
        ("unreviewed", candidate.image in rules.unreviewed),
    ]
    return next((name for name, fails in checks if fails), None)


def eligible_of(pool, class_id, rules, lowest=0.0):
    own = [c for c in pool if c.class_id == class_id and reason_of(c, rules, lowest) is None]
    return sorted(own, key=lambda candidate: candidate.image)


def bin_of(frequency):
    number = 0
    for edge in (0.2, 0.4, 0.6, 0.8):
        if frequency >= edge:
            number += 1
    return number


def targets_of(histogram, size):
    shares = [Fraction(size * count, sum(histogram)) for count in histogram]
    targets = [math.floor(share) for share in shares]
    while sum(targets) < size:
        _, winner = max((shares[i] - targets[i], i) for i in range(5))
        targets[winner] += 1
    return targets


def kept_and_drawn(names, count, options, rng):
    old = [name for name in names if name in options.previous]
    if len(old) > count:
        return rng.sample(old, count)
    rest = [name for name in names if name not in options.previous]
    return old + rng.sample(rest, min(count - len(old), len(rest)))


def slow_matched(pool, references, options, *, upward, fewest):
    rng, result, valid = random.Random(options.seed), [], True
    usable = [r for r in references if r.assignments >= max(options.eligibility.min_assignments, 1)]
    for class_id in sorted({c.class_id for c in pool} | {r.class_id for r in usable}):
        own = [bin_of(r.frequency) for r in usable if r.class_id == class_id]
        if len(own) < fewest:
            valid = False
            continue
        targets = targets_of([own.count(number) for number in range(5)], options.per_class)
        unused = [[], [], [], [], []]
        for candidate in eligible_of(pool, class_id, options.eligibility):
            unused[bin_of(candidate.frequency)].append(candidate.image)
        chosen = []
        for number in range(5):
            taken = kept_and_drawn(unused[number], targets[number], options, rng)
            chosen.append(taken)
            unused[number] = [name for name in unused[number] if name not in taken]
        borrowed = []
        for number in range(5):
            for _ in range(targets[number] - len(chosen[number])):
                higher = [i for i in range(number + 1, 5) if unused[i]]
                if not upward or not higher:
                    valid = False
                    break
                names = unused[higher[0]]
                name = rng.choice([n for n in names if n in options.previous] or names)
                names.remove(name)
                borrowed.append(name)
        result += [(name, class_id) for names in [*chosen, borrowed] for name in names]
    rng.shuffle(result)
    return result, valid


def slow_threshold(pool, options, lowest, overrides):
    rng, result, valid = random.Random(options.seed), [], True
    for class_id in sorted({c.class_id for c in pool} | set(overrides)):
        eligible = eligible_of(pool, class_id, options.eligibility, overrides.get(class_id, lowest))
        names = kept_and_drawn([c.image for c in eligible], options.per_class, options, rng)
        valid = valid and len(names) == options.per_class
        result += [(name, class_id) for name in names]
    rng.shuffle(result)
    return result, valid


def slow_top(pool, options):
    rng, result, valid = random.Random(options.seed), [], True
    for class_id in sorted({c.class_id for c in pool}):
        ranked = eligible_of(pool, class_id, options.eligibility)
        ranked = sorted(ranked, key=lambda c: c.image, reverse=True)
        ranked = sorted(ranked, key=lambda c: c.image in options.previous, reverse=True)
        ranked = sorted(ranked, key=lambda c: c.assignments, reverse=True)
        ranked = sorted(ranked, key=lambda c: c.frequency, reverse=True)
        valid = valid and len(ranked) >= options.per_class
        result += [(c.image, class_id) for c in ranked[: options.per_class]]
    rng.shuffle(result)
    return result, valid


def test_matched_frequency_equals_the_restatement():
    outcomes = Counter()
    for seed in range(POOLS):
        pool, references, options = random_draw(seed)
        upward, fewest = bool(seed % 2), (1, 3, 20)[seed % 3]
        sample = matched_frequency(pool, references, options, borrow_upward=upward, min_references=fewest)
        expected, valid = slow_matched(pool, references, options, upward=upward, fewest=fewest)
        assert list(sample.examples) == expected
        assert (not sample.problems) == valid
        outcomes[valid, any(of_class.borrowed for of_class in sample.classes)] += 1
    assert min(outcomes.values()) > POOLS / 50  # valid and invalid draws, with borrowed images and without
    assert len(outcomes) == 4


def test_threshold_equals_the_restatement():
    outcomes = Counter()
    for seed in range(POOLS):
        pool, _, options = random_draw(seed)
        lowest, overrides = (0.5, 0.6, 0.7)[seed % 3], ({}, {"ant": 0.4}, {"ant": 0.4, "elk": 0.3})[seed % 3]
        sample = threshold(pool, options, lowest=lowest, overrides=overrides)
        expected, valid = slow_threshold(pool, options, lowest, overrides)
        assert list(sample.examples) == expected
        assert (not sample.problems) == valid
        outcomes[valid] += 1
    assert min(outcomes[True], outcomes[False]) > POOLS / 50


def test_top_equals_the_restatement():
    outcomes = Counter()
    for seed in range(POOLS):
        pool, _, options = random_draw(seed)
        sample = top(pool, options)
        expected, valid = slow_top(pool, options)
        assert list(sample.examples) == expected
        assert (not sample.problems) == valid
        outcomes[valid] += 1
    assert min(outcomes[True], outcomes[False]) > POOLS / 50


def test_every_candidate_is_drawn_left_or_excluded_for_the_first_reason():
    reasons = set()
    for seed in range(POOLS // 10):
        pool, _, options = random_draw(seed)
        sample = threshold(pool, options, lowest=0.7)
        excluded = {image: str(reason) for of_class in sample.classes for image, reason in of_class.excluded.items()}
        assert excluded == {c.image: r for c in pool if (r := reason_of(c, options.eligibility, 0.7))}
        assert sample.exclusions().total() == len(excluded)
        assert not excluded.keys() & {image for image, _ in sample.examples}
        reasons |= set(excluded.values())
    assert reasons == {reason.value for reason in Exclusion}


def pool_of(frequencies, class_id="dog", assignments=10):
    return [Candidate(f"{class_id}-{i:03}", class_id, f, assignments) for i, f in enumerate(frequencies)]


def test_matched_frequency_worked_by_hand():
    """Of 20 reference images 2, 3, 5, 4, 6 per bin: 1, 1.5, 2.5, 2, 3 of ten; ties go to the higher bin."""
    references = pool_of([0.1] * 2 + [0.3] * 3 + [0.5] * 5 + [0.7] * 4 + [0.9] * 6)
    candidates = pool_of([0.1] * 9 + [0.3] * 9 + [0.5] * 9 + [0.7] * 9 + [0.9] * 9)
    [drawn] = matched_frequency(candidates, references, DrawOptions()).classes
    frequency = {candidate.image: candidate.frequency for candidate in candidates}
    assert list(drawn.targets.values()) == [1, 1, 3, 2, 3]
    assert Counter(frequency[image] for image in drawn.images) == {0.1: 1, 0.3: 1, 0.5: 3, 0.7: 2, 0.9: 3}


def test_a_short_bin_borrows_from_the_next_higher_one_only():
    references = pool_of([0.5] * 20)
    candidates = pool_of([0.1] * 50 + [0.5] * 7 + [0.7] * 2 + [0.9] * 50)
    sample = matched_frequency(candidates, references, DrawOptions())
    frequency = {candidate.image: candidate.frequency for candidate in candidates}
    [drawn] = sample.classes
    assert Counter(frequency[image] for image in drawn.images) == {0.5: 7, 0.7: 2, 0.9: 1}
    assert sorted(frequency[image] for image in drawn.borrowed) == [0.7, 0.7, 0.9]
    assert set(drawn.borrowed.values()) == {"[0.4, 0.6)"}
    assert not sample.problems
    refused = matched_frequency(candidates, references, DrawOptions(), borrow_upward=False)
    assert refused.problems == ("dog: 3 more images with a selection frequency in [0.4, 0.6) needed",)


def test_a_revision_keeps_what_is_still_eligible():
    references, candidates = pool_of([0.5] * 20), pool_of([0.5] * 40)
    first = matched_frequency(candidates, references, DrawOptions(seed=1))
    kept = {image for image, _ in first.examples}
    flagged = sorted(kept)[0]
    options = DrawOptions(seed=2, eligibility=Eligibility(blacklist=frozenset({flagged})), previous=frozenset(kept))
    second = {image for image, _ in matched_frequency(candidates, references, options).examples}
    assert kept - second == {flagged}
    assert second - kept != set()
    assert len(second) == 10


def test_samples_depend_on_the_seed_alone():
    references, candidates = pool_of([0.5] * 20), pool_of([0.5] * 40)
    again = [matched_frequency(pool, references, DrawOptions(seed=3)) for pool in (candidates, candidates[::-1])]
    assert again[0] == again[1]
    assert again[0].examples != matched_frequency(candidates, references, DrawOptions(seed=4)).examples
    assert again[0].strategy is Strategy.MATCHED_FREQUENCY


def test_a_class_without_reference_images_is_a_problem():
    sample = matched_frequency(pool_of([0.5] * 20), [], DrawOptions())
    assert sample.problems == ("dog: 0 annotated reference images, at least 20 are needed",)


def test_an_image_drawn_for_two_classes_is_a_problem():
    pool = [Candidate("shared", class_id, 0.9, 10) for class_id in ("cat", "dog")]
    assert top(pool, DrawOptions(per_class=1)).problems == ("image 'shared' was drawn for 2 classes",)


def test_samplers_reject_an_image_that_is_listed_twice():
    with pytest.raises(InputError, match="'dog-000' is listed 2 times as a candidate of class dog"):
        top(pool_of([0.9]) * 2, DrawOptions())
    with pytest.raises(InputError, match="at least one image per class, got 0"):
        DrawOptions(per_class=0)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=8).filter(any), st.integers(0, 300))
def test_largest_remainder_divides_everything_within_one_of_the_share(counts, total):
    parts = largest_remainder(counts, total)
    assert sum(parts) == total
    assert all(abs(part - Fraction(total * count, sum(counts))) < 1 for part, count in zip(parts, counts, strict=True))
    assert all(part == 0 for part, count in zip(parts, counts, strict=True) if count == 0)


def test_largest_remainder_rejects_counts_that_are_all_zero():
    with pytest.raises(InputError, match="all 0"):
        largest_remainder([0, 0], 3)


@given(st.integers(1, 200), st.data())
def test_a_frequency_on_an_edge_belongs_to_the_higher_bin(assignments, data):
    selected = data.draw(st.integers(0, assignments))
    exact = Fraction(selected, assignments)
    expected = sum(exact >= Fraction(edge, 10) for edge in (2, 4, 6, 8))
    assert frequency_bins([selected / assignments]) == [expected]


def test_keyword_targets_worked_by_hand():
    """CIFAR-10.1: 200 images in proportion to the most frequent keywords."""
    counts = {"tabby": 300, "cat": 100, "kitten": 100, "lynx": 1}
    assert keyword_targets(counts, total=200, keywords=3) == {"tabby": 120, "cat": 40, "kitten": 40}
    assert keyword_targets({}, total=200, keywords=3) == {}


def test_keyword_matched_drops_surplus_and_adds_shortfall():
    pool = [Candidate(f"{k}-{i}", "dog", 1.0, 10, k) for k in ("pup", "hound") for i in range(9)]
    previous = frozenset([*(f"pup-{i}" for i in range(5)), "hound-0"])
    options = DrawOptions(per_class=8, previous=previous)
    sample = keyword_matched(pool, {"dog": {"pup": 10, "hound": 30}}, options)
    names = {image for image, _ in sample.examples}
    assert Counter(name.split("-")[0] for name in names) == {"pup": 2, "hound": 6}
    assert {name for name in names if name.startswith("pup")} <= previous
    assert "hound-0" in names
    assert not sample.problems


def test_keyword_matched_names_keywords_that_lack_images():
    pool = [Candidate("pup-0", "dog", 1.0, 10, "pup")]
    sample = keyword_matched(pool, {"dog": {"pup": 3}}, DrawOptions(per_class=3))
    assert sample.problems == ("dog: 2 more images with the keyword 'pup' needed",)
    assert keyword_matched(pool, {}, DrawOptions()).problems == ("dog: no keywords of reference images are known",)
