"""All predictors store the same predictions."""

from dataclasses import replace

import numpy as np
import pytest
from predicting import Toy, colors, failing, noisy

from regrade.core import InputError, ModelError, StoreError
from regrade.models import OnnxExport, OutOfMemory
from regrade.predict import EngineOptions, LocalPredictor, Predictor, predict, predict_with, predictor

SMALL = EngineOptions(batch=4, part_size=8, keep_scores=True)


@pytest.fixture
def store(tmp_path):
    return noisy(tmp_path)


def local_predictor(store, model, options=SMALL):
    test_set = store.test_set("noise")
    return LocalPredictor(model, test_set.ids, store.images.read(test_set), options)


class Shuffled(Predictor):
    """A predictor that gives the parts from the last to the first, as modified by ``change``."""

    def __init__(self, predictor, change=lambda parts: parts) -> None:
        self.predictor, self.change = predictor, change
        self.metadata = predictor.metadata
        self.requests = []

    note = "shuffled"

    def find_batch_size(self):
        return 3

    def parts(self, ranges, *, batch, progress):
        self.requests.append((tuple(ranges), batch))
        yield from self.change(list(self.predictor.parts(ranges[::-1], batch=batch, progress=progress)))


def stored(store) -> dict[str, bytes]:
    folder = store.predictions.path("noise", "toy")
    return {name: (folder / name).read_bytes() for name in ("topk.parquet", "scores.npy")}


class TestLocalPredictor:
    def test_local_predictor_chooses_the_runtime_once(self, store, monkeypatch):
        compared = []
        differing = OnnxExport(None, "it differs")
        monkeypatch.setattr(predictor, "can_export", lambda _: True)
        monkeypatch.setattr(predictor, "export_to_onnx", lambda *_, **__: compared.append(1) or differing)
        model = Toy()
        local = local_predictor(store, model)
        assert compared == [1]
        assert local.metadata.runtime.startswith("toy, images by pillow ")
        assert local.note == "not through onnxruntime: it differs"
        assert local.find_batch_size() == 4
        assert compared == [1] and model.batches == []

    def test_parts_come_in_the_requested_order(self, store):
        advances, model = [], Toy()
        ranges = [range(8, 16), range(0, 8), range(32, 40)]
        parts = list(local_predictor(store, model).parts(ranges, batch=5, progress=advances.append))
        assert [(part.start, len(part)) for part in parts] == [(8, 8), (0, 8), (32, 8)]
        assert model.batches == advances == [5, 3] * 3


class TestPredictWith:
    def test_stored_bytes_do_not_depend_on_the_order_of_parts(self, store, tmp_path):
        plain = noisy(tmp_path / "other")
        predict(plain, Toy(), plain.test_set("noise"), SMALL)
        shuffled = Shuffled(local_predictor(store, Toy()))
        pair = predict_with(lambda _: shuffled, Toy().metadata, store, store.test_set("noise"), SMALL)
        assert (pair.examples, pair.resumed) == (40, 0)
        assert stored(store) == stored(plain)
        assert store.predictions.manifest("noise", "toy").runtime_note == "shuffled"

    def test_only_missing_parts_are_requested_with_the_found_batch_size(self, store):
        test_set = store.test_set("noise")
        with pytest.raises(ModelError):
            predict(store, failing(6), test_set, SMALL)
        shuffled = Shuffled(local_predictor(store, Toy()))
        predict_with(lambda _: shuffled, Toy().metadata, store, test_set, replace(SMALL, batch=None))
        assert shuffled.requests == [((range(24, 32), range(32, 40)), 3)]

    @pytest.mark.parametrize("change", [lambda parts: parts[1:], lambda parts: parts[:-1], lambda _: []])
    def test_missing_part_is_an_error(self, store, change):
        shuffled = Shuffled(local_predictor(store, Toy()), change)
        with pytest.raises(StoreError, match="do not contain every example exactly once"):
            predict_with(lambda _: shuffled, Toy().metadata, store, store.test_set("noise"), SMALL)
        assert store.predictions.model_names("noise") == ()

    def test_repeated_part_counts_once(self, store, tmp_path):
        plain = noisy(tmp_path / "other")
        predict(plain, Toy(), plain.test_set("noise"), SMALL)
        shuffled = Shuffled(local_predictor(store, Toy()), lambda parts: parts + parts[2:])
        predict_with(lambda _: shuffled, Toy().metadata, store, store.test_set("noise"), SMALL)
        assert stored(store) == stored(plain)

    def test_predictor_is_not_made_for_stored_predictions(self, store):
        predict(store, Toy(), store.test_set("noise"), SMALL)
        pair = predict_with(
            lambda _: pytest.fail("nothing is computed"), Toy().metadata, store, store.test_set("noise"), SMALL
        )
        assert pair.already


@pytest.fixture
def compared(monkeypatch):
    """The arguments of a fake export, and the answer it gives."""
    calls = {"answer": OnnxExport(None, "it differs"), "given": []}

    def export(model, batch, *, features):
        calls["given"].append((model, batch.shape, features))
        if isinstance(calls["answer"], Exception):
            raise calls["answer"]
        return calls["answer"]

    monkeypatch.setattr(predictor, "can_export", lambda _: True)
    monkeypatch.setattr(predictor, "export_to_onnx", export)
    return calls


def test_export_that_agrees_is_run_and_recorded(store, compared):
    exported, model = Toy(), Toy()
    exported.runtime = "faster"
    compared["answer"] = OnnxExport(exported)
    predict(store, model, store.test_set("noise"), EngineOptions(8))
    assert sum(exported.batches) == 40 and model.batches == []
    manifest = store.predictions.manifest("noise", "toy")
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
    manifest = store.predictions.manifest("noise", "toy")
    assert manifest.runtime.startswith("toy, images by ") and manifest.runtime_note == note


def test_choose_runtime_lets_the_model_stack_its_inputs(store, compared):
    """Inputs may be on the GPU already: only the model knows how to stack them."""
    model = Toy()
    model.stacked = lambda inputs: np.stack(inputs)[:5]
    source = store.images.read(store.test_set("noise"))
    predictor.choose_runtime(model, source, EngineOptions(8))
    assert compared["given"] == [(model, (5, 3, 8, 8), False)]


def test_unreadable_images_are_not_compared(store, compared, tmp_path):
    source = store.images.read(store.test_set("noise"))
    (tmp_path / "images" / source.locations[0]).unlink()
    (tmp_path / "images" / source.locations[5]).write_bytes(b"")
    images = predictor.first_images(source)
    assert list(images) == [*range(1, 16)]
    predictor.choose_runtime(Toy(), source, EngineOptions(8), images)
    assert compared["given"][0][1] == (14, 3, 8, 8)


def test_nothing_is_exported_without_a_readable_image(store, compared, tmp_path):
    for path in (tmp_path / "images").rglob("*.png"):
        path.write_bytes(b"")
    pair = predict(store, Toy(), store.test_set("noise"), EngineOptions(8, allow_unreadable=1))
    assert len(pair.unreadable) == 40 and compared["given"] == []


def test_no_image_is_read_for_a_model_that_cannot_be_exported(store, monkeypatch):
    monkeypatch.setattr(predictor, "first_images", lambda _: pytest.fail("images are read"))
    model = Toy()
    choice = predictor.choose_runtime(model, store.images.read(store.test_set("noise")), EngineOptions(8))
    assert (choice.model, choice.note) == (model, "")
