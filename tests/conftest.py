"""What every test may ask for."""

from pathlib import Path

import pytest
from skipping import skip


@pytest.fixture(scope="session")
def published() -> Path:
    """The folder of published data, ../shared/data seen from the project's root."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        skip(f"the published data are not at {folder}")
    return folder
