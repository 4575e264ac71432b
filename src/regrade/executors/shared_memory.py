"""Memory that this process shares with its worker processes; it vanishes with the last of them, even if killed."""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class SharedMemory:
    """Bytes of which a worker process sees the same ones when the object is sent to it.

    Only Linux lets processes share memory without a name that a killed process would leave behind; see `can_share`.
    """

    def __init__(self, size: int) -> None:
        self._descriptor = os.memfd_create("regrade") if can_share() else -1
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, size)
        self._map = mmap.mmap(self._descriptor, size)
        self.content: NDArray[np.uint8] = np.frombuffer(self._map, dtype=np.uint8)

    def close(self) -> None:
        """Release the memory once nothing refers to it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __reduce__(self) -> tuple[Any, ...]:
        return _Attached, (f"/proc/{os.getpid()}/fd/{self._descriptor}",)


class _Attached:
    """The memory of another process."""

    def __init__(self, path: str) -> None:
        with Path(path).open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        self.content: NDArray[np.uint8] = np.frombuffer(self._map, dtype=np.uint8)


def can_share() -> bool:
    """Whether processes can share memory here."""
    return hasattr(os, "memfd_create")
