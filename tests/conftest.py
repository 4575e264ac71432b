"""Fixtures and hooks for all tests."""

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

from regrade.models import gpu_names
from regrade.workspace import WrittenReport

if TYPE_CHECKING:
    from playwright.sync_api import Browser

if not gpu_names():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # kernels run in Python, on the CPU

hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")  # the time per example depends on the load of the machine


def pytest_configure(config: pytest.Config) -> None:
    """With several workers, give each one thread: more threads than cores would only wait for each other."""
    if config.getoption("numprocesses", None):
        os.environ.setdefault("OMP_NUM_THREADS", "1")


_SLOWEST = (
    "demo",
    "reports",
    "app",
    "predict",
    "cli",
    "ledger",
    "models",
)  # folders ordered by the run time of their modules


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest folders first, so that no worker is left with a slow module at the end."""
    order = {name: rank for rank, name in enumerate(_SLOWEST)}
    items.sort(key=lambda item: order.get(item.path.parent.name, len(order)))


def pytest_collection_finish() -> None:
    """Exclude objects created by collection from garbage collection, which would traverse them repeatedly.

    Bytecode is not written from here on: for a module that a test changes twice within a second it would be stale.
    """
    gc.collect()
    gc.freeze()
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


@pytest.fixture(scope="session", autouse=True)
def _cheap_password_hashes() -> Iterator[None]:
    """Hash the passwords of tests with the least work; they are not secret."""
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
    """The folder of published data, ../shared/data relative to the project's root."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        skip(f"the published data is not at {folder}")
    return folder


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """One browser for all tests of pages."""
    from browser import chromium

    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def _pets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_pets(tmp_path_factory.mktemp("pets"))


@pytest.fixture
def pets(_pets: Path, tmp_path: Path) -> Path:
    """A fresh workspace with the test set `pets` of six images and its model `first`."""
    return Path(shutil.copytree(_pets, tmp_path / "W"))


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> WrittenReport:
    """A report with every chapter, shared by all tests: read only."""

    def write(folder: Path) -> WrittenReport:
        world = make_world(folder, extra=20)
        add_more(world)
        return world.report("all", original="old", title="All there is")

    return built_once(tmp_path_factory, "world", write)


@pytest.fixture(scope="session")
def report_page(written: WrittenReport) -> Path:
    """The page of the shared report."""
    return written.page
