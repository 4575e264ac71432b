"""Removed records: moved out of their places as a whole, restored byte for byte, and gone only after a purge."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from running import snapshot

from benchmarks.kills import run_killed
from regrade.core import ClassSpace, DamagedFile, InputError, MismatchError, Predictions, StoreError, TestSet
from regrade.store import PredictionSource, RemovalPlan, Store, StoredRecord, manifest_of
from regrade.store.layout import REMOVED

SPACE = ClassSpace("toys", ("ball", "doll"))


def shelf_with(labels: list[int]) -> TestSet:
    return TestSet("shelf", SPACE, tuple(map(str, range(len(labels)))), np.array(labels))


def add_model(store: Store, name: str, guesses: list[int]) -> None:
    test_set = shelf_with([0, 1, 1])
    predictions = Predictions(name, "shelf", "toys", np.array(guesses)[:, None])
    entry = (predictions, manifest_of(predictions, test_set, SPACE, PredictionSource()))
    store.add_predictions(test_set, [entry], SPACE)


def plan_for(store: Store, *places: str, **options) -> RemovalPlan:
    records = tuple(StoredRecord.at(store.root, store.root / place) for place in places)
    return RemovalPlan("some records", "regrade models remove", records, **options)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.create(tmp_path / "W")
    for name in ("first", "second"):
        add_model(store, name, [0, 1, 0])
    return store


def stored(store: Store) -> dict[str, str]:
    """All files without those of removals."""
    return {name: text for name, text in snapshot(store.root).items() if not name.startswith(REMOVED)}


def test_restored_workspace_is_the_same_byte_for_byte(store):
    before = stored(store)
    removal = store.removals.remove(plan_for(store, "predictions/shelf/first", "testsets/shelf.parquet"))
    assert (removal.number, removal.files) == (1, 3)
    listed = json.loads((store.root / "contents.json").read_text())["stored_files"]
    assert list(listed) == ["classes/toys.json", "predictions/shelf/second/manifest.json"]
    assert store.removals.all() == (removal,)
    assert store.removals.restore() == removal
    assert stored(store) == before
    assert store.removals.all() == ()


def test_numbers_are_never_used_again(store):
    for number in (1, 2):
        assert store.removals.remove(plan_for(store, "predictions/shelf/first")).number == number
        store.removals.restore()
    store.removals.remove(plan_for(store, "predictions/shelf/first"))
    assert [removal.number for removal in store.removals.purge()] == [3]
    assert store.removals.purge() == ()
    assert not (store.root / REMOVED / "3").exists()
    assert store.removals.remove(plan_for(store, "predictions/shelf/second")).number == 4
    with pytest.raises(InputError, match=r"unknown removal '3'; there is 4"):
        store.removals.restore(3)


def test_restore_of_nothing_says_so(store):
    with pytest.raises(InputError, match="nothing to restore"):
        store.removals.restore()


def test_restore_refuses_to_replace_what_was_stored_since(store):
    store.removals.remove(plan_for(store, "predictions/shelf/first"))
    add_model(store, "first", [1, 1, 1])
    before = stored(store)
    with pytest.raises(StoreError, match="predictions/shelf/first is stored again"):
        store.removals.restore()
    assert stored(store) == before


def test_restore_refuses_a_name_that_cannot_be_told_from_a_present_one(store):
    store.removals.remove(plan_for(store, "predictions/shelf/first"))
    add_model(store, "First", [1, 1, 1])
    with pytest.raises(StoreError, match="differ only in case"):
        store.removals.restore()


@pytest.mark.parametrize(("labels", "message"), [(None, "shelf is missing"), ([0, 0, 0], "shelf is now another")])
def test_restore_refuses_without_the_test_set_of_the_records(store, labels, message):
    digest = store.test_sets.read("shelf").digest
    store.removals.remove(plan_for(store, "predictions/shelf/first", test_sets={"shelf": digest}))
    store.removals.remove(plan_for(store, "testsets/shelf.parquet", "predictions/shelf/second"))
    if labels is not None:
        store.add_test_set(shelf_with(labels))
    with pytest.raises((StoreError, MismatchError), match=message):
        store.removals.restore(1)


def test_restore_refuses_records_of_another_layout(store, monkeypatch):
    store.removals.remove(plan_for(store, "predictions/shelf/first"))
    monkeypatch.setattr("regrade.store.removals.FORMAT", 99)
    with pytest.raises(MismatchError, match="layout 3, and the workspace layout 99"):
        store.removals.restore()


def test_damaged_removal_is_named(store):
    store.removals.remove(plan_for(store, "predictions/shelf/first"))
    shutil.rmtree(store.root / REMOVED / "1" / "predictions")
    with pytest.raises(DamagedFile, match=r"\.removed/1/predictions/shelf/first is damaged \(it is missing\)"):
        store.removals.restore()
    path = store.root / REMOVED / "1" / "removal.json"
    path.write_text(path.read_text().replace("some records", "other records"))
    with pytest.raises(DamagedFile):
        store.removals.all()


@pytest.mark.parametrize("restored", [False, True])
def test_killed_removal_and_restoring_leave_the_old_state_or_the_new_one(store, tmp_path, restored):
    def act(root: Path) -> None:
        opened = Store.open(root)
        if restored:
            opened.removals.restore()
        else:
            opened.removals.remove(plan_for(opened, "predictions/shelf/first", "testsets/shelf.parquet"))

    if restored:
        store.removals.remove(plan_for(store, "predictions/shelf/first", "testsets/shelf.parquet"))
    old = without_numbers(store.root)
    act(finished := Path(shutil.copytree(store.root, tmp_path / "finished")))
    new = without_numbers(finished)
    outcomes, at = [], 0
    while True:
        copy = Path(shutil.copytree(store.root, tmp_path / str(at)))
        through = run_killed(lambda copy=copy: act(copy), at=at, below=copy)
        Store.open(copy)
        state = without_numbers(copy)
        assert state in (old, new), at
        outcomes.append(state == new)
        if through:
            break
        at += 1
    assert at > 10
    assert outcomes == sorted(outcomes) and not outcomes[0] and outcomes[-1]


def without_numbers(root: Path) -> dict[str, str]:
    """All files; those with the time of a removal by name only."""
    return {name: "" if name.endswith("removal.json") else text for name, text in snapshot(root).items()}
