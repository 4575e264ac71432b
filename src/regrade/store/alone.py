"""One process at a time at a piece of long work."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regrade.core import StoreError
from regrade.store.atomic import telling_refusals


@contextmanager
def alone_at_work(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder; where another is at work this raises. A killed process lets go."""
    with telling_refusals(folder):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(f"another process is at this already, in {folder}: wait for it") from None
        except OSError:  # some network disks know no locks
            pass
        yield
    finally:
        os.close(handle)
