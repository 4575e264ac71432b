"""What the tests of statistics share."""

import gc

import pytest


@pytest.fixture(scope="package", autouse=True)
def little_to_collect():
    """Let garbage collection pass over what is there already: statsmodels asks for one at every call."""
    gc.freeze()
    yield
    gc.unfreeze()
