"""regrade train head: what is stored, graded and predicted, before and after, and bad input."""

import errno
import json
import os
import shutil

import numpy as np
import pytest
from colored_digits import COLORS, SPACE, make_colored_digits
from head_world import BASE, HOMES, MODEL, add_embeddings, add_homes, make_head_world
from running import assert_one_line, run, run_well
from sklearn.linear_model import LogisticRegression
from training_world import SMALL

import regrade
from regrade.core import NO_ANSWER, AlreadyStored, InputError, MismatchError, ScoreKind, TestSet, WriteError
from regrade.models.head_model import head_path, read_head_file
from regrade.studies.remedies.result import RemedyMeasure
from regrade.tables import Columns


@pytest.fixture(scope="session")
def _head_world(tmp_path_factory):
    return make_head_world(tmp_path_factory.mktemp("head") / "W")


@pytest.fixture
def world(_head_world, tmp_path):
    return regrade.open(shutil.copytree(_head_world.store.root, tmp_path / "W"))


def fit(workspace, *, name="new", on="homes-train", model=MODEL, test_sets=("homes-test",), **options):
    return workspace.train.head(name, on, model, test_sets=test_sets, **options)


def overall(result, test_set):
    return next(row for row in result.rows if row.test_set == test_set and row.measure is RemedyMeasure.ACCURACY)


def scores_of(workspace, test_set, model="head:new/seed-0"):
    return np.asarray(workspace.store.predictions.read(workspace.store.test_set(test_set), model).full_scores)


def with_features(workspace, name, change, **fields):
    """Store the embeddings of a set again, changed."""
    store = workspace.store
    test_set = store.test_set(name)
    features = np.array(store.predictions.read(test_set, MODEL).features, dtype=np.float32)
    store.predictions.remove(name, MODEL)
    add_embeddings(workspace, test_set, change(features), **fields)


def test_new_classes_are_graded_before_and_after_and_not_defined_on_the_original_set(world):
    result = fit(world, by="region")
    row = overall(result, "homes-test")
    assert row.after.value > row.before.value + 0.05 and row.difference.low > 0
    assert "clusters" in row.difference.method
    original = overall(result, "base-val")
    assert original.role.value == "original" and original.before.value > 0.9
    assert original.after is None and original.difference is None
    assert original.reason == "after is not defined: no class map from homes to base-classes, the classes of the set"
    assert original.reason in " ".join(result.table().notes)
    assert {row.group for row in result.rows if row.test_set == "homes-test"} == {None, "north", "south"}
    assert world.store.predictions.manifest("homes-test", "head:new/seed-0").model.training_data == "homes-train"
    assert "head:new/seed-0" in {row.model for row in world.grade("homes-test").rows}


def test_kept_classes_learn_through_the_class_map_and_the_original_set_is_graded(world):
    result = fit(world, keep_classes=True)
    row, original = overall(result, "homes-test"), overall(result, "base-val")
    assert row.difference.low > 0
    assert original.before.value > 0.9 and original.after is not None and original.difference is not None
    assert world.store.predictions.manifest("homes-test", "head:new/seed-0").class_space == BASE.name


def test_kept_classes_with_a_strong_penalty_are_the_base_model(world):
    result = fit(world, keep_classes=True, l2=(1e9,))
    assert np.abs(scores_of(world, "homes-test") - scores_of(world, "homes-test", MODEL)).max() < 0.01
    assert overall(result, "homes-test").difference.value == 0


def test_class_map_of_a_file_serves_sets_without_their_own(world, tmp_path):
    for name, seed in (("a", 11), ("b", 12)):
        add_homes(world, name, 120, seed, class_map=None)
    with pytest.raises(MismatchError, match="give a class map with --map"):
        fit(world, on="a", test_sets=["b"], keep_classes=True)
    table = tmp_path / "map.json"
    table.write_text(json.dumps({"furniture": ["bed", "sofa"], "cooking": ["stove"], "water": ["sink"]}))
    row = overall(fit(world, on="a", test_sets=["b"], keep_classes=True, class_map=table), "b")
    assert row.difference.value > 0.05
    table.write_text(json.dumps({"furniture": ["bed"], "cooking": ["stove"], "water": ["sink"]}))
    with pytest.raises(AlreadyStored, match="other settings: class map"):
        fit(world, on="a", test_sets=["b"], keep_classes=True, class_map=table)
    with_map = fit(world, name="with-map", on="a", test_sets=["b"], class_map=table, l2=(0.1,))
    assert overall(with_map, "b").before is not None
    assert overall(with_map, "base-val").reason.startswith("after is not defined")
    unmapped = overall(fit(world, name="own", on="a", test_sets=["b"]), "b")
    assert unmapped.before is None and unmapped.after.value > 0.8
    assert unmapped.reason.startswith("before is not defined: no class map from base-classes to homes")


