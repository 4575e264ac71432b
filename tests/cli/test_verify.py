"""regrade verify reports damaged and missing files; regrade upgrade converts older workspaces."""

import dataclasses
import io
import json
import re
import shutil
from collections import Counter

import pyarrow.parquet as pq
import pytest
from PIL import Image
from running import assert_one_line, run, run_process, run_well, snapshot

import regrade
from benchmarks.fault_world import make_every_file, read_every_file
from regrade.store import Manifest, Store, read_checked_json
from regrade.store.layout import CHECKPOINTS, CONTENTS, OBJECTS, PREDICTIONS, SIGNATURES, TABLES


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return make_every_file(tmp_path_factory.mktemp("every")).store.root.parent


@pytest.fixture
def root(template, tmp_path):
    """A copy of a workspace with every kind of file, next to the imported files."""
    return shutil.copytree(template, tmp_path, dirs_exist_ok=True) / "W"


def test_verify_of_a_sound_workspace(root):
    ran = run_well("verify", "-w", root)
    assert "no problems" in ran.out and "predictions" in ran.out
    assert json.loads(run_well("verify", "-w", root, "--json").out)["problems"] == []


def test_verify_reads_every_manifest_once(root, monkeypatch):
    opened, plain = Counter(), io.open

    def counting(file, *arguments, **options):
        opened[str(file)] += 1
        return plain(file, *arguments, **options)

    monkeypatch.setattr(io, "open", counting)
    verified = regrade.open(root).verify()
    manifests = [path for pattern in (PREDICTIONS, CHECKPOINTS) for path in root.glob(pattern)]
    assert not verified.problems and len(manifests) > 2
    assert {opened[str(path)] for path in manifests} == {1}


def test_verify_names_a_damaged_file_and_fails(root):
    path = root / "predictions" / "shelf" / "first" / "scores.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    ran = run("verify", "-w", root)
    assert ran.code == 1
    assert "predictions/shelf/first/scores.npy" in ran.out and "does not match its checksum" in ran.out
    assert ran.err == f"error: 1 problem in {root}: see the notes of the table\n"


LISTING = {
    "grade": ("grade", "-t", "shelf"),
    "compare": ("compare", "-t", "shelf"),
    "models list": ("models", "list"),
    "novel": ("labels", "novel", "-t", "shelf", "-l", "own"),
    "similarity": ("study", "similarity", "-t", "shelf"),
}


DAMAGED_LISTS = {
    "test sets": ("testsets", "test_sets", "test_set", "testsets/shelf.parquet"),
    "images": ("testsets", "test_sets", "test_set", "images/shelf.parquet"),
    "slices": ("testsets", "test_sets", "test_set", "slices/shelf/*.parquet"),
    "models": ("models", "models", "model", "predictions/shelf/first/manifest.json"),
    "labels": ("labels", "label_sets", "labels", "labels/shelf/own@1.parquet"),
    "labels of a damaged test set": ("labels", "label_sets", "labels", "testsets/shelf.parquet"),
}


@pytest.mark.parametrize(("command", "key", "column", "pattern"), DAMAGED_LISTS.values(), ids=DAMAGED_LISTS)
def test_lists_report_damaged_entries_and_show_the_rest(root, command, key, column, pattern):
    run_well("labels", "create", "-t", "house", "--name", "rest", "-w", root)
    before = json.loads(run_well(command, "list", "-w", root, "--json").out)
    path = next(iter(sorted(root.glob(pattern))))
    path.write_bytes(path.read_bytes()[:-40])
    ran = run(command, "list", "-w", root, "--json")
    assert ran.code == 1 and before["errors"] == []
    listed, (error,) = [row[column] for row in json.loads(ran.out)[key]], json.loads(ran.out)["errors"]
    assert str(path) in error and ran.err == f"error: {error}\n"
    assert 0 < len(listed) < len(before[key]) and set(listed) < {row[column] for row in before[key]}


@pytest.mark.parametrize("command", LISTING.values(), ids=LISTING)
@pytest.mark.parametrize("dead_link", [False, True], ids=["missing", "dead link"])
def test_models_without_a_manifest_are_reported_once(root, caplog, command, dead_link):
    path = root / "predictions" / "shelf" / "first" / "manifest.json"
    path.unlink()
    if dead_link:
        path.symlink_to("nowhere.json")
    (root / "predictions" / "shelf" / "empty").mkdir()
    run_well(*command, "-w", root)
    (note,) = caplog.messages
    assert note.startswith("note: missing, and left out") and "predictions/shelf/first/manifest.json;" in note


