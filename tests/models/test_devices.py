"""Models run on a GPU where there is one that their runtime can use."""

import importlib.util
import os

import pytest

from regrade.models import Device, default_device, devices, registry


@pytest.mark.parametrize(
    ("gpus", "libraries", "model", "expected"),
    [
        ([], {"torch", "onnxruntime"}, "timm:resnet50", Device.CPU),
        (["a GPU"], {"torch"}, "timm:resnet50", Device.CUDA),
        (["a GPU"], {"onnxruntime"}, "timm:resnet50", Device.CPU),
        (["a GPU"], {"torch"}, "onnx:net.onnx", Device.CPU),
        (["a GPU"], {"onnxruntime"}, "onnx:net.onnx", Device.CUDA),
    ],
)
def test_default_device(monkeypatch, gpus, libraries, model, expected):
    """``libraries`` can use a GPU."""
    monkeypatch.setattr(registry, "gpu_names", lambda: gpus)
    monkeypatch.setattr(registry, "torch_uses_gpu", lambda: "torch" in libraries)
    monkeypatch.setattr(registry, "onnxruntime_uses_gpu", lambda: "onnxruntime" in libraries)
    assert default_device(model) is expected


def test_libraries_that_are_missing_use_no_gpu(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert not registry.torch_uses_gpu() and not registry.onnxruntime_uses_gpu()


def test_without_a_driver_there_is_no_gpu(monkeypatch):
    def missing(_):
        raise OSError("no such file")

    monkeypatch.setattr(devices.ctypes, "CDLL", missing)
    assert devices.gpu_names() == []


def test_a_number_of_queues_that_is_set_already_is_kept(monkeypatch):
    monkeypatch.setenv("CUDA_DEVICE_MAX_CONNECTIONS", "4")
    devices.use_many_queues()
    assert os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] == "4"
    monkeypatch.delenv("CUDA_DEVICE_MAX_CONNECTIONS")
    devices.use_many_queues()
    assert os.environ["CUDA_DEVICE_MAX_CONNECTIONS"] == "32"
