"""The checks before a release, each with every outcome."""

import pytest

from regrade.build.duplicates import DuplicateCheck
from regrade.build.eligibility import Candidate, Exclusion
from regrade.build.overlaps import NearImage, Overlap
from regrade.build.readiness import (
    Discrimination,
    careless_workers,
    class_balance,
    differing_licenses,
    duplicates_within,
    few_answers,
    incomplete_classes,
    missing_licenses,
    overlap_checks,
    review_of_images,
    review_of_pairs,
    selection_noise,
    single_authors,
    told_apart,
)
from regrade.build.review import BuildReview, ReviewDecision
from regrade.build.samplers import ClassSample, Sample, Strategy
from regrade.core import Estimate
from regrade.core.panel import Fitness

BALANCED = (("a", "cat"), ("b", "cat"), ("c", "dog"), ("d", "dog"))


def sample(examples=BALANCED, problems=(), excluded=None):
    classes = sorted({class_id for _, class_id in examples})
    drawn = [
        ClassSample(name, tuple(i for i, c in examples if c == name), excluded or {}, problems=problems)
        for name in classes
    ]
    return Sample(Strategy.TOP, 0, tuple(examples), tuple(drawn))


def outcome(check):
    return check.outcome.value


def test_class_balance():
    assert outcome(class_balance(sample(), 2)) == "passed"
    fewer = class_balance(sample(BALANCED[:3]), 2)
    assert (outcome(fewer), fewer.detail) == ("issue", "classes have 1 to 2 images; the fewest: dog")
    absent = class_balance(sample(), 10)
    assert (outcome(absent), absent.detail) == ("tip", "2 images in each of 2 classes; 8 classes have none")
    assert outcome(class_balance(sample(()), 2)) == "issue"


def test_incomplete_classes():
    assert outcome(incomplete_classes(sample())) == "passed"
    lacking = incomplete_classes(sample(problems=("1 more image needed",)))
    assert (outcome(lacking), lacking.detail) == ("issue", "2 problems: cat: 1 more image needed and 1 more")


@pytest.mark.parametrize(
    ("licenses", "missing", "differing"),
    [
        (None, "issue", "not applicable"),
        (["CC0", "CC0"], "passed", "passed"),
        (["CC0", "unknown"], "issue", "passed"),
        (["CC0", "CC BY"], "passed", "tip"),
        (["", "n/a"], "issue", "not applicable"),
    ],
)
def test_licenses(licenses, missing, differing):
    assert (outcome(missing_licenses(licenses)), outcome(differing_licenses(licenses))) == (missing, differing)


def test_single_authors():
    authors = dict(zip("abcd", ("ann", "bob", "cy", "cy"), strict=True))
    single = single_authors(BALANCED, authors)
    assert (outcome(single), single.detail) == ("issue", "1 class has one author only: dog (cy)")
    assert outcome(single_authors(BALANCED, authors | {"d": "di"})) == "passed"
    assert outcome(single_authors(BALANCED, dict.fromkeys("abcd", "unknown"))) == "not applicable"
    assert outcome(single_authors(BALANCED, None)) == "not applicable"
    assert outcome(single_authors(BALANCED[:1], {"a": "ann"})) == "passed"


def test_few_answers():
    drawn = [Candidate("a", "cat", 0.5, 10), Candidate("b", "cat", 0.5, 4)]
    assert outcome(few_answers(drawn[:1])) == "passed"
    few = few_answers(drawn)
    assert (outcome(few), few.detail) == ("issue", "1 image has fewer than 10 answers; the fewest: b (4)")


def test_careless_workers():
    assert outcome(careless_workers([], [])) == "passed"
    assert outcome(careless_workers([], ["ann"])) == "tip"
    assert outcome(careless_workers(["bob"], ["ann"])) == "issue"


def build_review(*decisions):
    rows = [ReviewDecision(image, class_id, fitness, "", ("ann",), "") for image, class_id, fitness in decisions]
    return BuildReview("new", 1, "new review", tuple(rows))


