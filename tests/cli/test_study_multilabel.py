"""regrade study multilabel, as a user calls it, with a file of multi-label annotations in the published format."""

import json
import shutil
from pathlib import Path

import pytest
from releases import write_csv
from running import assert_one_line, run, run_well

from regrade.classes import class_space
from regrade.stats import proportion
from regrade.workspace import open as open_workspace

SPACE = class_space("imagenet-1k")
PUG, CUP, MUG, FISH = "n02110958", "n07930864", "n03063599", "n01440764"
LABELS = (PUG, CUP, CUP, FISH, FISH, PUG)
IMAGES = tuple(f"ILSVRC2012_val_{n + 1:08}.JPEG" for n in range(len(LABELS)))
BEST = {"a": (PUG, MUG, FISH, FISH, CUP, CUP), "b": (PUG, CUP, CUP, CUP, CUP, PUG)}
CONTENT = {
    "initial_annots": {
        IMAGES[0]: {"correct": [PUG], "wrong": [CUP]},
        IMAGES[1]: {"correct": [CUP, MUG]},
        IMAGES[2]: {"correct": [CUP, FISH]},
        IMAGES[3]: {"correct": [FISH]},
        IMAGES[4]: {"correct": [FISH], "unclear": [CUP]},
        IMAGES[5]: {"correct": [PUG, CUP]},
        "0a1b.jpeg": {"correct": [PUG]},
    },
    "problematic_images": {IMAGES[5]: "painting or drawing"},
    "imagenet_m": [IMAGES[4]],
}


@pytest.fixture(scope="module")
def _world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("multilabel")
    rows = zip(IMAGES, LABELS, *BEST.values(), strict=True)
    path = write_csv(folder / "p.csv", ("image", "label", *BEST), *rows)
    (folder / "human_accuracy_v3.0.0.json").write_text(json.dumps(CONTENT))
    run_well("init", folder / "W")
    run_well("import", "predictions", path, "-t", "val", "--classes", "imagenet-1k", "-w", folder / "W")
    labels = ("import", "labels", folder / "human_accuracy_v3.0.0.json", "--format", "multilabel-v3")
    run_well(*labels, "-t", "val", "--name", "v3", "-w", folder / "W")
    return folder / "W"


@pytest.fixture
def world(_world: Path, tmp_path: Path) -> Path:
    """A workspace with six images, two models, and annotations of version 3."""
    return Path(shutil.copytree(_world, tmp_path / "W"))


def study(world, *options):
    return json.loads(run_well("study", "multilabel", "-t", "val", "-l", "v3", *options, "--json", "-w", world).out)


def test_multilabel_against_top1_on_images_that_are_not_problematic(world):
    data = study(world)
    rows = {row["model"]: row for row in data["rows"]}
    assert (data["labels"], data["images"], data["scored"]) == ("v3@1", 5, 5)
    assert rows["a"]["top1"] == proportion(2, 5).as_dict() and rows["a"]["multilabel"] == proportion(4, 5).as_dict()
    assert rows["b"]["multilabel"] == proportion(3, 5).as_dict() and rows["b"]["top5"] is None
    assert data["change"]["value"] == pytest.approx(0.2) and data["several"] == proportion(2, 5).as_dict()
    assert {row["kind"]: row["images"] for row in data["kinds"]} == {
        "one object, several names": 1, "similar classes": 0, "several objects": 1, "with an unclear label": 1,
    }  # fmt: skip
    assert [(pair["images"], pair["relation"]) for pair in data["pairs"]] == [(1, "unrelated"), (1, "collapsed")]


def test_unclear_classes_count_under_the_rule_of_classes(world):
    rows = {row["model"]: row for row in study(world, "--rule", "classes")["rows"]}
    assert rows["a"]["multilabel"]["value"] == 1.0


def test_the_same_from_python(world):
    assert json.loads(json.dumps(open_workspace(world).study.multilabel("val", "v3").as_dict())) == study(world)


@pytest.mark.parametrize("show", ["models", "kinds", "pairs"])
def test_tables_in_every_format(world, show):
    for form in ((), ("--csv",), ("--markdown",), ("--latex",)):
        assert run_well("study", "multilabel", "-t", "val", "-l", "v3", "--show", show, *form, "-w", world).out


def test_ambiguous_classes_with_a_number_of_images(world):
    assert "ambiguous" not in study(world)
    listed = study(world, "--min-images", "1")["ambiguous"]
    assert listed["min_images"] == 1 and {row["label"]: row["both"] for row in listed["classes"]} == {
        "cup": 2, "pug": 0, "tench": 0
    }  # fmt: skip
    for form in ((), ("--csv",), ("--markdown",), ("--latex",)):
        options = ("-t", "val", "-l", "v3", "--min-images", "1")
        printed = run_well("study", "multilabel", *options, "--show", "ambiguous", *form, "-w", world).out
        assert "cup" in printed and printed == run_well("study", "multilabel", *options, *form, "-w", world).out


def test_ambiguous_classes_without_enough_images(world):
    refused = run("study", "multilabel", "-t", "val", "-l", "v3", "--show", "ambiguous", "-w", world)
    assert_one_line(refused, "the table ambiguous is empty: no original class has 10 scored images", "--min-images")


def test_figure_is_written(world, tmp_path):
    run_well("study", "multilabel", "-t", "val", "-l", "v3", "--figure", tmp_path / "f.svg", "-w", world)
    assert "multi-label accuracy" in (tmp_path / "f.svg").read_text()


def test_bad_input_is_one_line(world):
    named = ("study", "multilabel", "-w", world, "-t")
    assert_one_line(run(*named, "val", "-l", "nope"), "unknown label set of val 'nope'", "v3")
    assert_one_line(run(*named, "nope", "-l", "v3"), "unknown test set 'nope'")
    assert_one_line(run(*named, "val", "-l", "v3", "--model", "c"), "unknown model on val 'c'")
    assert run(*named, "val").code == 2


def test_labels_that_score_too_few_images_are_refused(world, tmp_path):
    path = write_csv(tmp_path / "few.csv", ("image", "class"), (IMAGES[0], PUG))
    run_well("import", "labels", path, "-t", "val", "--name", "few", "-w", world)
    refused = run("study", "multilabel", "-t", "val", "-l", "few", "-w", world)
    assert_one_line(refused, "few@1 scores fewer than two images of val")
