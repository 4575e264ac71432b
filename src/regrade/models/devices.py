"""The GPUs of this machine, without importing a heavy library."""

from __future__ import annotations

import ctypes
import os
import sys

_QUEUES = "32"  # the most that CUDA has


def gpu_names() -> list[str]:
    """The names of the NVIDIA GPUs, from the driver itself: importing torch takes seconds."""
    use_many_queues()
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


def use_many_queues() -> None:
    """Let streams have queues of their own on the GPU, before CUDA starts.

    By default they share eight, and the decoding of images then waits for the model.
    """
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", _QUEUES)