def test_review_of_images():
    assert outcome(review_of_images(None, BALANCED)) == "tip"
    kept = [(*example, Fitness.KEEP) for example in BALANCED]
    assert outcome(review_of_images(build_review(*kept), BALANCED)) == "passed"
    waiting = review_of_images(build_review(*kept[1:]), BALANCED)
    assert (outcome(waiting), waiting.detail) == ("issue", "nobody has looked at 1 of 4 images")
    flagged = review_of_images(build_review(*kept[1:], ("a", "cat", Fitness.PROBLEMATIC)), BALANCED)
    assert (outcome(flagged), flagged.detail) == ("issue", "1 image was flagged: a")


def duplicate_check(*, checked=True, sets=("pool", "val"), unreviewed=0):
    return DuplicateCheck(checked, sets, {"pixels": 1.0}, 30, "", 6, 1, 2, 3, unreviewed)


def test_review_of_pairs():
    assert outcome(review_of_pairs(duplicate_check(checked=False, sets=()), sample())) == "tip"
    assert outcome(review_of_pairs(duplicate_check(checked=False), sample())) == "issue"
    undecided = review_of_pairs(duplicate_check(checked=False, unreviewed=1), sample())
    assert (outcome(undecided), undecided.detail) == ("issue", "1 image has a pair without a decision")
    decided = review_of_pairs(duplicate_check(), sample())
    assert (outcome(decided), decided.detail) == ("passed", "6 pairs decided")
    waiting = review_of_pairs(duplicate_check(), sample(excluded={"x": Exclusion.UNREVIEWED}))
    assert (outcome(waiting), waiting.detail) == ("tip", "6 pairs decided; 2 candidates wait for a decision")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(-0.2, -0.1, "issue"), (0.1, 0.2, "issue"), (-0.1, 0.1, "passed"), (0.0, 0.2, "passed")],
)
def test_selection_noise(low, high, expected):
    check = selection_noise(Estimate((low + high) / 2, low, high, 100, ""))
    assert outcome(check) == expected
    if expected == "issue":
        assert ("harder" if high < 0 else "easier") in check.detail
    assert outcome(selection_noise(None)) == "not applicable"


@pytest.mark.parametrize(
    ("value", "low", "expected"), [(0.5, 0.4, "passed"), (0.9, 0.5, "passed"), (0.55, 0.52, "tip"), (0.7, 0.6, "issue")]
)
def test_told_apart(value, low, expected):
    rows = [
        Discrimination("weak", 10, 10, Estimate(0.5, 0.3, 0.7, 20, "")),
        Discrimination("strong", 10, 10, Estimate(value, low, 1.0, 20, "")),
    ]
    check = told_apart(rows, "")
    assert outcome(check) == expected
    assert "strong" in check.detail
    assert told_apart((), "why").detail == "why"


def pair(distance="exact", value=0.0):
    return NearImage("a", "z", distance, value)


def outcomes(overlap):
    return [outcome(check) for check in overlap_checks(overlap)]


def test_overlaps():
    nothing = Overlap("val", ())
    assert outcomes(nothing) == ["passed", "not applicable", "not applicable"]
    assert outcomes(Overlap("val", ("a",), compared=True)) == ["tip", "passed", "not applicable"]
    both = Overlap("val", (), (pair(),), (pair("phash", 3.0),), compared=True, searched_near=True)
    assert outcomes(both) == ["passed", "issue", "tip"]
    unread = overlap_checks(Overlap("val", (), compared=True, searched_near=True, unreadable=2))
    assert [check.detail for check in unread[1:]] == ["none found; 2 images could not be read"] * 2


def test_duplicates_within():
    assert outcome(duplicates_within(None)) == outcome(duplicates_within(Overlap("pool", ()))) == "not applicable"
    assert outcome(duplicates_within(Overlap("pool", (), (pair(),), compared=True))) == "issue"
    near = duplicates_within(Overlap("pool", (), near=(pair("phash", 3.0),), compared=True))
    assert (outcome(near), near.detail) == ("tip", "1 pair to look at: a and z (phash 3)")
    assert outcome(duplicates_within(Overlap("pool", (), compared=True))) == "passed"
