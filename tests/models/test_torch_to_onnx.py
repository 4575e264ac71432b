"""A torch model runs through onnxruntime only if both agree."""

from dataclasses import replace

import numpy as np
import pytest

from regrade.core import InputError
from regrade.models import OnnxExport, Precision, export_to_onnx, load_model
from regrade.models.torch_runtime import TorchModel
from regrade.models.torch_to_onnx import _difference

NETWORK = """
import torch
from torch import nn

def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Linear(216, 10))

class BySize(nn.Module):
    def forward(self, images):  # tracing keeps the number of rows it saw
        return images.flatten(1)[:, :10] * int(images.shape[0])
def by_size(): return BySize()

class Unknown(nn.Module):
    def forward(self, images): return torch.linalg.svdvals(images.flatten(2)[:, :, :8])[:, :1].repeat(1, 10)
def unknown(): return Unknown()

def pointwise():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 6, 3), nn.AdaptiveAvgPool2d(1), nn.Conv2d(6, 10, 1), nn.Flatten())

class Own(nn.Module):
    def forward(self, images): return images.flatten(1)[:, :10]
    def scores_and_features(self, images): return self(images), images.flatten(1)[:, 10:14] * 2
def own(): return Own()

class Overwriting(Own):
    def forward(self, images): return images.add_(1).flatten(1)[:, :10]
def overwriting(): return Overwriting()

class Drifting(Own):
    def scores_and_features(self, images):  # tracing keeps the number of rows it saw
        return self(images), images.flatten(1)[:, 10:14] * int(images.shape[0])
def drifting(): return Drifting()
"""


@pytest.fixture
def load(user_module, library):
    library("torch")
    library("onnxruntime")
    path = user_module(NETWORK)
    return lambda name, settings: load_model(f"torch:{path}:{name}", settings)


def test_export_gives_the_same_scores(load, settings, batch):
    model = load("network", settings)
    exported = export_to_onnx(model, batch).model
    np.testing.assert_allclose(exported.scores(batch), model.scores(batch), atol=1e-5)
    assert exported.spec == model.spec and exported.score_kind is model.score_kind
    assert exported.runtime.startswith("onnxruntime ") and "exported from torch " in exported.runtime
    assert exported.scores(batch[:3]).shape == (3, 10)


def test_export_accepts_a_module_that_writes_into_its_input(load, settings, batch):
    given = batch.copy()
    assert export_to_onnx(load("overwriting", settings), given).model is not None
    np.testing.assert_array_equal(given, batch)


def test_export_reports_a_module_that_exits(load, settings, batch, monkeypatch):
    def exit_(*_, **__):
        raise SystemExit(0)

    model = load("network", settings)
    monkeypatch.setattr(TorchModel, "export", exit_)
    assert export_to_onnx(model, batch) == OnnxExport(None, "it cannot be exported (SystemExit: 0)")


def test_export_is_rejected_if_the_trace_depends_on_the_batch(load, settings, batch):
    exported = export_to_onnx(load("by_size", settings), batch)
    assert exported.model is None
    assert "its export's scores differ by up to" in exported.reason


def test_export_failure_gives_the_reason(load, settings, batch):
    exported = export_to_onnx(load("unknown", settings), batch)
    assert exported.model is None
    assert exported.reason.startswith("it cannot be exported (")


def test_export_failure_leaves_the_torch_model_unchanged(load, settings, batch, monkeypatch):
    model = load("network", settings)
    before = model.scores(batch)
    monkeypatch.setattr(TorchModel, "export", lambda _, path, **__: path.write_bytes(b"no graph"))
    assert "cannot be loaded by onnxruntime" in export_to_onnx(model, batch).reason
    np.testing.assert_array_equal(model.scores(batch), before)


def test_export_is_not_attempted_in_other_precisions(load, settings, batch):
    model = load("network", replace(settings, precision=Precision.BF16))
    assert export_to_onnx(model, batch) == OnnxExport(None)


