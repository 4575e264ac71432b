"""A torch model runs through onnxruntime only where both agree."""

from dataclasses import replace

import numpy as np
import pytest

from regrade.models import Precision, as_onnx, load_model
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
    monkeypatch.setattr(TorchModel, "export", lambda _, path: path.write_bytes(b"no graph"))
    assert "cannot be loaded by onnxruntime" in as_onnx(model, batch).reason
    np.testing.assert_array_equal(model.scores(batch), before)


def test_other_precisions_stay_with_torch(load, settings, batch):
    model = load("network", replace(settings, precision=Precision.BF16))
    assert as_onnx(model, batch).reason == "it runs on cpu in bf16"


def test_only_torch_models_have_a_twin(user_module, settings, batch):
    path = user_module("import numpy as np\ndef f(batch): return np.zeros((len(batch), 10))\n", "other.py")
    assert as_onnx(load_model(f"python:{path}:f", settings), batch).reason == "it is not a torch model"


def test_without_a_picture_there_is_no_twin(load, settings, batch):
    assert as_onnx(load("network", settings), batch[:0]).reason == "there is no picture to compare on"


def test_without_onnxruntime_the_reason_is_the_command(load, settings, batch, monkeypatch):
    import sys

    model = load("network", settings)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert "pip install 'regrade[onnx]'" in as_onnx(model, batch).reason


def test_differences_by_hand():
    expected = np.array([[1.0, 5.0, 2.0], [4.0, 0.0, -10.0]])
    assert _difference(expected, expected + 0.009) == ""
    assert "lie up to 0.011 from torch's, more than 0.001 of 10" in _difference(expected, expected + 0.011)
    assert "best class of 1 of 2 pictures" in _difference(expected, np.array([[6.0, 5, 2], [4, 0, -10]]))
    assert "infinite scores elsewhere" in _difference(expected, np.where(expected == 0, -np.inf, expected))
