"""Removing models, test sets and label sets: what goes, what stays, what forbids it, and that nothing is broken."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from running import snapshot

import regrade
from benchmarks.fault_world import add_published_queues, make_every_file, read_every_file
from regrade.build.files import BuildTasks, TaskCollection
from regrade.build.tasks import TaskOptions
from regrade.core import InputError, MissingExtra, StoreError, UnknownName
from regrade.store import Store, upgrade_workspace
from regrade.store.layout import REMOVED
from regrade.workspace import Workspace


@pytest.fixture(scope="module")
def plain_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with every kind of stored file, and without a ledger."""
    folder = tmp_path_factory.mktemp("plain")
    workspace = make_every_file(folder)
    for last_class in ("car", "kite"):
        (folder / "more.csv").write_text(f"image,class\n000.png,ball\n001.png,{last_class}\n")
        workspace.labels.import_file(folder / "more.csv", test_set="shelf", name="own", new_version=True)
    for seed in (0, 1):
        scores = np.eye(5)[np.arange(40) % 5]
        workspace.models.add_predictions(f"seeded/seed-{seed}", scores, test_set="shelf")
    return folder / "W"


@pytest.fixture(scope="module")
def reviewed_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with published queues."""
    folder = tmp_path_factory.mktemp("reviewed")
    add_published_queues(make_every_file(folder))
    return folder / "W"


@pytest.fixture
def workspace(plain_template, tmp_path) -> Workspace:
    return regrade.open(shutil.copytree(plain_template, tmp_path / "W"))


@pytest.fixture
def reviewed(reviewed_template, tmp_path) -> Workspace:
    return regrade.open(shutil.copytree(reviewed_template, tmp_path / "W"))


REMOVALS = {
    "a model": (lambda ws: ws.models.remove("first"), "first on shelf"),
    "a person": (lambda ws: ws.models.remove("person:Ada"), "person:Ada on shelf"),
    "a method": (lambda ws: ws.models.remove("seeded"), "seeded (2 models) on shelf"),
    "a pattern": (lambda ws: ws.models.remove("*r*"), "*r* (3 models) on shelf"),
    "checkpoints": (lambda ws: ws.models.remove("net", ensembles=True), "net on shelf"),
    "a version": (lambda ws: ws.labels.remove("own@3", test_set="shelf"), "labels own@3 of shelf"),
    "labels": (lambda ws: ws.labels.remove("own", test_set="shelf"), "labels own@1, own@2 and own@3 of shelf"),
    "a test set": (lambda ws: ws.testsets.remove("shelf"), "test set shelf"),
    "a mapped test set": (lambda ws: ws.testsets.remove("house"), "test set house"),
}


@pytest.mark.parametrize("what", REMOVALS)
def test_removal_and_restoring_leave_an_intact_workspace(workspace, what):
    remove, title = REMOVALS[what]
    before, read_before = stored(workspace), read_every_file(workspace.store)
    removal = remove(workspace)
    assert removal.what == title
    assert workspace.verify().problems == ()
    after = read_every_file(workspace.store)
    assert after.keys() < read_before.keys()
    gone = sum((workspace.store.root / name).is_file() for name in before)
    assert len(before) - gone == removal.files
    workspace.removed.restore()
    assert workspace.verify().problems == ()
    assert stored(workspace) == before


def stored(workspace: Workspace) -> dict[str, str]:
    return {name: text for name, text in snapshot(workspace.store.root).items() if not name.startswith(REMOVED)}


def test_removed_test_set_leaves_only_its_images(workspace):
    root = workspace.store.root
    (root / ".partial" / "shelf" / "slow").mkdir(parents=True)
    (root / ".partial" / "shelf" / "slow" / "plan.json").write_text("{}")
    workspace.testsets.remove("shelf")
    named = [path for path in root.rglob("shelf*") if REMOVED not in path.parts]
    assert named == []
    assert len(list((root / "photos").rglob("*.png"))) == 40
    assert workspace.testsets.names() == ("house",)


def test_removed_model_can_be_stored_again(workspace):
    digest = workspace.store.predictions.manifest("shelf", "first").digest
    workspace.models.remove("first")
    with pytest.raises(UnknownName):
        workspace.grade("shelf", models=["first"])
    workspace.models.add_predictions("first", np.eye(5)[np.arange(40) % 5], test_set="shelf")
    assert workspace.store.predictions.manifest("shelf", "first").digest != digest
    with pytest.raises(StoreError, match="stored again"):
        workspace.removed.restore()


def test_model_removal_says_what_people_stated_about_it(workspace, tmp_path):
    (tmp_path / "models.csv").write_text("model,base_model\nsecond,first\n")
    workspace.models.describe(tmp_path / "models.csv")
    assert workspace.models.plan_removal("first").notes == (
        "people's review of the mistakes of first on shelf stays",
        "first is the base model of second",
    )
    assert workspace.models.plan_removal("first", "second").notes[1:] == ()


def test_unfinished_predictions_go_with_their_model_unless_they_are_computed_now(workspace):
    partial = workspace.store.partial_predictions(workspace.store.test_set("shelf"), "slow", part_size=8, plan={})
    with partial.locked():
        partial.begin()
        with pytest.raises(StoreError, match="locked by another process"):
            workspace.models.remove("slow")
    assert [record.place for record in workspace.models.remove("slow").records] == [".partial/shelf/slow"]
    assert not partial.folder.exists()
    workspace.removed.restore()
    assert partial.folder.exists()


def test_damaged_predictions_can_be_removed(workspace):
    (workspace.store.predictions.path("shelf", "first") / "manifest.json").write_text("{")
    (workspace.store.predictions.path("shelf", "second") / "manifest.json").unlink()
    assert len(workspace.verify().problems) == 2
    workspace.models.remove("first", "second")
    assert workspace.verify().problems == ()


def test_removal_raises_if_the_workspace_changed_since_it_was_shown(workspace):
    plan = workspace.models.plan_removal("seeded")
    workspace.models.add_predictions("seeded/seed-7", np.eye(5)[np.arange(40) % 5], test_set="shelf")
    with pytest.raises(StoreError, match="changed since this was shown"):
        workspace.models.remove("seeded", expected=plan)
    assert "seeded/seed-0" in workspace.models.names("shelf")


@pytest.mark.parametrize(
    ("remove", "message"),
    [
        (lambda ws: ws.models.remove("frist"), r"unknown model on any test set 'frist'; did you mean first\?"),
        (lambda ws: ws.models.remove("first", test_set="house"), "unknown model on house 'first'; there are none yet"),
        (lambda ws: ws.models.remove("net"), "it is an ensemble: give --ensemble"),
        (lambda ws: ws.models.remove("first", "net9"), "'net9'"),
        (lambda ws: ws.models.remove("person:*"), "unknown model"),
        (lambda ws: ws.models.remove(), "at least one model"),
        (lambda ws: ws.testsets.remove("shell"), r"unknown test set 'shell'; did you mean shelf\?"),
        (lambda ws: ws.labels.remove("own@2", test_set="shelf"), "own@2 is not the newest version: remove own@3 first"),
        (lambda ws: ws.labels.remove("own@7", test_set="shelf"), "unknown label set of shelf 'own@7'"),
        (lambda ws: ws.labels.remove("ow", test_set="shelf"), "unknown label set of shelf 'ow'"),
    ],
)
def test_removal_refuses_what_does_not_exist(workspace, remove, message):
    before = stored(workspace)
    with pytest.raises(InputError, match=message):
        remove(workspace)
    assert stored(workspace) == before


def test_version_is_restored_only_after_its_predecessor(workspace):
    for full in ("own@3", "own@2"):
        workspace.labels.remove(full, test_set="shelf")
    with pytest.raises(StoreError, match=r"labels/shelf/own@2\.parquet is missing, restore it first"):
        workspace.removed.restore(1)
    workspace.removed.restore(2)
    workspace.removed.restore(1)
    assert workspace.labels.names("shelf") == ("own@1", "own@2", "own@3")


@pytest.mark.parametrize(
    ("remove", "message"),
    [
        (lambda ws: ws.testsets.remove("shelf"), "the ledger has queues 'exam', 'mistakes' and 'novel' about it"),
        (lambda ws: ws.labels.remove("own@1", test_set="shelf"), "own@1 is not the newest version"),
        (lambda ws: ws.labels.remove("own", test_set="shelf"), "the ledger has queue 'novel' about them"),
        (lambda ws: ws.labels.remove("complete", test_set="shelf"), "the ledger has queue 'mistakes' about them"),
        (lambda ws: ws.models.remove("person:Olga"), "the answers of person:Olga on shelf were published from queue"),
    ],
)
def test_what_the_ledger_refers_to_is_not_removed(reviewed, remove, message):
    with pytest.raises((StoreError, InputError), match=message):
        remove(reviewed)
    assert reviewed.removed.list() == ()


def test_published_version_can_be_removed_and_published_again(reviewed):
    plan = reviewed.labels.plan_removal("own@2", test_set="shelf")
    assert plan.notes == ("own@2 was published from queue novel: the ledger keeps these decisions",)
    digest = reviewed.store.labels.read(reviewed.store.test_set("shelf"), "own").digest
    reviewed.labels.remove("own@2", test_set="shelf")
    assert reviewed.verify().problems == ()
    reviewed.review.publish("novel")
    again = reviewed.store.labels.read(reviewed.store.test_set("shelf"), "own@2")
    assert len(again.classes) >= 1 and digest
    assert reviewed.verify().problems == ()


def test_removal_does_not_create_a_ledger_and_asks_for_its_package(workspace, reviewed_template, monkeypatch):
    workspace.testsets.remove("house")
    assert not (workspace.store.root / "ledger.sqlite").exists()
    monkeypatch.setitem(sys.modules, "regrade.ledger", None)
    workspace.testsets.remove("shelf")
    with pytest.raises(MissingExtra):
        regrade.open(reviewed_template).testsets.remove("house")


def test_test_set_of_a_build_is_not_removed(workspace):
    digest = workspace.store.test_set("shelf").digest
    tasks = BuildTasks("v2", "house", "0", "shelf", digest, TaskOptions(), ())
    TaskCollection(workspace.store.root).add(tasks, None)
    for name in ("house", "shelf"):
        with pytest.raises(StoreError, match=f"{name} is not removed: it is pool or reference of build v2"):
            workspace.testsets.remove(name)


def test_upgrade_leaves_removed_records_alone(tmp_path):
    root = Path(shutil.copytree(Path(__file__).parents[1] / "store" / "layout_2", tmp_path / "W"))
    (root / REMOVED / "1" / "old").mkdir(parents=True)
    (root / REMOVED / "1" / "old" / "t.parquet").write_bytes(b"of layout 2")
    upgrade_workspace(root)
    assert (root / REMOVED / "1" / "old" / "t.parquet").read_bytes() == b"of layout 2"
    Store.open(root)
