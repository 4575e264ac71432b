"""regrade train groupdro and upsample: groups, what they change, resuming, and bad input."""

import json
import math

import numpy as np
import pytest
from colored_digits import make_colored_digits
from running import assert_one_line, run, run_well
from training_world import SMALL, same_weights, weights

from regrade.core import AlreadyStored, InputError
from regrade.metrics import confusion_score
from regrade.stats import accuracy_covariance, two_way_mean
from regrade.tables import Columns
from regrade.train.batch_loss import GroupDRO, MeanLoss
from regrade.train.remedy import GroupRemedy, RemedyKind, TrainingGroups, groups_of_confusion

COLORED = {
    "network": "cnn",
    "epochs": 10,
    "batch": 50,
    "learning_rate": 0.05,
    "crop": 0,
    "flip": False,
    "jobs": 1,
    "test_sets": ["colored-test"],
}


def with_column(workspace, tmp_path, values, name="grouped"):
    """Store the training images again, with a group column."""
    source = workspace.store.images.read(workspace.store.test_set("pets-train")).path
    images = sorted(source.rglob("*.png"))
    rows = [f"{image},{image.parent.name},{value}" for image, value in zip(images, values, strict=True)]
    table = tmp_path / f"{name}.csv"
    table.write_text("\n".join(["path,label,light", *rows]))
    space = workspace.store.test_set("pets-train").class_space
    workspace.testsets.add(name, table, classes=space, columns=Columns(groups=("light",)))
    return name


@pytest.fixture
def grouped(workspace, tmp_path):
    return with_column(workspace, tmp_path, ["day"] * 18 + ["night"] * 6)


def train(workspace, on, *, method="groupdro", name="dro", **options):
    chosen = {"seeds": (0,), "test_sets": ["pets-val"], "by": "light", **SMALL, **options}
    return getattr(workspace.train, method)(name, on, **chosen)


def test_remedies_use_the_groups_of_a_column(workspace, grouped):
    result = train(workspace, grouped)
    assert dict(result.groups) == {"day": 18, "night": 6}
    assert "day: 18, night: 6" in " ".join(result.table().notes)
    plan = json.loads((workspace.store.root / "training" / "dro" / "plan.json").read_text())
    assert plan["remedy"]["method"] == "groupdro" and plan["remedy"]["step_size"] == 0.01
    train(workspace, grouped, method="upsample", name="up")
    workspace.train.ensemble("plain", grouped, seeds=(0,), test_sets=["pets-val"], **SMALL)
    trained = [weights(workspace, name, 0) for name in ("plain", "dro", "up")]
    assert not same_weights(trained[0], trained[1]) and not same_weights(trained[0], trained[2])


def test_upsampling_gives_every_group_the_same_chance():
    groups = TrainingGroups("a column", ("a", "b"), np.array([0, 0, 0, 1, 1, 0]))
    remedy = GroupRemedy(RemedyKind.UPSAMPLE, groups)
    chances = remedy.image_weights().numpy()
    assert chances.tolist() == [0.25, 0.25, 0.25, 0.5, 0.5, 0.25]
    assert np.bincount(groups.members, chances).tolist() == [1.0, 1.0]
    assert type(remedy.batch_loss()) is MeanLoss
    assert GroupRemedy(RemedyKind.GROUPDRO, groups).image_weights() is None
    assert type(GroupRemedy(RemedyKind.GROUPDRO, groups).batch_loss()) is GroupDRO


def test_stopped_groupdro_resumes_with_the_weights_of_its_groups(workspace, grouped):
    train(workspace, grouped, name="whole", epochs=3, step_size=0.5)

    def stop(_, report):
        if report.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(workspace, grouped, epochs=3, step_size=0.5, epoch_progress=stop)
    with pytest.raises(InputError, match="regrade train groupdro dro"):
        workspace.train.finish("dro")
    train(workspace, grouped, epochs=3, step_size=0.5)
    assert same_weights(weights(workspace, "whole", 0), weights(workspace, "dro", 0))


def test_confused_groups_are_those_of_training_scores(workspace):
    workspace.train.ensemble("small", "pets-train", seeds=(0, 1), test_sets=["pets-train"], **SMALL)
    training_set = workspace.store.test_set("pets-train")
    bits = confusion_score(workspace.store.ensembles.read(training_set, "small"))
    limit = float(np.sort(bits)[-5])
    groups = groups_of_confusion(workspace.store, training_set, "small", limit)
    assert groups.sizes == (19, 5)
    assert set(np.flatnonzero(groups.members)) == set(np.argsort(bits)[-5:])
    result = workspace.train.upsample(
        "up", "pets-train", seeds=(0,), confused_by="small", threshold=limit, test_sets=["pets-val"], **SMALL
    )
    assert list(result.groups.values()) == [19, 5]