def test_model_without_a_manifest_is_rejected(root, caplog):
    (root / "predictions" / "shelf" / "first" / "manifest.json").unlink()
    (root / "checkpoints" / "shelf" / "net" / "manifest.json").unlink()
    named = "first/manifest.json is damaged (it is missing, and other files of its folder are there)"
    novel = ("labels", "novel", "-t", "shelf", "-l", "own", "--model", "first")
    for command in (("grade", "-t", "shelf", "--model", "first"), novel):
        assert_one_line(run(*command, "-w", root), named)
    confusion = ("study", "confusion", "-t", "shelf", "--ensemble", "net", "-w", root)
    assert_one_line(run(*confusion), "net/manifest.json is damaged (it is missing")
    assert not caplog.messages
    with pytest.raises(regrade.RegradeError, match="it is missing"):
        regrade.open(root).study.generalization("shelf", ["house"], models=["first"])


def test_missing_manifest_is_one_line_on_standard_error(root):
    (root / "predictions" / "shelf" / "first" / "manifest.json").unlink()
    ran = run_process("models", "list", "-w", root, "--json")
    assert ran.code == 0 and ran.err.startswith("note: missing") and ran.err.count("\n") == 1
    assert "first" not in [row["model"] for row in json.loads(ran.out)["models"]]


def test_removed_labels_are_reported_and_not_replaced(root, caplog):
    path = root / "labels" / "shelf" / "own@1.parquet"
    path.rename(root / "labels" / "shelf" / "own@0.parquet")
    run("labels", "list", "-w", root)
    assert ["labels/shelf/own@1.parquet;" in note for note in caplog.messages] == [True]
    expected = "own@1.parquet is damaged (it is missing, and reviews/shelf/own@1 is a review of it)"
    for name in ("own", "own@1"):
        assert_one_line(run("grade", "-t", "shelf", "-l", name, "-w", root), expected)
    assert regrade.open(root).store.labels.newest_version("shelf", "own") == 1


def test_grade_and_verify_reject_swapped_label_versions(root):
    version = ("--name", "own", "--complete", "--new-version")
    run_well("import", "labels", root.parent / "labels.csv", "-t", "shelf", *version, "-w", root)
    first, second = (root / "labels" / "shelf" / f"own@{number}.parquet" for number in (1, 2))
    first.rename(root / "spare")
    second.rename(first)
    (root / "spare").rename(second)
    assert_one_line(run("grade", "-t", "shelf", "-l", "own@1", "-w", root), "it holds labels/shelf/own@2.parquet")
    ran = run("verify", "-w", root)
    assert ran.code == 1 and "2 problems" in ran.out


@pytest.mark.parametrize("names", [("frame", "verdicts-0001"), ("verdicts-0001", "frame")], ids="-over-".join)
def test_grade_rejects_exchanged_review_files(root, names):
    source, target = (root / "reviews" / "shelf" / "own@1" / f"{name}.parquet" for name in names)
    shutil.copy(source, target)
    expected = f"{target.name} is damaged (it holds reviews/shelf/own@1/{source.name}"
    assert_one_line(run("grade", "-t", "shelf", "-l", "own", "-w", root), expected)


def test_verify_and_list_report_missing_images(root):
    (root / "photos").rename(root.parent / "away")
    ran = run("verify", "-w", root)
    assert ran.code == 1 and "its images are not at" in ran.out
    rows = json.loads(run_well("testsets", "list", "-w", root, "--json").out)["test_sets"]
    assert {row["test_set"]: row["images"] for row in rows} == {"house": "no", "shelf": "missing"}
    assert "regrade testsets add shelf PATH" in run_well("testsets", "list", "-w", root).out
    assert_one_line(run("predict", "python:x:y", "-t", "shelf", "-w", root))


@pytest.mark.parametrize("empty_folder", [False, True])
def test_missing_images_can_be_registered_at_a_new_path(root, empty_folder):
    (root / "photos").rename(root.parent / "away")
    if empty_folder:  # like a disk that is not mounted
        (root / "photos").mkdir()
    run_well("testsets", "add", "shelf", root.parent / "away", "-w", root)
    assert run("verify", "-w", root).code == 0
    assert regrade.open(root).testsets.missing_images() == {}


