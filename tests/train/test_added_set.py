"""regrade train ensemble --add: folds, out-of-fold predictions, resuming, and bad input."""

import json
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import assert_one_line, run, run_well
from training_world import PETS, SMALL, add_set, same_weights, write_images

import regrade
from regrade.core import AlreadyStored, ClassSpace, InputError, MismatchError, Preprocessing, TestSet
from regrade.models import Settings, load_model
from regrade.models.trained_model import network_files, read_network_file
from regrade.tables import Columns
from regrade.train.added_set import AddedSet
from regrade.train.folds import fold_clusters, stratified_folds
from regrade.train.images import ImageTensors
from regrade.train.read_images import read_images


@pytest.fixture
def pets(workspace, tmp_path):
    """The workspace with a new set of 12 images."""
    add_set(workspace, "pets-new", tmp_path, per_class=4, seed=3)
    return workspace


def train(workspace, name="added", **options):
    chosen = {"seeds": (0, 1), "test_sets": ["pets-val", "pets-new"], "add": "pets-new", "folds": 3, **SMALL, **options}
    return workspace.train.ensemble(name, "pets-train", **chosen)


def fold_weights(workspace, fold, seed, name="added"):
    files = network_files(workspace.store.root / "training" / name / f"fold-{fold}" / f"seed-{seed}")
    return read_network_file(list(files.values())[-1])[1]["network"]


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 4), st.integers(5, 30))
def test_folds_are_balanced_by_class_and_keep_clusters(seed, folds, cluster_size, per_class):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(3), per_class))
    singles = np.arange(len(labels))
    alone = stratified_folds(labels, singles, folds=folds, seed=seed)
    counts = np.array([np.bincount(alone[labels == label], minlength=folds) for label in range(3)])
    assert np.ptp(counts, axis=1).max() <= 1
    assert np.array_equal(alone, stratified_folds(labels, singles, folds=folds, seed=seed))
    clusters = singles // cluster_size
    grouped = stratified_folds(labels, clusters, folds=folds, seed=seed)
    assert all(len(set(grouped[clusters == number])) == 1 for number in range(clusters.max() + 1))
    assert set(grouped) == set(range(min(folds, int(clusters.max()) + 1)))


def test_seed_decides_the_folds():
    labels = np.repeat([0, 1], 20)
    first, second = (stratified_folds(labels, np.arange(40), folds=4, seed=seed) for seed in (0, 1))
    assert not np.array_equal(first, second)


def test_same_pixels_and_same_households_are_one_cluster():
    names = ("a", "a", "b", "", "", "c")
    test_set = TestSet("x", PETS, tuple("012345"), np.zeros(6, dtype=int), {"home": names})
    numbers = fold_clusters(test_set, "home", (b"p", b"q", b"r", b"s", b"q", b"t"))
    assert numbers.tolist() == [0, 0, 1, 2, 0, 3]  # 0 and 1 by home, 1 and 4 by pixels
    assert fold_clusters(test_set, None, (b"p",) * 6).tolist() == [0] * 6


def test_predictions_on_the_added_set_are_out_of_fold(pets):
    result = train(pets)
    test_set = pets.store.test_set("pets-new")
    decoded = read_images(
        pets.store, test_set, load_model("trained:added/fold-0/seed-1", workspace(pets)).preprocessing
    )
    added = AddedSet.of(test_set, decoded.hashes, folds=3, clusters=None)
    predictions = pets.store.predictions.read(test_set, "trained:added/seed-1")
    for fold in range(3):
        model = load_model(f"trained:added/fold-{fold}/seed-1", workspace(pets))
        tensors = ImageTensors.of(decoded.pixels, test_set.labels, model.preprocessing)
        outside = added.held_out(1, fold)
        scores = model.scores(tensors.normalized(tensors.pixels).numpy())[outside]
        assert np.asarray(predictions.full_scores)[outside] == pytest.approx(scores, rel=2e-3, abs=2e-3)
        assert (
            pets.store.predictions.manifest("pets-new", "trained:added/seed-1").runtime_note.count("images by fold-")
            == 3
        )
    accuracy = result.members[1].test_accuracies["pets-new"]
    assert accuracy.n == 12 and accuracy.value == pytest.approx((predictions.top1 == test_set.labels).mean())
    assert result.members[1].training_accuracy.n == 24 + 8


def workspace(pets):
    return Settings(workspace=pets.store.root)


def test_network_of_a_fold_never_sees_its_images():
    test_set = TestSet("new", PETS, tuple("abcdef"), np.array([0, 0, 1, 1, 2, 2]))
    added = AddedSet.of(test_set, tuple(bytes([place]) for place in range(6)), folds=2, clusters=None)
    preprocessing = Preprocessing(1, 1, mean=(0.0,), std=(1.0,))
    pixels = np.arange(6, dtype=np.uint8).reshape(6, 1, 1, 1)
    tensors = {
        "train": ImageTensors.of(pixels + 100, np.zeros(6), preprocessing),
        "new": ImageTensors.of(pixels, test_set.labels, preprocessing),
    }
    seen = []
    for fold in range(2):
        name, parts = added.with_fold("train", tensors, seed=4, fold=fold)
        trained, held_out = (set(parts[part].pixels.ravel().tolist()) for part in (name, "new"))
        assert not trained & held_out and trained | held_out == {*range(6), *range(100, 106)}
        assert held_out == set(added.held_out(4, fold).tolist())
        seen += held_out
    assert sorted(seen) == list(range(6))


