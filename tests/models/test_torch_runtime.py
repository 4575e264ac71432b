"""Torch modules: features, compilation and memory."""

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
from skipping import skip

from regrade.core import InputError, MismatchError
from regrade.models import (
    Device,
    OnnxExport,
    OutOfMemory,
    Precision,
    export_to_onnx,
    load_model,
    normalize,
    torch_runtime,
)
from regrade.models.torch_runtime import TorchModel, with_features

HEADS = """
import torch
from torch import nn

def body():
    torch.manual_seed(0)
    return [nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.AdaptiveAvgPool2d(1)]

def linear(): return nn.Sequential(*body(), nn.Flatten(), nn.Dropout(0.5), nn.Linear(6, 10))
def pointwise(): return nn.Sequential(*body(), nn.Conv2d(6, 10, 1), nn.Flatten())
def deep(): return nn.Sequential(*body(), nn.Flatten(), nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 10))
def softmax(): return nn.Sequential(*body(), nn.Flatten(), nn.Linear(6, 10), nn.Softmax(dim=1))
def narrow(): return nn.Sequential(*body(), nn.Flatten(), nn.Linear(6, 5), nn.ReplicationPad1d((0, 5)))
def large(): return nn.Sequential(*body(), nn.Upsample(3), nn.Conv2d(6, 10, 3), nn.Flatten())

class Tokens(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 10)
    def forward(self, images): return self.head(images[:, 0]).mean(dim=1)
def tokens(): return Tokens()

class Swapped(nn.Module):
    "The layer that runs last is defined first, and one layer is never run."
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(10, 10)
        self.first = nn.Linear(192, 10)
        self.unused = nn.Linear(3, 10)
    def forward(self, images): return self.last(self.first(images.flatten(1)))
def swapped(): return Swapped()

class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 10)
    def forward(self, images): return images.flatten(1)[:, :10]
def unused(): return Unused()

class Own(Unused):
    def scores_and_features(self, images): return self(images), images.flatten(1)[:, 20:24]
def own(): return Own()

class Odd(Unused):
    def scores_and_features(self, images): return ODD(self(images))
def three():
    global ODD
    ODD = lambda scores: (scores, scores, scores)
    return Odd()
def one():
    global ODD
    ODD = lambda scores: scores
    return Odd()
def text():
    global ODD
    ODD = lambda scores: (scores, "features")
    return Odd()
def nan():
    global ODD
    ODD = lambda scores: (scores, scores * float("nan"))
    return Odd()
def flat():
    global ODD
    ODD = lambda scores: (scores, scores[:, 0])
    return Odd()

class Short(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(192, 10)
    def forward(self, images):
        if len(images) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return self.head(images.flatten(1))
def short(): return Short()
"""


@pytest.fixture
def torch(library):
    return library("torch")


@pytest.fixture
def load(user_module, torch):  # noqa: ARG001
    path = user_module(HEADS, "heads.py")
    return lambda name, settings: load_model(f"torch:{path}:{name}", settings)


def module_of(model):
    return model._module