def test_stored_head_is_that_of_scikit_learn_with_balanced_groups(world):
    result = fit(world, l2=(0.01,), balance="group", by="region", tolerance=1e-7)
    test_set = world.store.test_set("homes-train")
    features = np.array(world.store.predictions.read(test_set, MODEL).features, dtype=np.float64)
    regions = np.array(test_set.group_columns["region"])
    weights = np.array([1 / (2 * (regions == region).sum()) for region in regions])
    size = len(test_set)
    rival = LogisticRegression(C=1 / (size * 0.01 * result.scale**2), tol=1e-10, max_iter=10_000)
    rival.fit(features, test_set.labels, sample_weight=size * weights)
    tested = np.array(world.store.predictions.read(world.store.test_set("homes-test"), MODEL).features, dtype=float)
    ours = scores_of(world, "homes-test").astype(float)
    theirs = tested @ rival.coef_.T + rival.intercept_
    theirs -= rival.intercept_.mean() + (tested @ rival.coef_.T).mean(axis=1, keepdims=True)
    assert np.abs(ours - ours.mean(axis=1, keepdims=True) - theirs).max() < 0.02  # half precision
    assert dict(result.groups) == {name: int((regions == name).sum()) for name in ("north", "south")}


def test_training_set_is_predicted_out_of_fold(world):
    features = np.random.default_rng(0).standard_normal((240, 60))
    with_features(world, "homes-train", lambda _: features)
    add_embeddings(world, add_random(world), np.random.default_rng(1).standard_normal((60, 60)))
    result = fit(world, test_sets=["homes-train"], original="random", l2=(1e-4,), allow_shared=True)
    row = overall(result, "homes-train")
    assert row.role.value == "training, out of fold"
    head = read_head_file(head_path(world.store.root / "training" / "new" / "seed-0")).head
    labels = world.store.test_set("homes-train").labels
    seen = (head.scores(features.astype(np.float16), None).argmax(axis=1) == labels).mean()
    assert seen > row.after.value + 0.15  # embeddings are noise: a head knows only the images that it has seen
    note = world.store.predictions.manifest("homes-train", "head:new/seed-0").runtime_note
    assert note == "out of fold: 5 folds by household"


def add_random(world):
    test_set = TestSet("random", HOMES, tuple(f"r{i}" for i in range(60)), np.arange(60) % 3)
    world.store.add_test_set(test_set)
    return test_set


def test_same_command_again_changes_nothing_and_new_test_sets_use_the_stored_head(world):
    first = fit(world)
    path = head_path(world.store.root / "training" / "new" / "seed-0")
    before = path.stat().st_mtime_ns, scores_of(world, "homes-test")
    again = fit(world)
    assert again.rows == first.rows and again.fits == first.fits and (first.new_fits, again.new_fits) == (1, 0)
    assert path.stat().st_mtime_ns == before[0] and np.array_equal(scores_of(world, "homes-test"), before[1])
    add_homes(world, "homes-more", 80, 9)
    more = fit(world, test_sets=["homes-test", "homes-more"])
    assert more.new_fits == 0 and overall(more, "homes-more").after.value > 0.8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l2": (0.5,)}, "other settings: l2"),
        ({"keep_classes": True}, r"other settings: keep classes \(False, now True\)"),
        ({"balance": "class"}, r"other settings: balance \(none, now class\)"),
        ({"solver": "adam"}, r"other settings: solver \(lbfgs, now adam\)"),
        ({"folds": 3}, r"other settings: folds \(5, now 3\)"),
        (
            {"on": "homes-test", "test_sets": ["homes-train"]},
            r"other settings: training set \(homes-train, now homes-test\)",
        ),
    ],
)
def test_other_settings_under_the_same_name_are_refused(world, options, message):
    fit(world)
    with pytest.raises(AlreadyStored, match=message):
        fit(world, **options)


def test_other_embeddings_under_the_same_name_are_refused(world):
    fit(world)
    with_features(world, "homes-train", lambda features: features + 1)
    with pytest.raises(AlreadyStored, match="fitted on other embeddings of imported-net"):
        fit(world)


