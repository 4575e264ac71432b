"""A test set names its training set: registered, shown, replaced, forgotten, and kept by renaming and removal."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from running import assert_one_line, run, run_well, snapshot
from small_set import encoded, noise

import regrade
from regrade.core import UNLABELED, ClassSpace, InputError, TestSet, UnknownName
from regrade.store import RegisteredTrainingSet
from regrade.workspace import Workspace

CLASSES = ["cat", "dog"]


def add_images(workspace: Workspace, name: str, *, classes: list[str]) -> None:
    folder = workspace.store.root.parent / name
    for number, class_name in enumerate(classes):
        place = folder / class_name
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{name}-{number}.png").write_bytes(encoded(noise(number)))
    space = ClassSpace("-".join(classes), tuple(classes))
    workspace.testsets.add(name, folder, classes=space)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("training")
    workspace = regrade.init(folder / "W")
    for name in ("val", "train", "extra"):
        add_images(workspace, name, classes=CLASSES)
    add_images(workspace, "birds", classes=["owl", "hen"])
    return folder / "W"


@pytest.fixture
def workspace(template, tmp_path) -> Workspace:
    return regrade.open(shutil.copytree(template, tmp_path / "W"))


def test_training_set_is_registered_shown_replaced_and_forgotten(workspace):
    root = workspace.store.root
    assert workspace.store.training_set_of("val") is None
    assert run_well("testsets", "training-set", "val", "train", "-w", root).err == (
        "registered: train is the training set of val\n"
    )
    assert run_well("testsets", "training-set", "val", "train", "-w", root).err == (
        "unchanged: train is the training set of val\n"
    )
    assert "training set: train" in run_well("testsets", "show", "val", "-w", root).out
    run_well("testsets", "training-set", "val", "extra", "-w", root)
    assert workspace.store.training_set_of("val") == "extra"
    run_well("testsets", "training-set", "val", "--remove", "-w", root)
    assert workspace.store.training_set_of("val") is None
    assert "training set" not in run_well("testsets", "show", "val", "-w", root).out
    run_well("verify", "-w", root)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("val", "val"), ("val cannot be its own training set",)),
        (("val", "birds"), ("birds has the classes of owl-hen, but val those of cat-dog",)),
        (("val", "trian"), ("test set", "trian", "train")),
        (("val",), ("name the training set of val, or give --remove",)),
        (("val", "train", "--remove"), ("name the training set of val, or give --remove",)),
        (("val", "--remove"), ("val has no training set", "regrade testsets training-set val")),
    ],
)
def test_invalid_registration_is_one_line_and_changes_nothing(workspace, arguments, words):
    before = snapshot(workspace.store.root)
    assert_one_line(run("testsets", "training-set", *arguments, "-w", workspace.store.root), *words)
    assert snapshot(workspace.store.root) == before


def test_training_set_without_labels_is_rejected(workspace):
    val = workspace.store.test_set("val")
    bare = TestSet("bare", val.class_space, ("a", "b"), np.array([UNLABELED, UNLABELED]))
    with pytest.raises(InputError, match="no image of bare has a label"):
        RegisteredTrainingSet.of(val, bare)


def test_renamed_sets_keep_their_registration(workspace):
    workspace.testsets.register_training_set("val", "train")
    before = snapshot(workspace.store.root)
    workspace.testsets.rename("train", "all photos")
    workspace.testsets.rename("val", "exam set")
    assert workspace.store.training_set_of("exam set") == "all photos"
    assert workspace.store.training_set_of("val") is None
    workspace.testsets.rename("exam set", "val")
    workspace.testsets.rename("all photos", "train")
    assert snapshot(workspace.store.root) == before


def test_removed_training_set_leaves_none_until_it_is_restored(workspace):
    workspace.testsets.register_training_set("val", "train")
    assert "val: without a training set from then on" in workspace.testsets.plan_removal("train").notes
    workspace.testsets.remove("train")
    assert workspace.store.training_set_of("val") is None
    workspace.removed.restore()
    assert workspace.store.training_set_of("val") == "train"
    workspace.testsets.remove("val")
    assert not workspace.store.training_sets.has("val")
    workspace.removed.restore()
    assert workspace.store.training_set_of("val") == "train"


def test_unknown_sets_are_named(workspace):
    with pytest.raises(UnknownName, match="test set"):
        workspace.testsets.register_training_set("vla", "train")
    with pytest.raises(InputError, match="no training set"):
        workspace.testsets.remove_training_set("val")
