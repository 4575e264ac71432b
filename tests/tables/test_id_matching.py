"""Ids match with or without directories and extensions, one to one, and never ambiguously."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regrade.tables.id_matching import match_ids, match_some_ids

NAMES = st.lists(st.text("abc", min_size=1, max_size=4), min_size=1, max_size=8, unique=True)


@pytest.mark.parametrize(
    ("file_ids", "ignoring"),
    [
        (["b.png", "a.png"], ""),
        (["b.JPEG", "a"], "extensions"),
        (["val/b.png", "val\\a.png"], "directories"),
        (["/data/val/b.jpg", "a"], "directories and extensions"),
    ],
)
def test_match_ids_ignores_as_little_as_possible(file_ids, ignoring):
    match = match_ids(["a.png", "b.png"], file_ids)
    assert (match.rows.tolist(), match.ignoring) == ([1, 0], ignoring)


@pytest.mark.parametrize(
    ("ids", "file_ids"),
    [
        (["x/a.png", "y/a.png"], ["a.png", "b.png"]),
        (["a.png", "b.png"], ["x/a.png", "y/a.png"]),
        (["a.png", "a.jpg"], ["a", "b"]),
        (["a.png"], ["a.png", "b.png"]),
        (["a.png", "b.png"], ["a.png", "c.png"]),
        (["v1.5"], ["v1"]),
    ],
)
def test_match_ids_refuses_ambiguous_and_missing_ids(ids, file_ids):
    assert match_ids(ids, file_ids) is None


@given(NAMES, st.randoms(use_true_random=False))
def test_match_ids_inverts_any_order_and_any_directory(names, random):
    order = random.sample(range(len(names)), len(names))
    file_ids = [f"{random.choice(['', 'x/', 'y/z/'])}{names[i]}.png" for i in order]
    match = match_ids([f"{name}.png" for name in names], file_ids)
    assert [file_ids[row].rpartition("/")[2] for row in match.rows] == [f"{name}.png" for name in names]


@given(NAMES, st.randoms(use_true_random=False))
def test_match_some_ids_inverts_any_part_in_any_directory(names, random):
    part = random.sample(range(len(names)), random.randint(0, len(names)))
    match = match_some_ids([f"{name}.png" for name in names], [f"x/{names[i]}" for i in part])
    assert match.rows.tolist() == [part.index(i) if i in part else -1 for i in range(len(names))]
    assert match.matched == len(part)


def test_match_some_ids_refuses_ids_that_are_unknown_or_ambiguous():
    assert match_some_ids(["a.png", "b.png", "c.png"], ["a.png", "d.png"]) is None
    assert match_some_ids(["x/a.png", "y/a.png"], ["a.png"]) is None
    assert match_some_ids(["x/a.png", "y/a.png"], ["y/a.png"]).rows.tolist() == [-1, 0]
