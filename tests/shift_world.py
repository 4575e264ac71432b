"""Test sets with embeddings of one model, which are shifted or not."""

import numpy as np

from regrade.core import ModelSpec, Predictions
from regrade.store import Manifest, PredictionSource

IMAGES = 60


def add(workspace, folder, name, features, *, prefix="", weights="", classes="cifar-10", start=0):
    """A test set and a model with these embeddings."""
    labels = np.arange(len(features)) % 10
    names = workspace.store.class_spaces.read(classes).names
    lines = ["image,label", *(f"{prefix or name}{row},{names[label]}" for row, label in enumerate(labels, start))]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    workspace.testsets.add(name, folder / f"{name}.csv", classes=classes)
    test_set = workspace.store.test_set(name)
    space = test_set.class_space
    predicted = Predictions("m", name, space.name, test_set.labels[:, None].astype(np.int32), features=features)
    manifest = Manifest(
        ModelSpec("m", space.name, weights_hash=weights), name, test_set.digest, space.name, space.digest,
        len(test_set), 1, predicted.digest, None, False, PredictionSource(), "0", features=features is not None,
    )  # fmt: skip
    workspace.store.add_predictions(test_set, [(predicted, manifest)], space)


def embeddings(seed, *, images=IMAGES, width=4, shift=0.0):
    values = np.random.default_rng(seed).normal(size=(images, width))
    values[:, 0] += shift
    return values.astype(np.float16)
