"""regrade study leakage and regrade neighbors, as people type them."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from planted import flipped, reencoded, textures
from running import run, run_well

from regrade.store import PartialSignatures


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Folders `test` and `train` of digits: one exact duplicate, one re-encoded, one mirrored; and one broken image."""
    root = tmp_path_factory.mktemp("folders")
    digits = textures(10)
    test = {f"{i}/t{i}.png": digits[i] for i in range(5)} | {"4/<b>&.png": digits[5]}
    train = {
        "0/exact.png": digits[0], "2/packed.png": reencoded(digits[1]), "2/mirrored.png": flipped(digits[2]),
        "3/q.png": digits[8], "5/same & <i>.png": digits[5],
    }  # fmt: skip
    for name, images in (("test", test), ("train", train)):
        for path, pixels in images.items():
            (root / name / path).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.ascontiguousarray(pixels)).save(root / name / path)
    (root / "train" / "3" / "broken.jpg").write_bytes(b"")
    return root


@pytest.fixture
def work(folders, tmp_path):
    workspace = tmp_path / "W"
    run_well("init", workspace)
    for name in ("test", "train"):
        run_well("testsets", "add", name, folders / name, "--classes", "digits", "-w", workspace)
    answers = tmp_path / "m.csv"
    ids = ["t0.png", "t1.png", "t2.png", "t3.png", "t4.png", "<b>&.png"]
    answers.write_text("image,m\n" + "".join(f"{name},{i % 5}\n" for i, name in enumerate(ids)))
    run_well("import", "predictions", answers, "--test-set", "test", "-w", workspace)
    return workspace


DUPLICATES = {
    ("t0.png", "exact.png"),
    ("t1.png", "packed.png"),
    ("t2.png", "mirrored.png"),
    ("<b>&.png", "same & <i>.png"),
}


def test_study_leakage_removes_partial_signatures(work, monkeypatch):
    options = ("study", "leakage", "--test-set", "test", "--against", "train", "--size", "64", "-w", work)

    def interrupt(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PartialSignatures, "remove", interrupt)
        assert run(*options).code != 0
    assert list((work / ".partial").rglob("*.part"))
    run_well(*options)
    assert not (work / ".partial").exists()


def test_study_finds_duplicates(work, tmp_path):
    options = ("--test-set", "test", "--against", "train", "--size", "64", "-w", work)
    page, figure = tmp_path / "pairs.html", tmp_path / "leakage.svg"
    ran = run_well("study", "leakage", *options, "--json", "--pairs", page, "--figure", figure)
    data = json.loads(ran.out)
    assert {(pair["image"], pair["reference"]) for pair in data["pairs"]} == DUPLICATES
    assert [pair["mirrored"] for pair in data["pairs"] if pair["image"] == "t2.png"] == [True]
    assert {row["distance"]: row["images"] for row in data["found"]} == {
        "any": 4, "exact": 2, "pixels": 4, "dssim": 4, "phash": 4
    }  # fmt: skip
    assert data["unreadable"] == [{"test_set": "train", "image": "broken.jpg", "reason": "the file is empty"}]
    (model,) = [row for row in data["models"] if row["distance"] == "any"]
    assert (model["found"]["n"], model["others"]["n"]) == (4, 2)
    assert "pairs: " in ran.err and figure.read_text().startswith("<svg")
    text = page.read_text()
    assert text.count("data:image/jpeg;base64,") == 8 and "http" not in text
    assert "<b>&.png" not in text and "&lt;b&gt;&amp;.png" in text and "<i>" not in text
    assert run_well("study", "leakage", *options, "--show", "models").out.count("\nm ") == 1
    assert "its label" in run_well("study", "leakage", *options, "--show", "pairs").out
    shown = run_well("study", "leakage", *options).out
    assert "further tables with --show: models, pairs" in shown and "broken.jpg: the file is empty" in shown


def test_pairs_file_is_a_table(work, tmp_path):
    path = tmp_path / "pairs.csv"
    run_well("study", "leakage", "-t", "test", "--against", "train", "--size", "64", "--pairs", path, "-w", work)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert {(row["image"], row["reference"]) for row in rows} == DUPLICATES
    assert list(rows[0]) == [
        "image", "reference", "label", "reference_label", "differs", "mirrored", "exact", "pixels", "dssim", "phash",
        "verdict",
    ]  # fmt: skip
    assert {row["verdict"] for row in rows} == {""}