def test_seeds_differ_in_folds_and_adam_only(world):
    result = fit(world, l2=(0.1,), seeds=(0, 1))
    assert [item.model for item in result.fits] == ["head:new/seed-0", "head:new/seed-1"]
    assert np.array_equal(scores_of(world, "homes-test"), scores_of(world, "homes-test", "head:new/seed-1"))
    fit(world, name="adam", solver="adam", l2=(0.1,), seeds=(0, 1), epochs=3, batch=32, learning_rate=0.01)
    first, second = (scores_of(world, "homes-test", f"head:adam/seed-{seed}") for seed in (0, 1))
    assert not np.array_equal(first, second)
    shown = world.study.remedies(["homes-test"], "head:new/seed-*", ["head:adam/seed-*"])
    assert shown.rows[0].seeds == 2


def test_unreadable_images_are_left_out_of_the_fit_and_stay_without_an_answer(world):
    def without_first(features):
        features[0] = np.nan
        return features

    for name in ("homes-train", "homes-test"):
        test_set = world.store.test_set(name)
        stored = world.store.predictions.read(test_set, MODEL).classes.copy()
        stored[0] = NO_ANSWER
        with_features(world, name, without_first, classes=stored)
    result = fit(world)
    assert result.images == 239
    assert "1 image of homes-train unreadable: left out of the fit" in result.notes
    kept = world.store.predictions.read(world.store.test_set("homes-test"), "head:new/seed-0")
    assert (kept.classes[0] == NO_ANSWER).all() and (kept.classes[1:] != NO_ANSWER).all()


def test_missing_embeddings_name_the_command_to_run(world):
    with pytest.raises(InputError, match="run regrade predict timm:resnet18 -t homes-train --keep features"):
        fit(world, model="timm:resnet18")
    with_features(world, "homes-test", lambda features: features)
    world.store.predictions.remove("homes-test", MODEL)
    add_embeddings(world, world.store.test_set("homes-test"), None)
    with pytest.raises(InputError, match=r"on homes-test without embeddings: regrade models remove .*then run regrade"):
        fit(world)
    assert not (world.store.root / "training").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l2": (0.0,)}, "--l2 must be above 0, got 0"),
        ({"l2": ()}, "--l2 needs at least one penalty"),
        ({"folds": 61}, "--folds 61 is too many for 60 clusters by household"),
        ({"folds": 59}, "--folds 59 is too many for 60 clusters by household"),
        ({"balance": "group"}, "--balance group requires --by"),
        ({"by": "regoin"}, "did you mean region"),
        ({"clusters": "street"}, "unknown group column"),
        ({"test_sets": ()}, "no set to grade"),
        ({"name": "a/b"}, "cannot name a training"),
        ({"model": "*"}, r"\* in \* must stand for a seed"),
        ({"device": "mps"}, "cpu or cuda"),
    ],
)
def test_bad_options_are_refused_before_anything_is_stored(world, options, message):
    if options.get("test_sets") == ():
        world.store.predictions.remove("base-val", MODEL)
    with pytest.raises(InputError, match=message):
        fit(world, **{"test_sets": ("homes-train", "homes-test"), **options})
    assert not (world.store.root / "training").exists()


@pytest.mark.parametrize(
    ("change", "fields", "options", "message"),
    [
        (
            lambda f: np.where(np.arange(240)[:, None] == 7, np.nan, f),
            {},
            {},
            "for 1 image, for example 'homes-train-7'",
        ),
        (lambda f: f * 0, {}, {}, "all embeddings of the training images are equal"),
        (lambda f: f[:, :6], {}, {}, "has embeddings of 12 numbers on homes-test, and of 6 on homes-train"),
        (lambda f: f, {"full_scores": None}, {"keep_classes": True}, "with its best classes only"),
        (
            lambda f: f,
            {"score_kind": ScoreKind.PROBABILITIES},
            {"keep_classes": True},
            "has probabilities on homes-train",
        ),
    ],
)
def test_bad_embeddings_are_refused(world, change, fields, options, message):
    with_features(world, "homes-train", change, **fields)
    with pytest.raises(InputError, match=message):
        fit(world, **options)
    assert not list((world.store.root / "training").rglob("head-*"))


