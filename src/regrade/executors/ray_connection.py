"""The connection to a Ray cluster: reached at once or not at all, and quiet."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from regrade.core import ExecutorError, MissingExtra

_QUIETER = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",  # else some of it is kept back, and printed at the end
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # else it warns of what does not matter here
}


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Be connected to a cluster; trouble is one line, and Ray itself says nothing."""
    for name, value in _QUIETER.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ModuleNotFoundError as error:
        raise MissingExtra("work on a cluster", "ray") from error

    if ray.is_initialized():
        yield
        return
    if address:
        _check_reachable(address)
    with _without_rays_own_words():
        try:
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, **_for_a_new_one(address))
        except Exception as error:  # ray raises what its parts raise
            raise ExecutorError(
                f"the Ray cluster {f'at {address} ' if address else ''}cannot be entered: {first_line(error)}; if it "
                "asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH as on its machines"
            ) from error
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def _without_rays_own_words() -> Iterator[None]:
    """Keep what Ray's own threads print on a lost machine, pages of its logs, out of the output."""
    usual = sys.stdout
    sys.stdout = cast("TextIO", _Filtered(usual))
    try:
        yield
    finally:
        sys.stdout = usual


class _Filtered:
    """A stream that drops what threads of Ray write, and is otherwise the stream below it."""

    def __init__(self, below: TextIO) -> None:
        self._below = below

    def write(self, text: str) -> int:
        return len(text) if threading.current_thread().name.startswith("ray_") else self._below.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._below, name)


def _check_reachable(address: str) -> None:
    """Raise at once where nothing answers at an address; Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, OverflowError) as error:
        raise ExecutorError(f"there is no Ray cluster at {address}: {first_line(error)}") from None


def _for_a_new_one(address: str | None) -> dict[str, Any]:
    return {} if address or "RAY_ADDRESS" in os.environ else {"include_dashboard": False}


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
