"""regrade import people and regrade study people, as a user calls them."""

import json
import shutil
from pathlib import Path

import pytest
from releases import write_csv
from running import assert_one_line, run, run_well, snapshot

from regrade.classes import class_space
from regrade.stats import proportion
from regrade.workspace import open as open_workspace

SPACE = class_space("imagenet-1k")
DOG, CUP, FISH = "n02085620", "n07930864", "n01440764"
LABELS = (DOG, DOG, CUP, CUP, CUP, FISH, FISH, FISH)
IMAGES = tuple(f"{n}.jpg" for n in range(8))
NET = (DOG, CUP, CUP, CUP, FISH, FISH, FISH, FISH)  # wrong on 1, 4
ANN = (FISH, DOG, CUP, CUP, CUP, FISH, FISH, FISH)  # wrong on 0
BOB = (FISH, FISH, CUP, CUP, CUP, FISH)  # wrong on 0, 1; was not asked about 6, 7


def rows_of(name, classes, seconds=20):
    return [
        (name, image, given, f"2024-05-01T10:{n:02}:00", f"2024-05-01T10:{n:02}:{seconds:02}")
        for n, (image, given) in enumerate(zip(IMAGES, classes, strict=False))
    ]


HEADING = ("person", "image", "class", "start", "end")


@pytest.fixture(scope="module")
def _bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    write_csv(folder / "p.csv", ("image", "label", "net"), *zip(IMAGES, LABELS, NET, strict=True))
    run_well("init", folder / "W")
    run_well("import", "predictions", folder / "p.csv", "-t", "s", "--classes", "imagenet-1k", "-w", folder / "W")
    return folder / "W"


@pytest.fixture
def bench(_bench: Path, tmp_path: Path) -> Path:
    """A workspace with eight images and a model."""
    return Path(shutil.copytree(_bench, tmp_path / "W"))


@pytest.fixture
def peopled(bench: Path, tmp_path: Path) -> Path:
    """The same with Ann, who labeled everything, and Bob, who labeled six images."""
    path = write_csv(tmp_path / "people.csv", HEADING, *rows_of("Ann", ANN), *rows_of("Bob", BOB, 50))
    done = run_well("import", "people", path, "-t", "s", "-w", bench)
    assert done.err == (
        "on s: people imported: 2, unchanged: 0; person:Ann (8 images), person:Bob (6 images); times of 14 answers\n"
    )
    return bench


def study(workspace, *options):
    return json.loads(run_well("study", "people", "-t", "s", *options, "--json", "-w", workspace).out)


def accuracies(data, subset="all"):
    return {row["who"]: (round(row["accuracy"]["value"] * row["accuracy"]["n"]), row["accuracy"]["n"])
            for row in data["rows"] if row["subset"] == subset and row["kind"] != "people"}  # fmt: skip


def test_accuracy_on_images_that_all_people_answered(peopled):
    data = study(peopled)
    assert data["images"] == 6
    assert accuracies(data) == {"person:Ann": (5, 6), "person:Bob": (4, 6), "net": (4, 6)}
    assert accuracies(data, "without dogs") == {"person:Ann": (4, 4), "person:Bob": (4, 4), "net": (3, 4)}
    assert accuracies(data, "objects") == {"person:Ann": (3, 3), "person:Bob": (3, 3), "net": (2, 3)}
    assert data["own"]["person:Ann"] == proportion(7, 8).as_dict()
    assert [item["image"] for item in data["missed"]["people"]] == ["0.jpg"]
    assert [item["image"] for item in data["missed"]["models"]] == ["1.jpg", "4.jpg"]
    assert (data["fast"]["timed"], data["fast"]["at_most"]) == (6, 6)
    ann = {row["person"]: row for row in data["times"]}["person:Ann"]
    assert (ann["images"], ann["median"]["value"]) == (8, 20)