@pytest.mark.parametrize(
    ("fields", "options", "message"),
    [
        ({"labels": np.zeros(40, dtype=int)}, {}, "all images of odd are furniture"),
        ({"labels": np.arange(40) % 2}, {}, "odd has no image of 1 class of homes, for example water"),
        ({"labels": np.arange(40) % 4 - 1}, {}, "10 of 40 images of odd have no label"),
        ({"labels": np.zeros(40, dtype=int)}, {"keep_classes": True}, "fewer than two classes of odd"),
        (
            {"groups": {"region": ("north",) * 39 + ("south",)}},
            {"by": "region"},
            "south of column region of odd has a single",
        ),
        ({"groups": {"region": ("north",) * 40}}, {"by": "region"}, "has a single group, north"),
    ],
)
def test_bad_training_sets_are_refused(world, fields, options, message):
    add_homes(world, "odd", 40, 5, **fields)
    with pytest.raises(InputError, match=message):
        fit(world, on="odd", **options)


def test_sets_that_share_households_or_images_with_the_training_set_are_refused(world):
    trained = world.store.test_set("homes-train")
    homes = trained.group_columns["household"]
    add_homes(world, "neighbors", 240, 6, groups={"household": homes})
    with pytest.raises(MismatchError, match="60 households in common, for example 'homes-train-0'"):
        fit(world, test_sets=["neighbors"])
    add_homes(world, "copied", 240, 7, ids=trained.ids, groups={})
    with pytest.raises(MismatchError, match="240 images in common, for example 'homes-train-0'"):
        fit(world, test_sets=["copied"])
    assert fit(world, test_sets=["copied", "neighbors"], allow_shared=True).rows


def test_images_with_the_same_content_are_shared_even_under_other_ids(workspace, tmp_path):
    source = workspace.store.images.read(workspace.store.test_set("pets-train")).path
    for name in ("cat", "dog", "owl"):
        for image in range(4):
            copied = tmp_path / "copied" / name / f"other-{image}.png"
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / name / f"{image}.png", copied)
    workspace.testsets.add("copied", tmp_path / "copied", classes=workspace.store.test_set("pets-train").class_space)
    workspace.train.ensemble("small", "pets-train", seeds=(0,), test_sets=[], **SMALL)
    base = "trained:small/seed-0"
    workspace.predict([base], test_sets=["pets-train", "pets-val", "copied"], keep=["features"])
    with pytest.raises(MismatchError, match=r"copied and the training set pets-train have 12 images in common"):
        fit(workspace, on="pets-train", model=base, test_sets=["copied"], folds=3)
    assert fit(workspace, on="pets-train", model=base, test_sets=["pets-val"], original="pets-val", folds=3).rows


def test_small_groups_of_a_test_set_leave_the_overall_accuracy(world):
    add_homes(world, "few", 40, 8, groups={"region": ("north",) * 39 + ("south",)})
    result = fit(world, test_sets=["few"], by="region")
    assert [row.group for row in result.rows if row.test_set == "few"] == [None]
    assert any(note.startswith("few: overall accuracy only, region south") for note in result.notes)


def test_full_disk_is_one_line_and_leaves_no_part_of_a_head(world, monkeypatch):
    link = os.link

    def full(source, path, **options):
        if "head-" in str(path):
            raise OSError(errno.ENOSPC, "No space left on device")
        return link(source, path, **options)

    monkeypatch.setattr("os.link", full)
    with pytest.raises(WriteError, match=r"No space left|disk is full"):
        fit(world)
    monkeypatch.undo()
    assert not list((world.store.root / "training" / "new").rglob("head-*"))
    assert not world.store.predictions.has("homes-test", "head:new/seed-0")
    assert fit(world).new_fits == 1


def test_command_prints_tables_and_errors_of_a_line(world):
    root = world.store.root
    arguments = ("train", "head", "new", "--on", "homes-train", "--model", MODEL, "-t", "homes-test", "-w", root)
    shown = run_well(*arguments, "--l2", 1, "--l2", 0.01)
    assert "after is not defined: no class map" in " ".join(shown.out.split())
    assert "held-out loss" in run_well(*arguments, "--l2", 1, "--l2", 0.01, "--show", "penalties").out
    kept = json.loads(run_well(*arguments, "--l2", 1, "--l2", 0.01, "--json").out)
    assert [trial["l2"] for trial in kept["fits"][0]["path"]] == [1.0, 0.01] and kept["new_fits"] == 0
    assert_one_line(run(*arguments, "--l2", -1), "--l2 must be above 0")
    assert_one_line(run(*arguments, "--l2", 3), "other settings: l2")
    run_well("verify", "-w", root)
    path = head_path(root / "training" / "new" / "seed-0")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert "has changed since it was written" in run("verify", "-w", root).out
    assert_one_line(run(*arguments, "--l2", 1, "--l2", 0.01), "has changed since it was written")


