"""A user's torch module is a model."""

from dataclasses import replace

import numpy as np
import pytest

from regrade.core import InputError, MismatchError, Preprocessing, ScoreKind
from regrade.models import Device, OutOfMemory, Precision, Settings, load_model

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
def load(user_module):
    path = user_module(NETWORK)
    return lambda name, settings: load_model(f"torch:{path}:{name}", settings)


def test_torch_scores_are_those_of_the_module_in_evaluation_mode(load, settings, batch, torch, user_module):
    from regrade.models.user_code import user_object

    model = load("alone", settings)
    module = user_object(f"{user_module(NETWORK)}:network", prefix="torch")().eval()
    with torch.no_grad():
        expected = module(torch.from_numpy(batch)).numpy()
    np.testing.assert_allclose(model.scores(batch), expected, rtol=1e-6)
    assert model.scores(batch).dtype == np.float32
    assert model.score_kind is ScoreKind.LOGITS
    assert model.runtime == f"torch {torch.__version__} cpu fp32"


def test_torch_scores_do_not_depend_on_the_batch(load, settings, batch):
    model = load("alone", settings)
    one_by_one = np.concatenate([model.scores(batch[i : i + 1]) for i in range(len(batch))])
    np.testing.assert_allclose(model.scores(batch), one_by_one, atol=1e-6)


def test_torch_accepts_a_read_only_batch_of_another_type(load, settings, batch):
    model = load("alone", settings)
    read_only = batch.astype(np.float64)
    read_only.flags.writeable = False
    np.testing.assert_array_equal(model.scores(read_only), model.scores(batch))


def test_load_torch_takes_the_returned_preprocessing(load, settings):
    assert load("with_preprocessing", Settings(class_space=settings.class_space)).preprocessing == Preprocessing(8, 9)


def test_load_torch_takes_stated_classes_and_preprocessing(load):
    model = load("stated", Settings())
    assert (model.class_space.name, model.preprocessing) == ("digits", Preprocessing(8, 10))


def test_torch_score_kind_detects_probabilities(load, settings):
    assert load("softmax", settings).score_kind is ScoreKind.PROBABILITIES


def test_torch_scores_keep_double_precision(load, settings, batch):
    assert load("double", settings).scores(batch).dtype == np.float64


def test_weights_hash_depends_on_the_weights(load, settings, torch):
    from regrade.models.torch_runtime import weights_hash

    first, second = load("alone", settings).spec.weights_hash, load("softmax", settings).spec.weights_hash
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
def test_load_torch_rejects_wrong_modules(load, settings, name, kind, what):
    with pytest.raises(kind, match=what):
        load(name, settings)


def test_load_torch_reports_an_input_the_module_rejects(load, settings):
    gray = Preprocessing(8, 8, mean=(0.5,), std=(0.5,))
    with pytest.raises(InputError, match=r"failed on a batch of shape \(2, 1, 8, 8\): RuntimeError: "):
        load("alone", replace(settings, preprocessing=gray))


def test_out_of_memory_asks_for_a_smaller_batch(load, settings, batch):
    model = load("short", settings)
    with pytest.raises(OutOfMemory, match="a batch of 7 does not fit into memory"):
        model.scores(batch)
    assert model.scores(batch[:4]).shape == (4, 10)


@pytest.mark.parametrize("precision", [Precision.BF16, Precision.FP16])
def test_lower_precision_is_close_and_recorded(load, settings, batch, precision):
    low = load("alone", replace(settings, precision=precision))
    full = load("alone", settings).scores(batch)
    scores = low.scores(batch)
    assert scores.dtype == np.float32 and not np.array_equal(scores, full)
    np.testing.assert_allclose(scores, full, atol=0.02)
    assert low.runtime.endswith(f"cpu {precision.value}")


def test_threads_are_set(load, settings, batch, torch):
    before = torch.get_num_threads()
    try:
        load("alone", replace(settings, threads=1)).scores(batch)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_load_torch_reports_a_missing_device(load, settings, torch):
    if torch.cuda.is_available():
        model = load("alone", replace(settings, device=Device.CUDA))
        assert " cuda fp32" in model.runtime
    else:
        with pytest.raises(InputError, match="finds no cuda device: give --device cpu"):
            load("alone", replace(settings, device=Device.CUDA))
