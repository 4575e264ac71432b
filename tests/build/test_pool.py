"""Which candidates enter a pool, and the counts of a pool, worked by hand."""

from datetime import date

import numpy as np

from regrade.build.date_window import DateWindow
from regrade.build.pool import (
    CandidateRow,
    DateColumn,
    PoolAuthor,
    PoolClass,
    PoolExclusion,
    PoolKeyword,
    Refused,
    author_counts,
    class_counts,
    class_refusals,
    date_refusals,
    exact_refusals,
    in_two_classes,
    keyword_counts,
    keywords_by_class,
    near_refusal,
    source_refusals,
)
from regrade.build.pool_source import PoolCandidate
from regrade.core import UNLABELED, ClassSpace, TestSet

YEAR = DateWindow(date(2012, 7, 11), date(2013, 7, 11))


def candidate(image, class_name="cat", **metadata):
    return PoolCandidate(image, class_name, image, metadata)


def reasons(refusals):
    return {position: refused.reason.value for position, refused in refusals.items()}


def test_class_refusals_name_the_unknown_class():
    rows = [candidate("a"), candidate("b", "dragon"), candidate("c", "")]
    assert class_refusals(rows, {"cat": 0}) == {
        1: Refused(PoolExclusion.UNKNOWN_CLASS, "class 'dragon'"),
        2: Refused(PoolExclusion.UNKNOWN_CLASS, "it has no class"),
    }


def test_date_refusals_use_the_upload_and_fall_back_to_when_it_was_taken():
    rows = [
        candidate("a", uploaded="2012-07-11", taken="1999-01-01"),
        candidate("b", taken="2013-07-12 00:00:01"),
        candidate("c", uploaded="", taken="2013-07-11T23:59"),
        candidate("d"),
        candidate("e", uploaded="last summer"),
    ]
    refusals = date_refusals(rows, range(5), YEAR, None)
    assert reasons(refusals) == {1: "outside_dates", 3: "no_date", 4: "no_date"}
    assert refusals[1].detail == "taken 2013-07-12"
    assert refusals[4].detail == "uploaded 'last summer' is not a date"
    assert reasons(date_refusals(rows[:2], range(2), YEAR, DateColumn.TAKEN)) == {
        0: "outside_dates",
        1: "outside_dates",
    }
    assert date_refusals(rows, range(5), DateWindow(), None) == {}


def test_source_refusals_keep_the_first_image_of_each_source_id_and_each_id():
    rows = [
        candidate("a", source_id="1"),
        candidate("b", source_id="1"),
        candidate("c"),
        candidate("c", "dog"),
        candidate("a", source_id="2"),
        candidate("d", source_id="c"),
    ]
    refusals = source_refusals(rows, range(6))
    assert {position: refused.kept_position for position, refused in refusals.items()} == {1: 0, 3: 2, 4: 0, 5: 2}
    assert refusals[3].detail == "source id 'c' again, 'c' (class cat)"
    assert source_refusals(rows, [1, 3]) == {}, "those that were excluded before do not count"


def test_exact_refusals_name_the_reference_image_or_the_first_candidate():
    rows = [candidate("a"), candidate("b"), candidate("c", "dog"), candidate("d")]
    hashes = {0: b"x", 1: b"r", 2: b"x", 3: b"y"}
    assert exact_refusals(rows, hashes, {b"r": "image 'r' of val"}) == {
        1: Refused(PoolExclusion.IDENTICAL_TO_REFERENCE, "it is image 'r' of val"),
        2: Refused(PoolExclusion.EXACT_DUPLICATE, "same pixels as 'a' (class cat)", 0),
    }


def test_in_two_classes_counts_duplicates_of_another_class():
    rows = [candidate("a"), candidate("b"), candidate("c", "dog"), candidate("d", "dog")]
    refusals = {
        1: near_refusal(rows, 0),
        2: near_refusal(rows, 0),
        3: Refused(PoolExclusion.UNREADABLE, "the file is empty"),
    }
    assert in_two_classes(rows, refusals) == 1


ROWS = (
    CandidateRow("cat", "tabby", "ann", True),
    CandidateRow("cat", "tabby", "ann", True),
    CandidateRow("cat", "kitten", "bob", False),
    CandidateRow("cat", "", "", True),
    CandidateRow("dog", "hound", "bob", True),
    CandidateRow("dog", "hound", "bob", True),
    CandidateRow("fox", "", "", False),
)


def test_class_counts_state_targets_and_the_most_frequent_author():
    cat, dog, fox = class_counts(ROWS, str.upper, 3)
    assert cat == PoolClass("cat", "CAT", 4, 3, 3, 1, "ann", 2)
    assert dog == PoolClass("dog", "DOG", 2, 2, 3, 1, "bob", 2)
    assert fox == PoolClass("fox", "FOX", 1, 0, 3, 0, "", 0)
    assert [row.missing for row in (cat, dog, fox)] == [0, 1, 3]
    assert [row.has_one_author for row in (cat, dog, fox)] == [False, True, False]
    assert class_counts(ROWS, str.upper, None)[0].missing is None


def test_one_image_of_a_class_has_no_single_author():
    (row,) = class_counts(ROWS[:1], str, None)
    assert not row.has_one_author


def test_keyword_counts_divide_the_target_as_the_reference_keywords_are():
    references = {"cat": {"tabby": 6, "siamese": 3, "": 5}}
    assert keyword_counts(ROWS, references, 3) == (
        PoolKeyword("cat", "kitten", 1, 0, None),
        PoolKeyword("cat", "siamese", 0, 0, 1),
        PoolKeyword("cat", "tabby", 2, 2, 2),
        PoolKeyword("dog", "hound", 2, 2, None),
    )
    assert keyword_counts(ROWS, references, None)[0] == PoolKeyword("cat", "kitten", 1, 0, None)


def test_keywords_by_class_leaves_out_unlabeled_images():
    labels = np.array([0, UNLABELED, 1, 0])
    reference = TestSet("reference", ClassSpace("two", ("cat", "dog")), ("a", "b", "c", "d"), labels)
    keywords = ("tabby", "hound", "hound", "tabby")
    assert keywords_by_class(reference, keywords) == {"cat": {"tabby": 2}, "dog": {"hound": 1}}


def test_author_counts_are_shares_of_all_kept_images():
    assert author_counts(ROWS) == (PoolAuthor("ann", 2, 0.4, 1), PoolAuthor("bob", 2, 0.4, 1))
    assert author_counts([]) == ()
