"""`regrade import predictions --dry-run` shows what was understood, and writes nothing."""

import json

import numpy as np
import pytest
from pets import ANSWERS, IDS, LABELS
from running import run, run_well, snapshot


@pytest.fixture
def previewed(pets, tmp_path):
    def of(name, content, *options):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        before = snapshot(pets)
        ran = run_well(
            "import", "predictions", tmp_path / name, "-t", "pets", *options, "--dry-run", "--json", "-w", pets
        )
        assert snapshot(pets) == before
        return ran.err.splitlines(), json.loads(ran.out)

    return of


def rows(*columns, header):
    return header + "\n" + "".join(",".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))


def test_dry_run_names_the_role_of_each_column(previewed):
    files = [f"photos/{name}.jpg" for name in IDS]
    content = rows(files, LABELS, ANSWERS, [0.5] * 6, range(6), header="filename,label,pred,prob,width")
    lines, data = previewed("m.csv", content, "--model", "net")
    assert lines == [
        "dry run, nothing is written: m.csv on pets",
        "filename: ids",
        "label: labels, classes by ids",
        "pred: prediction, classes by ids",
        "prob: scores (probabilities)",
        "examples: 6 examples, each with one row, compared without directories and extensions",
        "model net: best 1 of 10 classes with scores (probabilities); top-1 accuracy 66.7 % of 6 labeled images "
        "(22.2 % by chance)",
        "note: ignored the column width",
        "note: ids were compared without directories and extensions",
    ]
    assert data["columns"]["pred"] == "prediction, classes by ids"
    assert data["models"]["net"]["top1"] == pytest.approx(4 / 6)


def test_dry_run_shows_one_based_indices(previewed):
    classes = np.array([3, 5, 2, 3, 8, 6])
    lines, data = previewed("m.csv", rows(IDS, classes + 1, header="image,prediction"), "--model", "net")
    assert data["models"]["net"] == {
        "kept": "best 1 of 10 classes", "top1": 0.0, "chance": pytest.approx(3 / 36), "labeled": 6, "shift": -1,
        "top1_shifted": 1.0,
    }  # fmt: skip
    assert lines[-1] == (
        "note: net: top-1 accuracy is 0.0 %, but 100.0 % if -1 is added to each class index: the indices look one-based"
    )


def test_dry_run_of_a_new_test_set_writes_nothing(pets, tmp_path):
    (tmp_path / "new.csv").write_text(rows(IDS, LABELS, ANSWERS, header="image,label,net"))
    before = snapshot(pets)
    ran = run_well(
        "import", "predictions", tmp_path / "new.csv", "-t", "new", "--classes", "cifar-10", "--dry-run", "-w", pets
    )
    assert "m.csv" not in ran.err and "on new (new)" in ran.err
    assert snapshot(pets) == before


def test_dry_run_fails_as_the_import_does(pets, tmp_path):
    (tmp_path / "m.csv").write_text("image,net\np0,cat\n")
    options = ("import", "predictions", tmp_path / "m.csv", "-t", "pets", "-w", pets)
    assert run(*options, "--dry-run").err == run(*options).err != ""


class TestPartial:
    def test_dry_run_counts_the_images_of_a_part(self, previewed):
        lines, data = previewed("m.csv", rows(IDS[:4], ANSWERS[:4], header="image,top1"), "--model", "m", "--partial")
        assert "examples: 4 of 6 examples, each with one row" in lines
        assert (data["covered"], data["models"]["m"]["labeled"]) == (4, 4)

    def test_import_of_a_part_grades_its_images_only(self, pets, tmp_path):
        (tmp_path / "m.csv").write_text(rows(IDS[:4], ANSWERS[:4], header="image,top1"))
        ran = run_well(
            "import", "predictions", tmp_path / "m.csv", "-t", "pets", "--model", "m", "--partial", "-w", pets
        )
        assert "predictions on 4 of 6 examples: the models are graded on these" in ran.out + ran.err
        top1 = json.loads(run_well("grade", "-t", "pets", "--model", "m", "--json", "-w", pets).out)["rows"][0]["top1"]
        right = sum(answer == label for answer, label in zip(ANSWERS[:4], LABELS[:4], strict=True))
        assert (top1["n"], top1["value"]) == (4, right / 4)
        assert "m 4 of 6 images of pets" in run_well("grade", "-t", "pets", "-w", pets).out
        assert "pets (4 images)" in run_well("models", "list", "-w", pets).out

    @pytest.mark.parametrize(
        ("content", "options", "words"),
        [
            (rows(IDS[:4], ANSWERS[:4], header="image,top1"), (), "2 of the 6 examples of pets are missing"),
            (rows(["x"], ANSWERS[:1], header="image,top1"), ("--partial",), "1 example is not in test set pets"),
            (rows(IDS[:1], ["dog"], ["dog"], header="image,top1,label"), ("--partial",), "the labels differ"),
        ],
    )
    def test_import_refuses_a_part_in_one_line(self, pets, tmp_path, content, options, words):
        (tmp_path / "m.csv").write_text(content)
        ran = run("import", "predictions", tmp_path / "m.csv", "-t", "pets", "--model", "m", *options, "-w", pets)
        assert ran.code == 1
        assert words in ran.err
        assert ran.err.count("\n") == 1

    def test_import_of_scores_without_ids_needs_every_row(self, pets, tmp_path):
        np.save(tmp_path / "m.npy", np.ones((4, 10)))
        ran = run("import", "predictions", tmp_path / "m.npy", "-t", "pets", "--model", "m", "--partial", "-w", pets)
        assert ran.code == 1
        assert "an array without ids must have one row per example" in ran.err
