"""contents.json: removed and reverted files are detected."""

import shutil

import numpy as np
import pytest
from running import assert_one_line, run

import regrade
from benchmarks.fault_world import make_every_file
from regrade.core import ClassSpace, DamagedFile, LabelSet, LabelState, SliceSet, TestSet, Unlisted
from regrade.store import Store, read_checked_json
from regrade.store.layout import CONTENTS
from regrade.studies.loading import chosen_models

SHELF = TestSet("shelf", ClassSpace("ab", ("a", "b")), ("x", "y"), np.array([0, 1]))


def labels(version: int) -> LabelSet:
    both = np.array([0, 1])
    correct = np.full(2, LabelState.CORRECT, np.int8)
    return LabelSet("own", version, "shelf", 2, both, both, correct, both >= 0, ("", ""), Unlisted.NOVEL)


@pytest.fixture
def store(tmp_path):
    """A workspace with three versions of a label set."""
    store = Store.create(tmp_path / "W")
    store.add_test_set(SHELF)
    for version in (1, 2, 3):
        store.labels.add(labels(version), SHELF)
    return store


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    return make_every_file(tmp_path_factory.mktemp("every")).store.root.parent


@pytest.fixture
def root(template, tmp_path):
    return shutil.copytree(template, tmp_path, dirs_exist_ok=True) / "W"


def problems_of(root) -> dict[str, str]:
    return {problem.subject: problem.trouble for problem in regrade.open(root).verify().problems}


def listed(root) -> set[str]:
    return set(read_checked_json(root / CONTENTS)["stored_files"])


def test_contents_lists_every_stored_file(root):
    tables = {path.relative_to(root).as_posix() for path in root.glob("*/**/*.parquet")}
    parts = {path for path in tables if path.startswith(("predictions/", "neighbors/"))}
    manifests = {path.relative_to(root).as_posix() for path in root.glob("*/*/*/manifest.json")}
    assert tables - parts | manifests <= listed(root)
    assert problems_of(root) == {}


@pytest.mark.parametrize("kind", ["labels", "slices", "images", "mistakes", "maps", "predictions", "checkpoints"])
def test_verify_names_removed_folders(root, kind):
    shutil.rmtree(root / "reviews")  # a label set without a review: no other file refers to it
    (root / CONTENTS).unlink()
    Store.open(root).class_spaces.add(SHELF.class_space, None)
    places = {place for place in listed(root) if place.startswith(f"{kind}/")}
    assert places
    shutil.rmtree(root / kind)
    problems = problems_of(root)
    assert places <= set(problems) and all("missing although contents.json lists it" in problems[p] for p in places)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("has_list", [True, False])
def test_verify_names_a_gap_in_the_versions_of_labels(store, version, has_list):
    (store.root / f"labels/shelf/own@{version}.parquet").unlink()
    if not has_list:
        (store.root / CONTENTS).unlink()
    assert list(problems_of(store.root)) == [f"labels/shelf/own@{version}.parquet"]


def test_label_set_is_not_read_in_an_older_version_when_the_newest_was_removed(store):
    (store.root / "labels/shelf/own@3.parquet").unlink()
    with pytest.raises(DamagedFile, match=r"own@3.parquet is missing although contents.json lists it"):
        store.labels.read(SHELF, "own")
    assert store.labels.read(SHELF, "own@2").version == 2
    assert store.labels.newest_version("shelf", "own") == 3


@pytest.mark.parametrize(
    ("place", "read"),
    [
        ("testsets/shelf.parquet", lambda store, _: store.test_set("shelf")),
        ("classes/toys.json", lambda store, _: store.class_spaces.read("toys")),
        ("predictions/shelf/first/manifest.json", lambda store, shelf: store.predictions.read(shelf, "first")),
        ("predictions/shelf/first/manifest.json", lambda store, shelf: chosen_models(store, shelf, ["first"])),
        ("checkpoints/shelf/net/manifest.json", lambda store, shelf: store.ensembles.read(shelf, "net")),
        ("mistakes/shelf/first.parquet", lambda store, shelf: store.mistakes.read(shelf, "first")),
    ],
)
def test_removed_record_is_missing_and_not_unknown(root, place, read):
    store = Store.open(root)
    shelf = store.test_set("shelf")
    path = root / place
    shutil.rmtree(path.parent) if place.count("/") == 3 else path.unlink()
    with pytest.raises(DamagedFile, match=rf"{place} is missing although contents.json lists it"):
        read(store, shelf)


def test_removed_test_set_is_reported_by_the_list(root):
    (root / "testsets/shelf.parquet").unlink()
    ran = run("testsets", "list", "-w", root)
    assert ran.code == 1 and "testsets/shelf.parquet is missing although contents.json lists it" in ran.err


def test_removed_slices_are_reported_once(store, caplog):
    store.slices.add(SliceSet("night", "shelf", 2, {"night": np.array([True, False])}), SHELF)
    (store.root / "slices/shelf/night.parquet").unlink()
    assert store.test_set("shelf").slice_sets == store.test_set("shelf").slice_sets == ()
    assert [record.message for record in caplog.records] == [
        "note: missing, and left out: slices/shelf/night.parquet; `regrade verify` checks all files"
    ]


def test_storing_a_removed_file_again_repairs_the_workspace(store):
    (store.root / "labels/shelf/own@3.parquet").unlink()
    store.labels.add(labels(3), SHELF)
    assert problems_of(store.root) == {}


def test_verify_names_a_reverted_folder(root, tmp_path):
    review = root / "reviews/shelf/own@1"
    shutil.copytree(review, tmp_path / "earlier")
    regrade.open(root).labels.draw_sample("shelf", labels="own@1", size=1)
    shutil.rmtree(review)
    shutil.copytree(tmp_path / "earlier", review)
    problems = problems_of(root)
    assert "is another version than contents.json lists" in problems["reviews/shelf/own@1/drawn.json"]


def test_workspace_without_a_list_opens_and_the_next_write_lists_its_files(store):
    before = listed(store.root)
    (store.root / CONTENTS).unlink()
    assert problems_of(store.root) == {} and not (store.root / CONTENTS).exists()
    store.labels.add(labels(4), SHELF)
    assert listed(store.root) == before | {"labels/shelf/own@4.parquet"}


def test_removing_the_list_too_accepts_a_removal(store):
    for name in (CONTENTS, "labels/shelf/own@3.parquet"):
        (store.root / name).unlink()
    store.labels.add(labels(3), SHELF)
    assert problems_of(store.root) == {}


def test_damaged_list_blocks_writes(store):
    path = store.root / CONTENTS
    path.write_text(path.read_text().replace("own@2", "own@9"))
    with pytest.raises(DamagedFile, match=r"contents.json is damaged"):
        store.labels.add(labels(4), SHELF)
    assert list(problems_of(store.root)) == [CONTENTS]
    assert not (store.root / "labels/shelf/own@4.parquet").exists() and not (store.root / ".staging").exists()
    assert_one_line(run("grade", "-t", "shelf", "-l", "own", "-w", store.root), "contents.json is damaged")


def test_failed_write_leaves_the_list_as_it_is(store):
    before = (store.root / CONTENTS).read_bytes()
    with pytest.raises(ZeroDivisionError), store.transaction():
        store.labels.add(labels(4), SHELF)
        raise ZeroDivisionError
    assert (store.root / CONTENTS).read_bytes() == before
