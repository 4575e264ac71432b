"""Stored embeddings of a base model with six classes on homes of three classes, which it knows from one region only."""

from dataclasses import replace
from pathlib import Path

import numpy as np

import regrade
from regrade.core import ClassMap, ClassSpace, MapRule, Predictions, ScoreKind, TestSet
from regrade.metrics import top_k_classes
from regrade.store import PredictionSource, manifest_of
from regrade.workspace import Workspace

BASE = ClassSpace("base-classes", ("bed", "sofa", "stove", "sink", "car", "dog"))
HOMES = ClassSpace("homes", ("furniture", "cooking", "water"))
MAP = ClassMap(BASE, HOMES, ((0, 1), (2,), (3,)), MapRule.ANY_IN_TOP_K)
MODEL = "imported-net"
WIDTH = 12


def make_head_world(folder: Path) -> Workspace:
    """A workspace with ``homes-train``, ``homes-test`` and ``base-val``, and embeddings of `MODEL` on all of them."""
    workspace = regrade.init(folder)
    for name, size, seed in (("homes-train", 240, 1), ("homes-test", 180, 2)):
        add_homes(workspace, name, size, seed)
    rng = np.random.default_rng(3)
    labels = np.arange(120) % 6
    test_set = TestSet("base-val", BASE, tuple(f"val-{i}" for i in range(120)), labels)
    workspace.store.add_test_set(test_set)
    add_embeddings(workspace, test_set, embeddings_of(labels, np.zeros(120), rng))
    return workspace


def add_homes(
    workspace: Workspace, name: str, size: int, seed: int, *, class_map: ClassMap | None = MAP, **fields
) -> TestSet:
    """Store a set of homes with columns ``region`` and ``household``, and the embeddings of `MODEL`."""
    rng = np.random.default_rng(seed)
    objects = rng.choice(4, size)  # bed, sofa, stove, sink
    labels = np.array([0, 0, 1, 2])[objects]
    south = rng.random(size) < 0.3
    columns = {
        "region": tuple(np.where(south, "south", "north").tolist()),
        "household": tuple(f"{name}-{i // 4}" for i in range(size)),
    }
    ids = tuple(f"{name}-{i}" for i in range(size))
    test_set = TestSet(name, HOMES, ids, labels, columns)
    test_set = replace(test_set, **fields)
    workspace.store.add_test_set(test_set, class_map)
    add_embeddings(workspace, test_set, embeddings_of(objects, south, rng))
    return test_set


def embeddings_of(objects: np.ndarray, south: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A direction per class; in the south objects look different: half of it is in other directions."""
    angles = np.asarray(south, dtype=float)[:, None]
    seen = np.zeros((len(objects), WIDTH))
    seen[np.arange(len(objects)), objects] = 1.0
    unusual = np.roll(seen, 6, axis=1)
    return 4 * ((1 - 0.8 * angles) * seen + angles * unusual) + rng.standard_normal((len(objects), WIDTH))


def add_embeddings(
    workspace: Workspace, test_set: TestSet, features: np.ndarray | None, *, model: str = MODEL, **fields
) -> None:
    """Store predictions of the base model, whose last layer reads the first six coordinates."""
    own = np.zeros((len(test_set), WIDTH)) if features is None else features
    scores = np.asarray(own)[:, :6].astype(np.float32)
    values = {
        "classes": top_k_classes(np.nan_to_num(scores), k=5),
        "scores": -np.sort(-scores, axis=1)[:, :5],
        "full_scores": scores.astype(np.float16),
        "score_kind": ScoreKind.LOGITS,
        "features": None if features is None else features.astype(np.float16),
    }
    predictions = Predictions(model, test_set.name, BASE.name, **{**values, **fields})
    manifest = manifest_of(predictions, test_set, BASE, PredictionSource())
    workspace.store.add_predictions(test_set, [(predictions, manifest)], BASE)
