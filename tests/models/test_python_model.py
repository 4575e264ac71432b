"""A function from inputs to scores is a model."""

import sys

import numpy as np
import pytest

from regrade.classes import digits
from regrade.core import InputError, MismatchError, ScoreKind
from regrade.models import OutOfMemory, Settings, load_model

FUNCTION = """
import numpy as np

def means(batch):
    flat = batch.reshape(len(batch), -1)
    return flat[:, :10]

def softmax(batch):
    powers = np.exp(means(batch))
    return powers / powers.sum(axis=1, keepdims=True)
"""


def load(path, name, settings):
    return load_model(f"python:{path}:{name}", settings)


def test_python_scores_are_those_of_the_function(user_module, settings, batch):
    model = load(user_module(FUNCTION), "means", settings)
    np.testing.assert_array_equal(model.scores(batch), batch.reshape(7, -1)[:, :10])
    assert model.score_kind is ScoreKind.LOGITS
    assert model.runtime.startswith("python 3")
    assert model.spec.class_space == "digits" and model.spec.preprocessing == settings.preprocessing.summary


def test_python_score_kind_detects_probabilities(user_module, settings):
    assert load(user_module(FUNCTION), "softmax", settings).score_kind is ScoreKind.PROBABILITIES


def test_object_states_its_classes_and_preprocessing(user_module, batch):
    text = """
import numpy as np
from regrade.core import Preprocessing, ScoreKind

class Mine:
    class_space = "digits"
    preprocessing = Preprocessing(8, 8)
    score_kind = ScoreKind.PROBABILITIES
    weights_hash = "abc"

    def __call__(self, batch):
        return np.zeros((len(batch), 10))

ready = Mine()
"""
    path = user_module(text)
    for name in ("Mine", "ready"):
        model = load(path, name, Settings())
        assert model.class_space == digits() and model.score_kind is ScoreKind.PROBABILITIES
        assert model.spec.weights_hash == "abc"
        assert model.scores(batch).shape == (7, 10)


@pytest.mark.parametrize(
    "line, what", [("class_space = 5", "its class_space is a int"), ("preprocessing = 5", "its preprocessing is a int")]
)
def test_load_python_rejects_wrong_attributes(user_module, settings, line, what):
    path = user_module(f"def f(batch): ...\nf.{line}\n")
    with pytest.raises(InputError, match=what):
        load(path, "f", settings)


@pytest.mark.parametrize(
    "expression, kind, what",
    [
        ("np.zeros((len(batch), 9))", MismatchError, "gives 9 scores per image, but digits has 10 classes"),
        ("np.zeros((1, 10))", MismatchError, r"shape \(1, 10\) for 2 images"),
        ("np.full((len(batch), 10), np.nan)", InputError, "NaN or infinity for 2 of 2 images"),
        ("batch.nothing", InputError, r"failed on a batch of shape \(2, 3, 8, 8\): AttributeError: "),
        ("[[1], [2, 3]]", InputError, "failed on a batch of shape"),
        ("np.ma.masked_less(np.eye(10)[:len(batch)], 0.5)", InputError, "the returned array has masked values"),
    ],
)
def test_load_python_reports_wrong_outputs_in_one_line(user_module, settings, expression, kind, what):
    path = user_module(f"import numpy as np\ndef f(batch):\n    return {expression}\n")
    with pytest.raises(kind, match=what) as raised:
        load(path, "f", settings)
    assert str(raised.value).startswith(f"python:{path}:f ") and "\n" not in str(raised.value)


LAZY = """
import numpy as np

class Lazy:
    def __init__(self):
        import constructed_{0}
        self.sides = [constructed_{0}.SIDE]

    def __call__(self, batch):
        import called_{0}
        return np.full((len(batch), 10), called_{0}.SIDE + sum(self.sides))
"""


