"""Real digits in a color that goes with the class in most training images, and says nothing in the test images."""

import csv
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

import regrade
from regrade.core import ClassSpace
from regrade.tables import Columns
from regrade.workspace import Workspace

SPACE = ClassSpace("halves", ("low", "high"), ("0 to 4", "5 to 9"))
COLORS = ("red", "green")
TRAINING, TEST = 1000, 797
UNUSUAL = 0.04  # share of training images in the color of the other class


def make_colored_digits(folder: Path) -> Workspace:
    """A workspace with ``colored-train`` and ``colored-test``; column ``group`` has class and color of an image."""
    workspace = regrade.init(folder / "W")
    digits = load_digits()
    rng = np.random.default_rng(0)
    order = rng.permutation(TRAINING + TEST)
    for name, chosen, unusual in (
        ("colored-train", order[:TRAINING], UNUSUAL),
        ("colored-test", order[TRAINING:], 0.5),
    ):
        labels = (digits.target[chosen] >= 5).astype(int)
        colors = np.where(rng.random(len(chosen)) < unusual, 1 - labels, labels)
        table = _write(folder / name, digits.images[chosen], labels, colors)
        workspace.testsets.add(name, table, classes=SPACE, columns=Columns(groups=("group",)))
    return workspace


def _write(folder: Path, images: np.ndarray, labels: np.ndarray, colors: np.ndarray) -> Path:
    """Save each image in its color channel, and return the table of all."""
    folder.mkdir(parents=True)
    rows = []
    for number, (image, label, color) in enumerate(zip(images, labels, colors, strict=True)):
        pixels = np.full((8, 8, 3), number % 2, dtype=np.uint8)  # no channel is empty everywhere
        pixels[..., color] = image * 15
        Image.fromarray(pixels).save(folder / f"{number}.png")
        rows.append((f"{number}.png", SPACE.ids[label], f"{SPACE.ids[label]} {COLORS[color]}"))
    with (folder / "images.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("path", "label", "group"), *rows])
    return folder / "images.csv"
