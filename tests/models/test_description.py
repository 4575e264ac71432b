"""What is known of a model comes from the model and from its user, and is never guessed."""

import pytest

from regrade.classes import cifar_10, digits
from regrade.core import IMAGENET, InputError, MismatchError, Preprocessing
from regrade.models import Settings
from regrade.models.description import statement

SMALL = Preprocessing(8, 8)


def test_the_models_own_words_are_taken():
    known = statement("m:x", Settings(), class_space=digits(), preprocessing=SMALL)
    assert (known.class_space, known.preprocessing) == (digits(), SMALL)
    spec = known.spec("abc")
    assert (spec.name, spec.class_space, spec.preprocessing, spec.weights_hash) == (
        "m:x",
        "digits",
        SMALL.summary,
        "abc",
    )


def test_what_the_model_does_not_know_the_user_states():
    known = statement("m:x", Settings(class_space=digits(), preprocessing=SMALL))
    assert (known.class_space, known.preprocessing) == (digits(), SMALL)


def test_a_recipe_that_the_user_states_goes_first_and_is_recorded():
    known = statement("m:x", Settings(preprocessing=IMAGENET), class_space=digits(), preprocessing=SMALL)
    assert known.spec("").preprocessing == IMAGENET.summary


def test_unknown_classes_say_which_option_to_give():
    with pytest.raises(InputError, match="m:x does not say which classes it predicts: give --classes"):
        statement("m:x", Settings(), preprocessing=SMALL)


def test_an_unknown_recipe_says_which_option_to_give():
    with pytest.raises(InputError, match="m:x does not say how images become its input: give --size"):
        statement("m:x", Settings(), class_space=digits())


def test_other_classes_than_the_models_own_are_refused():
    with pytest.raises(MismatchError, match="m:x predicts the classes digits, not cifar-10: leave out --classes"):
        statement("m:x", Settings(class_space=cifar_10()), class_space=digits(), preprocessing=SMALL)