def test_export_is_not_attempted_for_other_models(user_module, settings, batch):
    path = user_module("import numpy as np\ndef f(batch): return np.zeros((len(batch), 10))\n", "other.py")
    assert export_to_onnx(load_model(f"python:{path}:f", settings), batch) == OnnxExport(None)


def test_export_needs_an_image_to_compare_on(load, settings, batch):
    assert export_to_onnx(load("network", settings), batch[:0]).reason == "there is no image to compare on"


def test_export_without_onnxruntime_names_the_extra(load, settings, batch, monkeypatch):
    import sys

    model = load("network", settings)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert "pip install 'regrade[onnx]'" in export_to_onnx(model, batch).reason


def test_difference_by_hand():
    expected = np.array([[1.0, 5.0, 2.0], [4.0, 0.0, -10.0]])
    assert _difference([expected], [expected + 0.009]) == ""
    assert "differ by up to 0.011 from torch's, more than 0.001 x 10" in _difference([expected], [expected + 0.011])
    assert "top class of 1 of 2 images" in _difference([expected], [np.array([[6.0, 5, 2], [4, 0, -10]])])
    assert "infinite scores where torch gives finite ones" in _difference(
        [expected], [np.where(expected == 0, -np.inf, expected)]
    )


class TestFeatures:
    @pytest.mark.parametrize(("name", "width"), [("network", 216), ("pointwise", 6), ("own", 4)])
    def test_export_gives_the_same_features(self, load, settings, batch, name, width):
        model = load(name, settings)
        exported = export_to_onnx(model, batch, features=True).model
        scores, features = exported.scores_and_features(batch)
        assert features.shape == (7, width)
        for output, expected in zip((scores, features), model.scores_and_features(batch), strict=True):
            np.testing.assert_allclose(output, expected, atol=1e-5)
        np.testing.assert_array_equal(exported.scores(batch), scores)
        assert exported.scores_and_features(batch[:3])[1].shape == (3, width)

    def test_export_keeps_the_torch_model_in_evaluation_mode(self, load, settings, batch):
        model = load("network", settings)
        before = (model.scores(batch), *model.scores_and_features(batch))
        assert export_to_onnx(model, batch, features=True).model is not None
        after = (model.scores(batch), *model.scores_and_features(batch))
        assert not any(module.training for module in model._module.modules())
        for output, earlier in zip(after, before, strict=True):
            np.testing.assert_array_equal(output, earlier)

    def test_features_are_exported_only_on_request(self, load, settings, batch):
        exported = export_to_onnx(load("network", settings), batch).model
        with pytest.raises(InputError, match="has no output called 'features'"):
            exported.scores_and_features(batch)

    def test_export_is_rejected_if_features_differ(self, load, settings, batch):
        model = load("drifting", settings)
        assert export_to_onnx(model, batch).reason == ""
        exported = export_to_onnx(model, batch, features=True)
        assert exported.model is None and "its export's features differ by up to" in exported.reason

    def test_export_raises_for_a_model_without_features(self, load, settings, batch):
        with pytest.raises(InputError, match="runs no linear layer with 10 outputs: leave out --keep features"):
            export_to_onnx(load("by_size", settings), batch, features=True)

    def test_difference_by_hand(self):
        scores, features = np.array([[1.0, 5.0], [4.0, 0.0]]), np.array([[1.0, -20.0], [0.0, 3.0]])
        assert _difference([scores, features], [scores, features + 0.019]) == ""
        assert _difference([scores, features], [scores, features - 0.021]) == (
            "its export's features differ by up to 0.021 from torch's, more than 0.001 x 20"
        )
        assert "scores differ by up to 0.1 " in _difference([scores, features], [scores + 0.1, features - 0.021])
        broken = np.where(features == 3, np.nan, features)
        assert _difference([scores, features], [scores, broken]).startswith("its export gives infinite features where")