@pytest.mark.parametrize("keep_classes", [False, True])
def test_predict_gives_the_stored_predictions(workspace, keep_classes):
    sets = ["pets-train", "pets-val"]
    workspace.train.ensemble("small", "pets-train", seeds=(0, 1), test_sets=sets, keep=["features"], **SMALL)
    models = [f"trained:small/seed-{seed}" for seed in (0, 1)]
    fit(workspace, on="pets-train", model="small", test_sets=["pets-val"], folds=3, keep_classes=keep_classes)
    store = workspace.store
    test_set = store.test_set("pets-val")
    for seed in (0, 1):
        model = f"head:new/seed-{seed}"
        stored = store.predictions.read(test_set, model)
        expected = stored.classes, np.array(stored.full_scores, dtype=float)
        assert workspace.predict([model], test_sets=["pets-val"]).pairs[0].already
        store.predictions.remove("pets-val", model)
        workspace.predict([model], test_sets=["pets-val"], keep=["scores", "features"])
        again = store.predictions.read(test_set, model)
        assert np.array_equal(again.classes, expected[0])
        assert np.allclose(np.array(again.full_scores, dtype=float), expected[1], atol=2e-3, rtol=2e-3)
        base = store.predictions.read(test_set, models[seed])
        assert np.allclose(np.asarray(again.features), np.asarray(base.features), atol=2e-3, rtol=2e-3)


def test_head_models_are_refused_with_one_line(workspace):
    workspace.train.ensemble("small", "pets-train", seeds=(0,), test_sets=[], **SMALL)
    workspace.predict(["trained:small/seed-0"], test_sets=["pets-train", "pets-val"], keep=["scores", "features"])
    fit(workspace, on="pets-train", model="trained:small/seed-0", test_sets=["pets-val"], folds=3)
    root = workspace.store.root
    assert "write head:new/seed-0" in run("predict", "head:new", "-t", "pets-train", "-w", root).err
    assert "fit it with regrade train head" in run("predict", "head:old", "-t", "pets-train", "-w", root).err
    shutil.rmtree(root / "training" / "small")
    workspace.train.ensemble("small", "pets-train", seeds=(0,), test_sets=[], **{**SMALL, "learning_rate": 0.01})
    failed = run("predict", "head:new/seed-0", "-t", "pets-train", "-w", root)
    assert "was fitted on other weights of trained:small/seed-0" in failed.err


def add_part(workspace, folder, name, rows):
    """Store some test images of the colored digits as a set of their own."""
    lines = (folder / "colored-test" / "images.csv").read_text().splitlines()
    chosen = [lines[row + 1].split(",") for row in rows]
    table = folder / f"{name}.csv"
    table.write_text("\n".join(["path,label,group", *(f"colored-test/{','.join(line)}" for line in chosen)]))
    workspace.testsets.add(name, table, classes=SPACE, columns=Columns(groups=("group",)))


def test_balanced_head_recovers_the_worst_group_of_colored_digits(tmp_path):
    workspace = make_colored_digits(tmp_path)
    groups = np.array(workspace.store.test_set("colored-test").group_columns["group"])
    unusual = np.isin(groups, [f"{SPACE.ids[0]} {COLORS[1]}", f"{SPACE.ids[1]} {COLORS[0]}"])
    rows = np.arange(len(groups))
    fitted = rows[(rows < 400) & (~unusual | (rows % 3 == 0))]  # a third of the unusual ones
    add_part(workspace, tmp_path, "fitted", fitted)
    add_part(workspace, tmp_path, "graded", rows[400:])
    network = {"network": "cnn", "epochs": 10, "batch": 50, "learning_rate": 0.05, "crop": 0, "flip": False, "jobs": 1}
    seeds = tuple(range(5))
    sets = ["fitted", "graded"]
    workspace.train.ensemble("plain", "colored-train", test_sets=sets, seeds=seeds, keep=["features"], **network)
    options = {"on": "fitted", "model": "plain", "test_sets": ["graded"], "by": "group"}
    worst = {}
    for balance in ("none", "group"):
        result = fit(workspace, name=balance, balance=balance, **options)
        worst[balance] = next(row for row in result.rows if row.measure is RemedyMeasure.WORST_GROUP)
    assert worst["group"].before.value < 0.6 and worst["group"].difference.low > 0
    assert worst["group"].after.value > max(worst["none"].after.value, worst["group"].before.value + 0.25)
    gained = [row for row in result.rows if row.group in ("low green", "high red")]
    assert len(gained) == 2 and all(row.difference.low > 0 for row in gained)
