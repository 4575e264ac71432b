import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import PackedTexts

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6)).map(tuple)
BOUND = st.none() | st.integers(-12, 12)


def test_texts_are_concatenated():
    packed = PackedTexts.of(["ab", "", "ä"])
    assert packed.data == b"ab\xc3\xa4"
    assert packed.bounds.tolist() == [0, 2, 2, 4]


@given(TEXTS)
def test_packed_texts_behave_like_a_tuple(texts):
    packed = PackedTexts.of(texts)
    assert len(packed) == len(texts)
    assert list(packed) == list(texts)
    assert list(reversed(packed)) == list(reversed(texts))
    assert [packed[i] for i in range(-len(texts), len(texts))] == [*texts, *texts]
    assert all(text in packed and packed.index(text) == texts.index(text) for text in texts)


@given(TEXTS, BOUND, BOUND, st.none() | st.integers(-3, 3).filter(bool))
def test_slice_is_packed(texts, start, stop, step):
    part = PackedTexts.of(texts)[start:stop:step]
    assert isinstance(part, PackedTexts)
    assert part == texts[start:stop:step]


def test_slice_does_not_keep_the_rest():
    assert PackedTexts.of(["a" * 1000, "b", "c"])[1:].data == b"bc"


@given(TEXTS, TEXTS)
def test_packed_texts_equal_only_their_tuple(texts, different):
    packed = PackedTexts.of(texts)
    assert packed == texts and texts == packed
    assert hash(packed) == hash(texts)
    assert (packed == different) == (texts == different) == (packed == PackedTexts.of(different))
    assert (packed != different) == (texts != different)
    assert packed != list(texts)


def test_equal_bytes_with_other_bounds_differ():
    assert PackedTexts.of(["ab", "c"]) != PackedTexts.of(["a", "bc"])


def test_iteration_over_several_blocks():
    texts = tuple(f"{number}.jpg" for number in range(3000))
    assert tuple(PackedTexts.of(texts)) == texts


def test_numpy_integers_are_valid_positions():
    assert PackedTexts.of(["a", "b"])[np.int32(1)] == "b"


@pytest.mark.parametrize("position", [2, -3])
def test_a_position_outside_raises(position):
    with pytest.raises(IndexError):
        PackedTexts.of(["a", "b"])[position]


def test_packed_texts_can_be_pickled():
    packed = PackedTexts.of(["a", "bc"])
    assert pickle.loads(pickle.dumps(packed)) == packed


def test_packed_texts_take_little_memory():
    texts = [f"n01440764/ILSVRC2012_val_{number:08d}.JPEG" for number in range(1000)]
    packed = PackedTexts.of(texts)
    assert sys.getsizeof(packed.data) + packed.bounds.nbytes < 0.55 * sum(map(sys.getsizeof, texts))
