"""Connect to a Ray cluster: fails fast, and without Ray's own output."""

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
    "RAY_DEDUP_LOGS": "0",  # otherwise some output is held back and printed at the end
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # avoids an irrelevant warning
}


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connect to a cluster; errors are one line, and Ray's own output is suppressed."""
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
    with _without_output_of_ray():
        try:
            options = _options_for_new_cluster(address)
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, **options)
        except Exception as error:  # ray raises many types of errors
            raise ExecutorError(
                f"the Ray cluster {f'at {address} ' if address else ''}cannot be joined: {first_line(error)}; if it "
                "requires a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN_PATH as on its machines"
            ) from error
        try:
            yield
        finally:
            ray.shutdown()


@contextmanager
def _without_output_of_ray() -> Iterator[None]:
    """Suppress the pages of logs that Ray's threads print when a machine is lost."""
    usual = sys.stdout
    sys.stdout = cast("TextIO", _Filtered(usual))
    try:
        yield
    finally:
        sys.stdout = usual


class _Filtered:
    """A stream that drops what threads of Ray write and forwards everything else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return len(text) if threading.current_thread().name.startswith("ray_") else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _check_reachable(address: str) -> None:
    """Raise at once if nothing answers at an address; Ray itself would retry for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except (OSError, OverflowError) as error:
        raise ExecutorError(f"there is no Ray cluster at {address}: {first_line(error)}") from None


def _options_for_new_cluster(address: str | None) -> dict[str, Any]:
    return {} if address or "RAY_ADDRESS" in os.environ else {"include_dashboard": False}


def first_line(error: BaseException) -> str:
    """The first line of an error's message."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
