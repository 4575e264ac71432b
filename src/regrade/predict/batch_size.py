"""How many images a batch: as many as a memory budget allows, and no more than pays."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from regrade.models import Model, OutOfMemory
from regrade.models.failures import contained

_MOST_ON_CPU, _MOST_ON_GPU = 32, 256  # larger batches are no faster
_TRIED = 4  # images whose need of memory is measured
_SHARE = 0.5  # of what is free, unless a budget is stated
_PROCESS = Path("/proc/self")


def fitting_batch(model: Model, budget: int | None) -> int:
    """The largest power of two whose need of memory, measured on a few made-up images, stays within a budget.

    The budget is in bytes; None is half of what is free. Where memory cannot be measured it is the most that pays.
    """
    recipe = model.preprocessing
    images = np.zeros((_TRIED, recipe.channels, recipe.size, recipe.size), dtype=np.float32)
    try:
        with contained():
            on_gpu = model.free_memory() is not None
            model.scores(images[:1])  # whatever is made once is not counted
            need = model.peak_memory(images) if on_gpu else _peak_on_cpu(model, images)
            free = model.free_memory() if on_gpu else _free_on_cpu()
    except (OutOfMemory, MemoryError):
        return 1
    except Exception:  # the engine will meet it again, and tells it with the example
        return _MOST_ON_CPU
    allowed = budget if budget is not None else _SHARE * free if free else None
    return _largest(_MOST_ON_GPU if on_gpu else _MOST_ON_CPU, need, allowed)


def _largest(most: int, need: int | None, allowed: float | None) -> int:
    if not need or allowed is None:
        return most
    fitting = int(allowed * _TRIED / need)
    return min(most, 1 << max(fitting.bit_length() - 1, 0))


def _peak_on_cpu(model: Model, images: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> int | None:
    """By how many bytes this process grows while it computes; None where the system does not tell."""
    try:
        (_PROCESS / "clear_refs").write_text("5")  # the peak is counted from here on
        before = _kilobytes(_PROCESS / "status", "VmRSS")
        model.scores(images)
        return max(_kilobytes(_PROCESS / "status", "VmHWM") - before, 0) * 1024 + images.nbytes
    except OSError:
        return None


def _free_on_cpu() -> int | None:
    """How many bytes are free on this machine; None where the system does not tell."""
    try:
        return _kilobytes(Path("/proc/meminfo"), "MemAvailable") * 1024
    except OSError:
        return None


def _kilobytes(path: Path, field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+) kB$", path.read_text(), re.MULTILINE)
    if found is None:
        raise OSError(f"{path} has no {field}")
    return int(found[1])