def test_choosing_people_and_models(peopled):
    data = study(peopled, "--person", "Ann", "--model", "net")
    assert data["images"] == 8 and accuracies(data) == {"person:Ann": (7, 8), "net": (6, 8)}
    assert accuracies(study(peopled, "--person", "person:Ann")) == accuracies(data)
    assert_one_line(run("study", "people", "-t", "s", "--person", "An", "-w", peopled), "unknown person", "person:Ann")
    assert_one_line(run("study", "people", "-t", "s", "--model", "person:Ann", "-w", peopled), "unknown model", "net")


def test_the_same_from_python(peopled):
    workspace = open_workspace(peopled)
    assert json.loads(json.dumps(workspace.study.people("s").as_dict())) == study(peopled)
    assert "person:Ann" in workspace.study.people("s")._repr_html_()


@pytest.mark.parametrize("show", ["accuracy", "subsets", "tests", "times", "agreement", "missed"])
def test_every_table_in_every_format(peopled, show):
    for form in ((), ("--csv",), ("--markdown",), ("--latex",)):
        assert run_well("study", "people", "-t", "s", "--show", show, *form, "-w", peopled).out


def test_models_of_annotators_are_shown_on_request(peopled):
    assert "reviewer_models" not in study(peopled)
    modeled = study(peopled, "--reviewer-models")["reviewer_models"]
    assert [each["person"] for each in modeled["reviewers"]] == list(modeled["by_labels"])
    command = ("study", "people", "-t", "s", "-w", peopled)
    for form in ((), ("--csv",), ("--markdown",), ("--latex",)):
        assert "person:Ann" in run_well(*command, "--reviewer-models", *form).out
    refused = run(*command, "--show", "reviewer-models")
    assert_one_line(refused, "the table reviewer-models is empty: it requires --reviewer-models")
    assert_one_line(run(*command, "-t", "s", "--reviewer-models"), "--reviewer-models is about one test set")


def test_agreement_requires_two_people(peopled):
    alone = ("study", "people", "-t", "s", "--person", "Ann", "-w", peopled)
    assert_one_line(run(*alone, "--show", "agreement"), "the table agreement is empty: it requires two people")
    assert "every image that person:Ann gets wrong" in run_well(*alone, "--show", "missed").out
    assert "on all images with labels that person:Ann was asked about: 8" in run_well(*alone).out


def test_tables_require_times_or_models(bench, tmp_path):
    rows = [(name, image, given) for name in ("Ann", "Bob") for image, given in zip(IMAGES, ANN, strict=True)]
    run_well("import", "people", write_csv(tmp_path / "p.csv", HEADING[:3], *rows), "-t", "s", "-w", bench)
    on = ("study", "people", "-t", "s", "-w", bench)
    assert_one_line(run(*on, "--show", "times"), "the table times is empty", "people with answer times")
    (bench / "predictions" / "s" / "net").rename(tmp_path / "net")
    assert_one_line(run(*on, "--show", "tests"), "the table tests is empty", "requires a model")


@pytest.mark.parametrize("ending", ["svg", "pdf"])
def test_the_figure(peopled, tmp_path, ending):
    path = tmp_path / f"f.{ending}"
    done = run_well("study", "people", "-t", "s", "--figure", path, "-w", peopled)
    assert done.err == f"figure: {path}\n" and path.stat().st_size > 1000


def test_labels_option(peopled, tmp_path):
    rows = [(image, label, "correct") for image, label in zip(IMAGES, LABELS, strict=True)]
    rows += [(IMAGES[0], FISH, "unclear"), (IMAGES[1], CUP, "correct")]
    path = write_csv(tmp_path / "l.csv", ("image", "class", "state"), *rows)
    run_well("import", "labels", path, "-t", "s", "--name", "v", "-w", peopled)
    data = study(peopled, "--labels", "v", "--rule", "images")
    assert accuracies(data) == {"net": (5, 6), "person:Ann": (5, 6), "person:Bob": (4, 6)}
    assert data["novel"] == {"net": 1, "person:Bob": 1}
    assert accuracies(study(peopled, "--labels", "v", "--rule", "classes"))["person:Ann"] == (6, 6)
    ran = run("study", "people", "-t", "s", "--rule", "images", "-w", peopled)
    assert_one_line(ran, "rule and collapsed require labels")


