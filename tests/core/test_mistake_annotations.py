"""Mistake reviews: spellings, validation and digests."""

from dataclasses import replace

import numpy as np
import pytest

from regrade.core import (
    InputError,
    MismatchError,
    MistakeAnnotations,
    MistakeCategory,
    ReusedFrom,
    Severity,
    UnknownName,
    category_named,
    severity_named,
)

REVIEW = MistakeAnnotations(
    "m", "set", 4, 3, np.array([3, 0]), np.array([2, 1]), (MistakeCategory.FINE_GRAINED, MistakeCategory.SPURIOUS),
    (Severity.MAJOR, Severity.BORDERLINE), ("Fine-grained error", "spurious"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("spelling", "category"),
    [
        ("Fine-grained error", "FINE_GRAINED"),
        ("Fine-grained with Multilabel Options", "FINE_GRAINED"),
        ("fine_grained", "FINE_GRAINED"),
        ("Fine-grained error with OOV", "OUT_OF_VOCABULARY"),
        ("Fine-grained with OOV", "OUT_OF_VOCABULARY"),
        ("fine-grained, out of vocabulary", "OUT_OF_VOCABULARY"),
        ("out-of-vocabulary", "OUT_OF_VOCABULARY"),
        ("Spurious Correlation", "SPURIOUS"),
        (" Non-prototypical ", "NON_PROTOTYPICAL"),
        ("nonprototypical", "NON_PROTOTYPICAL"),
    ],
)
def test_spellings_of_categories(spelling, category):
    assert category_named(spelling) is MistakeCategory[category]


@pytest.mark.parametrize("category", MistakeCategory)
def test_category_named_accepts_its_own_value(category):
    assert category_named(category.value) is category


@pytest.mark.parametrize("severity", Severity)
def test_severity_named_ignores_case(severity):
    assert severity_named(severity.value.upper()) is severity


def test_unknown_words_suggest_similar_ones():
    with pytest.raises(UnknownName, match="did you mean spurious correlation"):
        category_named("spurious corelation")
    with pytest.raises(UnknownName, match="severity of a mistake 'grave'; there are major, minor, borderline"):
        severity_named("grave")


def test_major_and_of_category():
    assert REVIEW.major.tolist() == [True, False]
    assert REVIEW.of_category(MistakeCategory.SPURIOUS).tolist() == [False, True]
    assert len(REVIEW) == 2


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"classes": np.array([2])}, MismatchError, "columns differ"),
        ({"examples": np.array([4, 0])}, InputError, "image is outside the range of 4"),
        ({"classes": np.array([3, 0])}, InputError, "class is outside the range of 3"),
        ({"classes": np.array([-1, 0])}, InputError, "class is outside the range of 3"),
        ({"examples": np.array([1, 1])}, InputError, "occurs twice"),
    ],
)
def test_mistake_review_rejects_inconsistent_columns(change, error, words):
    with pytest.raises(error, match=words):
        replace(REVIEW, **change)


def test_digest_depends_on_content_not_order():
    turned = replace(
        REVIEW, examples=REVIEW.examples[::-1], classes=REVIEW.classes[::-1], categories=REVIEW.categories[::-1],
        severities=REVIEW.severities[::-1], spellings=REVIEW.spellings[::-1],
    )  # fmt: skip
    assert turned.digest == REVIEW.digest
    for variant in (
        replace(REVIEW, classes=np.array([2, 0])),
        replace(REVIEW, severities=(Severity.MAJOR, Severity.MINOR)),
        replace(REVIEW, categories=(MistakeCategory.FINE_GRAINED,) * 2),
        replace(REVIEW, spellings=("fine-grained", "spurious")),
    ):
        assert variant.digest != REVIEW.digest


class TestRows:
    REUSED = replace(REVIEW, reused=(ReusedFrom("other", "queue"), None))

    def test_within_keeps_the_rows_of_a_mask_of_examples(self):
        part = self.REUSED.within(np.arange(4) == 3)
        assert (part.examples.tolist(), part.severities) == ([3], (Severity.MAJOR,))
        assert part.reused == (ReusedFrom("other", "queue"),)
        assert len(REVIEW.within(np.zeros(4, dtype=bool))) == 0

    def test_own_leaves_out_reused_rows(self):
        assert self.REUSED.own.examples.tolist() == [0]
        assert REVIEW.own.examples.tolist() == [3, 0]

    def test_digest_depends_on_the_origin(self):
        moved = replace(REVIEW, reused=(ReusedFrom("other", "another queue"), None))
        assert len({REVIEW.digest, self.REUSED.digest, moved.digest}) == 3
        assert replace(REVIEW, reused=(None, None)).digest == REVIEW.digest

    def test_origins_must_be_as_many_as_rows(self):
        with pytest.raises(MismatchError, match="differ in length"):
            replace(REVIEW, reused=(None,))
