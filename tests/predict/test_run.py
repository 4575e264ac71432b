"""One pair into the store: what is missing, nothing twice, and nothing of another plan."""

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
from predicting import CIFAR, RECIPE, Toy, failing, linear, noisy
from running import HANG_LIMIT, snapshot
from skipping import skip

from benchmarks.kills import run_killed
from regrade.core import AlreadyStored, ClassSpace, FormatError, InputError, ModelError, StoreError
from regrade.models import Resizer
from regrade.predict import EngineOptions, engine, predict
from regrade.store import Store
from regrade.workspace import Workspace

SMALL = EngineOptions(batch=4, part_size=8, keep_scores=True)
RUNTIME = f"toy, images by pillow {PIL.__version__}"


@pytest.fixture
def store(tmp_path):
    return noisy(tmp_path)


def stored(store, model="toy") -> dict[str, bytes]:
    folder = store.prediction_folder("noise", model)
    return {name: (folder / name).read_bytes() for name in ("topk.parquet", "scores.npy")}


def parts(store) -> list[Path]:
    return sorted(store.root.glob(".partial/*/*/*/*.part"))


def test_a_pair_is_stored_with_all_that_stands_behind_it(store):
    test_set = store.test_set("noise")
    told = []
    pair = predict(store, Toy(), test_set, SMALL, watch=lambda what, left: told.append((what, left)) or told.append)
    assert (pair.model, pair.test_set, pair.examples, pair.resumed, pair.already) == ("toy", "noise", 40, 0, False)
    assert told == [("toy on noise", 40)] + [4] * 10
    manifest = store.manifest(test_set, "toy")
    assert (manifest.runtime, manifest.runtime_note, manifest.model) == (RUNTIME, "", Toy().spec)
    assert (manifest.unreadable, manifest.features) == ({}, False)
    assert (manifest.examples, manifest.k, manifest.full_scores, manifest.score_kind) == (40, 5, True, "logits")
    found = store.predictions(test_set, "toy")
    assert found.digest == manifest.digest
    assert not (store.root / ".partial").exists()


def test_again_is_no_work(store):
    test_set = store.test_set("noise")
    predict(store, Toy(), test_set, SMALL)
    before, model = snapshot(store.root), Toy()
    again = predict(store, model, test_set, SMALL)
    assert again.already and again.resumed == 40 and again.rate is None and again.runtime == RUNTIME
    assert model.batches == [] and snapshot(store.root) == before


@pytest.mark.parametrize(
    ("model", "how", "reason"),
    [
        (Toy(weights="2"), SMALL, "other weights"),
        (Toy(recipe=replace(RECIPE, size=7)), SMALL, "another recipe"),
        (Toy(space=CIFAR.subset("ten", range(9, -1, -1))), SMALL, "other classes"),
        (Toy(), replace(SMALL, keep_scores=True), "only the best classes"),
    ],
)
def test_other_predictions_under_the_name_are_told_before_any_work(store, model, how, reason):
    predict(store, Toy(), store.test_set("noise"), replace(SMALL, keep_scores=False))
    with pytest.raises(AlreadyStored, match=rf"toy on noise are stored with .*{reason}.*: remove .*/noise/toy first"):
        predict(store, model, store.test_set("noise"), how)
    assert model.batches == []


