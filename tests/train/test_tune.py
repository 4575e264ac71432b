"""regrade train tune: grids, the choice on halves and its bias, stored predictions, resuming, and bad input."""

import json
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from running import assert_one_line, run, run_well
from scipy import stats
from training_world import SMALL, add_set

import regrade
from regrade.core import AlreadyStored, InputError
from regrade.models import Settings, load_model
from regrade.stats import accuracy_covariance, two_way_mean
from regrade.train.folds import stratified_folds
from regrade.train.grid import parse_grid
from regrade.train.images import ImageTensors
from regrade.train.read_images import read_images
from regrade.train.tuning import chosen_points, cross_fitted, seeded_accuracy

GRID = ("learning-rate=0.0001,0.1", "weight-decay=0,0.001")


@pytest.fixture
def pets(workspace, tmp_path):
    """The workspace with a new set of 12 images."""
    add_set(workspace, "pets-new", tmp_path, per_class=4, seed=3)
    return workspace


def tune(workspace, name="tuned", **options):
    chosen = {"seeds": (0, 1), "test_sets": ["pets-val", "pets-new"], "new": "pets-new", "grid": GRID}
    return workspace.train.tune(name, "pets-train", **{**SMALL, **chosen, **options})


def test_grid_has_all_combinations():
    points = parse_grid(["learning-rate=0.05, 0.1", "epochs=5,10"]).points
    assert points[2] == {"learning_rate": 0.1, "epochs": 5} and len(points) == 4
    assert all(isinstance(point["epochs"], int) for point in points)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["lerning-rate=1,2"], "unknown hyperparameter 'lerning-rate'; did you mean learning-rate"),
        (["optimizer=sgd,adamw"], "unknown hyperparameter 'optimizer'"),
        (["learning-rate=0.1"], "--grid has a single point"),
        (["learning-rate=0.1,0.1"], "has the same value twice"),
        (["learning-rate=0.1,x"], "'x' is not a number"),
        (["learning-rate=0.1,inf"], "--grid learning-rate"),
        (["learning-rate"], "--grid is written as learning-rate=0.05,0.1, got 'learning-rate'"),
        (["epochs=1.5,2"], "'1.5' is not a whole number"),
        (["epochs=1,2", "epochs=3,4"], "--grid names epochs twice"),
    ],
)
def test_bad_grid_is_refused(texts, message):
    with pytest.raises(InputError, match=message):
        parse_grid(texts)


def test_choice_of_a_small_table_by_hand():
    halves = np.array([0, 0, 0, 1, 1, 1])
    first = [[1, 1, 1, 0, 0, 0], [0, 1, 0, 1, 1, 1]]  # half 1: 3 and 1 of 3; half 2: 0 and 3
    second = [[1, 1, 0, 1, 1, 0], [1, 1, 0, 1, 0, 0]]  # half 1: 2 and 2 of 3; half 2: 2 and 1
    chosen = chosen_points(np.array([first, second], dtype=bool), halves)
    # for seed 0 by seed 1: half 1 by 3 against 1 right of half 2, half 2 by 1 against 2 of half 1, the rest by 4 to 3
    assert chosen.for_halves.tolist() == [[0, 1], [1, 0]] and chosen.for_rest.tolist() == [0, 1]
    expected = [[1, 1, 1, 1, 1, 0], [1, 1, 0, 1, 1, 1]]
    assert cross_fitted(np.array([first, second], dtype=bool), halves, chosen).astype(int).tolist() == expected


@given(st.integers(0, 10_000), st.integers(2, 5), st.integers(1, 4))
def test_cross_fitted_accuracy_of_equal_points_is_theirs(seed, points, seeds):
    rng = np.random.default_rng(seed)
    right = np.repeat(rng.random((1, seeds, 20)) < 0.7, points, axis=0)
    halves = rng.permutation(np.arange(20) % 2)
    assert np.array_equal(cross_fitted(right, halves, chosen_points(right, halves)), right[0])


def test_cross_fitting_removes_the_bias_of_the_choice():
    """Of sixteen points that are equally good, the best looks better than it is, on its images and with its seeds."""
    rng, halves, runs = np.random.default_rng(0), np.arange(100) % 2, 400
    fitted, best, same_seeds = np.empty(runs), np.empty(runs), np.empty(runs)
    for place in range(runs):
        right = rng.random((16, 4, 100)) < 0.7 + rng.uniform(-0.1, 0.1, (16, 4, 1))  # seeds differ
        fitted[place] = cross_fitted(right, halves, chosen_points(right, halves)).mean()
        best[place] = right.mean(axis=(1, 2)).max()
        same_seeds[place] = right[right[..., halves == 0].mean(axis=(1, 2)).argmax()][:, halves == 1].mean()
    error = stats.sem(fitted)
    assert abs(fitted.mean() - 0.7) < 4 * error
    assert best.mean() - 0.7 > 10 * error and same_seeds.mean() - 0.7 > 6 * error


def test_accuracy_over_seeds_agrees_with_the_mean_over_models():
    right = np.random.default_rng(1).random((4, 900)) < 0.8
    ours, oracle = seeded_accuracy(right, confidence=0.95), two_way_mean(right.mean(axis=1), accuracy_covariance(right))
    assert ours.value == oracle.value == pytest.approx(right.mean())
    assert (ours.low, ours.high) == pytest.approx((oracle.low, oracle.high), abs=2e-3)


def scores_of(pets, test_set, point, seed):
    """The scores of a point, computed apart from the training."""
    model = load_model(f"trained:tuned/point-{point}/seed-{seed}", Settings(workspace=pets.store.root))
    decoded = read_images(pets.store, test_set, model.preprocessing)
    tensors = ImageTensors.of(decoded.pixels, test_set.labels, model.preprocessing)
    return model.scores(tensors.normalized(tensors.pixels).numpy())


