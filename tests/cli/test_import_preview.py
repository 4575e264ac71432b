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
