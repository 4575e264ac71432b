"""regrade study people over several test sets, as a user calls it."""

import json
import shutil
from pathlib import Path

import pytest
from releases import write_csv
from running import assert_one_line, run, run_well

from regrade.stats import proportion
from regrade.workspace import open as open_workspace

DOG, CUP, FISH = "n02085620", "n07930864", "n01440764"
LABELS = {"s": (DOG, DOG, CUP, CUP, FISH, FISH), "v2": (DOG, CUP, CUP, FISH), "dogs": (DOG, DOG)}
NET = {"s": (DOG, CUP, CUP, CUP, FISH, FISH), "v2": (DOG, DOG, CUP, DOG), "dogs": (DOG, CUP)}
ANN = {"s": (FISH, DOG, CUP, CUP, FISH, FISH), "v2": (DOG, CUP, CUP, FISH), "dogs": (DOG, DOG)}
BOB = {"s": (DOG, DOG, CUP, CUP, FISH, DOG)}
SETS = ("-t", "s", "-t", "v2")


def images(name: str) -> list[str]:
    return [f"{name}-{number}.jpg" for number in range(len(LABELS[name]))]


@pytest.fixture(scope="module")
def _world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets")
    run_well("init", folder / "W")
    for name, labels in LABELS.items():
        path = write_csv(
            folder / "p.csv", ("image", "label", "net"), *zip(images(name), labels, NET[name], strict=True)
        )
        run_well("import", "predictions", path, "-t", name, "--classes", "imagenet-1k", "-w", folder / "W")
        rows = [("Ann", *row) for row in zip(images(name), ANN[name], strict=True)]
        rows += [("Bob", *row) for row in zip(images(name), BOB.get(name, ()), strict=False)]
        path = write_csv(folder / "people.csv", ("person", "image", "class"), *rows)
        run_well("import", "people", path, "-t", name, "-w", folder / "W")
    return folder / "W"


@pytest.fixture
def world(_world: Path, tmp_path: Path) -> Path:
    """A workspace with Ann and a model on three test sets, and Bob on the first only."""
    return Path(shutil.copytree(_world, tmp_path / "W"))


def study(world, *options):
    return json.loads(run_well("study", "people", *SETS, *options, "--json", "-w", world).out)


def test_people_on_all_sets_are_compared_and_the_rest_named(world):
    data = study(world)
    assert data["test_sets"] == ["s", "v2"]
    rows = {row["who"]: row for row in data["rows"] if row["subset"] == "all"}
    assert set(rows) == {"person:Ann", "net", "mean of people minus mean of models"}
    assert rows["person:Ann"]["original"] == proportion(5, 6).as_dict()
    assert rows["net"]["accuracy"] == proportion(2, 4).as_dict()
    assert "people left out, without answers on a set: person:Bob (v2)" in data["notes"]


def test_the_same_from_python(world):
    result = open_workspace(world).study.people(["s", "v2"])
    assert json.loads(json.dumps(result.as_dict())) == study(world)
    assert result["net"].gap.value == pytest.approx(5 / 6 - 2 / 4)


def test_one_set_in_a_list_is_that_set(world):
    workspace = open_workspace(world)
    assert workspace.study.people(["s"]).as_dict() == workspace.study.people("s").as_dict()


@pytest.mark.parametrize("show", ["accuracy", "subsets"])
def test_tables_in_every_format(world, show):
    for form in ((), ("--csv",), ("--markdown",), ("--latex",)):
        assert "person:Ann" in run_well("study", "people", *SETS, "--show", show, *form, "-w", world).out.replace(
            "\\", ""
        )


def test_figure_is_written(world, tmp_path):
    run_well("study", "people", *SETS, "--figure", tmp_path / "f.svg", "-w", world)
    assert "person:Ann" in (tmp_path / "f.svg").read_text()


def test_a_named_person_without_answers_on_a_set_is_refused(world):
    refused = run("study", "people", *SETS, "--person", "Bob", "-w", world)
    assert_one_line(refused, "person:Bob has no answers on v2", "answers on all of s, v2")
    assert_one_line(run("study", "people", *SETS, "--person", "An", "-w", world), "unknown person", "person:Ann")
    assert_one_line(run("study", "people", *SETS, "--model", "ne", "-w", world), "unknown model on s, v2", "net")


def test_people_who_share_no_set_are_refused_by_set(world):
    run_well("models", "remove", "person:Ann", "-t", "v2", "-y", "-w", world)
    refused = run("study", "people", *SETS, "-w", world)
    assert_one_line(refused, "no person has answers on all of s, v2", "person:Ann lacks v2", "regrade import people")


def test_an_empty_subset_names_the_set_that_lacks_it(world):
    refused = run("study", "people", "-t", "s", "-t", "dogs", "--subset", "objects", "-w", world)
    assert_one_line(refused, "no image is in the subset 'objects' of dogs")
    ran = run_well("study", "people", "-t", "s", "-t", "dogs", "-w", world)
    assert "left out, without an image of dogs: objects" in ran.out


def test_a_missing_label_set_names_the_test_set(world):
    run_well("labels", "create", "-t", "s", "--name", "own", "-w", world)
    assert_one_line(run("study", "people", *SETS, "-l", "own", "-w", world), "unknown label set of v2 'own'")


def test_sets_that_cannot_be_compared_are_refused(world, tmp_path):
    assert_one_line(run("study", "people", "-t", "s", "-t", "s", "-w", world), "--test-set names s twice")
    path = write_csv(tmp_path / "q.csv", ("image", "label", "net"), ("a", "0", "0"), ("b", "1", "0"))
    classes = write_csv(tmp_path / "c.csv", ("id",), ("0",), ("1",))
    run_well("import", "predictions", path, "-t", "pets", "--classes", classes, "-w", world)
    refused = run("study", "people", "-t", "s", "-t", "pets", "-w", world)
    assert_one_line(refused, "pets has other classes", "imagenet-1k", "sets of the same classes")
    assert_one_line(run("study", "people", "-t", "s", "-t", "nope", "-w", world), "unknown test set 'nope'")
    assert_one_line(run("study", "people", *SETS, "--show", "tests", "-w", world), "give --test-set once")


def test_shared_images_are_noted(world, tmp_path):
    rows = zip(images("s")[:4], LABELS["s"], NET["s"], strict=False)
    path = write_csv(tmp_path / "p.csv", ("image", "label", "net"), *rows)
    run_well("import", "predictions", path, "-t", "part", "--classes", "imagenet-1k", "-w", world)
    rows = [("Ann", *row) for row in zip(images("s")[:4], ANN["s"], strict=False)]
    path = write_csv(tmp_path / "people.csv", ("person", "image", "class"), *rows)
    run_well("import", "people", path, "-t", "part", "-w", world)
    out = run_well("study", "people", "-t", "s", "-t", "part", "-w", world).out
    assert "4 of 4 images of part are images of s too" in " ".join(out.split())
