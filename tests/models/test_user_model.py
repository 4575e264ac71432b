"""A user's function on arrays and a user's torch module are models."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from regrade.classes import digits
from regrade.core import InputError, MismatchError, Preprocessing, ScoreKind
from regrade.models import Device, OutOfMemory, Precision, Settings, load_model

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


NETWORK = """
import torch
from torch import nn
from regrade.core import Preprocessing

def network(classes=10, *tail):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Dropout(0.5), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(6, classes), *tail,
    )

def alone(): return network()
def with_preprocessing(): return network(), Preprocessing(8, 9)
def wide(): return network(11)
def softmax(): return network(10, nn.Softmax(dim=1))
def pair(): return network(), 5
def nothing(): return None

def stated(): return network()
stated.class_space = "digits"
stated.preprocessing = Preprocessing(8, 10)

class Two(nn.Module):
    def forward(self, images): return images, images
def two(): return Two()

class Nan(nn.Module):
    def forward(self, images): return images.flatten(1)[:, :10] * float("nan")
def nan(): return Nan()

class Short(nn.Module):
    def forward(self, images):
        if len(images) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.\\nsecond line")
        return images.flatten(1)[:, :10]
def short(): return Short()

class Double(nn.Module):
    def forward(self, images): return images.double().flatten(1)[:, :10]
def double(): return Double()
"""

pytestmark = pytest.mark.usefixtures("torch")


@pytest.fixture
def torch(library):
    return library("torch")


@pytest.fixture
def load_torch(user_module):
    path = user_module(NETWORK)
    return lambda name, settings: load_model(f"torch:{path}:{name}", settings)


def test_torch_scores_are_those_of_the_module_in_evaluation_mode(load_torch, settings, batch, torch, user_module):
    from regrade.models.user_code import user_object

    model = load_torch("alone", settings)
    module = user_object(f"{user_module(NETWORK)}:network", prefix="torch")().eval()
    with torch.no_grad():
        expected = module(torch.from_numpy(batch)).numpy()
    np.testing.assert_allclose(model.scores(batch), expected, rtol=1e-6)
    assert model.scores(batch).dtype == np.float32
    assert model.score_kind is ScoreKind.LOGITS
    assert model.runtime == f"torch {torch.__version__} cpu fp32"


def test_torch_scores_do_not_depend_on_the_batch(load_torch, settings, batch):
    model = load_torch("alone", settings)
    one_by_one = np.concatenate([model.scores(batch[i : i + 1]) for i in range(len(batch))])
    np.testing.assert_allclose(model.scores(batch), one_by_one, atol=1e-6)


def test_torch_accepts_a_read_only_batch_of_another_type(load_torch, settings, batch):
    model = load_torch("alone", settings)
    read_only = batch.astype(np.float64)
    read_only.flags.writeable = False
    np.testing.assert_array_equal(model.scores(read_only), model.scores(batch))


def test_load_torch_takes_the_returned_preprocessing(load_torch, settings):
    model = load_torch("with_preprocessing", Settings(class_space=settings.class_space))
    assert model.preprocessing == Preprocessing(8, 9)


def test_load_torch_takes_stated_classes_and_preprocessing(load_torch):
    model = load_torch("stated", Settings())
    assert (model.class_space.name, model.preprocessing) == ("digits", Preprocessing(8, 10))


def test_torch_score_kind_detects_probabilities(load_torch, settings):
    assert load_torch("softmax", settings).score_kind is ScoreKind.PROBABILITIES


def test_torch_scores_keep_double_precision(load_torch, settings, batch):
    assert load_torch("double", settings).scores(batch).dtype == np.float64


def test_weights_hash_depends_on_the_weights(load_torch, settings, torch):
    from regrade.models.torch_runtime import weights_hash

    first, second = load_torch("alone", settings).spec.weights_hash, load_torch("softmax", settings).spec.weights_hash
    assert first == second and len(first) == 64
    module = torch.nn.Linear(2, 2)
    before = weights_hash(module)
    with torch.no_grad():
        module.bias[1] += 1
    assert weights_hash(module) != before
    assert weights_hash(module.to(torch.bfloat16)) != weights_hash(module.to(torch.float32))


@pytest.mark.parametrize(
    "name, kind, what",
    [
        ("wide", MismatchError, "gives 11 scores per image, but digits has 10 classes"),
        ("two", InputError, "returned a tuple, expected one tensor"),
        ("nan", InputError, "returned NaN or infinity for 2 of 2 images"),
        ("pair", InputError, r"returned \(Sequential, int\), expected a torch.nn.Module or a pair"),
        ("nothing", InputError, "returned a NoneType, expected a torch.nn.Module"),
        ("NETWORK", InputError, "unknown function"),
    ],
)
def test_load_torch_rejects_wrong_modules(load_torch, settings, name, kind, what):
    with pytest.raises(kind, match=what):
        load_torch(name, settings)


def test_load_torch_reports_an_input_the_module_rejects(load_torch, settings):
    gray = Preprocessing(8, 8, mean=(0.5,), std=(0.5,))
    with pytest.raises(InputError, match=r"failed on a batch of shape \(2, 1, 8, 8\): RuntimeError: "):
        load_torch("alone", replace(settings, preprocessing=gray))


def test_out_of_memory_asks_for_a_smaller_batch(load_torch, settings, batch):
    model = load_torch("short", settings)
    with pytest.raises(OutOfMemory, match="a batch of 7 does not fit into memory"):
        model.scores(batch)
    assert model.scores(batch[:4]).shape == (4, 10)


@pytest.mark.parametrize("precision", [Precision.BF16, Precision.FP16])
def test_lower_precision_is_close_and_recorded(load_torch, settings, batch, precision):
    low = load_torch("alone", replace(settings, precision=precision))
    full = load_torch("alone", settings).scores(batch)
    scores = low.scores(batch)
    assert scores.dtype == np.float32 and not np.array_equal(scores, full)
    np.testing.assert_allclose(scores, full, atol=0.02)
    assert low.runtime.endswith(f"cpu {precision.value}")


def test_threads_are_set(load_torch, settings, batch, torch):
    before = torch.get_num_threads()
    try:
        load_torch("alone", replace(settings, threads=1)).scores(batch)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_load_torch_reports_a_missing_device(load_torch, settings, torch):
    if torch.cuda.is_available():
        model = load_torch("alone", replace(settings, device=Device.CUDA))
        assert " cuda fp32" in model.runtime
    else:
        with pytest.raises(InputError, match="finds no cuda device: give --device cpu"):
            load_torch("alone", replace(settings, device=Device.CUDA))
