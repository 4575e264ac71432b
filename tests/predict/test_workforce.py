"""Who computes does not matter: what is stored is the same."""

from dataclasses import replace

import pytest
from predicting import Toy, failing, noisy

from regrade.core import ModelError, StoreError
from regrade.models import Exported
from regrade.predict import EngineOptions, ThisProcess, Workforce, predict, predict_by, runtime_choice

SMALL = EngineOptions(batch=4, part_size=8, keep_scores=True)


@pytest.fixture
def store(tmp_path):
    return noisy(tmp_path)


def this_process(store, model, how=SMALL):
    test_set = store.test_set("noise")
    return ThisProcess(model, test_set.ids, store.images(test_set), how)


class Shuffled(Workforce):
    """Others, who give the parts from the last to the first, as ``change`` leaves them."""

    def __init__(self, behind, change=lambda parts: parts) -> None:
        self.behind, self.change = behind, change
        self.asked = []

    @property
    def card(self):
        return self.behind.card

    @property
    def note(self):
        return "by others"

    def find_batch(self):
        return 3

    def parts(self, wanted, *, batch, progress):
        self.asked.append((tuple(wanted), batch))
        yield from self.change(list(self.behind.parts(wanted[::-1], batch=batch, progress=progress)))


def by(others):
    return lambda _: others


def stored(store) -> dict[str, bytes]:
    folder = store.prediction_folder("noise", "toy")
    return {name: (folder / name).read_bytes() for name in ("topk.parquet", "scores.npy")}


class TestThisProcess:
    def test_a_model_is_left_alone_until_it_is_needed(self, store, monkeypatch):
        compared = []
        differing = Exported(None, "it differs")
        monkeypatch.setattr(runtime_choice, "as_onnx", lambda *_, **__: compared.append(1) or differing)
        model = Toy()
        workforce = this_process(store, model)
        assert compared == []
        assert workforce.card.runtime.startswith("toy, images by pillow ")
        assert workforce.note == "not through onnxruntime: it differs"
        assert workforce.find_batch() == 4
        assert compared == [1] and model.batches == []

    def test_parts_come_as_they_are_wanted(self, store):
        told, model = [], Toy()
        wanted = [range(8, 16), range(0, 8), range(32, 40)]
        parts = list(this_process(store, model).parts(wanted, batch=5, progress=told.append))
        assert [(part.start, len(part)) for part in parts] == [(8, 8), (0, 8), (32, 8)]
        assert model.batches == told == [5, 3] * 3


class TestOthers:
    def test_the_same_bytes_in_whatever_order_parts_come(self, store, tmp_path):
        plain = noisy(tmp_path / "other")
        predict(plain, Toy(), plain.test_set("noise"), SMALL)
        others = Shuffled(this_process(store, Toy()))
        pair = predict_by(by(others), Toy().card, store, store.test_set("noise"), SMALL)
        assert (pair.examples, pair.resumed) == (40, 0)
        assert stored(store) == stored(plain)
        assert store.manifest(store.test_set("noise"), "toy").runtime_note == "by others"

    def test_they_are_asked_for_what_is_missing_and_find_the_batch(self, store):
        test_set = store.test_set("noise")
        with pytest.raises(ModelError):
            predict(store, failing(6), test_set, SMALL)
        others = Shuffled(this_process(store, Toy()))
        predict_by(by(others), Toy().card, store, test_set, replace(SMALL, batch=None))
        assert others.asked == [((range(24, 32), range(32, 40)), 3)]

    @pytest.mark.parametrize("change", [lambda parts: parts[1:], lambda parts: parts[:-1], lambda _: []])
    def test_a_part_that_never_comes_is_told(self, store, change):
        others = Shuffled(this_process(store, Toy()), change)
        with pytest.raises(StoreError, match="do not contain every example exactly once"):
            predict_by(by(others), Toy().card, store, store.test_set("noise"), SMALL)
        assert store.model_names("noise") == ()

    def test_a_part_that_comes_twice_counts_once(self, store, tmp_path):
        plain = noisy(tmp_path / "other")
        predict(plain, Toy(), plain.test_set("noise"), SMALL)
        others = Shuffled(this_process(store, Toy()), lambda parts: parts + parts[2:])
        predict_by(by(others), Toy().card, store, store.test_set("noise"), SMALL)
        assert stored(store) == stored(plain)

    def test_what_is_stored_needs_no_one(self, store):
        predict(store, Toy(), store.test_set("noise"), SMALL)
        pair = predict_by(lambda _: pytest.fail("no one is needed"), Toy().card, store, store.test_set("noise"), SMALL)
        assert pair.already
