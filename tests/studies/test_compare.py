"""Comparisons, checked against slow reference implementations and other packages."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from regrade.core import InputError, UndefinedError
from regrade.studies import Basis, Comparison, compare_correctness
from regrade.studies.compare.model_pairs import PairResult

RIGHT = hnp.arrays(bool, st.tuples(st.integers(2, 5), st.integers(1, 30)))


def names(count: int) -> tuple[str, ...]:
    return tuple(f"m{i}" for i in range(count))


def compare(models: tuple[str, ...], correct: np.ndarray, *, labels: str | None = None, **more) -> Comparison:
    version = 1 if labels else None
    confidence = more.pop("confidence", 0.95)
    basis = Basis("set", correct.shape[1], confidence, labels=labels, labels_version=version)
    return compare_correctness(models, correct, basis=basis, **more)


@given(RIGHT)
def test_pairs_match_a_slow_reference(correct):
    result = compare(names(len(correct)), correct)
    n = correct.shape[1]
    assert [(p.first, p.second) for p in result.pairs] == list(itertools.combinations(names(len(correct)), 2))
    for pair, (i, j) in zip(result.pairs, itertools.combinations(range(len(correct)), 2), strict=True):
        only_first = sum(bool(a and not b) for a, b in zip(correct[i], correct[j], strict=True))
        only_second = sum(bool(b and not a) for a, b in zip(correct[i], correct[j], strict=True))
        assert (pair.only_first, pair.only_second) == (only_first, only_second)
        assert pair.first_accuracy.value == pytest.approx(correct[i].mean())
        assert pair.second_accuracy.value == pytest.approx(correct[j].mean())
        assert pair.difference.value == pytest.approx((only_first - only_second) / n)
        difference = pair.difference
        assert -1 <= difference.low <= difference.value <= difference.high <= 1
        if only_first + only_second:
            exact = stats.binomtest(only_first, only_first + only_second).pvalue
            assert pair.p_values.exact == pytest.approx(exact)
            plain = stats.chi2.sf((only_first - only_second) ** 2 / (only_first + only_second), 1)
            assert pair.p_values.chi_square == pytest.approx(plain)
        else:
            assert pair.p_values.exact == pair.p_values.mid_p == pair.p_values.chi_square == 1
        assert (pair.images_needed is None) == (only_first == only_second)


@given(RIGHT)
def test_corrections_match_a_slow_reference(correct):
    pairs = compare(names(len(correct)), correct).pairs
    exact = [p.p_values.exact for p in pairs]
    count = len(exact)
    order = sorted(range(count), key=lambda i: exact[i])
    running = 0.0
    for place, i in enumerate(order):
        running = max(running, min(1.0, exact[i] * (count - place)))
        assert pairs[i].holm == pytest.approx(running)
    controlled = stats.false_discovery_control(exact, method="bh")
    assert [p.benjamini_hochberg for p in pairs] == pytest.approx(list(controlled))


@given(RIGHT)
def test_ranks_match_a_slow_reference(correct):
    result = compare(names(len(correct)), correct)
    accuracies = {name: row.mean() for name, row in zip(names(len(correct)), correct, strict=True)}
    for rank in result.ranks:
        assert rank.rank == 1 + sum(accuracy > accuracies[rank.model] for accuracy in accuracies.values())
        assert 1 <= rank.low <= rank.rank <= rank.high <= len(correct)
    assert [r.rank for r in result.ranks] == sorted(r.rank for r in result.ranks)


def test_clear_winner_is_ranked_first_alone():
    correct = np.zeros((3, 1000), dtype=bool)
    correct[0], correct[1, :500], correct[2, 1:501] = True, True, True
    ranks = {r.model: (r.rank, r.low, r.high) for r in compare(names(3), correct).ranks}
    assert ranks == {"m0": (1, 1, 1), "m1": (2, 2, 3), "m2": (2, 2, 3)}


def test_equal_predictions_do_not_differ():
    (pair,) = compare(names(2), np.ones((2, 10), dtype=bool)).pairs
    assert (pair.difference.value, pair.p_values.exact, pair.holm, pair.images_needed) == (0, 1, 1, None)
    assert pair.difference.low < 0 < pair.difference.high


def test_compare_rejects_one_model_and_no_images():
    with pytest.raises(InputError, match="at least two"):
        compare(("m",), np.ones((1, 5), dtype=bool))
    with pytest.raises(UndefinedError, match="no image"):
        compare(names(2), np.ones((2, 0), dtype=bool))


class TestTables:
    CORRECT = np.array([[1, 1, 1, 1, 0, 1], [1, 0, 0, 1, 0, 0], [0, 0, 1, 1, 0, 1]], dtype=bool)

    def test_table_shows_a_pair_or_ranks(self):
        assert compare(names(2), self.CORRECT[:2]).table().title.startswith("pairs on set")
        ranks = compare(names(3), self.CORRECT, labels="real").table()
        assert ranks.title == "ranks on set against real@1, accuracy in %"
        assert [row[3] for row in ranks.rows] == ["m0", "m2", "m1"]
        assert any("0 of 3 pairs differ at the 5% level" in note for note in ranks.notes)

    def test_pair_table_has_every_test(self):
        table = compare(names(3), self.CORRECT).pair_table()
        assert len(table.rows) == 3
        records = table.records()
        for key in ("exact", "mid_p", "chi_square", "chi_square_corrected", "holm", "benjamini_hochberg"):
            assert all(0 <= record[key] <= 1 for record in records)
        assert records[0]["difference"] == pytest.approx(3 / 6)
        assert records[0]["difference_low"] < records[0]["difference_high"]

    def test_as_dict_is_json_serializable(self):
        content = compare(names(3), self.CORRECT, confidence=0.9).as_dict()
        assert json.loads(json.dumps(content, allow_nan=False))["confidence"] == 0.9
        assert {p["difference"]["method"] for p in content["pairs"]} == {"paired score, 3 together 90%"}


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 2_000), st.sampled_from([0.8, 0.95, 0.999_999]))
def test_result_of_two_models_never_contradicts_its_interval(only_first, only_second, both, confidence):
    correct = np.repeat([[1, 0, 1], [0, 1, 1]], [only_first, only_second, both], axis=1).astype(bool)
    result = compare(names(2), correct, confidence=confidence)
    (pair,) = result.pairs
    differs = pair.p_values.exact <= 1 - confidence
    assert (pair.result is PairResult.DIFFERENT) == differs == (pair.difference.low > 0 or pair.difference.high < 0)
    assert pair.difference.low <= pair.difference.value <= pair.difference.high
    assert ("is ahead of" in pair.in_words(1 - confidence)) == differs


def test_undetected_difference_is_not_reported_as_ahead():
    """Exact p = 0.064, while the score interval alone excludes 0 (chi-square 4.17)."""
    correct = np.repeat([[1, 0, 1], [0, 1, 1]], [17, 7, 156], axis=1).astype(bool)
    (pair,) = compare(names(2), correct).pairs
    words = pair.in_words(0.05)
    assert pair.difference.low == 0 and "between 0.00 points behind and" in words
