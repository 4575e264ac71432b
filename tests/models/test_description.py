"""A model is described by itself and by the user's settings; nothing is guessed."""

import numpy as np
import pytest

from regrade.classes import cifar_10, digits
from regrade.core import IMAGENET, InputError, MismatchError, Preprocessing
from regrade.models import Settings
from regrade.models.description import ModelDescription, checked_scores, checked_scores_and_features, describe_model

SMALL = Preprocessing(8, 8)

DESCRIPTION = ModelDescription("m:x", digits(), Preprocessing(8, 8))


def test_describe_model_uses_what_the_model_states():
    description = describe_model("m:x", Settings(), class_space=digits(), preprocessing=SMALL)
    assert (description.class_space, description.preprocessing) == (digits(), SMALL)
    spec = description.spec("abc")
    assert (spec.name, spec.class_space, spec.preprocessing, spec.weights_hash) == (
        "m:x",
        "digits",
        SMALL.summary,
        "abc",
    )


def test_describe_model_falls_back_to_the_settings():
    description = describe_model("m:x", Settings(class_space=digits(), preprocessing=SMALL))
    assert (description.class_space, description.preprocessing) == (digits(), SMALL)


def test_describe_model_prefers_and_records_the_users_preprocessing():
    description = describe_model("m:x", Settings(preprocessing=IMAGENET), class_space=digits(), preprocessing=SMALL)
    assert description.spec("").preprocessing == IMAGENET.summary


def test_describe_model_requires_classes():
    with pytest.raises(InputError, match="m:x does not state which classes it predicts: give --classes"):
        describe_model("m:x", Settings(), preprocessing=SMALL)


def test_describe_model_requires_preprocessing():
    with pytest.raises(InputError, match="m:x does not state its preprocessing: give --size"):
        describe_model("m:x", Settings(), class_space=digits())


def test_describe_model_rejects_classes_that_differ_from_the_models_own():
    with pytest.raises(MismatchError, match="m:x predicts the classes digits, not cifar-10: leave out --classes"):
        describe_model("m:x", Settings(class_space=cifar_10()), class_space=digits(), preprocessing=SMALL)


def test_checked_scores_keep_their_precision():
    for kind in (np.float16, np.float32, np.float64):
        assert checked_scores(np.zeros((2, 10), kind), DESCRIPTION, rows=2).dtype == kind


def test_checked_scores_converts_integers():
    scores = checked_scores([[3] * 10], DESCRIPTION, rows=1)
    assert scores.dtype == np.float64 and scores.tolist() == [[3.0] * 10]


def test_checked_scores_accepts_minus_infinity():
    assert checked_scores(np.full((1, 10), -np.inf), DESCRIPTION, rows=1).shape == (1, 10)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_checked_scores_counts_rows_with_nan_or_infinity(bad):
    scores = np.zeros((4, 10), np.float32)
    scores[[1, 3], 5] = bad
    with pytest.raises(InputError, match="m:x returned NaN or infinity for 2 of 4 images"):
        checked_scores(scores, DESCRIPTION, rows=4)


def test_checked_scores_rejects_another_number_of_classes():
    with pytest.raises(MismatchError, match="m:x gives 11 scores per image, but digits has 10 classes"):
        checked_scores(np.zeros((2, 11)), DESCRIPTION, rows=2)


@pytest.mark.parametrize("shape", [(3, 10), (10,), (2, 10, 1)])
def test_checked_scores_rejects_another_shape(shape):
    with pytest.raises(MismatchError, match=r"for 2 images, expected \(2, classes\)"):
        checked_scores(np.zeros(shape), DESCRIPTION, rows=2)


@pytest.mark.parametrize("output", [[["cat"] * 10] * 2, None, np.zeros((2, 10), complex)])
def test_checked_scores_rejects_what_is_not_numeric(output):
    with pytest.raises(InputError, match="expected numbers: one score per class"):
        checked_scores(output, DESCRIPTION, rows=2)


class TestFeatures:
    def checked(self, features, scores=None, rows=2):
        return checked_scores_and_features(
            np.zeros((rows, 10)) if scores is None else scores, features, DESCRIPTION, rows=rows
        )

    @pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
    def test_features_keep_their_precision(self, kind):
        features = np.arange(6, dtype=kind).reshape(2, 3)
        scores, same = self.checked(features)
        assert same.dtype == kind and scores.shape == (2, 10)
        np.testing.assert_array_equal(same, features)

    @pytest.mark.parametrize("shape", [(3, 5), (1, 5), (2,), (2, 5, 1), (2, 0), ()])
    def test_features_reject_another_shape(self, shape):
        with pytest.raises(MismatchError, match=r"for 2 images, expected floating-point numbers \(2, d\)") as raised:
            self.checked(np.zeros(shape))
        assert str(raised.value).startswith(f"m:x returned features float64 {shape}")

    @pytest.mark.parametrize("features", [np.zeros((2, 5), int), np.zeros((2, 5), complex), [["a"], ["b"]], None])
    def test_features_must_be_floating_point(self, features):
        with pytest.raises(MismatchError, match=r"m:x returned features .* expected floating-point numbers"):
            self.checked(features)

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_features_must_be_finite(self, bad):
        features = np.zeros((2, 5), np.float32)
        features[1, 4] = bad
        with pytest.raises(InputError, match="m:x returned NaN or infinity among its features"):
            self.checked(features)

    def test_scores_are_checked_too(self):
        with pytest.raises(MismatchError, match="m:x gives 11 scores per image"):
            self.checked(np.zeros((2, 5)), np.zeros((2, 11)))
        with pytest.raises(InputError, match="NaN or infinity for 1 of 2 images"):
            self.checked(np.zeros((2, 5)), np.where(np.arange(2)[:, None] == 1, np.nan, np.zeros((2, 10))))
