"""Models' predictions mixed among people's answers, drawn at random."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.core import MismatchError
from regrade.studies import draw_seeds

NONE = -1


def seeds(pairs, answers, fresh=None, seed=0):
    examples, classes = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    given_ = np.array(answers)
    preferred = np.zeros(given_.shape, dtype=int) if fresh is None else np.array(fresh, dtype=int)
    seeded = draw_seeds(examples, classes, given_, preferred=preferred, rng=np.random.default_rng(seed))
    return list(zip(seeded.examples.tolist(), seeded.classes.tolist(), strict=True)), seeded.unanswered.tolist()


class TestByHand:
    def test_novel_prediction_is_preferred(self):
        for seed in range(20):
            assert seeds([(1, 5)], [[0, 2], [0, 3], [0, 4]], [[2, 0], [2, 2], [2, 1]], seed) == ([(1, 3)], [])

    def test_any_prediction_is_drawn_if_none_is_novel(self):
        drawn = Counter(seeds([(0, 5)], [[2], [3], [3]], seed=seed)[0][0] for seed in range(600))
        assert set(drawn) == {(0, 2), (0, 3)}
        assert drawn[(0, 3)] == pytest.approx(400, abs=60)  # as often as models say so

    def test_no_seed_if_a_model_predicts_the_same_class(self):
        assert seeds([(0, 5)], [[2], [5]], [[1], [1]]) == ([], [])

    def test_two_people_on_an_image_share_a_seed(self):
        assert seeds([(0, 5), (0, 6)], [[2]], [[1]]) == ([(0, 2)], [])

    def test_no_seed_for_images_not_under_review(self):
        assert seeds([(1, 5)], [[2, 2, 2]], [[1, 1, 1]]) == ([(1, 2)], [])

    def test_images_without_predictions_are_reported(self):
        assert seeds([(0, 5), (1, 5)], [[NONE, 3], [NONE, NONE]], [[0, 1], [0, 0]]) == ([(1, 3)], [0])

    def test_different_shapes_raise(self):
        with pytest.raises(MismatchError, match="differ in shape"):
            seeds([(0, 1)], [[2]], [[1, 1]])


@given(st.data())
def test_every_image_has_a_model_prediction(data):
    models, images, classes = (data.draw(st.integers(1, most)) for most in (4, 5, 4))
    answers = np.array(data.draw(st.lists(st.lists(st.integers(-1, classes), min_size=images, max_size=images),
                                          min_size=models, max_size=models)))  # fmt: skip
    fresh = np.array(data.draw(st.lists(st.booleans(), min_size=answers.size, max_size=answers.size)))
    fresh = fresh.reshape(answers.shape) & (answers != NONE)
    pairs = data.draw(st.lists(st.tuples(st.integers(0, images - 1), st.integers(0, classes)), min_size=1, unique=True))
    drawn, unanswered = seeds(pairs, answers, fresh, data.draw(st.integers(0, 9)))
    predicted = {(image, own) for row in answers.tolist() for image, own in enumerate(row) if own != NONE}
    assert set(drawn) <= predicted - set(pairs)
    for image in {image for image, _ in pairs}:
        under_review = [pair for pair in (*pairs, *drawn) if pair[0] == image]
        assert (image in unanswered) == (not any(pair in predicted for pair in under_review))
        assert sum(pair[0] == image for pair in drawn) <= 1
