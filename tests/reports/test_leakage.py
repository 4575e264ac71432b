"""The findings, the figure and the page of pairs of a leakage study."""

import numpy as np
import pytest

from regrade.core import ClassSpace, Distance, NearPairs, Predictions, TestSet
from regrade.studies import Scoring, figure, findings
from regrade.studies.leakage.analysis import leakage
from regrade.studies.leakage.pairs_page import MOST_PAIRS, pairs_page

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


def by_headline(result):
    return {finding.headline: finding for finding in findings(result)}


def test_findings_on_share_accuracy_and_labels():
    ranked = findings(study(1_000, 200, exact=30, other_label=True))
    assert [finding.headline for finding in ranked] == [
        "2 of 2 models are more accurate on duplicates than on other images",
        "200 images of test have a near duplicate in train",
        "30 images have a near duplicate with another label",
    ]
    assert "+10.0 points" in ranked[0].text and "20.0% (17.6 to 22.6) of 1,000 images" in ranked[1].text
    assert "30 of them are equal pixel by pixel" in ranked[1].text
    assert all(0 < finding.weight < 1 for finding in ranked)


def test_no_difference_detected_on_duplicates():
    headlines = by_headline(study(1_000, 20, right_leaked=0.5))
    assert "No difference in accuracy on near duplicates detected" in headlines
    assert not any("another label" in headline for headline in headlines)


def test_similar_images_without_exact_duplicates_weigh_less():
    headlines = by_headline(study(1_000, 200))
    easier = headlines["2 of 2 models are more accurate on images with a near duplicate than on others"]
    assert easier.weight < 0.5 and headlines["200 images of test have a near duplicate in train"].weight < 0.5
    harder = by_headline(study(1_000, 200, right_leaked=0.2))
    assert "2 of 2 models are less accurate on images with a near duplicate than on others" in harder


def test_no_near_duplicates():
    (only,) = findings(study(500, 0))
    assert only.headline == "No near duplicate of test was found in train"
    assert "the upper end of the 95% interval of the share is 0.74%" in only.text


def test_within_one_set():
    headlines = by_headline(study(400, 50, within=True, models=0))
    assert "50 images of test are surplus copies of others in the set itself" in headlines


@pytest.mark.parametrize(("leaked", "models"), [(50, 2), (50, 0), (0, 2), (50, 80)])
def test_figure_panels(leaked, models):
    drawn = figure(study(400, leaked, models=models))
    spec = drawn.spec
    assert (f"{leaked} images" if leaked else "No near duplicate") in str(spec["title"]["text"])
    panels = spec["vconcat"]
    assert len(panels) == 1 + bool(leaked and models)
    if leaked and models:
        rows = spec["datasets"][panels[0]["data"]["name"]]
        assert len(rows) == 2 * min(models, 60) and {row["kind"] for row in rows} == {"leaked", "clean"}
    assert "distances of nearest neighbors" in drawn.alt


def test_pairs_page_says_how_many_pairs_it_shows():
    result = study(1_300, 600)
    seen = []

    def look(position):
        seen.append(position)
        return None if position == 0 else b"jpeg"

    text = pairs_page(result, look, lambda _: b"jpeg")
    assert len(seen) == MOST_PAIRS == text.count("<article>")
    assert text.count("cannot be read") == 1
    assert "600 pairs, the nearest first; the first 500 are shown" in text


def test_pairs_page_escapes_names():
    test_set = TestSet("</title><script>", SPACE, ('x"</script><img>',), np.array([0]))
    result = leakage(test_set, [near(Distance.PHASH, [0], [0], 1)], against=test_set)
    text = pairs_page(result, lambda _: b"", lambda _: b"")
    assert "<img>" not in text and "</title><script>" not in text
    assert text.count("<script") == text.count("</script>") == 2
