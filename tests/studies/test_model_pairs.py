"""Pairs of many models: a sequence with a few bytes per pair."""

import itertools
import tracemalloc

import numpy as np
import pytest

from regrade.stats import holm, images_for_difference, paired_difference, paired_equivalence, smallest_difference
from regrade.studies import Basis, Comparison, Pair, compare_correctness
from regrade.studies.compare.model_pairs import PairResult

MODELS, IMAGES = 30, 200


def compared(models: int = MODELS, images: int = IMAGES, **more) -> Comparison:
    rng = np.random.default_rng(0)
    correct = rng.random((models, images)) < np.linspace(0.3, 0.9, models)[:, None]
    return compare_correctness(tuple(f"m{i}" for i in range(models)), correct, basis=Basis("set", images), **more)


def peak_bytes(models: int) -> int:
    """The additional peak memory of a comparison and its table of ranks."""
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

    def test_iteration_yields_all_pairs_in_order(self, pairs):
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
    def test_different_pairs_counts_pairs_that_differ(self):
        result = compared()
        expected = sum(pair.holm <= 0.05 for pair in result.pairs)
        assert 0 < result.different_pairs == expected < len(result.pairs)
        assert f"{expected} of 435 pairs differ at the 5% level" in result.rank_table().notes[0]

    def test_steps_are_the_neighbors_in_the_ranking(self):
        result = compared()
        differ = {frozenset((pair.first, pair.second)): pair.holm <= 0.05 for pair in result.pairs}
        ranked = [rank.model for rank in result.ranks]
        assert result.steps().tolist() == [differ[frozenset(both)] for both in itertools.pairwise(ranked)]
        wide = compared(3, 5000)
        assert wide.steps().tolist() == [True, True]


class TestSelectedDifferences:
    def test_interval_excludes_zero_exactly_if_a_pair_differs(self):
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

    def test_interval_of_the_best_is_corrected_for_selection(self):
        result = compared()
        best = result.best()
        assert best.value == result.ranks[0].accuracy.value and best.low < result.ranks[0].accuracy.low
        assert any("corrected for selecting the best of 30 models: " in note for note in result.rank_table().notes)

    def test_table_explains_the_intervals(self):
        notes = compared().pair_table().notes
        assert any("false coverage rate" in note for note in notes)
        assert any("of 435 selected 95%" in note and "together 95%" in note for note in notes)
        assert not any("false coverage rate" in note for note in compared(2).pair_table().notes)

    def test_false_coverage_rate(self):
        """At most 5% of the intervals of pairs called different miss on average; the rest hold simultaneously."""
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


def test_pair_table_is_lazy():
    table = compared().pair_table()
    first = next(iter(table.rows))
    assert first[:2] == ("m0", "m1") and len(table.rows) == 435
    assert table.records()[-1]["second"] == "m29"
    assert {"difference", "difference_low", "difference_high", "difference_n"} <= set(table.records()[0])


def test_pair_table_bounds_the_effect_of_novel_predictions():
    keys = {column.key for column in compared(novel=np.arange(MODELS)).pair_table().columns}
    assert {"lowest", "highest"} <= keys
    assert "lowest" not in {column.key for column in compared().pair_table().columns}


class TestImagesNeeded:
    """Images needed and smallest detectable difference refer to the exact test, corrected by Holm."""

    def test_images_needed_at_holms_level(self):
        pairs = compared().pairs
        undecided = sum(pair.holm > 0.05 for pair in pairs)
        for pair in list(pairs)[::40]:
            alpha = 0.05 / (undecided + (pair.holm <= 0.05))
            disagreement = (pair.only_first + pair.only_second) / IMAGES
            if pair.difference.value:
                expected = images_for_difference(pair.difference.value, disagreement, alpha=alpha)
                assert pair.images_needed == expected
            assert pair.smallest_difference == pytest.approx(smallest_difference(IMAGES, disagreement, alpha=alpha))

    def test_pair_level_is_holms_threshold(self):
        """A pair with a p-value just below its level would be declared different, just above it would not."""
        pairs = compared().pairs
        exact = np.array([pair.p_values.exact for pair in pairs])
        for row in np.flatnonzero(pairs.holm > pairs.level)[::5]:
            for factor, differs in ((0.999, True), (1.001, False)):
                changed = exact.copy()
                changed[row] = pairs.pair_levels[row] * factor
                assert (holm(changed)[row] <= pairs.level) == differs

    def test_undetected_difference_never_needs_fewer_images(self):
        unclear = [pair for pair in compared().pairs if pair.holm > 0.05 and pair.images_needed]
        assert len(unclear) > 50
        assert all(pair.images_needed > IMAGES for pair in unclear)

    def test_identical_models_need_no_number_of_images(self):
        correct = np.ones((2, 50), dtype=bool)
        (pair,) = compare_correctness(("a", "b"), correct, basis=Basis("set", 50)).pairs
        assert (pair.images_needed, pair.smallest_difference) == (None, None)
        assert pair.in_words(0.05).startswith("no difference detected between a and b on 50 images")


