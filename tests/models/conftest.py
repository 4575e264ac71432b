"""Photographs, small networks and libraries for the tests of models."""

import importlib
import importlib.util
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from skipping import skip

from regrade.classes import digits
from regrade.core import Preprocessing
from regrade.models import Settings, preprocess

SMALL = Preprocessing(8, 8, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
LIBRARIES = []  # a torch library exists as long as its object


@dataclass(frozen=True)
class Photographs:
    images: list[Image.Image]
    labels: np.ndarray

    def batch(self, preprocessing):
        return np.stack([preprocess(image, preprocessing) for image in self.images])


@pytest.fixture(scope="session")
def photographs() -> Photographs:
    """The 20 ImageNet photographs that foolbox ships; the class index ends each file's name."""
    spec = importlib.util.find_spec("foolbox")
    if spec is None:
        skip("foolbox, which ships 20 ImageNet photographs, is not installed")
    files = sorted(Path(next(iter(spec.submodule_search_locations)), "data").glob("imagenet_*.jpg"))
    assert len(files) == 20
    labels = np.array([int(file.stem.rpartition("_")[2]) for file in files])
    return Photographs([Image.open(file).convert("RGB") for file in files], labels)


@pytest.fixture
def settings() -> Settings:
    """Ten digits, color images of 8 x 8."""
    return Settings(class_space=digits(), preprocessing=SMALL)


@pytest.fixture
def batch() -> np.ndarray:
    """Seven inputs for a model of the settings."""
    return np.random.default_rng(1).standard_normal((7, 3, 8, 8), dtype=np.float32)


@pytest.fixture
def user_module(tmp_path, monkeypatch):
    """Write a user's Python file and return its path."""

    def written(text: str, name: str = "mine.py") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    before = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    yield written
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture(scope="session")
def library():
    """Import an optional library, or skip the test; missing operators of torchvision are declared."""
    return imported


def imported(name: str):
    if importlib.util.find_spec(name) is None:
        skip(f"{name} is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if name != "torch" and importlib.util.find_spec("torchvision") is not None:
                import_torchvision()
            return importlib.import_module(name)
        except Exception as error:
            skip(f"{name} is installed but cannot be imported: {str(error).partition(chr(10))[0]}")


def import_torchvision():
    """Import torchvision; next to a CPU build of torch, a CUDA build lacks two operators, which are declared here."""
    try:
        importlib.import_module("torchvision")
    except RuntimeError:
        import torch

        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        LIBRARIES.append(torch.library.Library("torchvision", "DEF"))
        for operator in ("nms", "qnms"):
            LIBRARIES[-1].define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        importlib.import_module("torchvision")
