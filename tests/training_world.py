"""Small images that can be learned, stored as a training set and a test set."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image

import regrade
from regrade.core import ClassSpace, Preprocessing
from regrade.models.trained_model import network_files, read_network_file
from regrade.workspace import Workspace

PETS = ClassSpace("pets", ("cat", "dog", "owl"))
SIZE = 6
PREPROCESSING = Preprocessing(SIZE, SIZE, mean=(0.5, 0.5, 0.5), std=(0.25, 0.25, 0.25))
SMALL = {"network": "cnn", "epochs": 2, "batch": 8, "learning_rate": 0.05, "crop": 1, "jobs": 1}
"""Settings of a training that takes a second."""


def write_images(folder: Path, *, per_class: int, seed: int, classes: tuple[str, ...] = PETS.ids) -> Path:
    """Noisy images of a bright row each, whose place is the class, in class folders."""
    rng = np.random.default_rng(seed)
    for number, name in enumerate(classes):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for image in range(per_class):
            pixels = rng.integers(0, 120, (SIZE, SIZE, 3), dtype=np.uint8)
            pixels[2 * number] += 100
            Image.fromarray(pixels).save(folder / name / f"{image}.png")
    return folder


def add_set(workspace: Workspace, name: str, folder: Path, *, per_class: int, seed: int) -> None:
    """Write images and add them as a test set."""
    workspace.testsets.add(name, write_images(folder / name, per_class=per_class, seed=seed), classes=PETS)


def make_training_world(folder: Path) -> Workspace:
    """A workspace with the sets ``pets-train`` of 24 images and ``pets-val`` of 9."""
    workspace = regrade.init(folder / "W")
    add_set(workspace, "pets-train", folder, per_class=8, seed=1)
    add_set(workspace, "pets-val", folder, per_class=3, seed=2)
    return workspace


def weights(workspace: Workspace, name: str, seed: int) -> dict[str, torch.Tensor]:
    """The weights of a member after its last epoch."""
    files = network_files(workspace.store.root / "training" / name / f"seed-{seed}")
    return read_network_file(list(files.values())[-1])[1]["network"]


def same_weights(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    """Whether two networks have the same weights, bit for bit."""
    return first.keys() == second.keys() and all(torch.equal(first[key], second[key]) for key in first)
