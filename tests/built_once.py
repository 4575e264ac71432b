"""Expensive read-only fixtures: built by one worker of a test run, read by all workers."""

import fcntl
import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

Built = TypeVar("Built")


def built_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], Built]) -> Built:
    """The result of ``build`` for an empty folder; other workers of pytest-xdist get a pickled copy."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return build(factory.mktemp(name))
    shared = factory.getbasetemp().parent
    pickled = shared / f"{name}.pickle"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not pickled.is_file():
            built = build(Path(tempfile.mkdtemp(prefix=f"{name}-", dir=shared)))
            unfinished = pickled.with_suffix(".unfinished")
            unfinished.write_bytes(pickle.dumps(built))
            unfinished.replace(pickled)
        return pickle.loads(pickled.read_bytes())
