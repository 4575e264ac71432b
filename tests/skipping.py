"""Skip a test that cannot run here, or fail if skipping is not allowed."""

import os
from typing import NoReturn

import pytest


def skip(reason: str) -> NoReturn:
    """Skip the test with a reason; fail instead if REGRADE_NO_SKIP is set."""
    if os.environ.get("REGRADE_NO_SKIP"):
        pytest.fail(f"nothing may be skipped (REGRADE_NO_SKIP), but {reason}", pytrace=False)
    pytest.skip(reason)
