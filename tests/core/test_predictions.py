import dataclasses
import hashlib

import numpy as np
import pytest

from regrade.core import NO_ANSWER, AnswerTimes, InputError, MismatchError, Predictions, ScoreKind, UndefinedError

BEST = np.array([[2, 0], [1, 2], [-1, -1]])
SCORES = np.array([[0.7, 0.2], [0.6, 0.3], [0.0, 0.0]], dtype=np.float32)
ANSWERS = Predictions("timm:resnet50", "images", "pets", BEST, SCORES, score_kind=ScoreKind.PROBABILITIES)


def test_seconds_do_not_wrap_after_a_day():
    times = AnswerTimes(np.array([0.0, 10.0, np.nan]), np.array([26.0, 10.0 + 86_400 + 5, 3.0]))
    assert times.seconds[:2].tolist() == [26, 86_405]
    assert np.isnan(times.seconds[2]) and len(times) == 3


def test_answer_times_rejects_invalid_times():
    with pytest.raises(InputError, match="answer 1 ends before it starts"):
        AnswerTimes(np.array([0.0, 5.0]), np.array([1.0, 4.0]))
    with pytest.raises(MismatchError, match="shape"):
        AnswerTimes(np.zeros(2), np.zeros(3))


def test_top1_is_the_first_class():
    assert ANSWERS.top1.tolist() == [2, 1, -1]
    assert ANSWERS.top(2).tolist() == BEST.tolist()
    assert (len(ANSWERS), ANSWERS.k) == (3, 2)


def test_top_rejects_more_classes_than_stored():
    with pytest.raises(UndefinedError, match="top-3 of 'timm:resnet50' is unknown: only the top 2"):
        ANSWERS.top(3)


@pytest.mark.parametrize("k", [0, -1])
def test_top_rejects_k_below_one(k):
    with pytest.raises(UndefinedError, match="k must be at least 1"):
        ANSWERS.top(k)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": np.array([1, 2, 3])}, r"must have shape \(examples, k\), got \(3,\)"),
        ({"classes": np.zeros((3, 0), int)}, r"got \(3, 0\)"),
        ({"scores": np.zeros((3, 3))}, r"scores \(3, 3\), classes \(3, 2\)"),
        ({"full_scores": np.zeros((2, 5))}, "2 rows of full scores"),
        ({"features": np.zeros((4, 5))}, "4 rows of features"),
    ],
)
def test_predictions_rejects_inconsistent_arrays(change, message):
    with pytest.raises(InputError, match=message):
        dataclasses.replace(ANSWERS, **change)


def test_digest_does_not_depend_on_the_integer_type():
    assert dataclasses.replace(ANSWERS, classes=BEST.astype(np.int16)).digest == ANSWERS.digest
    assert dataclasses.replace(ANSWERS, classes=np.asfortranarray(BEST)).digest == ANSWERS.digest


def test_digest_changes_with_every_field():
    variants = [
        {"classes": BEST[:, ::-1]},
        {"scores": SCORES / 2},
        {"scores": None},
        {"scores": None, "full_scores": SCORES},
        {"score_kind": ScoreKind.LOGITS},
        {"class_space": "other pets"},
        {"full_scores": SCORES},
        {"features": SCORES},
        {"features": SCORES / 2},
        {"features": SCORES.astype(np.float16)},
        {"features": SCORES[:, :1]},
        {"features": SCORES.view(np.float16)},
    ]
    digests = {dataclasses.replace(ANSWERS, **change).digest for change in [{}, *variants]}
    assert len(digests) == len(variants) + 1


def test_digest_equals_a_computation_by_hand():
    content = b"pets\n(3, 2)" + BEST.astype("<i4").tobytes()
    content += b"scores ScoreKind.PROBABILITIES float32" + SCORES.tobytes()
    assert ANSWERS.digest == hashlib.sha256(content).hexdigest()
    features = np.arange(12, dtype=np.float16).reshape(3, 4)
    more = content + b"features (3, 4) float16" + features.tobytes()
    assert dataclasses.replace(ANSWERS, features=features).digest == hashlib.sha256(more).hexdigest()
    assert dataclasses.replace(ANSWERS, features=features.T.copy().T.astype(">f2")).digest == (
        dataclasses.replace(ANSWERS, features=features).digest
    )


def test_within_counts_only_the_examples_of_a_mask():
    inside = np.array([True, False, True])
    part = ANSWERS.within(inside)
    assert part.counted.tolist() == inside.tolist()
    assert part.classes[inside].tolist() == BEST[inside].tolist() and (part.classes[~inside] == NO_ANSWER).all()
    assert part.within(np.array([True, True, False])).counted.tolist() == [True, False, False]
