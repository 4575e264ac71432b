"""How many images per batch fit into the memory."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from regrade.models import Model, OutOfMemory
from regrade.models.failures import contained

_MAX_ON_CPU, _MAX_ON_GPU = 32, 256  # larger batches are not faster
_TRIAL = 4  # images on which the memory is measured
_SHARE = 0.5  # of the free memory, if no budget is given
_PROCESS = Path("/proc/self")


def find_batch_size(model: Model, budget: int | None, *, models: int = 1) -> int:
    """The largest power of two whose memory, measured on a few synthetic images, stays within a budget.

    The budget is in bytes (default: half of the free memory), for all ``models`` that run together. If memory cannot be
    measured, the largest useful size.
    """
    preprocessing = model.preprocessing
    images = np.zeros((_TRIAL, preprocessing.channels, preprocessing.size, preprocessing.size), dtype=np.float32)
    try:
        with contained():
            on_gpu = model.free_memory() is not None
            model.scores(images[:1])  # warm-up: one-time allocations are not counted
            need = model.peak_memory(images) if on_gpu else _peak_on_cpu(model, images)
            free = model.free_memory() if on_gpu else _free_on_cpu()
    except (OutOfMemory, MemoryError):
        return 1
    except Exception:  # the engine gets the same error and reports it with the example
        return _MAX_ON_CPU
    allowed = budget if budget is not None else _SHARE * free if free else None
    return _largest(_MAX_ON_GPU if on_gpu else _MAX_ON_CPU, need, None if allowed is None else allowed / models)


def _largest(limit: int, need: int | None, allowed: float | None) -> int:
    if not need or allowed is None:
        return limit
    fitting = int(allowed * _TRIAL / need)
    return min(limit, 1 << max(fitting.bit_length() - 1, 0))


def _peak_on_cpu(model: Model, images: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> int | None:
    """Number of bytes by which this process grows while it computes; None if the system does not report it."""
    try:
        (_PROCESS / "clear_refs").write_text("5")  # reset the peak
        before = _kilobytes(_PROCESS / "status", "VmRSS")
        model.scores(images)
        return max(_kilobytes(_PROCESS / "status", "VmHWM") - before, 0) * 1024 + images.nbytes
    except OSError:
        return None


def _free_on_cpu() -> int | None:
    """Free bytes of this machine; None if the system does not report them."""
    try:
        return _kilobytes(Path("/proc/meminfo"), "MemAvailable") * 1024
    except OSError:
        return None


def _kilobytes(path: Path, field: str) -> int:
    match = re.search(rf"^{field}:\s+(\d+) kB$", path.read_text(), re.MULTILINE)
    if match is None:
        raise OSError(f"{path} has no {field}")
    return int(match[1])