def test_empty_image_folder_counts_as_missing(root):
    (root / "photos").rename(root.parent / "away")
    (root / "photos").mkdir()
    assert regrade.open(root).testsets.missing_images() == {"shelf": root / "photos"}


def test_workspace_with_images_has_none_missing(root):
    Image.new("RGB", (4, 4)).save(root / "photos" / "ball" / "more.png")  # not in the test set
    assert regrade.open(root).testsets.missing_images() == {}


def without_checksums(root) -> None:
    """Turn a workspace into one of layout 1: no checksums, no files of draws, no list of files, old folder names."""
    (root / CONTENTS).unlink()
    for path in root.glob("reviews/*/*/draw-*.json"):
        path.unlink()
    for pattern in (*TABLES, SIGNATURES):
        for path in root.glob(pattern):
            table = pq.read_table(path)
            meta = json.loads(table.schema.metadata[b"regrade"])
            meta = {key: value for key, value in meta.items() if key not in ("sha256", "files", "place", "frame")}
            if path.parent.name == "images":
                meta["root"] = str((root / meta["root"]).resolve())
            pq.write_table(table.replace_schema_metadata({b"regrade": json.dumps(meta)}), path)
    for pattern in (*OBJECTS, PREDICTIONS, CHECKPOINTS):
        for path in root.glob(pattern):
            content = read_checked_json(path)
            since = ("files", "place", "frame", "verdict_files")
            path.write_text(json.dumps({key: value for key, value in content.items() if key not in since}))
    (root / "images").rename(root / "pictures")
    (root / "neighbors").rename(root / "neighbours")
    config = root / "regrade.toml"
    config.write_text(re.sub(r"version = \d", "version = 1", config.read_text()))


def with_format_2(content):
    """The content of predictions that were stored before ties were: with the format of their manifest."""
    if not isinstance(content, tuple) or not isinstance(content[-1], Manifest):
        return content
    return (*content[:-1], dataclasses.replace(content[-1], format=2))


def test_upgrade_converts_an_older_workspace(root):
    new = {name: with_format_2(content) for name, content in read_every_file(Store.open(root)).items()}
    without_checksums(root)
    assert_one_line(run("grade", "-t", "shelf", "-w", root), "older regrade", "regrade upgrade -w")
    assert "rewritten" in run_well("upgrade", "-w", root).err
    assert read_every_file(Store.open(root)) == new
    assert run("verify", "-w", root).code == 0
    assert_one_line(run("upgrade", "-w", root), "has layout 3")


@pytest.mark.parametrize("kind", ["labels/shelf", "slices/shelf", "mistakes/shelf", "testsets", "classes", "images"])
def test_upgrade_keeps_a_swapped_file_noticeable(root, kind):
    without_checksums(root)
    (path, *_) = sorted((root / kind.replace("images", "pictures")).iterdir())
    path.rename(path.with_stem("other@7" if kind.startswith("labels") else "other"))
    run_well("upgrade", "-w", root)
    ran = run("verify", "-w", root)
    assert ran.code == 1 and f"it holds {kind}/{path.name}" in ran.out


def test_upgrade_converts_a_review_without_a_sample(root):
    without_checksums(root)
    folder = root / "reviews" / "shelf" / "own@1"
    for path in (folder / "drawn.json", *folder.glob("verdicts-*.parquet")):
        path.unlink()
    run_well("upgrade", "-w", root)
    assert run("verify", "-w", root).code == 0
    assert len(regrade.open(root).labels.draw_sample("shelf", labels="own", size=2).rows) == 2


@pytest.mark.parametrize("name", ["drawn.json", "verdicts-0001.parquet"])
def test_upgrade_rejects_a_review_with_a_missing_file(root, name):
    folder = root / "reviews" / "shelf" / "own@1"
    shutil.copy(folder / "verdicts-0001.parquet", folder / "verdicts-0002.parquet")
    without_checksums(root)
    (folder / name).unlink()
    assert_one_line(run("upgrade", "-w", root), f"{name} is damaged (it is missing")


def test_upgrade_of_a_workspace_with_an_unreadable_file_changes_nothing(root):
    without_checksums(root)
    (root / "testsets" / "shelf.parquet").write_bytes(b"garbage")
    before = snapshot(root)
    assert_one_line(run("upgrade", "-w", root), "shelf.parquet cannot be read")
    assert snapshot(root) == before


def test_upgrade_rejects_a_folder_that_is_not_a_workspace(tmp_path):
    assert_one_line(run("upgrade", "-w", tmp_path), "is not a workspace")
