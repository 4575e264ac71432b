"""Test sets with training sets and embeddings, as a run with --keep features stores them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image
from planted import reencoded, textures

import regrade
from regrade.core import ClassSpace, Predictions
from regrade.store import PredictionSource, manifest_of
from regrade.workspace import Workspace


def add_embeddings(workspace: Workspace, test_set: str, model: str, embeddings, *, predicted=None) -> None:
    """Store embeddings (n, d) with a model's predictions, which are made up (``predicted``, n) if there are none."""
    store, target = workspace.store, workspace.store.test_set(test_set)
    if store.predictions.has(test_set, model):
        predictions = store.predictions.read(target, model)
    else:
        classes = np.zeros(len(target), dtype=np.int32) if predicted is None else np.asarray(predicted, dtype=np.int32)
        predictions = Predictions(model, test_set, target.class_space.name, classes[:, None])
    predictions = replace(predictions, features=np.asarray(embeddings, dtype=np.float16))
    manifest = manifest_of(predictions, target, target.class_space, PredictionSource())
    if store.predictions.has(test_set, model):
        store.replace_predictions(target, predictions, manifest)
    else:
        store.add_predictions(target, [(predictions, manifest)], target.class_space)


CLASSES = ("cat", "dog", "cup")
TEST = {"copied": "cat", "encoded": "dog", "similar": "cup", "distant": "cat"}
TRAINING = {"copied": "cat", "encoded": "cat", "similar": "cup", "first": "dog", "second": "dog"}
EMBEDDINGS = {
    "val": {"copied": (4, 0), "encoded": (0, 4), "similar": (4, 4), "distant": (-4, 1)},
    "train": {"copied": (4, 0), "encoded": (0.125, 4), "similar": (4, 4), "first": (-4, 0), "second": (2, -3)},
}
"""Directions of the images; those of the same name differ by less than the threshold."""


def make_world(root: Path) -> Workspace:
    """``val`` with an image that ``train`` has, too, one that it has as JPEG, and one with a merely similar embedding.

    Images without a label are none; the embeddings are those of the model ``seer``, which also has predictions.
    """
    copied, encoded, *rest = textures(7)
    pixels = {
        "val": {"copied": copied, "encoded": encoded, "similar": rest[0], "distant": rest[1]},
        "train": {"copied": copied, "encoded": reencoded(encoded), "similar": rest[2], "first": rest[3],
                  "second": rest[4]},
    }  # fmt: skip
    workspace = regrade.init(root / "W")
    for name, labels in (("val", TEST), ("train", TRAINING)):
        for image, label in labels.items():
            place = root / name / label
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels[name][image]).save(place / f"{image}.png")
        workspace.testsets.add(name, root / name, classes=ClassSpace("pets", CLASSES))
        ids = workspace.store.test_set(name).ids
        add_embeddings(workspace, name, "seer", [EMBEDDINGS[name][Path(image).stem] for image in ids])
    return workspace


def add_digit_neighbors(workspace: Workspace, model: str = "gamma") -> None:
    """Find the nearest of the reference digits for each digit, by pixels as embeddings of a model."""
    from sklearn.datasets import load_digits

    images = load_digits().images.reshape(-1, 64)
    for name, rows in (("digits", slice(0, 60)), ("reference", slice(100, 220))):
        target, labels = workspace.store.test_set(name), load_digits().target[rows]
        order = np.lexsort((np.arange(len(labels)), labels.astype(str)))  # as the folders list them
        assert np.array_equal(target.labels, labels[order])
        add_embeddings(workspace, name, model, images[rows][order])
    workspace.testsets.register_training_set("digits", "reference")
    workspace.neighbors("digits")