def test_modules_next_to_the_file_can_be_imported_at_run_time(tmp_path, user_module, settings, batch):
    """Also if two folders have modules of the same name, and the working directory is a third."""
    before = list(sys.path)
    results = []
    for number, folder in enumerate(("first", "second")):
        (tmp_path / folder).mkdir()
        for name in ("constructed", "called"):
            user_module(f"SIDE = {number + 1}\n", f"{folder}/{name}_of_a_test.py")
        path = user_module(LAZY.format("of_a_test"), f"{folder}/mine.py")
        results.append(float(load(path, "Lazy", settings).scores(batch)[0, 0]))
    assert results == [2.0, 4.0]
    assert sys.path == before


def test_memory_error_becomes_out_of_memory(user_module, settings, batch):
    text = """
import numpy as np

def f(batch):
    if len(batch) > 4:
        raise MemoryError
    return np.zeros((len(batch), 10))
"""
    model = load(user_module(text), "f", settings)
    with pytest.raises(OutOfMemory, match="a batch of 7 does not fit into memory"):
        model.scores(batch)
    assert model.scores(batch[:4]).shape == (4, 10)


def test_load_python_rejects_what_is_not_callable(user_module, settings):
    with pytest.raises(InputError, match="is a int; expected a function from a batch to scores"):
        load(user_module("f = 5\n"), "f", settings)


def test_load_python_requires_classes_and_preprocessing(user_module, settings):
    path = user_module(FUNCTION)
    with pytest.raises(InputError, match="give --classes"):
        load(path, "means", Settings(preprocessing=settings.preprocessing))
    with pytest.raises(InputError, match="give --size"):
        load(path, "means", Settings(class_space=settings.class_space))


FEATURES = """
import numpy as np

class Mine:
    def __call__(self, batch):
        return self.scores_and_features(batch)[0]

    def scores_and_features(self, batch):
        flat = batch.reshape(len(batch), -1)
        return flat[:, :10], flat[:, 10:14]

def plain(batch): return np.zeros((len(batch), 10))

def spoilt(batch): return np.zeros((len(batch), 10))
spoilt.scores_and_features = lambda batch: {spoilt}
"""


def test_features_come_from_an_attribute_of_the_object(user_module, settings, batch):
    model = load(user_module(FEATURES), "Mine", settings)
    scores, features = model.scores_and_features(batch)
    np.testing.assert_array_equal(scores, model.scores(batch))
    np.testing.assert_array_equal(features, batch.reshape(7, -1)[:, 10:14])


def test_features_raise_if_the_function_has_none(user_module, settings, batch):
    path = user_module(FEATURES)
    with pytest.raises(InputError) as raised:
        load(path, "plain", settings).scores_and_features(batch)
    assert str(raised.value) == f"python:{path}:plain gives no features: leave out --keep features"


@pytest.mark.parametrize(
    "expression, error",
    [
        ("batch", (InputError, "failed on a batch of shape .*: ValueError: too many values to unpack")),
        ("(spoilt(batch),)", (InputError, "failed on a batch of shape .*: ValueError: not enough values")),
        ("(spoilt(batch), np.zeros(7))", (MismatchError, r"returned features float64 \(7,\) for 7 images")),
        ("(spoilt(batch), np.zeros((6, 3)))", (MismatchError, r"returned features float64 \(6, 3\) for 7 images")),
        ("(spoilt(batch), np.full((7, 3), np.nan))", (InputError, "returned NaN or infinity among its features")),
        ("(spoilt(batch)[:, :9], np.ones((7, 3)))", (MismatchError, "gives 9 scores per image")),
        ("batch.nothing", (InputError, r"failed on a batch of shape \(7, 3, 8, 8\): AttributeError: ")),
    ],
)
def test_wrong_features_are_reported_in_one_line(user_module, settings, batch, expression, error):
    path = user_module(FEATURES.replace("{spoilt}", expression))
    with pytest.raises(error[0], match=error[1]) as raised:
        load(path, "spoilt", settings).scores_and_features(batch)
    assert str(raised.value).startswith(f"python:{path}:spoilt ") and "\n" not in str(raised.value)
