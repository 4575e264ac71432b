"""The twin in onnxruntime is taken where it agrees, and only there."""

import numpy as np
import pytest
from predicting import Toy, colors, noisy

from regrade.core import InputError
from regrade.models import Exported, OutOfMemory
from regrade.predict import EngineOptions, predict, runtime_choice


@pytest.fixture
def store(tmp_path):
    return noisy(tmp_path)


@pytest.fixture
def compared(monkeypatch):
    """What a stand-in for the export was given, and what it answers."""
    calls = {"answer": Exported(None, "it differs"), "given": []}

    def export(model, batch, *, features):
        calls["given"].append((model, batch.shape, features))
        if isinstance(calls["answer"], Exception):
            raise calls["answer"]
        return calls["answer"]

    monkeypatch.setattr(runtime_choice, "as_onnx", export)
    return calls


def test_a_twin_that_agrees_is_run_and_recorded(store, compared):
    twin, model = Toy(), Toy()
    twin.runtime = "faster"
    compared["answer"] = Exported(twin)
    predict(store, model, store.test_set("noise"), EngineOptions(8))
    assert sum(twin.batches) == 40 and model.batches == []
    manifest = store.manifest(store.test_set("noise"), "toy")
    assert manifest.runtime.startswith("faster, images by pillow ") and manifest.runtime_note == ""
    assert compared["given"] == [(model, (16, 3, 8, 8), False)]


def test_features_are_compared_where_they_are_kept(store, compared):
    model = Toy(features=colors)
    predict(store, model, store.test_set("noise"), EngineOptions(8, keep_features=True))
    assert compared["given"] == [(model, (16, 3, 8, 8), True)]


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (Exported(None, "it differs"), "not through onnxruntime: it differs"),
        (Exported(None), ""),
        (InputError("bad"), ""),
        (OutOfMemory(), ""),
        (TypeError("whatever"), ""),
    ],
)
def test_else_the_model_itself_and_why(store, compared, answer, note):
    compared["answer"] = answer
    model = Toy()
    predict(store, model, store.test_set("noise"), EngineOptions(8))
    assert sum(model.batches) == 40
    manifest = store.manifest(store.test_set("noise"), "toy")
    assert manifest.runtime.startswith("toy, images by ") and manifest.runtime_note == note


def test_the_model_stacks_its_own_inputs(store, compared):
    """Inputs that a GPU has made ready are there already: only the model knows how to put them together."""
    model = Toy()
    model.stacked = lambda inputs: np.stack(inputs)[:5]
    source = store.images(store.test_set("noise"))
    runtime_choice.fastest(model, source, runtime_choice.first_images(source), EngineOptions(8))
    assert compared["given"] == [(model, (5, 3, 8, 8), False)]


def test_images_that_cannot_be_read_are_not_compared(store, compared, tmp_path):
    source = store.images(store.test_set("noise"))
    (tmp_path / "images" / source.locations[0]).unlink()
    (tmp_path / "images" / source.locations[5]).write_bytes(b"")
    images = runtime_choice.first_images(source)
    assert list(images) == [*range(1, 16)]
    runtime_choice.fastest(Toy(), source, images, EngineOptions(8))
    assert compared["given"][0][1] == (14, 3, 8, 8)


def test_without_a_image_there_is_nothing_to_compare(store, compared, tmp_path):
    for path in (tmp_path / "images").rglob("*.png"):
        path.write_bytes(b"")
    pair = predict(store, Toy(), store.test_set("noise"), EngineOptions(8, allow_unreadable=1))
    assert len(pair.unreadable) == 40 and compared["given"] == []