def test_predictions_are_by_the_points_chosen_on_other_images_and_seeds(pets):
    result = tune(pets)
    test_set = pets.store.test_set("pets-new")
    scores = np.array([[scores_of(pets, test_set, point, seed) for seed in (0, 1)] for point in range(4)])
    right = scores.argmax(axis=3) == test_set.labels
    halves = stratified_folds(test_set.labels, np.arange(12), folds=2, seed=0)
    for seed in (0, 1):
        stored = np.asarray(pets.store.predictions.read(test_set, f"trained:tuned/seed-{seed}").full_scores)
        for half in (0, 1):
            point = right[:, 1 - seed, halves != half].sum(axis=1).argmax()
            inside = halves == half
            assert stored[inside] == pytest.approx(scores[point, seed, inside], rel=2e-3, abs=2e-3)
    both = [pets.store.predictions.read(test_set, f"trained:tuned/seed-{seed}").top1 for seed in (0, 1)]
    assert result.accuracies["pets-new"].value == pytest.approx(np.mean(np.array(both) == test_set.labels))
    assert [point.accuracy.value for point in result.points] == pytest.approx(right.mean(axis=(1, 2)))
    counts = np.array([[p.predicts_first, p.predicts_second, p.predicts_rest] for p in result.points])
    assert counts.sum(axis=0).tolist() == [2, 2, 2]


def test_further_sets_are_predicted_by_the_best_point_of_the_rest_of_the_seeds(pets):
    result = tune(pets)
    new, val = pets.store.test_set("pets-new"), pets.store.test_set("pets-val")
    right = [(scores_of(pets, new, point, 1).argmax(axis=1) == new.labels).sum() for point in range(4)]
    stored = pets.store.predictions.read(val, "trained:tuned/seed-0")
    expected = scores_of(pets, val, int(np.argmax(right)), 0)
    assert np.asarray(stored.full_scores) == pytest.approx(expected, rel=2e-3, abs=2e-3)
    both = [pets.store.predictions.read(val, f"trained:tuned/seed-{seed}").top1 for seed in (0, 1)]
    assert result.accuracies["pets-val"].value == pytest.approx(np.mean(np.array(both) == val.labels))
    assert not pets.store.ensembles.has("pets-val", "tuned")


def test_stopped_grid_resumes_with_identical_results(pets, tmp_path):
    whole = regrade.open(shutil.copytree(pets.store.root, tmp_path / "whole"))
    expected = tune(whole)

    def stop(plan, report):
        if (plan.point, report.seed, report.epoch) == (2, 0, 1):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(pets, epoch_progress=stop)
    assert tune(pets).points == expected.points
    again = tune(pets)
    assert again.new_epochs == 0 and "all points were trained before" in again.table().notes
    digests = {space.store.predictions.manifest("pets-new", "trained:tuned/seed-1").digest for space in (pets, whole)}
    assert len(digests) == 1
    with pytest.raises(AlreadyStored, match="other settings: grid"):
        tune(pets, grid=("learning-rate=0.0001,0.2", "weight-decay=0,0.001"))
    with pytest.raises(AlreadyStored, match="other settings: seeds"):
        tune(pets, seeds=(0, 1, 2))


def test_command_lists_the_grid_and_what_was_chosen(pets):
    options = ("--network", "mlp", "--batch", 8, "--jobs", 1, "--seed", 0, "--crop", 0, "-w", pets.store.root)
    command = ("train", "tune", "tuned", "--on", "pets-train", "-t", "pets-new", "--new", "pets-new", *options)
    shown = run_well(*command, "--grid", "epochs=1,2").out
    assert "accuracy of the tuned networks" in shown and "half 1" in shown
    result = json.loads(run_well(*command, "--grid", "epochs=1,2", "--json").out)
    assert [point["settings"] for point in result["points"]] == [{"epochs": 1}, {"epochs": 2}]
    assert sum(point["predicts_rest"] for point in result["points"]) == 1
    study = ("study", "remedies", "-t", "pets-new", "--baseline", "plain", "--remedy", "tuned", "-w", pets.store.root)
    run_well("train", "ensemble", "plain", "--on", "pets-train", "-t", "pets-new", "--epochs", 1, *options)
    assert "tuned" in run_well(*study).out


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--new", "pets-new"), "--new and --grid are required"),
        (("--grid", "epochs=1,2"), "--new and --grid are required"),
        (("--new", "pets-train", "--grid", "epochs=1,2"), "--new pets-train is the training set"),
        (("--new", "pets-val", "--grid", "epochs=1,2"), "--new pets-val is not among the test sets"),
        (("--new", "pets-new", "--grid", "epoch=1,2"), "unknown hyperparameter 'epoch'"),
        (("--new", "pets-new", "--grid", "learning-rate=0,1"), "the learning rate must be above 0"),
        (("--new", "pets-new", "--grid", "epochs=1,2", "--every", 2), "leave out --every, --keep and --no-finish"),
        (
            ("--new", "pets-new", "--grid", "epochs=1,2", "--clusters", "home"),
            "unknown group column of pets-new 'home'",
        ),
    ],
)
def test_bad_options_are_one_line(pets, more, words):
    ran = run("train", "tune", "no", "--on", "pets-train", "-t", "pets-new", *more, "-w", pets.store.root)
    assert_one_line(ran, words)
    assert not (pets.store.root / "training" / "no").exists()


def test_added_and_tuned_sets_cannot_be_combined(pets):
    ran = run("train", "tune", "no", "--on", "pets-train", "--add", "pets-new", "-w", pets.store.root)
    assert ran.code == 2 and "--add" in ran.err
