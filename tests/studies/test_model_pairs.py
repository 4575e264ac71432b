"""Pairs of very many models take some bytes each, and are otherwise a sequence like any other."""

import itertools
import tracemalloc

import numpy as np
import pytest

from regrade.stats import paired_difference
from regrade.studies import Basis, Comparison, Pair, compare_correctness

MODELS, IMAGES = 30, 200


def compared(models: int = MODELS, images: int = IMAGES, **more) -> Comparison:
    rng = np.random.default_rng(0)
    correct = rng.random((models, images)) < np.linspace(0.3, 0.9, models)[:, None]
    return compare_correctness(tuple(f"m{i}" for i in range(models)), correct, basis=Basis("set", images), **more)


def peak_bytes(models: int) -> int:
    """What a comparison and its table of ranks take at their peak, beyond what is there before."""
    tracemalloc.start()
    try:
        compared(models, 20).table()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class TestSequence:
    @pytest.fixture
    def pairs(self):
        return compared().pairs

    def test_pairs_are_in_order_and_all_there(self, pairs):
        assert len(pairs) == MODELS * (MODELS - 1) // 2
        names = [f"m{i}" for i in range(MODELS)]
        assert [(pair.first, pair.second) for pair in pairs] == list(itertools.combinations(names, 2))
        assert all(isinstance(pair, Pair) for pair in pairs)

    def test_index_and_slice_give_the_same_pairs(self, pairs):
        every = tuple(pairs)
        assert pairs[0] == every[0] and pairs[-1] == every[-1] and pairs[17] == every[17]
        assert pairs[5:9] == every[5:9] and pairs[::100] == every[::100] and pairs[:0] == ()
        with pytest.raises(IndexError):
            pairs[len(every)]

    def test_equal_comparisons_have_equal_pairs(self, pairs):
        again = compared().pairs
        assert pairs == again and pairs == tuple(again) and hash(pairs) == hash(again)
        assert pairs != compared(MODELS - 1).pairs and pairs != 5

    def test_repr_is_short(self, pairs):
        assert repr(pairs) == "<435 pairs of 30 models>"


class TestCounts:
    def test_apart_counts_the_pairs_that_differ(self):
        result = compared()
        expected = sum(pair.holm <= 0.05 for pair in result.pairs)
        assert 0 < result.apart == expected < len(result.pairs)
        assert f"{expected} of 435 pairs differ at the 5% level" in result.rank_table().notes[0]

    def test_steps_are_the_neighbors_in_the_ranking(self):
        result = compared()
        differ = {frozenset((pair.first, pair.second)): pair.holm <= 0.05 for pair in result.pairs}
        ranked = [rank.model for rank in result.ranks]
        assert result.steps().tolist() == [differ[frozenset(both)] for both in itertools.pairwise(ranked)]
        wide = compared(3, 5000)
        assert wide.steps().tolist() == [True, True]


class TestSelectedDifferences:
    def test_intervals_leave_out_zero_exactly_where_a_pair_differs(self):
        pairs = compared(images=400).pairs
        differs = [pair.holm <= 0.05 for pair in pairs]
        assert [not pair.difference.low <= 0 <= pair.difference.high for pair in pairs] == differs
        assert 0 < sum(differs) < len(pairs)

    def test_levels_by_hand(self):
        """Of 6 pairs 3 differ: those have 1 - 0.05 * 3 / 6, the other three 1 - 0.05 / 3."""
        correct = np.zeros((4, 400), dtype=bool)
        for row, right in enumerate((300, 298, 296, 200)):
            correct[row, :right] = True
        result = compare_correctness(tuple("abcd"), correct, basis=Basis("set", 400))
        differing = [pair for pair in result.pairs if pair.holm <= 0.05]
        assert {pair.second for pair in differing} == {"d"} and len(differing) == 3
        b, c = differing[0].only_first, differing[0].only_second
        expected = paired_difference(b, c, 400, confidence=1 - 0.05 * 3 / 6)
        assert differing[0].difference.low == pytest.approx(float(expected.low))
        rest = next(pair for pair in result.pairs if pair.holm > 0.05)
        expected = paired_difference(rest.only_first, rest.only_second, 400, confidence=1 - 0.05 / 3)
        assert rest.difference.high == pytest.approx(float(expected.high))
        assert result.pairs.difference_methods() == {
            "paired score, 3 of 6 selected 95%",
            "paired score, 3 together 95%",
        }

    @pytest.mark.parametrize("right", [0, 200])
    def test_identical_models_have_a_width_and_do_not_differ(self, right):
        correct = np.zeros((3, 200), dtype=bool)
        correct[:, :right] = True
        result = compare_correctness(tuple("abc"), correct, basis=Basis("set", 200))
        assert all(pair.difference.low < 0 < pair.difference.high for pair in result.pairs)
        assert result.best().low < result.best().high

    def test_the_best_is_stated_with_an_interval_that_knows_it_was_picked(self):
        result = compared()
        best = result.best()
        assert best.value == result.ranks[0].accuracy.value and best.low < result.ranks[0].accuracy.low
        assert any("was picked as the best of 30; knowing that: " in note for note in result.rank_table().notes)

    def test_the_table_says_what_the_intervals_hold_for(self):
        notes = compared().pair_table().notes
        assert any("false coverage rate" in note for note in notes)
        assert any("of 435 selected 95%" in note and "together 95%" in note for note in notes)
        assert not any("false coverage rate" in note for note in compared(2).pair_table().notes)

    def test_false_coverage_rate(self):
        """Of the pairs called different, the intervals of at most 5% miss on average; the rest hold together."""
        rng, rates = np.random.default_rng(0), np.linspace(0.6, 0.8, 6)
        missed, rest_missed = [], 0
        for _ in range(150):
            correct = rng.random((6, 300)) < rates[:, None]
            pairs = compare_correctness(tuple("abcdef"), correct, basis=Basis("set", 300)).pairs
            estimates = pairs._differences(np.arange(len(pairs)))
            misses = np.array(
                [
                    not e.low <= rates[i] - rates[j] <= e.high
                    for e, i, j in zip(estimates, pairs.first, pairs.second, strict=True)
                ]
            )
            differs = pairs.holm <= 0.05
            missed.append(misses[differs].mean() if differs.any() else 0.0)
            rest_missed += misses[~differs].any()
        assert np.mean(missed) < 0.06 and rest_missed <= 15


def test_memory_of_a_comparison_grows_by_some_bytes_per_pair():
    small, large = peak_bytes(200), peak_bytes(400)
    pairs = (400 * 399 - 200 * 199) // 2
    assert (large - small) / pairs < 250


def test_pair_table_is_made_as_it_is_read():
    table = compared().pair_table()
    made = []
    rows = iter(table.rows)
    made.append(next(rows))
    assert made[0][:2] == ("m0", "m1") and len(table.rows) == 435
    assert table.records()[-1]["second"] == "m29"
    assert {"difference", "difference_low", "difference_high", "difference_n"} <= set(table.records()[0])


def test_pair_table_shows_what_novel_predictions_could_change():
    keys = {column.key for column in compared(novel=np.arange(MODELS)).pair_table().columns}
    assert {"lowest", "highest"} <= keys
    assert "lowest" not in {column.key for column in compared().pair_table().columns}