class TestEquivalence:
    def equivalence(self, correct, margin):
        models = tuple(f"m{i}" for i in range(len(correct)))
        return compare_correctness(models, correct, basis=Basis("set", correct.shape[1], equivalence=margin))

    def test_p_values_are_corrected_by_holm(self):
        correct = np.random.default_rng(0).random((4, 400)) < 0.7
        result = self.equivalence(correct, 0.1)
        plain = [float(paired_equivalence(pair.only_first, pair.only_second, 400, margin=0.1)) for pair in result.pairs]
        assert [pair.equivalence for pair in result.pairs] == pytest.approx(holm(plain).tolist())
        assert result.as_dict()["equivalence"] == 0.1

    @pytest.mark.parametrize(
        ("only_first", "only_second", "result", "words"),
        [
            (30, 30, PairResult.EQUIVALENT, "a and b are equivalent within ±1 points on 10,000 images"),
            (70, 30, PairResult.SLIGHTLY_DIFFERENT, "a is ahead of b by 0.21 to 0.61 points, within ±1 points"),
            (700, 30, PairResult.DIFFERENT, "a is ahead of b by"),
            (3000, 2950, PairResult.NOT_DETECTED, "no difference detected between a and b"),
        ],
    )
    def test_result_of_a_pair(self, only_first, only_second, result, words):
        correct = np.zeros((2, 10_000), dtype=bool)
        correct[0, :only_first] = True
        correct[1, only_first : only_first + only_second] = True
        models = ("a", "b")
        comparison = compare_correctness(models, correct, basis=Basis("set", 10_000, equivalence=0.01))
        (pair,) = comparison.pairs
        assert pair.result is result
        assert pair.in_words(0.05, margin=0.01).startswith(words)
        assert any("of 1 pair" in note and "two one-sided" in note for note in comparison.table().notes)
        assert comparison.table().records()[0]["result"] == result.value

    def test_without_a_margin_nothing_is_equivalent(self):
        pairs = compared().pairs
        assert pairs.equivalent() is None and pairs[0].equivalence is None
        assert {pair.result for pair in pairs} == {PairResult.DIFFERENT, PairResult.NOT_DETECTED}

    def test_false_equivalence_rate(self):
        """Five models 4 points below a sixth: in at most 5 % of draws, any of these pairs is called equivalent."""
        rng, wrong, draws = np.random.default_rng(3), 0, 200
        for _ in range(draws):
            shared = rng.random(3000) < 0.8
            correct = np.stack([shared & (rng.random(3000) < share) for share in (1.0, *(0.95,) * 5)])
            result = self.equivalence(correct, 0.04)
            wrong += any(pair.equivalence <= 0.05 for pair in result.pairs if "m0" in (pair.first, pair.second))
        assert wrong / draws <= 0.05 + 3 * (0.05 * 0.95 / draws) ** 0.5


def test_rank_table_has_the_smallest_detectable_difference_to_the_next():
    result = compared()
    records = result.rank_table().records()
    pair = {frozenset((pair.first, pair.second)): pair for pair in result.pairs}[
        frozenset((result.ranks[0].model, result.ranks[1].model))
    ]
    assert records[0]["smallest_difference"] == pytest.approx(pair.smallest_difference)
    assert records[-1]["smallest_difference"] is None
