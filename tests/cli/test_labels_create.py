"""regrade labels create: a label set to begin a review with; and where there is nothing yet, what to do first."""

import json

import pytest
from pets import IDS
from running import assert_one_line, run, run_well


def test_created_labels_are_the_original_labels(pets):
    assert "created own@1 of pets: 6 images" in run_well("labels", "create", "-t", "pets", "-w", pets).err
    assert "unchanged own@1" in run_well("labels", "create", "-t", "pets", "-w", pets).err
    rows = json.loads(run_well("grade", "-t", "pets", "-l", "own", "-w", pets, "--json").out)["rows"]
    assert rows[0]["multilabel"]["value"] == rows[0]["top1"]["value"]
    assert rows[0]["novel"] == 2


def test_review_starts_from_created_labels(pets):
    run_well("labels", "create", "-t", "pets", "--name", "mine", "-w", pets)
    queued = json.loads(run_well("review", "queue", "-t", "pets", "-l", "mine", "-w", pets, "--json").out)
    assert (queued["added"], queued["queue"]) == (2, "novel pets mine")


def test_create_rejects_unlabeled_images(pets, tmp_path):
    (tmp_path / "ids.csv").write_text("image\n" + "".join(f"{i}\n" for i in IDS))
    run_well("testsets", "add", "bare", tmp_path / "ids.csv", "--classes", "cifar-10", "-w", pets)
    assert_one_line(run("labels", "create", "-t", "bare", "-w", pets), "no image of bare has a label", "import labels")


def test_create_does_not_replace_other_labels(pets, tmp_path):
    (tmp_path / "l.csv").write_text("image,class\n" + "".join(f"{i},truck\n" for i in IDS))
    run_well("import", "labels", tmp_path / "l.csv", "-t", "pets", "--name", "own", "-w", pets)
    assert_one_line(run("labels", "create", "-t", "pets", "-w", pets), "other labels are stored as own@1")


@pytest.mark.parametrize(
    ("command", "next_command"),
    [
        (("grade", "-t", "pets", "-l", "own"), "regrade import labels, or from the images' own labels"),
        (("review", "publish", "novel"), "regrade review queue"),
        (("review", "assign", "novel", "Ada"), "regrade review queue"),
        (("team", "invite", "Ada"), "regrade team add Ada"),
        (("study", "confusion", "-t", "pets", "--ensemble", "net"), "regrade import checkpoints"),
        (("review", "people", "-t", "pets", "-l", "own"), "regrade import labels"),
    ],
)
def test_empty_list_names_the_next_command(pets, command, next_command):
    assert_one_line(run(*command, "-w", pets), "there are none yet: add one with", next_command)


def test_empty_workspace_names_the_next_command(tmp_path):
    run_well("init", tmp_path / "W")
    assert_one_line(run("grade", "-t", "val", "-w", tmp_path / "W"), "regrade testsets add val PATH")
