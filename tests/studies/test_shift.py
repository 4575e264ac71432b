"""regrade study shift: a typicality by hand, the area as its mean, what is left out, and one line for bad input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import assert_one_line, run

import regrade
from regrade.core import ModelSpec, Predictions
from regrade.stats import cross_fitted_auc
from regrade.store import Manifest, PredictionSource
from regrade.studies import ShiftPart, ShiftVerdict, findings
from regrade.studies.shift.discriminator import FoldScores

IMAGES = 60


def test_typicality_by_hand():
    """Fold 0: new 3 and 1, original 2 and 0; fold 1: new 5 and original 5, which are tied."""
    scored = FoldScores(np.array([3.0, 1.0, 2.0, 0.0, 5.0, 5.0]), np.array([0, 0, 0, 0, 1, 1]))
    is_new = np.array([True, True, False, False, True, False])
    assert scored.typicality(is_new).tolist() == [1.0, 0.5, 0.5, 1.0, 0.5, 0.5]


@given(st.lists(st.integers(0, 5), min_size=24, max_size=24))
def test_mean_typicality_of_new_images_is_the_area(scores):
    values, folds, is_new = np.array(scores, dtype=float), np.arange(24) // 8, np.arange(24) % 3 > 0
    area = cross_fitted_auc(values, is_new, folds, clusters=np.arange(24)).value
    assert FoldScores(values, folds).typicality(is_new)[is_new].mean() == pytest.approx(area)


def add(workspace, folder, name, features, *, prefix="", weights="", classes="cifar-10", start=0):
    """A test set and a model with these embeddings."""
    labels = np.arange(len(features)) % 10
    names = workspace.store.class_spaces.read(classes).names
    lines = ["image,label", *(f"{prefix or name}{row},{names[label]}" for row, label in enumerate(labels, start))]
    (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    workspace.testsets.add(name, folder / f"{name}.csv", classes=classes)
    test_set = workspace.store.test_set(name)
    space = test_set.class_space
    predicted = Predictions("m", name, space.name, test_set.labels[:, None].astype(np.int32), features=features)
    manifest = Manifest(
        ModelSpec("m", space.name, weights_hash=weights), name, test_set.digest, space.name, space.digest,
        len(test_set), 1, predicted.digest, None, False, PredictionSource(), "0", features=features is not None,
    )  # fmt: skip
    workspace.store.add_predictions(test_set, [(predicted, manifest)], space)


def embeddings(seed, *, images=IMAGES, width=4, shift=0.0):
    values = np.random.default_rng(seed).normal(size=(images, width))
    values[:, 0] += shift
    return values.astype(np.float16)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shift")
    workspace = regrade.init(folder / "W")
    add(workspace, folder, "old", embeddings(0))
    add(workspace, folder, "same", embeddings(1))
    add(workspace, folder, "moved", embeddings(2, shift=3.0))
    add(workspace, folder, "copy", embeddings(0), prefix="old")
    half = embeddings(3)
    add(workspace, folder, "wide", embeddings(4, width=5))
    add(workspace, folder, "retrained", half, weights="other")
    add(workspace, folder, "few", embeddings(5, images=3))
    add(workspace, folder, "others", half, classes="imagenet-a")
    workspace.testsets.add("bare", folder / "same.csv", classes="cifar-10")
    return workspace


def test_a_shift_is_told_apart_and_equal_sets_are_not(workspace):
    (moved,), (same,) = (workspace.study.shift("old", name).rows for name in ("moved", "same"))
    assert moved.verdict is ShiftVerdict.TOLD_APART and moved.auc.low > 0.5
    assert same.verdict is ShiftVerdict.NOT_SHOWN and same.auc.low <= 0.5
    assert (moved.new_images, moved.original_images) == (IMAGES, IMAGES)


def test_typical_images_are_those_that_moved_furthest(workspace):
    result = workspace.study.shift("old", "moved", most=3)
    assert [row.test_set for row in result.typical] == ["moved"] * 3 + ["old"] * 3
    first = embeddings(2, shift=3.0)[:, 0]
    assert all(first[int(row.image.removeprefix("moved"))] > np.median(first) for row in result.typical[:3])
    assert len(result.part(ShiftPart.IMAGES).rows) == 6
    assert len(result.as_dict()["typical"]) == 6


def test_finding_follows_the_verdict(workspace):
    kinds = [findings(workspace.study.shift("old", name))[0].kind.name for name in ("moved", "same")]
    assert kinds == ["shift: told apart", "shift: no difference detected"]


def test_images_in_both_sets_are_left_out(tmp_path):
    """Of 90 and 60 images, the last 30 of the one are the first 30 of the other."""
    workspace = regrade.init(tmp_path / "W")
    add(workspace, tmp_path, "old", embeddings(0, images=90), prefix="image")
    add(workspace, tmp_path, "new", embeddings(1), prefix="image", start=60)
    result = workspace.study.shift("old", "new", most=100)
    assert result.shared == 30
    assert (result.rows[0].new_images, result.rows[0].original_images) == (30, 60)
    numbers = {(row.test_set, int(row.image.removeprefix("image"))) for row in result.typical}
    assert numbers == {("old", n) for n in range(60)} | {("new", n) for n in range(90, 120)}


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("old", "name two different sets"),
        ("copy", "nothing is left to compare"),
        ("wide", "have 5 values on wide and 4 on old"),
        ("retrained", "had other weights on retrained than on old"),
        ("few", "too few images"),
        ("others", "differ"),
        ("bare", "--keep features"),
    ],
)
def test_bad_input_is_one_line(workspace, new, words):
    ran = run("study", "shift", "--original", "old", "--new", new, "-w", workspace.store.root)
    assert_one_line(ran, words)
