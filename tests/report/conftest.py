"""A browser to read reports with."""

import pytest


@pytest.fixture(scope="session")
def browser():
    """A browser for all tests of pages."""
    from browser import chromium

    with chromium() as found:
        yield found
