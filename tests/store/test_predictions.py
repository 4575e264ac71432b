"""Folders of predictions are read unchanged, with or without features, and old ones stay readable."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from regrade.core import ClassSpace, DamagedFile, FormatError, ModelSpec, Predictions, ScoreKind, TestSet
from regrade.store import Manifest, PredictionSource, Store
from regrade.store.array_file import StoredArray
from regrade.store.checked_files import checked_json, read_checked_json

SPACE = ClassSpace("toys", ("ball", "doll", "car"))
SET = TestSet("shelf", SPACE, ("a", "b", "c"), np.array([0, 1, 2], dtype=np.int32))
BEST = np.array([[2, 0], [1, 2], [-1, -1]])
SCORES = np.array([[0.7, 0.2], [0.6, 0.3], [np.nan, np.nan]], dtype=np.float32)
FEATURES = np.array([[1.5, -2, 0.1, 7], [0, 65504, -0.5, 3], [np.nan] * 4], dtype=np.float32)
SINCE = ("runtime", "runtime_note", "features", "unreadable")  # fields that the first manifests did not have


@pytest.fixture
def store(tmp_path) -> Store:
    return Store.create(tmp_path / "W")


def add(store, features=None, **changes):
    """Store the predictions of ``m``, and return their folder."""
    predictions = Predictions("m", "shelf", "toys", BEST, SCORES, None, ScoreKind.PROBABILITIES, features)
    fields = {
        "model": ModelSpec("m", "toys"),
        "test_set": "shelf",
        "test_set_digest": SET.digest,
        "class_space": "toys",
        "class_space_digest": SPACE.digest,
        "examples": 3,
        "k": 2,
        "digest": predictions.digest,
        "score_kind": "probabilities",
        "full_scores": False,
        "source": PredictionSource(),
        "regrade": "0",
        "features": features is not None,
    }
    store.add_predictions(SET, [(predictions, Manifest(**fields | changes))], SPACE)
    return store.predictions.path("shelf", "m")


def test_features_are_stored_in_half_precision_and_read_as_a_memory_map(store):
    folder = add(store, FEATURES)
    features = store.predictions.read(SET, "m").features
    assert isinstance(features, StoredArray)
    np.testing.assert_array_equal(features, FEATURES.astype(np.float16))
    np.testing.assert_array_equal(np.load(folder / "features.npy"), features)
    assert json.loads((folder / "manifest.json").read_text())["features"] is True


def test_stored_array_supports_operators_functions_and_methods(store):
    add(store, FEATURES)
    features, expected = store.predictions.read(SET, "m").features, FEATURES.astype(np.float16)
    assert ((features > 0) == (expected > 0)).all()
    np.testing.assert_array_equal(features @ np.ones(features.shape[1]), expected.sum(axis=1, dtype=float))
    np.testing.assert_array_equal(np.abs(features), np.abs(expected))
    np.testing.assert_array_equal(features.astype(np.float32).argmax(axis=1), expected.argmax(axis=1))
    assert not hasattr(features, "no_such_method")


def test_many_examples_are_written_in_row_groups(store):
    size = 40_000
    rng = np.random.default_rng(0)
    many = TestSet("many", SPACE, tuple(map(str, range(size))), np.zeros(size, dtype=np.int32))
    best, scores = rng.integers(0, 3, (size, 2)), rng.random((size, 2), dtype=np.float32)
    predictions = Predictions("m", "many", "toys", best, scores, None, ScoreKind.PROBABILITIES)
    fields = (ModelSpec("m", "toys"), "many", many.digest, "toys", SPACE.digest, size, 2, predictions.digest)
    manifest = Manifest(*fields, "probabilities", False, PredictionSource(), "0")
    store.add_predictions(many, [(predictions, manifest)], SPACE)
    stored = store.predictions.read(store.test_set("many"), "m")
    np.testing.assert_array_equal(stored.classes, best)
    np.testing.assert_array_equal(stored.scores, scores)
    assert stored.digest == predictions.digest
    file = pq.ParquetFile(store.predictions.path("many", "m") / "topk.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [16384, 16384, 7232]
    assert file.read(["example"])["example"].to_pylist() == list(many.ids)


def test_manifest_is_read_once_per_load(store, monkeypatch):
    add(store)
    read, reads = Path.read_bytes, []

    def counted(path: Path) -> bytes:
        reads.append(path.name)
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", counted)
    store.predictions.read(SET, "m")
    assert reads.count("manifest.json") == 1


def test_predictions_without_features_have_no_feature_file(store):
    folder = add(store)
    assert not (folder / "features.npy").exists()
    assert store.predictions.read(SET, "m").features is None
    assert store.predictions.manifest(SET.name, "m").features is False


def test_manifest_keeps_the_runtime_note(store):
    add(store, runtime="torch 2", runtime_note="not through onnxruntime: it differs")
    manifest = store.predictions.manifest(SET.name, "m")
    assert (manifest.runtime, manifest.runtime_note) == ("torch 2", "not through onnxruntime: it differs")


def test_read_manifest_accepts_missing_new_fields(store):
    path = add(store) / "manifest.json"
    old = read_checked_json(path)
    path.write_bytes(checked_json({name: value for name, value in old.items() if name not in SINCE}))
    manifest = store.predictions.manifest(SET.name, "m")
    assert (manifest.runtime, manifest.runtime_note, manifest.features, manifest.unreadable) == ("", "", False, {})
    predictions = store.predictions.read(SET, "m")
    assert predictions.features is None and predictions.digest == manifest.digest


def test_read_manifest_rejects_unknown_fields(store):
    path = add(store) / "manifest.json"
    path.write_bytes(checked_json(read_checked_json(path) | {"mood": "good"}))
    with pytest.raises(FormatError, match=r"manifest\.json cannot be read: .*mood"):
        store.predictions.manifest(SET.name, "m")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), r"features\.npy is damaged \(.*it is missing"),
        (lambda path: path.write_bytes(b"no array"), r"features\.npy is damaged \(8 bytes instead of 152"),
        (lambda path: path.write_bytes(b""), r"features\.npy is damaged"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), r"damaged \(151 bytes instead of 152"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1] + b"x"), "does not match its checksum"),
        (lambda path: np.save(path, FEATURES[:2]), r"features\.npy is damaged"),
    ],
    ids=["gone", "none", "empty", "cut", "flipped", "short"],
)
def test_predictions_name_damaged_features(store, damage, message):
    damage(add(store, FEATURES) / "features.npy")
    with pytest.raises(DamagedFile, match=message):
        np.asarray(store.predictions.read(SET, "m").features)
