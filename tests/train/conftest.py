"""One thread for torch, and a small world to train in."""

import shutil
from collections.abc import Iterator

import pytest
import torch
from training_world import make_training_world

import regrade
from regrade.workspace import Workspace


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def _training_world(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return make_training_world(tmp_path_factory.mktemp("training"))


@pytest.fixture
def workspace(_training_world: Workspace, tmp_path) -> Workspace:
    """A fresh workspace with a training set of 24 images and a test set of 9; the images are shared."""
    return regrade.open(shutil.copytree(_training_world.store.root, tmp_path / "W"))
