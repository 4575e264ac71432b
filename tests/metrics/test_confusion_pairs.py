import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regrade.core import MismatchError
from regrade.metrics import confused_pairs, confusions

CONFUSIONS, PAIRS_BY_FREQUENCY = 545, {1: 441, 2: 23, 3: 12, 4: 3, 5: 2}  # in the released list
PAIRS = st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4)), max_size=40)


def rows(pairs):
    """(first, second, count) row by row."""
    return list(zip(pairs.first.tolist(), pairs.second.tolist(), pairs.counts.tolist(), strict=True))


def test_confusions_keep_their_direction_and_the_most_frequent_come_first():
    labels = np.array([3, 1, 1, 2, 3, 0])
    predictions = np.array([1, 3, 0, 2, 1, 1])
    assert rows(confusions(labels, predictions)) == [(3, 1, 2), (0, 1, 1), (1, 0, 1), (1, 3, 1)]


def test_confused_pairs_ignore_direction():
    labels = np.array([3, 1, 1, 2, 3, 0])
    predictions = np.array([1, 3, 0, 2, 1, 1])
    assert rows(confused_pairs(labels, predictions)) == [(1, 3, 3), (0, 1, 2)]


@given(PAIRS)
@settings(deadline=None, max_examples=100)
def test_confusions_and_pairs_count_all_mistakes(pairs):
    labels, predictions = (np.array([p[side] for p in pairs], dtype=np.int16) for side in (0, 1))
    mistakes = [(a, b) for a, b in pairs if a != b and a >= 0 and b >= 0]

    def listed(counter):
        return [(*pair, n) for pair, n in sorted(counter.items(), key=lambda item: (-item[1], item[0]))]

    assert rows(confusions(labels, predictions)) == listed(Counter(mistakes))
    assert rows(confused_pairs(labels, predictions)) == listed(Counter(tuple(sorted(m)) for m in mistakes))


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32])
def test_large_class_indices_do_not_overflow_a_narrow_type(dtype):
    high = 127
    labels, predictions = np.array([high, high - 1], dtype), np.array([high - 1, high], dtype)
    assert rows(confused_pairs(labels, predictions)) == [(high - 1, high, 2)]
    assert rows(confusions(labels, predictions)) == [(high - 1, high, 1), (high, high - 1, 1)]


def test_without_mistakes_there_are_no_pairs():
    assert rows(confusions(np.array([1, 2, -1, 3]), np.array([1, 2, 0, -1]))) == []
    assert rows(confused_pairs(np.array([], int), np.array([], int))) == []


def test_labels_and_predictions_come_in_equal_number():
    with pytest.raises(MismatchError, match="labels but"):
        confusions(np.array([1, 2]), np.array([1]))


def test_the_published_pairs_of_vasudevan_et_al_come_back(published):
    listed = json.loads((published / "vasudevan2022" / "class_confusion_wnids.json").read_text())
    wnids = sorted({wnid for *pair, _ in listed for wnid in pair})
    repeated = [pair for *pair, weight in listed for _ in range(weight)]
    sides = np.array([[wnids.index(wnid) for wnid in pair] for pair in repeated])
    turned = np.random.default_rng(0).permuted(sides, axis=1)
    pairs = confused_pairs(turned[:, 0], turned[:, 1])
    assert len(pairs.counts) == 481
    assert pairs.counts.sum() == CONFUSIONS
    assert Counter(pairs.counts.tolist()) == PAIRS_BY_FREQUENCY
    assert {(frozenset((wnids[a], wnids[b])), n) for a, b, n in rows(pairs)} == {
        (frozenset(pair), weight) for *pair, weight in listed
    }
