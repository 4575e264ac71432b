"""Skipping a test that cannot run here, unless nothing may be skipped."""

import os
from typing import NoReturn

import pytest


def skip(reason: str) -> NoReturn:
    """Skip with one clear line; with REGRADE_NO_SKIP set, fail instead."""
    if os.environ.get("REGRADE_NO_SKIP"):
        pytest.fail(f"nothing may be skipped (REGRADE_NO_SKIP), but {reason}", pytrace=False)
    pytest.skip(reason)
