"""Leakage in words and drawn: as strong as the intervals, and nothing where there is nothing."""

import numpy as np
import pytest

from regrade.core import ClassSpace, Distance, NearPairs, Predictions, TestSet
from regrade.report import MOST_PAIRS, figure, findings, pairs_page
from regrade.studies import Scoring, leakage

SPACE = ClassSpace("two", ("a", "b"))


def near(distance, first, second, size, cut=8.0):
    nearest = np.linspace(0, 30, size)
    values = np.zeros(len(first))
    none = np.zeros(len(first), dtype=bool)
    first, second = np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)
    return NearPairs(distance, cut, first, second, values, none, np.ones(size, dtype=bool), nearest)


def study(size, leaked, *, right_leaked=1.0, right_clean=0.5, exact=0, models=2, other_label=False, within=False):
    labels = np.zeros(size, dtype=int)
    test_set = TestSet("test", SPACE, tuple(f"t{i}" for i in range(size)), labels)
    train = TestSet("train", SPACE, tuple(f"r{i}" for i in range(size)), np.full(size, int(other_label)))
    pairs = [
        near(Distance.EXACT, range(exact), range(size - exact, size), size, cut=0.0),
        near(Distance.PHASH, range(leaked), range(size - leaked, size), size),
    ]
    right = 37 * np.arange(size) % 100 < np.where(np.arange(size) < leaked, 100 * right_leaked, 100 * right_clean)
    answers = [
        (Predictions(f"m{i}", "test", "two", (~right).astype(int)[:, None]), Scoring(test_set)) for i in range(models)
    ]
    return leakage(test_set, pairs, answers, against=None if within else train)


def told(result):
    return {one.headline: one for one in findings(result)}


def test_what_leaks_and_what_it_does():
    found = findings(study(1_000, 200, exact=30, other_label=True))
    assert [one.headline for one in found] == [
        "2 of 2 models are more accurate on duplicates than on other images",
        "200 images of test have a near duplicate in train",
        "30 images have a near duplicate with another label",
    ]
    assert "+10.0 points" in found[0].text and "20.0% (17.6 to 22.6) of 1,000 images" in found[1].text
    assert "30 of them are equal pixel by pixel" in found[1].text
    assert all(0 < one.weight < 1 for one in found)


def test_what_is_not_settled_is_not_claimed():
    found = told(study(1_000, 20, right_leaked=0.5))
    assert "No difference in accuracy on near duplicates detected" in found
    assert not any("another label" in headline for headline in found)


def test_images_that_only_look_alike_are_not_called_leaked():
    found = told(study(1_000, 200))
    easier = found["2 of 2 models are more accurate on images with a near duplicate than on others"]
    assert easier.weight < 0.5 and found["200 images of test have a near duplicate in train"].weight < 0.5
    assert not any("flatter" in headline for headline in found)
    harder = told(study(1_000, 200, right_leaked=0.2))
    assert "2 of 2 models are less accurate on images with a near duplicate than on others" in harder


def test_nothing_found():
    (only,) = findings(study(500, 0))
    assert only.headline == "No near duplicate of test was found in train"
    assert "the upper end of the 95% interval of the share is 0.74%" in only.text


def test_within_one_set():
    found = told(study(400, 50, within=True, models=0))
    assert "50 images of test are surplus copies of others in the set itself" in found


@pytest.mark.parametrize(("leaked", "models"), [(50, 2), (50, 0), (0, 2), (50, 80)])
def test_it_is_drawn(leaked, models):
    drawn = figure(study(400, leaked, models=models))
    spec = drawn.spec
    assert (f"{leaked} images" if leaked else "No near duplicate") in str(spec["title"]["text"])
    panels = spec["vconcat"]
    assert len(panels) == 1 + bool(leaked and models)
    if leaked and models:
        rows = spec["datasets"][panels[0]["data"]["name"]]
        assert len(rows) == 2 * min(models, 60) and {row["kind"] for row in rows} == {"leaked", "clean"}
    assert "distances of nearest neighbors" in drawn.alt


def test_a_page_escapes_names_and_says_how_many_it_shows():
    result = study(1_300, 600)
    seen = []

    def look(position):
        seen.append(position)
        return None if position == 0 else b"jpeg"

    text = pairs_page(result, look, lambda _: b"jpeg")
    assert len(seen) == MOST_PAIRS == text.count("<article>")
    assert text.count("cannot be read") == 1
    assert "600 pairs, the nearest first; the first 500 are shown" in text


def test_a_name_cannot_leave_its_place():
    test_set = TestSet("</title><script>", SPACE, ('x"</script><img>',), np.array([0]))
    result = leakage(test_set, [near(Distance.PHASH, [0], [0], 1)], against=test_set)
    text = pairs_page(result, lambda _: b"", lambda _: b"")
    assert "<img>" not in text and "</title><script>" not in text
    assert text.count("<script") == text.count("</script>") == 2
