"""A model is described by itself and by the user's settings; nothing is guessed."""

import pytest

from regrade.classes import cifar_10, digits
from regrade.core import IMAGENET, InputError, MismatchError, Preprocessing
from regrade.models import Settings
from regrade.models.description import describe_model

SMALL = Preprocessing(8, 8)


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
