"""Predictions under way: parts, whole or not at all, of one plan."""

import json
from dataclasses import replace

import numpy as np
import pytest

from regrade.core import FormatError, StoreError
from regrade.store import PartialPredictions, no_answers


@pytest.fixture
def partial(tmp_path):
    started = PartialPredictions(tmp_path / ".partial" / "set" / "model", 10, 4, {"weights": "1"})
    started.begin()
    return started


def part(positions, *, value=0, width=None):
    made = no_answers(positions, k=2, width=width)
    made.classes[:] = np.arange(len(positions))[:, None] + value
    made.scores[:] = value
    if made.full_scores is not None:
        made.full_scores[:] = positions.start
    return made


def fill(partial, **options):
    for positions in partial.missing():
        partial.add(part(positions, value=positions.start, **options))


def files(partial):
    return sorted(partial.folder.glob("*/*.part"))


def test_parts_are_put_together_in_order(partial):
    assert partial.missing() == [range(0, 4), range(4, 8), range(8, 10)]
    for positions in reversed(partial.missing()):
        partial.add(part(positions, value=positions.start))
    assert partial.missing() == []
    whole = partial.finished()
    assert (whole.start, len(whole), whole.full_scores, whole.unreadable) == (0, 10, None, {})
    assert whole.classes[:, 0].tolist() == list(range(10))


def test_all_scores_come_back_as_a_map_of_the_file(partial):
    fill(partial, width=3)
    scores = partial.finished().full_scores
    assert isinstance(scores, np.memmap) and scores.shape == (10, 3) and scores.dtype == np.float16
    assert scores[:, 1].tolist() == [0] * 4 + [4] * 4 + [8] * 2


def test_reasons_are_kept(partial):
    fill(partial)
    late = no_answers(range(8, 10), k=2, width=None)
    late.unreadable[9] = "no picture – «gone»"
    partial.add(late)
    assert partial.finished().unreadable == {9: "no picture – «gone»"}


def test_a_new_run_keeps_what_the_same_plan_has_left(partial):
    partial.add(part(range(4, 8)))
    again = replace(partial)
    again.begin()
    assert again.missing() == [range(0, 4), range(8, 10)]


@pytest.mark.parametrize("change", [{"plan": {"weights": "2"}}, {"part_size": 5}, {"examples": 11}])
def test_parts_of_another_plan_are_left_alone(partial, change):
    fill(partial)
    other = replace(partial, **change)
    other.begin()
    assert sum(len(positions) for positions in other.missing()) == other.examples
    assert partial.missing() == []
    assert {json.loads(path.read_text())["weights"] for path in partial.folder.glob("*/plan.json")} >= {"1"}


def test_too_few_or_too_many_parts_raise(partial):
    fill(partial)
    first = files(partial)[0]
    first.rename(first.with_name("000000000-000000003.part"))
    with pytest.raises(StoreError, match="exactly once"):
        partial.finished()
    first.with_name("000000000-000000003.part").rename(first)
    partial.finished()
    first.with_name("000000002-000000006.part").write_bytes(first.read_bytes())
    with pytest.raises(StoreError, match="exactly once"):
        partial.finished()


def test_a_part_of_the_wrong_length_raises(partial):
    fill(partial)
    first, last = files(partial)[0], files(partial)[-1]
    first.write_bytes(last.read_bytes())
    with pytest.raises(FormatError, match="holds 2 answers"):
        partial.finished()


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda _: b"", lambda b: b[:40] + bytes([b[40] ^ 1]) + b[41:], lambda b: b[:10]]
)
def test_a_damaged_part_is_told_before_any_work(partial, damage):
    fill(partial)
    path = files(partial)[1]
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(FormatError, match=rf"{path.name} is damaged: remove it and run again"):
        partial.begin()
    path.unlink()
    partial.begin()
    assert partial.missing() == [range(4, 8)]


def test_only_one_at_a_time(partial):
    with partial.alone(), pytest.raises(StoreError, match="another process is at this already"), partial.alone():
        pass
    with partial.alone():
        pass


def test_removed_with_all_plans_and_empty_folders(partial, tmp_path):
    replace(partial, plan={}).begin()
    other = replace(partial, folder=partial.folder.with_name("other"))
    other.begin()
    partial.remove()
    assert not partial.folder.exists() and other.folder.exists()
    other.remove()
    assert list(tmp_path.iterdir()) == []
