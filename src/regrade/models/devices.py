"""The GPUs of this machine, without importing a heavy library unless there is one."""

from __future__ import annotations

import ctypes
import sys

from regrade.models.model import Device
from regrade.models.onnx_model import onnxruntime_uses_gpu
from regrade.models.torch_runtime import torch_uses_gpu


def gpu_names() -> list[str]:
    """The names of the NVIDIA GPUs, from the driver itself: importing torch takes seconds."""
    try:
        driver = ctypes.CDLL("libcuda.so.1" if sys.platform != "win32" else "nvcuda.dll")
    except OSError:
        return []
    count = ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return []
    names = []
    for number in range(count.value):
        device, name = ctypes.c_int(), ctypes.create_string_buffer(100)
        driver.cuDeviceGet(ctypes.byref(device), number)
        driver.cuDeviceGetName(name, len(name), device)
        names.append(name.value.decode(errors="replace"))
    return names


def default_device(model: str) -> Device:
    """The GPU if there is one that the runtime of a model (``PREFIX:NAME``) can use, otherwise the CPU."""
    uses_gpu = onnxruntime_uses_gpu if model.startswith("onnx:") else torch_uses_gpu
    return Device.CUDA if gpu_names() and uses_gpu() else Device.CPU
