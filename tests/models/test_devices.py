"""Models run on a GPU where there is one that their runtime can use."""

import importlib.util

import pytest

from regrade.models import Device, default_device, devices


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
    monkeypatch.setattr(devices, "gpu_names", lambda: gpus)
    monkeypatch.setattr(devices, "torch_uses_gpu", lambda: "torch" in libraries)
    monkeypatch.setattr(devices, "onnxruntime_uses_gpu", lambda: "onnxruntime" in libraries)
    assert default_device(model) is expected


def test_libraries_that_are_missing_use_no_gpu(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert not devices.torch_uses_gpu() and not devices.onnxruntime_uses_gpu()


def test_without_a_driver_there_is_no_gpu(monkeypatch):
    def missing(_):
        raise OSError("no such file")

    monkeypatch.setattr(devices.ctypes, "CDLL", missing)
    assert devices.gpu_names() == []