def test_thresholds_and_distances(work):
    options = ("-t", "test", "--against", "train", "--size", "64", "-w", work, "--json")
    data = json.loads(run_well("study", "leakage", *options, "--by", "exact, phash", "--near", "phash=0").out)
    assert [(row["distance"], row["cut"]) for row in data["found"]] == [("any", None), ("exact", 0.0), ("phash", 0.0)]
    for arguments, line in (
        (("--near", "phash"), "--near takes DISTANCE=THRESHOLD, e.g. phash=6, got 'phash'"),
        (("--near", "looks=3"), "unknown distance 'looks'"),
        (("--by", "exact,feature"), "did you mean features?"),
        (("--against", "trian"), "did you mean train?"),
        (("--by", "features"), "name it with --model"),
        (("--model", "nobody"), "unknown model on test 'nobody'"),
        (("--show", "groups"), "there are no groups to show"),
    ):
        ran = run("study", "leakage", *options, *arguments)
        assert ran.code == 1 and line in ran.err and ran.err.count("\n") == 1, ran.err


def test_neighbors_between_two_folders(folders, tmp_path):
    test, train = folders / "test", folders / "train"
    page = tmp_path / "duplicates.html"
    ran = run_well("neighbors", test, train, "--size", "64", "--pairs", page)
    assert "packed.png" in ran.out and "q.png" not in ran.out and page.is_file()
    data = json.loads(run_well("neighbors", test, train, "--size", "64", "--json").out)
    assert {(pair["image"], pair["reference"]) for pair in data["pairs"]} == DUPLICATES
    assert data["models"] == [] and data["pairs"][0]["differs"] is None


def test_unreadable_images_are_noted_in_every_table(folders):
    test, train = folders / "test", folders / "train"
    for show, line in (("pairs", "the file is empty"), ("distances", "train (1 unreadable)")):
        assert line in run_well("neighbors", test, train, "--size", "64", "--show", show).out


def test_invalid_options_are_one_line(folders, tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "x.png").write_bytes(b"no image")
    for arguments, line in (
        ((folders / "train", "--show", "groups"), "there are no groups to show"),
        ((folders / "train", tmp_path / "broken"), "broken can be read, for instance x.png: not an image"),
    ):
        ran = run("neighbors", *arguments, "--size", "64")
        assert ran.code == 1 and line in ran.err and ran.err.count("\n") == 1, ran.err


def test_neighbors_within_one_folder(folders, tmp_path):
    folder = tmp_path / "all"
    for name in ("test", "train"):
        for path in (folders / name).rglob("*.png"):
            (folder / f"{name}-{path.name}").parent.mkdir(exist_ok=True)
            (folder / f"{name}-{path.name}").write_bytes(path.read_bytes())
    shown = run_well("neighbors", folder, "--size", "64").out
    assert "keep" in shown and "train-exact.png" in shown
    data = json.loads(run_well("neighbors", folder, "--size", "64", "--json").out)
    assert len(data["groups"]) == 4 and data["found"][0]["images"] == 4
    nothing = run_well("neighbors", folders / "test", "--by", "exact").out
    assert "0.0 [0.0, 45.9]" in nothing


def test_neighbors_rejects_invalid_options(folders, tmp_path):
    for arguments, line in (
        ((folders / "none",), "there is no file or folder"),
        ((folders / "test", folders / "test"), "name it once"),
        ((folders / "test", "--by", "features"), "folders have no features"),
        ((folders / "test", "--size", "50"), "multiple of 32, got 50"),
        ((folders / "test", "--pairs", tmp_path / "x.txt"), "written as .csv or .html"),
        ((tmp_path,), "contains no images"),
    ):
        ran = run("neighbors", *arguments)
        assert ran.code == 1 and line in ran.err and ran.err.count("\n") == 1, ran.err


def test_all_images_unreadable(tmp_path):
    for name in ("a.png", "b.png"):
        Path(tmp_path, name).write_bytes(b"nothing")
    ran = run_well("neighbors", tmp_path)
    assert "unreadable" in ran.out and "–" in ran.out
