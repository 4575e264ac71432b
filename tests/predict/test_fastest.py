"""The twin in onnxruntime is taken where it agrees, and only there."""

import pytest
from predicting import Toy, noisy

from regrade.core import InputError
from regrade.models import Exported, OutOfMemory
from regrade.predict import How, fastest, predict


@pytest.fixture
def store(tmp_path):
    return noisy(tmp_path)


@pytest.fixture
def compared(monkeypatch):
    """What a stand-in for the export was given, and what it answers."""
    calls = {"answer": Exported(None, "it differs"), "given": []}

    def export(model, batch):
        calls["given"].append((model, batch.shape))
        if isinstance(calls["answer"], Exception):
            raise calls["answer"]
        return calls["answer"]

    monkeypatch.setattr(fastest, "as_onnx", export)
    return calls


def test_a_twin_that_agrees_is_run_and_recorded(store, compared):
    twin, model = Toy(), Toy()
    twin.runtime = "faster"
    compared["answer"] = Exported(twin)
    predict(store, model, store.test_set("noise"), How())
    assert sum(twin.batches) == 40 and model.batches == []
    assert store.manifest(store.test_set("noise"), "toy").runtime == "faster"
    assert compared["given"] == [(model, (16, 3, 8, 8))]


@pytest.mark.parametrize("answer", [Exported(None, "it differs"), InputError("bad"), OutOfMemory()])
def test_else_the_model_itself(store, compared, answer):
    compared["answer"] = answer
    model = Toy()
    predict(store, model, store.test_set("noise"), How())
    assert sum(model.batches) == 40
    assert store.manifest(store.test_set("noise"), "toy").runtime == "toy"


def test_without_a_picture_there_is_nothing_to_compare(store, compared, tmp_path):
    for path in (tmp_path / "pictures").rglob("*.png"):
        path.write_bytes(b"")
    pair = predict(store, Toy(), store.test_set("noise"), How())
    assert len(pair.unreadable) == 40 and compared["given"] == []
