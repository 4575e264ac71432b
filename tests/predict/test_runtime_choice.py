"""The export to onnxruntime is used only if it agrees with the model."""

import numpy as np
import pytest
from predicting import Toy, colors, noisy

from regrade.core import InputError
from regrade.models import OnnxExport, OutOfMemory
from regrade.predict import EngineOptions, predict, runtime_choice


@pytest.fixture
def store(tmp_path):
    return noisy(tmp_path)


@pytest.fixture
def compared(monkeypatch):
    """The arguments of a fake export, and the answer it gives."""
    calls = {"answer": OnnxExport(None, "it differs"), "given": []}

    def export(model, batch, *, features):
        calls["given"].append((model, batch.shape, features))
        if isinstance(calls["answer"], Exception):
            raise calls["answer"]
        return calls["answer"]

    monkeypatch.setattr(runtime_choice, "can_export", lambda _: True)
    monkeypatch.setattr(runtime_choice, "export_to_onnx", export)
    return calls


def test_export_that_agrees_is_run_and_recorded(store, compared):
    exported, model = Toy(), Toy()
    exported.runtime = "faster"
    compared["answer"] = OnnxExport(exported)
    predict(store, model, store.test_set("noise"), EngineOptions(8))
    assert sum(exported.batches) == 40 and model.batches == []
    manifest = store.manifest(store.test_set("noise"), "toy")
    assert manifest.runtime.startswith("faster, images by pillow ") and manifest.runtime_note == ""
    assert compared["given"] == [(model, (16, 3, 8, 8), False)]


def test_features_are_compared_if_they_are_kept(store, compared):
    model = Toy(features=colors)
    predict(store, model, store.test_set("noise"), EngineOptions(8, keep_features=True))
    assert compared["given"] == [(model, (16, 3, 8, 8), True)]


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (OnnxExport(None, "it differs"), "not through onnxruntime: it differs"),
        (OnnxExport(None), ""),
        (InputError("bad"), ""),
        (OutOfMemory(), ""),
        (TypeError("whatever"), ""),
    ],
)
def test_model_itself_is_run_if_the_export_is_rejected(store, compared, answer, note):
    compared["answer"] = answer
    model = Toy()
    predict(store, model, store.test_set("noise"), EngineOptions(8))
    assert sum(model.batches) == 40
    manifest = store.manifest(store.test_set("noise"), "toy")
    assert manifest.runtime.startswith("toy, images by ") and manifest.runtime_note == note


def test_choose_runtime_lets_the_model_stack_its_inputs(store, compared):
    """Inputs may be on the GPU already: only the model knows how to stack them."""
    model = Toy()
    model.stacked = lambda inputs: np.stack(inputs)[:5]
    source = store.images(store.test_set("noise"))
    runtime_choice.choose_runtime(model, source, EngineOptions(8))
    assert compared["given"] == [(model, (5, 3, 8, 8), False)]


def test_unreadable_images_are_not_compared(store, compared, tmp_path):
    source = store.images(store.test_set("noise"))
    (tmp_path / "images" / source.locations[0]).unlink()
    (tmp_path / "images" / source.locations[5]).write_bytes(b"")
    images = runtime_choice.first_images(source)
    assert list(images) == [*range(1, 16)]
    runtime_choice.choose_runtime(Toy(), source, EngineOptions(8), images)
    assert compared["given"][0][1] == (14, 3, 8, 8)


def test_nothing_is_exported_without_a_readable_image(store, compared, tmp_path):
    for path in (tmp_path / "images").rglob("*.png"):
        path.write_bytes(b"")
    pair = predict(store, Toy(), store.test_set("noise"), EngineOptions(8, allow_unreadable=1))
    assert len(pair.unreadable) == 40 and compared["given"] == []


def test_no_image_is_read_for_a_model_that_cannot_be_exported(store, monkeypatch):
    monkeypatch.setattr(runtime_choice, "first_images", lambda _: pytest.fail("images are read"))
    model = Toy()
    choice = runtime_choice.choose_runtime(model, store.images(store.test_set("noise")), EngineOptions(8))
    assert (choice.model, choice.note) == (model, "")
