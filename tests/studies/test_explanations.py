"""Training images near spurious mistakes: values by hand, an independent computation, and what is left out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mistake_world import CLASSES, TEST_SET, TRAINING_LABELS, A, predictions, review, studied, training_images

from regrade.core import InputError
from regrade.core.training_neighbors import Duplicate
from regrade.stats import clopper_pearson
from regrade.studies.mistakes.result import MistakePart


def explained(positions, *models, **options):
    sources = training_images(positions, duplicates=options.pop("duplicates", None))
    return studied(*models, explained_by=sources, **options).explanations


POSITIONS = np.full((12, 2), 0)  # near to training images of cat, if nothing else is said
POSITIONS[4] = 3, 5  # road, car: the spurious mistake of a, which predicts road where a car is
POSITIONS[3] = 5, 4  # car, road: another car, for which a predicts road, which is right, too
POSITIONS[8] = 5, 5


def test_spurious_mistakes_by_people_list_the_training_images_of_the_predicted_class():
    result = explained(POSITIONS, predictions("a", A))
    (mistake,) = result.mistakes
    assert (mistake.model, mistake.image, mistake.predicted, mistake.label) == ("a", "i4", "road", "car")
    assert [(image.image, image.place, image.duplicate) for image in mistake.training_images] == [("t3", 1, "")]
    assert mistake.training_images[0].distance == pytest.approx(0.1)
    (row,) = result.models
    assert (row.by, row.embeddings, row.mistakes, row.without_neighbors) == ("people", "a", 1, 0)
    assert (row.share.value, row.share.n) == (1.0, 1)
    assert row.share.low == pytest.approx(0.025)  # one of one: the 2.5 % quantile of Beta(1, 1)


def test_base_rate_is_over_correct_predictions_of_other_images_with_the_same_label():
    # Of the other cars, a is right on i3 alone (it predicts road, which the labels accept, too): near to a road.
    (row,) = explained(POSITIONS, predictions("a", A)).models
    assert (row.compared, row.base.value, row.difference.value) == (1, 1.0, 0.0)
    far = POSITIONS.copy()
    far[3] = 5, 5
    (row,) = explained(far, predictions("a", A)).models
    assert (row.compared, row.base.value, row.difference.value) == (1, 0.0, 1.0)
    assert -1 <= row.difference.low <= row.difference.value <= row.difference.high <= 1


def test_correct_predictions_are_compared_with_their_own_class():
    # a is right on i0 (cat), i3 (road) and i6 (cat, unclear); their neighbors are cats, a car and a road, and cats.
    (row,) = explained(POSITIONS, predictions("a", A)).models
    assert (row.correct.n, row.correct.value) == (3, 1.0)
    (row,) = explained(np.full((12, 2), 7), predictions("a", A)).models
    assert (row.correct.n, row.correct.value) == (3, 0.0)


def test_triage_calls_mistakes_spurious_without_a_review():
    (row,) = explained(POSITIONS, predictions("a", A), reviews=()).models
    assert (row.by, row.mistakes) == ("triage", 1)  # i4: car and road occur together in the other labels
    (row,) = explained(POSITIONS, predictions("b", A), reviews=()).models
    assert (row.model, row.by) == ("b", "triage")


def test_review_without_predictions_has_no_base_rate():
    only = review("a", [(4, "road", "SPURIOUS", "MINOR"), (9, "cup", "FINE_GRAINED", "MINOR")])
    rest = predictions("b", A)
    result = explained(POSITIONS, rest, reviews=(only,), by_review=("a",))
    row = next(row for row in result.models if row.model == "a")
    assert (row.mistakes, row.share.value, row.compared) == (1, 1.0, 0)
    assert row.base is None and row.difference is None and row.correct is None


def test_mistakes_without_neighbors_are_counted_apart():
    positions = POSITIONS.copy()
    positions[4] = -1, -1
    result = explained(positions, predictions("a", A))
    (row,) = result.models
    assert (row.mistakes, row.without_neighbors, row.share, row.base) == (0, 1, None, None)
    assert result.mistakes == ()


def test_duplicates_are_marked():
    marks = np.zeros((12, 2))
    marks[4] = Duplicate.EXACT, Duplicate.NEAR
    positions = POSITIONS.copy()
    positions[4] = 3, 4
    (mistake,) = explained(positions, predictions("a", A), duplicates=marks).mistakes
    assert [image.duplicate for image in mistake.training_images] == ["exact", "near"]


def test_table_says_what_the_shares_are_and_json_has_no_new_key_without_neighbors():
    result = studied(predictions("a", A), explained_by=training_images(POSITIONS))
    table = result.part(MistakePart.EXPLANATIONS)
    assert [row[:6] for row in table.rows] == [("a", "i4", "road", "car", 1, "t3")]
    notes = "\n".join(table.notes)
    assert "100.0 [2.5, 100.0] % of 1 spurious mistake have a training image of the predicted class" in notes
    assert "base rate 100.0" in notes and "over the 1 of them" in notes
    assert "explanations" in result.as_dict()
    plain = studied(predictions("a", A))
    assert "explanations" not in plain.as_dict()
    with pytest.raises(InputError, match="run regrade neighbors"):
        plain.part(MistakePart.EXPLANATIONS)


@given(st.lists(st.lists(st.integers(-1, 7), min_size=3, max_size=3), min_size=12, max_size=12))
def test_shares_equal_a_plain_count(rows):
    positions = np.array([sorted(row, key=lambda place: place < 0) for row in rows])
    reviews = (
        review(
            "a", [(1, "lynx", "SPURIOUS", "MAJOR"), (4, "road", "SPURIOUS", "MINOR"), (9, "cup", "SPURIOUS", "MINOR")]
        ),
    )
    model = predictions("a", A)
    (row,) = explained(positions, model, reviews=reviews).models
    near = [[TRAINING_LABELS[place] for place in image if place >= 0] for image in positions]
    mistakes = [(image, name) for image, name in ((1, "lynx"), (4, "road"), (9, "cup")) if near[image]]
    assert (row.mistakes, row.without_neighbors) == (len(mistakes), 3 - len(mistakes))
    hits = [name in near[image] for image, name in mistakes]
    if mistakes:
        bounds = clopper_pearson(sum(hits), len(hits))
        assert (row.share.value, row.share.low, row.share.high) == pytest.approx(
            (np.mean(hits), float(bounds.low), float(bounds.high))
        )
    own = [CLASSES[label] for label in TEST_SET.labels]
    right = [image for image in (0, 3, 6) if near[image]]  # cat, road and cat: correct or unclear
    bases = []
    for hit, (image, name) in zip(hits, mistakes, strict=True):
        controls = [name in near[control] for control in right if own[control] == own[image] and control != image]
        bases += [(hit, np.mean(controls))] if controls else []
    assert row.compared == len(bases)
    if bases:
        assert row.base.value == pytest.approx(np.mean([base for _, base in bases]))
        assert row.difference.value == pytest.approx(np.mean([hit - base for hit, base in bases]))
        assert row.difference.low <= row.difference.value <= row.difference.high
