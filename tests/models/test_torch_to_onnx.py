"""A torch model runs through onnxruntime only where both agree."""

from dataclasses import replace

import numpy as np
import pytest

from regrade.core import InputError
from regrade.models import Exported, Precision, as_onnx, load_model
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


def test_the_twin_gives_the_same_scores(load, settings, batch):
    model = load("network", settings)
    twin = as_onnx(model, batch).model
    np.testing.assert_allclose(twin.scores(batch), model.scores(batch), atol=1e-5)
    assert twin.spec == model.spec and twin.score_kind is model.score_kind
    assert twin.runtime.startswith("onnxruntime ") and "exported from torch " in twin.runtime
    assert twin.scores(batch[:3]).shape == (3, 10)


def test_as_onnx_accepts_a_module_that_writes_into_its_input(load, settings, batch):
    given = batch.copy()
    assert as_onnx(load("overwriting", settings), given).model is not None
    np.testing.assert_array_equal(given, batch)


def test_as_onnx_reports_a_module_that_exits_during_the_export(load, settings, batch, monkeypatch):
    def exit_(*_, **__):
        raise SystemExit(0)

    model = load("network", settings)
    monkeypatch.setattr(TorchModel, "export", exit_)
    assert as_onnx(model, batch) == Exported(None, "it cannot be exported (SystemExit: 0)")


def test_a_model_whose_trace_depends_on_the_batch_is_refused(load, settings, batch):
    exported = as_onnx(load("by_size", settings), batch)
    assert exported.model is None
    assert "its export's scores lie up to" in exported.reason


def test_a_model_that_cannot_be_exported_says_why(load, settings, batch):
    exported = as_onnx(load("unknown", settings), batch)
    assert exported.model is None
    assert exported.reason.startswith("it cannot be exported (")


def test_a_failed_export_leaves_the_torch_model_as_it_was(load, settings, batch, monkeypatch):
    model = load("network", settings)
    before = model.scores(batch)
    monkeypatch.setattr(TorchModel, "export", lambda _, path, **__: path.write_bytes(b"no graph"))
    assert "cannot be loaded by onnxruntime" in as_onnx(model, batch).reason
    np.testing.assert_array_equal(model.scores(batch), before)


def test_other_precisions_stay_with_torch(load, settings, batch):
    model = load("network", replace(settings, precision=Precision.BF16))
    assert as_onnx(model, batch) == Exported(None)


def test_only_torch_models_have_a_twin(user_module, settings, batch):
    path = user_module("import numpy as np\ndef f(batch): return np.zeros((len(batch), 10))\n", "other.py")
    assert as_onnx(load_model(f"python:{path}:f", settings), batch) == Exported(None)


def test_without_a_image_there_is_no_twin(load, settings, batch):
    assert as_onnx(load("network", settings), batch[:0]).reason == "there is no image to compare on"


def test_without_onnxruntime_the_reason_is_the_command(load, settings, batch, monkeypatch):
    import sys

    model = load("network", settings)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert "pip install 'regrade[onnx]'" in as_onnx(model, batch).reason


def test_differences_by_hand():
    expected = np.array([[1.0, 5.0, 2.0], [4.0, 0.0, -10.0]])
    assert _difference([expected], [expected + 0.009]) == ""
    assert "lie up to 0.011 from torch's, more than 0.001 of 10" in _difference([expected], [expected + 0.011])
    assert "best class of 1 of 2 images" in _difference([expected], [np.array([[6.0, 5, 2], [4, 0, -10]])])
    assert "infinite scores elsewhere" in _difference([expected], [np.where(expected == 0, -np.inf, expected)])


class TestFeatures:
    @pytest.mark.parametrize(("name", "width"), [("network", 216), ("pointwise", 6), ("own", 4)])
    def test_the_twin_gives_the_same(self, load, settings, batch, name, width):
        model = load(name, settings)
        twin = as_onnx(model, batch, features=True).model
        scores, features = twin.scores_and_features(batch)
        assert features.shape == (7, width)
        for one, other in zip((scores, features), model.scores_and_features(batch), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)
        np.testing.assert_array_equal(twin.scores(batch), scores)
        assert twin.scores_and_features(batch[:3])[1].shape == (3, width)

    def test_the_torch_model_stays_in_evaluation_mode(self, load, settings, batch):
        model = load("network", settings)
        before = (model.scores(batch), *model.scores_and_features(batch))
        assert as_onnx(model, batch, features=True).model is not None
        after = (model.scores(batch), *model.scores_and_features(batch))
        assert not any(module.training for module in model._module.modules())
        for one, other in zip(after, before, strict=True):
            np.testing.assert_array_equal(one, other)

    def test_they_are_exported_only_where_they_are_wanted(self, load, settings, batch):
        twin = as_onnx(load("network", settings), batch).model
        with pytest.raises(InputError, match="has no output called 'features'"):
            twin.scores_and_features(batch)

    def test_a_twin_whose_features_differ_is_refused(self, load, settings, batch):
        model = load("drifting", settings)
        assert as_onnx(model, batch).reason == ""
        exported = as_onnx(model, batch, features=True)
        assert exported.model is None and "its export's features lie up to" in exported.reason

    def test_a_model_without_any_raises_itself(self, load, settings, batch):
        with pytest.raises(InputError, match="runs no linear layer of 10 outputs: leave out --keep features"):
            as_onnx(load("by_size", settings), batch, features=True)

    def test_differences_by_hand(self):
        scores, features = np.array([[1.0, 5.0], [4.0, 0.0]]), np.array([[1.0, -20.0], [0.0, 3.0]])
        assert _difference([scores, features], [scores, features + 0.019]) == ""
        assert _difference([scores, features], [scores, features - 0.021]) == (
            "its export's features lie up to 0.021 from torch's, more than 0.001 of 20"
        )
        assert "scores lie up to 0.1 " in _difference([scores, features], [scores + 0.1, features - 0.021])
        broken = np.where(features == 3, np.nan, features)
        assert _difference([scores, features], [scores, broken]) == "its export gives infinite features elsewhere"
