"""Predicting one model on one test set: only missing examples are computed, and only matching parts are reused."""

import importlib.util
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial
from importlib import metadata
from itertools import count
from pathlib import Path

import numpy as np
import PIL
import pytest
from predicting import CIFAR, PREPROCESSING, Toy, failing, linear, noisy
from running import HANG_LIMIT, snapshot
from skipping import skip

from benchmarks.kills import run_killed
from regrade.core import AlreadyStored, ClassSpace, FormatError, InputError, ModelError, StoreError
from regrade.models import Resizer
from regrade.predict import EngineOptions, engine, predict
from regrade.store import Store, checked_json, read_checked_json
from regrade.workspace import Workspace

SMALL = EngineOptions(batch=4, part_size=8, keep_scores=True)
RUNTIME = f"toy, images by pillow {PIL.__version__}"


@pytest.fixture
def store(tmp_path):
    return noisy(tmp_path)


def stored(store, model="toy") -> dict[str, bytes]:
    folder = store.predictions.path("noise", model)
    return {name: (folder / name).read_bytes() for name in ("topk.parquet", "scores.npy")}


def parts(store) -> list[Path]:
    return sorted(store.root.glob(".partial/*/*/*/*.part"))


def test_predict_stores_predictions_with_their_provenance(store):
    test_set = store.test_set("noise")
    calls = []
    pair = predict(
        store, Toy(), test_set, SMALL, progress=lambda what, left: calls.append((what, left)) or calls.append
    )
    assert (pair.model, pair.test_set, pair.examples, pair.resumed, pair.already) == ("toy", "noise", 40, 0, False)
    assert calls == [("toy on noise", 40)] + [4] * 10
    manifest = store.predictions.manifest(test_set.name, "toy")
    assert (manifest.runtime, manifest.runtime_note, manifest.model) == (RUNTIME, "", Toy().spec)
    assert (manifest.unreadable, manifest.features) == ({}, False)
    assert (manifest.examples, manifest.k, manifest.full_scores, manifest.score_kind) == (40, 5, True, "logits")
    assert store.predictions.read(test_set, "toy").digest == manifest.digest
    assert not (store.root / ".partial").exists()


def test_predict_again_computes_nothing(store):
    test_set = store.test_set("noise")
    predict(store, Toy(), test_set, SMALL)
    before, model = snapshot(store.root), Toy()
    again = predict(store, model, test_set, SMALL)
    assert again.already and again.resumed == 40 and again.rate is None and again.runtime == RUNTIME
    assert model.batches == [] and snapshot(store.root) == before


def test_predict_reuses_predictions_whose_crop_mode_was_spelled_differently(store):
    test_set = store.test_set("noise")
    predict(store, Toy(), test_set, SMALL)
    path = store.predictions.path("noise", "toy") / "manifest.json"
    content = read_checked_json(path)
    mode, _, values = content["model"]["preprocessing"].partition(":")
    content["model"]["preprocessing"] = f"{mode.replace('center', 'middle')}:{values}"
    path.write_bytes(checked_json(content))
    assert predict(store, Toy(), test_set, SMALL).already


@pytest.mark.parametrize(
    ("model", "options", "reason"),
    [
        (Toy(weights="2"), SMALL, "other weights"),
        (Toy(preprocessing=replace(PREPROCESSING, size=7)), SMALL, "another preprocessing"),
        (Toy(space=CIFAR.subset("ten", range(9, -1, -1))), SMALL, "other classes"),
        (Toy(), replace(SMALL, keep_scores=True), "only the best classes"),
    ],
)
def test_predict_rejects_other_predictions_under_the_same_name(store, model, options, reason):
    predict(store, Toy(), store.test_set("noise"), replace(SMALL, keep_scores=False))
    with pytest.raises(
        AlreadyStored, match=rf"toy on noise are stored with .*{reason}.*: run regrade models remove toy -t"
    ):
        predict(store, model, store.test_set("noise"), options)
    assert model.batches == []


