"""Shared fixtures of the statistics tests."""

import gc

import pytest


@pytest.fixture(scope="package", autouse=True)
def little_to_collect():
    """Freeze existing objects for the garbage collector, which statsmodels runs on every call."""
    gc.freeze()
    yield
    gc.unfreeze()
