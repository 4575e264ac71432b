"""Pairs of very many models take some bytes each, and are otherwise a sequence like any other."""

import itertools
import tracemalloc

import numpy as np
import pytest

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