def test_default_threshold_is_half_of_the_largest_score(workspace):
    workspace.train.ensemble("small", "pets-train", seeds=(0,), test_sets=["pets-train"], **SMALL)
    training_set = workspace.store.test_set("pets-train")
    bits = confusion_score(workspace.store.ensembles.read(training_set, "small"))
    hard = int((bits >= math.log2(3) / 2).sum())
    if 2 <= hard <= 22:
        assert groups_of_confusion(workspace.store, training_set, "small").sizes == (24 - hard, hard)
    else:
        with pytest.raises(InputError, match=r"0\.79"):
            groups_of_confusion(workspace.store, training_set, "small")


def test_other_groups_under_the_same_name_are_refused(workspace, grouped):
    train(workspace, grouped)
    with pytest.raises(AlreadyStored, match="other settings: step size"):
        train(workspace, grouped, step_size=0.1)
    with pytest.raises(AlreadyStored, match="other settings: method"):
        train(workspace, grouped, method="upsample")


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (["day"] * 24, {}, "has a single group, day"),
        (["day"] * 23 + ["night"], {}, "group night of column light of grouped has a single image"),
        (["day"] * 20 + ["n/a"] * 4, {}, "4 of 24 images of grouped have no light"),
        (["day", "night"] * 12, {"by": "lihgt"}, "did you mean light"),
        (["day", "night"] * 12, {"by": None}, "either by --by or by --confused-by"),
        (["day", "night"] * 12, {"confused_by": "small"}, "either by --by or by --confused-by"),
        (["day", "night"] * 12, {"by": None, "confused_by": "small"}, "ensemble small has no scores on grouped"),
        (["day", "night"] * 12, {"threshold": 1.0}, "--threshold belongs to --confused-by"),
        (["day", "night"] * 12, {"adjustment": -1.0}, "the adjustment not negative"),
    ],
)
def test_bad_groups_are_refused_before_training(workspace, tmp_path, values, options, message):
    on = with_column(workspace, tmp_path, values)
    with pytest.raises(InputError, match=message):
        train(workspace, on, **options)
    assert not (workspace.store.root / "training" / "dro").exists()


def test_threshold_that_leaves_a_group_empty_names_the_range_of_scores(workspace):
    workspace.train.ensemble("small", "pets-train", seeds=(0,), test_sets=["pets-train"], **SMALL)
    with pytest.raises(InputError, match=r"between .* bits: a threshold of 9\.00 leaves one group empty"):
        groups_of_confusion(workspace.store, workspace.store.test_set("pets-train"), "small", 9.0)


def test_commands_train_and_predict(workspace, grouped):
    root = workspace.store.root
    shared = ("--on", grouped, "--network", "cnn", "--epochs", 1, "--batch", 8, "--seed", 0, "--jobs", 1, "-w", root)
    shown = run_well("train", "groupdro", "dro", "--by", "light", "--test-set", "pets-val", *shared)
    assert "day: 18, night: 6" in " ".join(shown.out.split())
    run_well("train", "upsample", "up", "--by", "light", *shared)
    run_well("predict", "trained:dro/seed-0", "-t", "pets-val", "-w", root)
    assert "trained:dro/seed-0" in run_well("grade", "-t", "pets-val", "-w", root).out
    assert_one_line(run("train", "upsample", "no", *shared), "either by --by or by --confused-by")


def test_colored_digits_fail_in_the_worst_group_and_remedies_recover_it(tmp_path):
    workspace = make_colored_digits(tmp_path)
    test_set = workspace.store.test_set("colored-test")
    groups = np.array(test_set.group_columns["group"])
    unusual = np.isin(groups, ["low green", "high red"])
    workspace.train.ensemble("plain", "colored-train", **COLORED)
    workspace.train.groupdro("dro", "colored-train", by="group", **COLORED)
    workspace.train.upsample("up", "colored-train", by="group", **COLORED)
    right = {}
    for name in ("plain", "dro", "up"):
        kept = workspace.store.ensembles.read(test_set, name)
        right[name] = np.stack([kept.scores(m, 10)[:].argmax(axis=1) == test_set.labels for m in range(3)])
    worst = {name: min(values[:, groups == group].mean() for group in set(groups)) for name, values in right.items()}
    assert worst["plain"] < 0.65 and worst["dro"] > worst["plain"] + 0.1 and worst["up"] > worst["plain"]
    for name, least in (("dro", 0.1), ("up", 0.0)):
        gain = _gain(right[name][:, unusual], right["plain"][:, unusual])
        assert gain.low > least


def _gain(remedy, baseline):
    """The mean difference over seeds with an interval over seeds and images."""
    stacked = accuracy_covariance(np.concatenate([remedy, baseline]))
    contrast = np.hstack([np.eye(3), -np.eye(3)])
    return two_way_mean((remedy.mean(axis=1) - baseline.mean(axis=1)), contrast @ stacked @ contrast.T)