class TestFeatures:
    @pytest.mark.parametrize("head", [("linear", -1, 6), ("pointwise", -2, 6), ("deep", -1, 10)], ids=str)
    def test_features_are_the_input_of_the_last_layer(self, load, settings, batch, head):
        name, place, width = head
        model = load(name, settings)
        scores, features = model.scores_and_features(batch)
        assert features.shape == (7, width) and features.dtype == np.float32
        layer = module_of(model)[place]
        weights, bias = layer.weight.reshape(10, width).numpy(), layer.bias.numpy()
        np.testing.assert_allclose(features @ weights.T + bias, scores, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(scores, model.scores(batch))

    def test_the_number_of_parameters_is_recorded(self, load, settings):
        # 3 x 3 x 3 weights and a bias of 6 filters, scale and shift of 6 channels, 10 classes of 6 features and a bias
        assert load("linear", settings).spec.parameters == 6 * 28 + 2 * 6 + 10 * 7

    def test_features_do_not_depend_on_what_follows_the_last_layer(self, load, settings, batch):
        np.testing.assert_array_equal(
            load("softmax", settings).scores_and_features(batch)[1],
            load("linear", settings).scores_and_features(batch)[1],
        )

    def test_features_do_not_depend_on_the_batch(self, load, settings, batch):
        model = load("linear", settings)
        one_by_one = [model.scores_and_features(batch[i : i + 1])[1] for i in range(len(batch))]
        np.testing.assert_allclose(model.scores_and_features(batch)[1], np.concatenate(one_by_one), atol=1e-6)

    def test_features_of_several_rows_per_example_are_concatenated(self, load, settings, batch):
        features = load("tokens", settings).scores_and_features(batch)[1]
        np.testing.assert_array_equal(features, batch[:, 0].reshape(7, 64))

    def test_features_use_the_layer_that_runs_last(self, load, settings, batch):
        model = load("swapped", settings)
        scores, features = model.scores_and_features(batch)
        first, last = module_of(model).first, module_of(model).last
        hidden = batch.reshape(7, -1) @ first.weight.numpy().T + first.bias.numpy()
        np.testing.assert_allclose(features, hidden, atol=1e-5)
        np.testing.assert_allclose(scores, hidden @ last.weight.numpy().T + last.bias.numpy(), atol=1e-5)

    def test_features_may_come_from_the_module_itself(self, load, settings, batch):
        scores, features = load("own", settings).scores_and_features(batch)
        np.testing.assert_array_equal(features, batch.reshape(7, -1)[:, 20:24])
        np.testing.assert_array_equal(scores, batch.reshape(7, -1)[:, :10])

    @pytest.mark.parametrize("name", ["narrow", "large", "unused"])
    def test_features_raise_without_a_last_layer_of_that_width(self, load, settings, batch, name):
        model = load(name, settings)
        assert model.scores(batch).shape == (7, 10)
        with pytest.raises(InputError) as raised:
            model.scores_and_features(batch)
        expected = f"{model.spec.name} runs no linear layer with 10 outputs: leave out --keep features"
        assert str(raised.value) == expected

    @pytest.mark.parametrize(
        ("name", "error"),
        [
            (
                "three",
                (InputError, "scores_and_features of torch:.*:three returned a tuple, expected scores and features"),
            ),
            (
                "one",
                (InputError, "scores_and_features of torch:.*:one returned a Tensor, expected scores and features"),
            ),
            ("text", (InputError, "returned a str, expected one tensor")),
            ("nan", (InputError, "returned NaN or infinity among its features")),
            ("flat", (MismatchError, r"returned features float32 \(7,\) for 7 images")),
        ],
    )
    def test_wrong_features_of_a_module_are_reported_in_one_line(self, load, settings, batch, name, error):
        with pytest.raises(error[0], match=error[1]):
            load(name, settings).scores_and_features(batch)

    def test_features_remove_their_hooks(self, load, settings, batch, torch):
        model = load("short", settings)
        layer = module_of(model).head
        model.scores_and_features(batch[:2])
        assert not layer._forward_pre_hooks
        with pytest.raises(OutOfMemory, match="a batch of 7 does not fit"):
            model.scores_and_features(batch)
        assert not layer._forward_pre_hooks
        broken = with_features(torch.nn.Sequential(torch.nn.Linear(3, 10)), 10, "m")
        with pytest.raises(RuntimeError):
            broken(torch.zeros(1, 4))
        assert not broken.module[0]._forward_pre_hooks

    def test_features_in_lower_precision_are_close(self, load, settings, batch):
        low = load("linear", replace(settings, precision=Precision.BF16)).scores_and_features(batch)[1]
        full = load("linear", settings).scores_and_features(batch)[1]
        assert low.dtype == np.float32 and not np.array_equal(low, full)
        np.testing.assert_allclose(low, full, atol=0.02)


class TestBytes:
    """A model on a GPU gets images as bytes, a quarter of the data, and normalizes them there."""

    @pytest.fixture
    def levels(self):
        return np.random.default_rng(0).integers(0, 256, (5, 8, 8, 3), dtype=np.uint8)

    def test_bytes_give_the_same_scores_and_features(self, load, settings, levels):
        model = load("linear", settings)
        usual = np.stack([normalize(image, settings.preprocessing) for image in levels])
        np.testing.assert_array_equal(model._images(levels).numpy(), usual)
        np.testing.assert_array_equal(model.scores(levels), model.scores(usual))
        np.testing.assert_array_equal(model.scores_and_features(levels)[1], model.scores_and_features(usual)[1])

    def test_tensors_are_accepted(self, load, settings, levels, torch):
        model = load("linear", settings)
        np.testing.assert_array_equal(model.scores(torch.from_numpy(levels)), model.scores(levels))

    def test_cpu_model_takes_normalized_inputs(self, load, settings):
        assert load("linear", settings).takes_pixels is False


class TestCompiled:
    @pytest.fixture
    def compiled(self, torch, monkeypatch):
        """The modules that torch was to compile, which are run as they are."""
        modules = []
        monkeypatch.setattr(torch, "compile", lambda module: modules.append(module) or module.forward)
        return modules

    def test_module_is_compiled_once_and_it_is_recorded(self, load, settings, batch, compiled):
        plain = load("linear", settings)
        assert compiled == []
        model = load("linear", replace(settings, compile=True))
        np.testing.assert_array_equal(model.scores(batch), plain.scores(batch))
        model.scores(batch[:2])
        assert compiled == [module_of(model)]
        assert model.runtime == plain.runtime + " compiled"
        assert model.spec == plain.spec

    def test_module_with_features_is_compiled_once(self, load, settings, batch, compiled):
        model = load("linear", replace(settings, compile=True))
        compiled.clear()
        given = model.scores_and_features(batch)
        model.scores_and_features(batch[:2])
        for output, expected in zip(given, load("linear", settings).scores_and_features(batch), strict=True):
            np.testing.assert_array_equal(output, expected)
        assert [module.module for module in compiled] == [module_of(model)]

    @pytest.mark.usefixtures("compiled")
    def test_compiled_model_is_not_exported_to_onnx(self, load, settings, batch, monkeypatch):
        monkeypatch.setattr(TorchModel, "export", lambda *_, **__: pytest.fail("it is exported"))
        assert export_to_onnx(load("linear", replace(settings, compile=True)), batch) == OnnxExport(None)

    def test_failing_compiler_is_reported_in_one_line(self, load, settings, torch, monkeypatch):
        def no_compiler(_):
            raise RuntimeError("InvalidCxxCompiler: no working C++ compiler\nlong story")

        monkeypatch.setattr(torch, "compile", lambda _: no_compiler)
        with pytest.raises(InputError, match=r"failed on a batch of shape \(2, 3, 8, 8\): .*no working C") as raised:
            load("linear", replace(settings, compile=True))
        assert "story" not in str(raised.value)

    @pytest.mark.filterwarnings("ignore")  # of what torch's own compiler uses
    def test_compiled_scores_are_close(self, load, settings, batch):
        if not any(map(shutil.which, (os.environ.get("CXX", "g++"), "g++", "clang++"))):
            skip("there is no C++ compiler, which torch.compile needs")
        plain, model = (load("deep", replace(settings, compile=flag)) for flag in (False, True))
        given = (model.scores(batch[:2]), *model.scores_and_features(batch[:2]))
        expected = (plain.scores(batch[:2]), *plain.scores_and_features(batch[:2]))
        for output, plain_output in zip(given, expected, strict=True):
            np.testing.assert_allclose(output, plain_output, atol=1e-5)


class TestMemory:
    def test_cpu_model_does_not_pin_or_measure_memory(self, load, settings, batch):
        model = load("linear", settings)
        stacked = model.stacked(list(batch))
        assert isinstance(stacked, np.ndarray) and model._pinned is None
        np.testing.assert_array_equal(stacked, batch)
        assert (model.peak_memory(batch), model.free_memory()) == (None, None)

    @pytest.fixture
    def on_cuda(self, load, settings, torch, monkeypatch):
        """A model that acts as if it were on a GPU; the calls of torch.cuda are recorded and answered here."""
        model = load("linear", settings)
        monkeypatch.setattr(model, "settings", replace(settings, device=Device.CUDA))
        monkeypatch.setattr(model, "scores", lambda batch: calls.append(("scores", len(batch))))
        calls = []
        memory = {"memory_allocated": 1000, "max_memory_allocated": 1700, "mem_get_info": (5000, 9000)}
        for name, answer in memory.items():
            monkeypatch.setattr(torch.cuda, name, lambda name=name, answer=answer: calls.append(name) or answer)
        monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda: calls.append("reset"))
        return model, calls

    def test_peak_memory_excludes_the_weights(self, on_cuda, batch):
        model, calls = on_cuda
        assert model.peak_memory(batch) == 700
        assert calls == ["memory_allocated", "reset", ("scores", 7), "max_memory_allocated"]

    def test_free_memory(self, on_cuda):
        assert on_cuda[0].free_memory() == 5000

    def test_stacked_reuses_pinned_memory(self, on_cuda, torch, monkeypatch):
        empty, allocated = torch.empty, []

        def pinned(shape, dtype, pin_memory):
            allocated.append((shape, pin_memory))
            return empty(shape, dtype=dtype)

        monkeypatch.setattr(torch, "empty", pinned)
        model, _ = on_cuda
        batch = np.random.default_rng(0).integers(0, 256, (7, 8, 8, 3), dtype=np.uint8)
        for rows, sizes in ((4, [4]), (3, [4]), (7, [4, 7]), (1, [4, 7])):
            given = batch[:rows][::-1]
            np.testing.assert_array_equal(model.stacked(list(given)), given)
            assert allocated == [((size, 8, 8, 3), True) for size in sizes], (
                "memory is allocated only if it is too small"
            )
        np.testing.assert_array_equal(model.stacked(list(batch[:, :, :4])), batch[:, :, :4])
        assert allocated[-1] == ((7, 8, 4, 3), True)


