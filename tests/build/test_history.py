"""regrade build history: the published history of ImageNetV2, and files that are no history."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from running import assert_one_line, run, run_well

from regrade.build.steps.history import BUILD_HISTORY, HistoryOptions, HistoryPart
from regrade.core import FormatError, InputError

NEW_IMAGES_OF_B = (
    1259, 954, 638, 464, 377, 369, 178, 257, 115, 39, 3, 12, 70, 66, 40, 30, 24, 14, 12, 13, 12, 15, 13, 777, 256,
    160, 64, 100, 61, 101, 45, 14, 5,
)  # fmt: skip
ROLES = ("images_to_label", "images_pos_control", "images_neg_control")


@pytest.fixture(scope="module")
def history(published):
    return BUILD_HISTORY.run(None, HistoryOptions(published / "imagenetv2_build"))


def test_sets_overlaps_and_union_are_as_published(history):
    sets = [(row.name, row.revisions, row.images) for row in history.sets]
    assert sets == [("imagenetv2-a", 45, 10_000), ("imagenetv2-b", 34, 10_000), ("imagenetv2-c", 13, 10_000)]
    assert [row.images for row in history.overlaps] == [3186, 4996, 3070]
    assert history.union == 20_683


def test_revisions_converge_as_published(history):
    added = [row.added for row in history.revisions if row.set_name == "imagenetv2-b"]
    assert added == [None, *NEW_IMAGES_OF_B]
    figure = BUILD_HISTORY.figure(history)
    assert f"imagenetv2-b: {', '.join(map(str, NEW_IMAGES_OF_B))}." in figure.alt


def test_tasks_reviews_blacklist_and_near_duplicates_are_as_published(history):
    assert history.tasks == 6330
    assert {(5774, 42, 3, 3), (254, 16, 16, 16)} < set(history.compositions)
    assert sum(count for count, *_ in history.compositions) == 6330
    assert (history.blacklisted, history.blacklist[0][1]) == (31_337, 18_467)
    assert sum(count for _, count in history.blacklist) == 31_337
    assert (history.near_duplicates, history.near_duplicate_pairs) == (16_361, 14_525)
    first = history.revisions[0]
    assert (first.reviewed, first.problematic) == (1000, 305)


@pytest.fixture
def folder(tmp_path):
    """A history of two sets: a has three revisions, b one."""
    rows = [
        *(("a-0", image) for image in "xyz"),
        *((name, image) for name in ("a-9", "a-10") for image in "xyw"),
        *(("b-0", image) for image in "xq"),
    ]
    write(tmp_path / "revisions.parquet", dataset=[r[0] for r in rows], image=[r[1] for r in rows], wnid=["n1"] * 11)
    (tmp_path / "revisions.json").write_text("{}")
    tiles = [*zip("1" * 4, (*ROLES, ROLES[0]), "xyzw", strict=True), *zip("2" * 3, ROLES, "xyz", strict=True)]
    names = ("task", "role", "image")
    write(tmp_path / "tasks.parquet", wnid=["n1"] * 7, **dict(zip(names, zip(*tiles, strict=True), strict=True)))
    reviews = {"dataset": ["a-0", "a-0"], "reviewed": [True, True], "problematic": [True, False]}
    write(tmp_path / "reviews.parquet", **reviews)
    write(tmp_path / "blacklist.parquet", image=["p", "q"], reason=["blurred", "blurred"])
    write(tmp_path / "near_duplicates.parquet", image=["x", "y", "x"], like=["y", "x", "z"])
    return tmp_path


def write(path, **columns):
    pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), path)


def test_a_small_history_by_hand(folder):
    result = BUILD_HISTORY.run(None, HistoryOptions(folder))
    sets = [(row.name, row.revisions, row.images, row.images_of_all, row.last_added) for row in result.sets]
    assert sets == [("a", 3, 3, 4, 0), ("b", 1, 2, 2, None)]
    rows = [(row.number, row.added, row.removed, row.reviewed, row.problematic) for row in result.revisions]
    assert rows == [(0, None, None, 2, 1), (9, 1, 1, None, None), (10, 0, 0, None, None), (0, None, None, None, None)]
    assert ([row.images for row in result.overlaps], result.union) == ([1], 4)
    assert result.compositions == ((1, 2, 1, 1), (1, 1, 1, 1))
    assert (result.blacklist, result.near_duplicates, result.near_duplicate_pairs) == ((("blurred", 2),), 3, 2)


def test_the_command_prints_every_table_without_a_workspace(folder, tmp_path):
    figure = tmp_path / "curve.json"
    output = run_well("build", "history", folder, "--figure", figure).out
    assert "4 images in all sets together" in output
    assert "a: 1, 0." in json.loads(figure.read_text())["description"]
    for part in HistoryPart:
        assert run_well("build", "history", folder, "--show", part.value).out
    assert json.loads(run_well("build", "history", folder, "--json").out)["union"] == 4


def test_folders_that_are_no_history_are_refused(folder):
    (folder / "blacklist.parquet").unlink()
    done = run("build", "history", folder)
    assert_one_line(done)
    assert "has no blacklist.parquet: a history consists of" in done.err
    with pytest.raises(InputError, match="there is no folder"):
        BUILD_HISTORY.run(None, HistoryOptions(folder / "none"))


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        ("reviews.parquet", {"dataset": ["a-0"], "reviewed": ["maybe"], "problematic": ["true"]}, "neither true nor"),
        ("reviews.parquet", {"dataset": ["a-0"]}, "has no column reviewed"),
        ("tasks.parquet", {"task": ["1"], "wnid": ["n1"], "role": ["x"], "image": ["x"]}, "unknown role 'x'"),
        ("revisions.parquet", {"dataset": ["a"], "image": ["x"], "wnid": ["n1"]}, "is not the name of a revision"),
    ],
)
def test_tables_of_another_form_are_refused(folder, name, columns, message):
    write(folder / name, **columns)
    with pytest.raises(FormatError, match=message):
        BUILD_HISTORY.run(None, HistoryOptions(folder))
