"""On a GPU a model computes in half precision only if its scores stay the same, and is compiled for many images."""

import numpy as np
import pytest
from predicting import CIFAR

from regrade.core import Preprocessing
from regrade.models import Precision, Settings
from regrade.models.description import describe_model
from regrade.models.torch_runtime import TorchModel
from regrade.predict import gpu_runtime
from regrade.predict.gpu_runtime import COMPILED_FROM, fastest_on_gpu

torch = pytest.importorskip("torch")

IMAGES = list(np.random.default_rng(0).normal(size=(6, 3, 8, 8)).astype(np.float32))


@pytest.fixture(autouse=True)
def gpu(monkeypatch):
    """The CPU in place of the GPU; it computes in both half precisions."""
    monkeypatch.setattr(gpu_runtime, "computes_in_bf16", lambda: True)


def linear(scale=1.0, bias=0.0):
    torch.manual_seed(0)
    layer = torch.nn.Linear(192, 10)
    with torch.no_grad():
        layer.weight.mul_(scale)
        layer.bias.add_(bias)
    return torch.nn.Sequential(torch.nn.Flatten(), layer)


def model(module, **settings):
    chosen = Settings(class_space=CIFAR, preprocessing=Preprocessing(8, 8), **settings)
    return TorchModel(module, describe_model("net", chosen), chosen)


def test_half_precision_if_the_scores_stay_the_same():
    chosen, note = fastest_on_gpu(model(linear()), IMAGES, count=100)
    assert (chosen.precision, chosen.settings.compile, note) == (Precision.FP16, None, "")
    assert "fp16" in chosen.runtime


def test_scores_too_large_for_fp16_are_computed_in_bf16():
    chosen, note = fastest_on_gpu(model(linear(1e6)), IMAGES, count=100)
    assert (chosen.precision, note) == (Precision.BF16, "")


def test_single_precision_if_bf16_is_missing_too(monkeypatch):
    monkeypatch.setattr(gpu_runtime, "computes_in_bf16", lambda: False)
    chosen, note = fastest_on_gpu(model(linear(1e6)), IMAGES, count=100)
    assert chosen.precision is Precision.FP32
    assert note.startswith("not in half precision: ")


def test_single_precision_if_a_top_class_changes():
    """Scores that differ by less than half precision can hold."""
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 10))
    with torch.no_grad():
        module[1].weight.zero_()
        module[1].bias.copy_(1000 + torch.arange(10) * 1e-3)
    chosen, note = fastest_on_gpu(model(module), IMAGES, count=100)
    assert (chosen.precision, note) == (Precision.FP32, "not in half precision: the top class of an image changes")


def test_stated_settings_are_kept():
    chosen, note = fastest_on_gpu(model(linear(), precision=Precision.FP32, compile=False), IMAGES, count=10**9)
    assert (chosen.precision, chosen.settings.compile, note) == (Precision.FP32, False, "")


def test_many_images_are_worth_compiling():
    for count, compiled in ((COMPILED_FROM - 1, None), (COMPILED_FROM, True)):
        chosen, _ = fastest_on_gpu(model(linear()), IMAGES, count=count)
        assert chosen.settings.compile is compiled


def test_without_an_image_the_precision_stays():
    chosen, note = fastest_on_gpu(model(linear()), [], count=5)
    assert (chosen.precision, note) == (Precision.FP32, "not in half precision: no image to compare on")


def test_a_model_that_fails_stays_as_it_is():
    class Failing(torch.nn.Module):
        def forward(self, _):
            raise RuntimeError("no power")

    chosen, note = fastest_on_gpu(model(Failing()), IMAGES, count=5)
    assert chosen.precision is Precision.FP32
    assert "no power" in note


def test_the_first_model_is_not_changed():
    """Another test set may decide otherwise."""
    first = model(linear())
    before = first.scores(np.stack(IMAGES))
    fastest_on_gpu(first, IMAGES, count=5)
    np.testing.assert_array_equal(first.scores(np.stack(IMAGES)), before)
    assert first.precision is Precision.FP32