@pytest.mark.parametrize(("supported", "precision"), [(False, "bf16"), (False, "fp16"), (True, "bf16")])
def test_bf16_on_a_gpu_without_it_is_one_line(load, settings, monkeypatch, supported, precision):
    """The device is only named; the module stays on the CPU."""
    monkeypatch.setattr(torch_runtime, "computes_in_bf16", lambda: supported)
    model = load("linear", settings)
    settings = replace(model.settings, device=Device.CUDA, precision=Precision(precision))
    if supported or precision == "fp16":
        assert model.with_settings(settings).runtime.endswith(f"cuda {precision} fused")
        return
    with pytest.raises(InputError, match=r"^this GPU does not compute in bf16: give --precision fp16 or fp32$"):
        model.with_settings(settings)


def test_layers_are_fused_in_half_precision_on_a_gpu_only(load, settings):
    model = load("linear", settings)
    on_gpu = replace(model.settings, device=Device.CUDA)
    fused = model.with_settings(replace(on_gpu, precision=Precision.FP16))
    assert fused.runtime.endswith("cuda fp16 fused") and fused._runnable is fused._fused
    for plain in (on_gpu, replace(on_gpu, precision=Precision.FP16, compile=True), model.settings):
        same = model.with_settings(plain)
        assert same._fused is None and "fused" not in same.runtime
    unfused = fused.unfused()
    assert unfused._runnable is unfused._module and unfused.runtime.endswith("cuda fp16")
    assert "fused" not in unfused.with_settings(replace(on_gpu, precision=Precision.FP16)).runtime
    assert fused._runnable is fused._fused