def test_other_sets_are_predicted_by_the_network_of_fold_0(pets):
    train(pets)
    run_well("predict", "trained:added/fold-0/seed-0", "-t", "pets-val", "-w", pets.store.root)
    test_set = pets.store.test_set("pets-val")
    member, fold = (
        pets.store.predictions.read(test_set, f"trained:added/{name}") for name in ("seed-0", "fold-0/seed-0")
    )
    assert np.array_equal(member.classes, fold.classes)
    ran = run("predict", "trained:added/seed-0", "-t", "pets-train", "-w", pets.store.root)
    assert_one_line(ran, "trained:added/seed-0 has 3 networks: name one, such as trained:added/fold-0/seed-0")


def test_stopped_folds_resume_with_identical_results(pets, tmp_path):
    whole = regrade.open(shutil.copytree(pets.store.root, tmp_path / "whole"))
    train(whole)

    def stop(plan, report):
        if (plan.fold, report.seed, report.epoch) == (1, 1, 1):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(pets, epoch_progress=stop)
    assert train(pets).new_epochs == 2 * 2 * 3 - 2 * 2 - 3
    for fold in range(3):
        assert all(same_weights(fold_weights(pets, fold, seed), fold_weights(whole, fold, seed)) for seed in (0, 1))
    digests = [space.store.predictions.manifest("pets-new", "trained:added/seed-1").digest for space in (pets, whole)]
    assert digests[0] == digests[1]
    assert train(pets).new_epochs == 0
    assert run("verify", "-w", pets.store.root).code == 0
    with pytest.raises(AlreadyStored, match="other settings: folds"):
        train(pets, folds=2)


def test_other_networks_than_without_added_images(pets):
    train(pets)
    pets.train.ensemble("plain", "pets-train", seeds=(0,), test_sets=["pets-val"], **SMALL)
    plain = read_network_file(next((pets.store.root / "training" / "plain" / "seed-0").glob("*.pt")))[1]["network"]
    assert not same_weights(plain, fold_weights(pets, 0, 0))
    assert not pets.store.ensembles.has("pets-val", "added")


def test_clusters_stay_in_one_fold(workspace, tmp_path):
    images = sorted(write_images(tmp_path / "homes", per_class=4, seed=5).rglob("*.png"))
    rows = [f"{image},{image.parent.name},home {place // 6}" for place, image in enumerate(images)]
    (tmp_path / "homes.csv").write_text("\n".join(["path,label,household", *rows]))
    workspace.testsets.add("homes", tmp_path / "homes.csv", classes=PETS, columns=Columns(groups=("household",)))
    train(workspace, add="homes", test_sets=["homes"], seeds=(0,), folds=2)
    plan = json.loads((workspace.store.root / "training" / "added" / "plan.json").read_text())
    assert plan["added"] == {"added_set": "homes", "folds": 2, "clusters": "household"}
    note = workspace.store.predictions.manifest("homes", "trained:added/seed-0").runtime_note
    assert note == "6 images by fold-0, 6 images by fold-1"
    with pytest.raises(InputError, match="homes has 2 clusters of images, too few for --folds 3"):
        train(workspace, "three", add="homes", test_sets=["homes"], folds=3, seeds=(0,))


def test_images_shared_with_the_added_set_are_refused(pets, tmp_path):
    images = shutil.copytree(tmp_path / "pets-new", tmp_path / "copy")
    pets.testsets.add("copy", images, classes=PETS)
    with pytest.raises(
        MismatchError, match="12 images of copy are also in pets-new, which is added to the training set"
    ):
        train(pets, test_sets=["pets-new", "copy"])
    train(pets, test_sets=["pets-new", "copy"], allow_shared=True, seeds=(0,))


def command(pets, *more):
    small = ("--network", "mlp", "--epochs", 1, "--batch", 8, "--jobs", 1, "--seed", 0)
    return run("train", "ensemble", "no", "--on", "pets-train", "-t", "pets-new", *small, *more, "-w", pets.store.root)


def test_command_prints_folds_and_says_how_accuracies_arise(pets):
    ran = command(pets, "--add", "pets-new", "--folds", 2)
    assert "no fold-1, seed 0: epoch 1 of 1" in ran.err
    assert "no: mlp on 24 images of pets-train and 1 of 2 folds of pets-new" in ran.out
    assert "every image by the one of 2 networks that never saw it" in " ".join(ran.out.split())


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--add", "pets-train"), "--add pets-train is the training set"),
        (("--add", "pets-val"), "--add pets-val is not among the test sets: give --test-set pets-val"),
        (("--add", "pets-new"), "class cat has 4 images in pets-new, too few for --folds 5"),
        (("--add", "pets-new", "--folds", 2, "--clusters", "home"), "unknown group column of pets-new 'home'"),
        (("--add", "pets-new", "--folds", 2, "--every", 2), "leave out --every, --keep and --no-finish"),
        (("--add", "pets-new", "--folds", 2, "--no-finish"), "stores predictions of the last epoch only"),
        (("--folds", 3), "--folds and --clusters belong to --add"),
    ],
)
def test_bad_options_are_one_line(pets, more, words):
    assert_one_line(command(pets, *more), words)
    assert not (pets.store.root / "training" / "no").exists()


def test_added_set_needs_labels_and_the_same_classes(pets, tmp_path):
    pets.testsets.add("blank", tmp_path / "pets-new" / "cat", classes=PETS, layout="flat")
    with pytest.raises(InputError, match="4 of 4 images of blank have no label: --add needs all"):
        train(pets, add="blank", test_sets=["blank"])
    folder = write_images(tmp_path / "two", per_class=4, seed=9, classes=("cat", "dog"))
    pets.testsets.add("two", folder, classes=ClassSpace("two", ("cat", "dog")))
    with pytest.raises(MismatchError, match="two has the classes two"):
        train(pets, add="two", test_sets=["two"])