class TestResume:
    @pytest.mark.parametrize("after", [0, 1, 2, 3, 9])
    def test_same_bytes_as_an_undisturbed_run(self, store, tmp_path, after):
        test_set = store.test_set("noise")
        undisturbed = noisy(tmp_path / "undisturbed")
        predict(undisturbed, Toy(), test_set, SMALL)
        with pytest.raises(ModelError, match="the plug was pulled"):
            predict(store, failing(after), test_set, SMALL)
        assert len(parts(store)) == after // 2
        again = predict(store, Toy(), test_set, replace(SMALL, workers=1))
        assert again.resumed == 8 * (after // 2)
        assert stored(store) == stored(undisturbed)
        assert not (store.root / ".partial").exists()

    def test_resumed_run_uses_any_remaining_parts(self, store, tmp_path):
        test_set = store.test_set("noise")
        undisturbed = noisy(tmp_path / "undisturbed")
        predict(undisturbed, Toy(), test_set, SMALL)
        with pytest.raises(ModelError):
            predict(store, failing(9), test_set, SMALL)
        for path in parts(store)[::2]:
            path.unlink()
        assert predict(store, Toy(), test_set, SMALL).resumed == 16
        assert stored(store) == stored(undisturbed)

    @pytest.mark.parametrize(
        "model",
        [Toy(weights="2"), Toy(preprocessing=replace(PREPROCESSING, mean=(0.50001, 0.5, 0.5)))],
        ids=["weights", "preprocessing"],
    )
    def test_parts_of_another_model_version_are_not_used(self, store, model):
        test_set = store.test_set("noise")
        with pytest.raises(ModelError):
            predict(store, failing(6, lambda batch: linear(batch, seed=1)), test_set, SMALL)
        assert len(parts(store)) == 3
        assert predict(store, model, test_set, SMALL).resumed == 0
        assert sum(model.batches) == 40
        assert not (store.root / ".partial").exists()

    def test_parts_of_another_resizer_are_not_used(self, store):
        if importlib.util.find_spec("torch") is None:
            skip("torch is not installed")
        test_set = store.test_set("noise")
        with pytest.raises(ModelError):
            predict(store, failing(6), test_set, SMALL)
        pair = predict(store, Toy(), test_set, replace(SMALL, resizer=Resizer.TORCH))
        assert pair.resumed == 0 and pair.runtime == f"toy, images by torch {metadata.version('torch')}"

    def test_parts_of_images_at_another_location_are_not_used(self, store, tmp_path):
        test_set = store.test_set("noise")
        with pytest.raises(ModelError):
            predict(store, failing(6), test_set, SMALL)
        (store.root / "images" / "noise.parquet").unlink()
        shutil.copytree(tmp_path / "images", tmp_path / "copies")
        Workspace(store).testsets.add("noise", tmp_path / "copies", layout="index")
        assert predict(store, Toy(), test_set, SMALL).resumed == 0

    def test_damaged_part_is_an_error(self, store):
        test_set = store.test_set("noise")
        with pytest.raises(ModelError):
            predict(store, failing(6), test_set, SMALL)
        parts(store)[1].write_bytes(b"")
        model = Toy()
        with pytest.raises(FormatError, match=r"\.part is damaged: remove it and run again"):
            predict(store, model, test_set, SMALL)
        assert model.batches == []
        parts(store)[1].unlink()
        assert predict(store, model, test_set, SMALL).resumed == 16


class TestFoundBatchSize:
    """A batch size that is not given is found once: a resumed run keeps it."""

    UNSET = replace(SMALL, batch=None, memory=1000)

    @pytest.fixture
    def budgets(self, monkeypatch):
        """The budgets of each call; each call finds another batch size."""
        budgets = []
        monkeypatch.setattr(engine, "find_batch_size", lambda *given, **_: budgets.append(given[1]) or 2 + len(budgets))
        return budgets

    def test_batch_size_is_found_by_the_memory_and_used(self, store, budgets):
        model = Toy()
        predict(store, model, store.test_set("noise"), self.UNSET)
        assert budgets == [1000] and model.batches == [3, 3, 2] * 5

    def test_resumed_run_keeps_the_batch_size(self, store, tmp_path, budgets):
        test_set = store.test_set("noise")
        undisturbed = noisy(tmp_path / "undisturbed")
        predict(undisturbed, Toy(), test_set, replace(SMALL, batch=3))
        with pytest.raises(ModelError):
            predict(store, failing(7), test_set, self.UNSET)
        model = Toy()
        assert predict(store, model, test_set, replace(self.UNSET, memory=5)).resumed == 16
        assert budgets == [1000] and model.batches == [3, 3, 2] * 3
        assert stored(store) == stored(undisturbed)

    def test_given_batch_size_overrides_the_found_one(self, store, budgets):
        test_set = store.test_set("noise")
        with pytest.raises(ModelError):
            predict(store, failing(7), test_set, self.UNSET)
        model = Toy()
        predict(store, model, test_set, SMALL)
        assert budgets == [1000] and model.batches == [4, 4] * 3

    def test_given_batch_size_is_not_measured(self, store, budgets):
        predict(store, Toy(), store.test_set("noise"), SMALL)
        assert budgets == []

    def test_batch_size_is_not_needed_if_nothing_is_missing(self, store, budgets, monkeypatch):
        def refuse(*_):
            raise OSError("no room")

        test_set = store.test_set("noise")
        with monkeypatch.context() as patch, pytest.raises(OSError, match="no room"):
            patch.setattr(type(store), "add_predictions", refuse)
            predict(store, Toy(), test_set, SMALL)
        model = Toy()
        assert predict(store, model, test_set, self.UNSET).resumed == 40
        assert budgets == [] and model.batches == []


class TestUnreadable:
    @pytest.fixture
    def spoilt(self, store, tmp_path):
        test_set = store.test_set("noise")
        (tmp_path / "images" / "3" / "x013.png").unlink()
        whole = tmp_path / "images" / "4" / "x004.png"
        whole.write_bytes(whole.read_bytes()[:-60])
        return predict(store, Toy(), test_set, SMALL)

    def test_unreadable_images_are_recorded_with_the_reason(self, spoilt, store):
        assert set(spoilt.unreadable) == {"x013.png", "x004.png"}
        assert "No such file" in spoilt.unreadable["x013.png"]
        assert store.predictions.manifest("noise", "toy").unreadable == spoilt.unreadable
        assert predict(store, Toy(), store.test_set("noise"), SMALL).unreadable == spoilt.unreadable

    def test_grade_counts_unreadable_images_as_wrong(self, spoilt, store):
        row = Workspace(store).grade("noise").rows[0]
        assert row.unanswered == len(spoilt.unreadable) == 2
        assert row.top1.n == 40
        test_set = store.test_set("noise")
        correct = store.predictions.read(test_set, "toy").top1 == test_set.labels
        assert row.top1.value == correct.mean() and not correct[test_set.position_of["x013.png"]]

    def test_missing_image_folder_is_an_error(self, store, tmp_path):
        (tmp_path / "images").rename(tmp_path / "elsewhere")
        with pytest.raises(InputError, match="no longer at"):
            predict(store, Toy(), store.test_set("noise"), SMALL)
        assert store.predictions.model_names("noise") == ()


def test_predict_rejects_other_classes_under_the_same_name(store):
    model = Toy(space=ClassSpace("cifar-10", tuple("abcdefghij")))
    with pytest.raises(AlreadyStored, match="'cifar-10', but a class space of this name with other classes"):
        predict(store, model, store.test_set("noise"), SMALL)
    assert model.batches == []


@pytest.mark.parametrize("options", [EngineOptions(batch=0), EngineOptions(workers=0), EngineOptions(part_size=0)])
def test_predict_rejects_zero_sizes(store, options):
    with pytest.raises(InputError, match="at least 1"):
        predict(store, Toy(), store.test_set("noise"), options)


def test_predict_rejects_a_concurrent_run(store):
    """A run inside a run, as another process would try it."""
    test_set = store.test_set("noise")
    seen = []

    def scores(batch):
        if not seen:
            with pytest.raises(StoreError, match="is locked by another process") as caught:
                predict(store, Toy(), test_set, SMALL)
            seen.append(caught)
        return linear(batch)

    predict(store, Toy(scores), test_set, SMALL)
    assert len(seen) == 1
    np.testing.assert_array_equal(store.predictions.read(test_set, "toy").k, 5)


DRIVER = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from predicting import Toy, linear
from regrade.core import StoreError
from regrade.predict import EngineOptions, predict
from regrade.store import Store

def slow(batch):
    time.sleep(0.02)
    return linear(batch)

store = Store.open(Path({root!r}))
print("ready", flush=True)
try:
    pair = predict(store, Toy(slow), store.test_set("noise"), EngineOptions(batch=4, part_size=8, keep_scores=True))
    print("already" if pair.already else "done", pair.resumed)
except StoreError as error:
    print("refused" if "locked by another process" in str(error) else "failed", error)
"""


def start(store) -> subprocess.Popen:
    code = DRIVER.format(tests=str(Path(__file__).parents[1]), root=str(store.root))
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_predict_in_concurrent_processes(store, tmp_path):
    undisturbed = noisy(tmp_path / "undisturbed")
    predict(undisturbed, Toy(), undisturbed.test_set("noise"), SMALL)
    processes = [start(store) for _ in range(3)]
    lines = [process.communicate(timeout=HANG_LIMIT)[0].split("\n")[1] for process in processes]
    assert sum(line.startswith("done") for line in lines) == 1, lines
    assert all(line.startswith(("done", "already", "refused")) for line in lines), lines
    assert stored(store) == stored(undisturbed)
    assert not (store.root / ".partial").exists()


def test_predict_killed_at_any_disk_write_resumes_to_the_same_bytes(tmp_path):
    whole = noisy(tmp_path / "whole", 120)
    predict(whole, Toy(), whole.test_set("noise"), SMALL)
    store = noisy(tmp_path, 120)
    test_set = store.test_set("noise")
    kept = []
    for at in count(0, 3):
        through = run_killed(partial(predict, store, Toy(), test_set, SMALL), at=at, below=store.root)
        store = Store.open(store.root)
        finished = store.predictions.model_names("noise") == ("toy",)
        kept.append(120 if finished else 8 * len(parts(store)))
        again = predict(store, Toy(), test_set, SMALL)
        assert (again.already, again.resumed) == (finished, kept[-1]), at
        assert stored(store) == stored(whole), at
        assert not (store.root / ".partial").exists(), at
        if through:
            break
        shutil.rmtree(store.predictions.path("noise", "toy"))
    assert kept == sorted(kept) and len(set(kept)) > 5, kept


def test_predict_killed_before_cleanup(store):
    test_set = store.test_set("noise")
    with pytest.raises(ModelError):
        predict(store, failing(6), test_set, SMALL)
    shutil.copytree(store.root / ".partial", store.root / "kept")
    predict(store, Toy(), test_set, SMALL)
    (store.root / "kept").rename(store.root / ".partial")
    assert predict(store, Toy(), test_set, SMALL).already
    assert not (store.root / ".partial").exists()
