"""What every test may ask for."""

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import hypothesis
import pytest
from argon2 import PasswordHasher
from built_once import built_once
from kept_drawing import kept_drawing
from pets import make_pets
from report_world import add_more, make_world
from skipping import skip

from regrade.workspace import WrittenReport

if TYPE_CHECKING:
    from playwright.sync_api import Browser

hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")  # how long an example takes is the machine's affair


def pytest_configure(config: pytest.Config) -> None:
    """Let each of several workers compute on one core: threads of one wait busily for a core that another one has."""
    if config.getoption("numprocesses", None):
        os.environ.setdefault("OMP_NUM_THREADS", "1")


_SLOWEST = ("demo", "report", "app", "predict", "cli", "ledger", "models")  # folders by how long their modules take


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slowest folders, so that no worker has one of their modules left when the others are done."""
    places = {name: place for place, name in enumerate(_SLOWEST)}
    items.sort(key=lambda item: places.get(item.path.parent.name, len(places)))


def pytest_collection_finish() -> None:
    """Leave what collection made out of garbage collection, which otherwise walks through all of it again and again.

    Bytecode is kept of the tests alone: that of a module which a test changes within a second is taken for current.
    """
    gc.collect()
    gc.freeze()
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


@pytest.fixture(scope="session", autouse=True)
def _cheap_password_hashes() -> Iterator[None]:
    """Passwords of tests are no secrets: hash them with the least work."""
    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    dummy_hash = hasher.hash("the password of no one")
    with mock.patch.multiple("regrade.ledger.accounts", _HASHER=hasher, _DUMMY_HASH=dummy_hash):
        yield


@pytest.fixture(scope="session", autouse=True)
def _kept_drawing() -> Iterator[None]:
    with kept_drawing():
        yield


@pytest.fixture(scope="session")
def published() -> Path:
    """The folder of published data, ../shared/data seen from the project's root."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        skip(f"the published data are not at {folder}")
    return folder


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """One browser for all tests of pages."""
    from browser import chromium

    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def _pets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pets(tmp_path_factory.mktemp("pets"))


@pytest.fixture
def pets(_pets: Path, tmp_path: Path) -> Path:
    """A workspace of one's own with the test set `pets`, of six images, and its model `first`."""
    return Path(shutil.copytree(_pets, tmp_path / "W"))


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> WrittenReport:
    """A report with every chapter of the small world; read it, leave it alone."""

    def write(folder: Path) -> WrittenReport:
        world = make_world(folder, extra=20)
        add_more(world)
        return world.report("all", original="old", title="All there is")

    return built_once(tmp_path_factory, "world", write)


@pytest.fixture(scope="session")
def report_page(written: WrittenReport) -> Path:
    """Its page."""
    return written.page