class TestGoingOn:
    @pytest.mark.parametrize("after", [0, 1, 2, 3, 9])
    def test_same_bytes_as_an_undisturbed_run(self, store, tmp_path, after):
        test_set = store.test_set("noise")
        other = noisy(tmp_path / "other")
        predict(other, Toy(), test_set, SMALL)
        with pytest.raises(ModelError, match="the plug was pulled"):
            predict(store, failing(after), test_set, SMALL)
        assert len(parts(store)) == after // 2
        again = predict(store, Toy(), test_set, replace(SMALL, workers=1))
        assert again.resumed == 8 * (after // 2)
        assert stored(store) == stored(other)
        assert not (store.root / ".partial").exists()

    def test_whichever_parts_are_left(self, store, tmp_path):
        test_set = store.test_set("noise")
        other = noisy(tmp_path / "other")
        predict(other, Toy(), test_set, SMALL)
        with pytest.raises(ModelError):
            predict(store, failing(9), test_set, SMALL)
        for path in parts(store)[::2]:
            path.unlink()
        assert predict(store, Toy(), test_set, SMALL).resumed == 16
        assert stored(store) == stored(other)

    @pytest.mark.parametrize(
        "other", [Toy(weights="2"), Toy(recipe=replace(RECIPE, mean=(0.50001, 0.5, 0.5)))], ids=["weights", "recipe"]
    )
    def test_parts_of_another_plan_are_not_mixed(self, store, other):
        test_set = store.test_set("noise")
        with pytest.raises(ModelError):
            predict(store, failing(6, lambda batch: linear(batch, seed=1)), test_set, SMALL)
        assert len(parts(store)) == 3
        assert predict(store, other, test_set, SMALL).resumed == 0
        assert sum(other.batches) == 40
        assert not (store.root / ".partial").exists()

    def test_images_resized_by_another_are_another_plan(self, store):
        if importlib.util.find_spec("torch") is None:
            skip("torch is not installed")
        test_set = store.test_set("noise")
        with pytest.raises(ModelError):
            predict(store, failing(6), test_set, SMALL)
        pair = predict(store, Toy(), test_set, replace(SMALL, resizer=Resizer.TORCH))
        assert pair.resumed == 0 and pair.runtime == f"toy, images by torch {metadata.version('torch')}"

    def test_images_that_moved_are_another_plan(self, store, tmp_path):
        test_set = store.test_set("noise")
        with pytest.raises(ModelError):
            predict(store, failing(6), test_set, SMALL)
        (store.root / "images" / "noise.parquet").unlink()
        shutil.copytree(tmp_path / "images", tmp_path / "copies")
        Workspace(store).add_test_set("noise", tmp_path / "copies", layout="index")
        assert predict(store, Toy(), test_set, SMALL).resumed == 0

    def test_a_damaged_part_is_told(self, store):
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


class TestFoundBatch:
    """A batch that is not stated is found once: a run that goes on keeps to it."""

    LEFT = replace(SMALL, batch=None, memory=1000)

    @pytest.fixture
    def found(self, monkeypatch):
        """The budgets that were asked with; each time another batch is found."""
        budgets = []
        monkeypatch.setattr(engine, "fitting_batch", lambda _, budget: budgets.append(budget) or 2 + len(budgets))
        return budgets

    def test_it_is_found_by_the_memory_and_used(self, store, found):
        model = Toy()
        predict(store, model, store.test_set("noise"), self.LEFT)
        assert found == [1000] and model.batches == [3, 3, 2] * 5

    def test_a_run_that_goes_on_keeps_to_it(self, store, tmp_path, found):
        test_set = store.test_set("noise")
        other = noisy(tmp_path / "other")
        predict(other, Toy(), test_set, replace(SMALL, batch=3))
        with pytest.raises(ModelError):
            predict(store, failing(7), test_set, self.LEFT)
        model = Toy()
        assert predict(store, model, test_set, replace(self.LEFT, memory=5)).resumed == 16
        assert found == [1000] and model.batches == [3, 3, 2] * 3
        assert stored(store) == stored(other)

    def test_a_stated_one_goes_first(self, store, found):
        test_set = store.test_set("noise")
        with pytest.raises(ModelError):
            predict(store, failing(7), test_set, self.LEFT)
        model = Toy()
        predict(store, model, test_set, SMALL)
        assert found == [1000] and model.batches == [4, 4] * 3

    def test_a_stated_one_is_not_measured(self, store, found):
        predict(store, Toy(), store.test_set("noise"), SMALL)
        assert found == []

    def test_where_nothing_is_missing_none_is_needed(self, store, found, monkeypatch):
        def refuse(*_):
            raise OSError("no room")

        test_set = store.test_set("noise")
        with monkeypatch.context() as patch, pytest.raises(OSError, match="no room"):
            patch.setattr(type(store), "add_predictions", refuse)
            predict(store, Toy(), test_set, SMALL)
        model = Toy()
        assert predict(store, model, test_set, self.LEFT).resumed == 40
        assert found == [] and model.batches == []


class TestUnreadable:
    @pytest.fixture
    def spoilt(self, store, tmp_path):
        test_set = store.test_set("noise")
        (tmp_path / "images" / "3" / "x013.png").unlink()
        whole = tmp_path / "images" / "4" / "x004.png"
        whole.write_bytes(whole.read_bytes()[:-60])
        return predict(store, Toy(), test_set, SMALL)

    def test_recorded_with_the_reason(self, spoilt, store):
        assert set(spoilt.unreadable) == {"x013.png", "x004.png"}
        assert "No such file" in spoilt.unreadable["x013.png"]
        assert store.manifest(store.test_set("noise"), "toy").unreadable == spoilt.unreadable
        assert predict(store, Toy(), store.test_set("noise"), SMALL).unreadable == spoilt.unreadable

    def test_grade_counts_them_wrong_and_says_how_many(self, spoilt, store):
        row = Workspace(store).grade("noise").rows[0]
        assert row.unanswered == len(spoilt.unreadable) == 2
        assert row.top1.n == 40
        test_set = store.test_set("noise")
        right = store.predictions(test_set, "toy").top1 == test_set.labels
        assert row.top1.value == right.mean() and not right[test_set.position_of["x013.png"]]

    def test_a_place_that_has_gone_is_no_unreadable_image(self, store, tmp_path):
        (tmp_path / "images").rename(tmp_path / "elsewhere")
        with pytest.raises(InputError, match="no longer at"):
            predict(store, Toy(), store.test_set("noise"), SMALL)
        assert store.model_names("noise") == ()


def test_a_class_space_of_the_same_name_is_told_before_any_work(store):
    model = Toy(space=ClassSpace("cifar-10", tuple("abcdefghij")))
    with pytest.raises(AlreadyStored, match="'cifar-10', but a class space of this name with other classes"):
        predict(store, model, store.test_set("noise"), SMALL)
    assert model.batches == []


@pytest.mark.parametrize("how", [EngineOptions(batch=0), EngineOptions(workers=0), EngineOptions(part_size=0)])
def test_nothing_is_no_batch(store, how):
    with pytest.raises(InputError, match="at least 1"):
        predict(store, Toy(), store.test_set("noise"), how)


def test_while_another_is_at_it(store):
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
    np.testing.assert_array_equal(store.predictions(test_set, "toy").k, 5)


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


def test_processes_at_the_same_time(store, tmp_path):
    other = noisy(tmp_path / "other")
    predict(other, Toy(), other.test_set("noise"), SMALL)
    processes = [start(store) for _ in range(3)]
    said = [process.communicate(timeout=HANG_LIMIT)[0].split("\n")[1] for process in processes]
    assert sum(line.startswith("done") for line in said) == 1, said
    assert all(line.startswith(("done", "already", "refused")) for line in said), said
    assert stored(store) == stored(other)
    assert not (store.root / ".partial").exists()


def test_predict_killed_at_any_change_of_the_disk_goes_on_to_the_same_bytes(tmp_path):
    whole = noisy(tmp_path / "whole", 120)
    predict(whole, Toy(), whole.test_set("noise"), SMALL)
    store = noisy(tmp_path, 120)
    test_set = store.test_set("noise")
    kept = []
    for at in count(0, 3):
        through = run_killed(partial(predict, store, Toy(), test_set, SMALL), at=at, below=store.root)
        store = Store.open(store.root)
        finished = store.model_names("noise") == ("toy",)
        kept.append(120 if finished else 8 * len(parts(store)))
        again = predict(store, Toy(), test_set, SMALL)
        assert (again.already, again.resumed) == (finished, kept[-1]), at
        assert stored(store) == stored(whole), at
        assert not (store.root / ".partial").exists(), at
        if through:
            break
        shutil.rmtree(store.prediction_folder("noise", "toy"))
    assert kept == sorted(kept) and len(set(kept)) > 5, kept


def test_killed_between_storing_and_clearing_up(store):
    test_set = store.test_set("noise")
    with pytest.raises(ModelError):
        predict(store, failing(6), test_set, SMALL)
    shutil.copytree(store.root / ".partial", store.root / "kept")
    predict(store, Toy(), test_set, SMALL)
    (store.root / "kept").rename(store.root / ".partial")
    assert predict(store, Toy(), test_set, SMALL).already
    assert not (store.root / ".partial").exists()