def test_grade_scores_people_on_their_images(peopled):
    data = json.loads(run_well("grade", "-t", "s", "--json", "-w", peopled).out)
    rows = {row["model"]: row for row in data["rows"]}
    assert rows["person:Ann"]["top1"] == proportion(7, 8).as_dict()
    assert rows["person:Bob"]["top1"] == proportion(4, 6).as_dict()
    assert rows["person:Bob"]["unanswered"] == 0
    assert any("person:Bob (6)" in note for note in data["notes"])


def test_people_are_compared_by_name_only(peopled):
    pair = json.loads(run_well("compare", "person:Bob", "net", "-t", "s", "--json", "-w", peopled).out)
    assert pair["images"] == 6
    assert_one_line(run("compare", "-t", "s", "-w", peopled), "at least two models, got 1")


def test_people_are_listed(peopled):
    data = json.loads(run_well("models", "list", "--json", "-w", peopled).out)
    assert [row["model"] for row in data["models"]] == ["net", "person:Ann", "person:Bob"]


def test_without_people(bench):
    ran = run("study", "people", "-t", "s", "-w", bench)
    assert_one_line(ran, "no person has answers on s yet: run regrade import people")


def test_model_names_must_not_have_the_person_prefix(bench, tmp_path):
    path = write_csv(tmp_path / "q.csv", ("image", "prediction"), *zip(IMAGES, NET, strict=True))
    ran = run("import", "predictions", path, "-t", "s", "--model", "person:Eve", "-w", bench)
    assert_one_line(ran, "'person:Eve' is the name of a person", "regrade import people")


def test_the_published_layout(bench, tmp_path):
    times = {"start_time": "2019-12-20 10:00:00", "end_time": "2019-12-20 10:00:30"}
    given = {image: {"label": label, "extra_info": times} for image, label in zip(IMAGES, ANN, strict=True)}
    given["of-another-set.JPEG"] = {"label": CUP, "extra_info": times}
    (tmp_path / "labels.json").write_text(json.dumps({"human_a": given}))
    command = ("import", "people", tmp_path / "labels.json", "-t", "s", "--format", "shankar2020", "-w", bench)
    done = run_well(*command)
    assert done.err.splitlines()[1] == "note: passed over 1 answer to images that are not in s"
    assert accuracies(study(bench)) == {"person:human_a": (7, 8), "net": (6, 8)}
    assert "unchanged: 1" in run_well(*command).err


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (("Ann", "0.jpg", "n99999999", "1", "2"), "unknown class id of imagenet-1k 'n99999999'"),
        (("Ann", "9.jpg", DOG, "1", "2"), "not in test set s, for instance '9.jpg'"),
        (("Ann", "0.jpg", DOG, "3", "2"), "Ann, image '0.jpg': it ends (2) before it starts (3)"),
        (("Ann", "1.jpg", DOG, "1", "2"), "Ann answers '1.jpg' more than once"),
    ],
)
def test_invalid_files_store_nothing(bench, tmp_path, row, words):
    path = write_csv(tmp_path / "bad.csv", HEADING, row, ("Ann", "1.jpg", DOG, "1", "2"))
    before = snapshot(bench)
    assert_one_line(run("import", "people", path, "-t", "s", "-w", bench), words)
    assert snapshot(bench) == before


def test_an_unknown_test_set(bench, tmp_path):
    path = write_csv(tmp_path / "people.csv", HEADING, *rows_of("Ann", ANN))
    assert_one_line(run("import", "people", path, "-t", "t", "-w", bench), "unknown test set 't'")
