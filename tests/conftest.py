"""What every test may ask for."""

import shutil
from pathlib import Path

import pytest
from pets import make_pets
from skipping import skip


@pytest.fixture(scope="session")
def published() -> Path:
    """The folder of published data, ../shared/data seen from the project's root."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        skip(f"the published data are not at {folder}")
    return folder


@pytest.fixture(scope="session")
def _pets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pets(tmp_path_factory.mktemp("pets"))


@pytest.fixture
def pets(_pets: Path, tmp_path: Path) -> Path:
    """A workspace of one's own with the test set `pets`, of six pictures, and its model `first`."""
    return Path(shutil.copytree(_pets, tmp_path / "W"))
