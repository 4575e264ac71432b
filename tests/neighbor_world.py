"""Embeddings of a test set and its training set, as a run with --keep features stores them."""

from dataclasses import replace

import numpy as np

from regrade.core import Predictions
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
