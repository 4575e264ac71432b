"""Predictions under way: parts, whole or not at all, of one plan."""

import json
from dataclasses import replace

import numpy as np
import pytest

from regrade.core import FormatError, StoreError
from regrade.store import Part, PartialPredictions, empty_part, joined_parts


@pytest.fixture
def partial(tmp_path):
    started = PartialPredictions(tmp_path / ".partial" / "set" / "model", 10, 4, {"weights": "1"})
    started.begin()
    return started


def part(positions, *, value=0, width=None, features=None):
    made = empty_part(positions, k=2, width=width)
    made.classes[:] = np.arange(len(positions))[:, None] + value
    made.scores[:] = value
    if made.full_scores is not None:
        made.full_scores[:] = positions.start
    return made if features is None else replace(made, features=rows(positions, features))


def rows(positions, width) -> np.ndarray:
    """Features that tell where they belong: 100 times the position, and the column."""
    return np.add.outer(100 * np.arange(positions.start, positions.stop), np.arange(width)).astype(np.float16)


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


class TestFeatures:
    def test_they_come_back_as_a_map_of_the_file(self, partial):
        fill(partial, width=3, features=5)
        whole = partial.finished()
        assert isinstance(whole.features, np.memmap) and whole.features.dtype == np.float16
        np.testing.assert_array_equal(whole.features, rows(range(10), 5))
        assert whole.full_scores.shape == (10, 3)

    @pytest.mark.parametrize("without", [{0}, {4}, {8}, {0, 4}, {0, 8}, {4, 8}])
    def test_a_part_without_any_is_not_a_number(self, partial, without):
        for positions in partial.missing():
            partial.add(part(positions, features=None if positions.start in without else 5))
        features = partial.finished().features
        gone = np.array([4 * (position // 4) in without for position in range(10)])
        assert features.shape == (10, 5) and np.isnan(features[gone]).all()
        np.testing.assert_array_equal(features[~gone], rows(range(10), 5)[~gone])

    def test_where_no_part_has_any_there_are_none(self, partial):
        fill(partial)
        assert partial.finished().features is None

    def test_one_number_an_example_will_do(self, partial):
        fill(partial, features=1)
        np.testing.assert_array_equal(partial.finished().features, rows(range(10), 1))

    def test_another_width_in_between_is_told(self, partial):
        for positions in partial.missing():
            partial.add(part(positions, features=6 if positions.start == 4 else 5))
        with pytest.raises(StoreError, match="rows of 5 and of 6 numbers: the model's output changed during the run"):
            partial.finished()


class TestJoining:
    def pieces(self, *features):
        positions = [range(20, 23), range(23, 24), range(24, 28)]
        return [part(at, value=at.start, width=3, features=one) for at, one in zip(positions, features, strict=True)]

    def test_rows_follow_one_another(self):
        first, *rest = self.pieces(5, 5, 5)
        first.unreadable[21] = "gone"
        rest[-1].unreadable[27] = "cut"
        whole = joined_parts([first, *rest])
        assert (whole.start, len(whole), whole.unreadable) == (20, 8, {21: "gone", 27: "cut"})
        assert whole.classes[:, 0].tolist() == [20, 21, 22, 23, 24, 25, 26, 27]
        assert whole.full_scores[:, 0].tolist() == [20] * 3 + [23] + [24] * 4
        np.testing.assert_array_equal(whole.features, rows(range(20, 28), 5))

    @pytest.mark.parametrize("features", [(None, 5, 5), (5, None, 5), (None, None, 5), (5, None, None)])
    def test_rows_without_features_are_not_a_number(self, features):
        whole = joined_parts(self.pieces(*features))
        there = np.repeat([one is not None for one in features], [3, 1, 4])
        np.testing.assert_array_equal(whole.features[there], rows(range(20, 28), 5)[there])
        assert np.isnan(whole.features[~there]).all() and whole.features.dtype == np.float16

    def test_no_features_at_all(self):
        assert joined_parts(self.pieces(None, None, None)).features is None

    def test_another_width_is_told(self):
        with pytest.raises(StoreError, match="rows of 5 and of 4 numbers"):
            joined_parts(self.pieces(5, None, 4))

    def test_one_part_stays_what_it_is(self):
        (one,) = self.pieces(5, 5, 5)[:1]
        whole = joined_parts([one])
        assert isinstance(whole, Part) and whole.start == 20
        np.testing.assert_array_equal(whole.features, one.features)


class TestBatch:
    def test_found_once_and_kept_for_later_runs(self, partial):
        assert partial.batch(lambda: 24) == 24
        assert partial.batch(lambda: pytest.fail("it is known")) == 24
        again = replace(partial)
        again.begin()
        assert again.batch(lambda: 1) == 24

    def test_every_plan_has_its_own(self, partial):
        other = replace(partial, plan={"weights": "2"})
        other.begin()
        assert (partial.batch(lambda: 8), other.batch(lambda: 4), partial.batch(lambda: 2)) == (8, 4, 8)

    @pytest.mark.parametrize("text", ["", "0", "-8", "eight", "8.5", "\N{SUPERSCRIPT TWO}"])
    def test_a_damaged_one_is_told(self, partial, text):
        partial.batch(lambda: 8)
        (path,) = partial.folder.glob("*/batch")
        path.write_text(text)
        with pytest.raises(FormatError, match=r"batch is damaged: remove .* and run again"):
            partial.batch(lambda: 8)

    def test_what_cannot_be_found_leaves_nothing(self, partial):
        with pytest.raises(ZeroDivisionError):
            partial.batch(lambda: 1 // 0)
        assert partial.batch(lambda: 3) == 3


def test_reasons_are_kept(partial):
    fill(partial)
    late = empty_part(range(8, 10), k=2, width=None)
    late.unreadable[9] = "no image – «gone»"
    partial.add(late)
    assert partial.finished().unreadable == {9: "no image – «gone»"}


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
    with pytest.raises(FormatError, match="contains 2 predictions"):
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
    with partial.locked(), pytest.raises(StoreError, match="is locked by another process"), partial.locked():
        pass
    with partial.locked():
        pass


def test_removed_with_all_plans_and_empty_folders(partial, tmp_path):
    replace(partial, plan={}).begin()
    other = replace(partial, folder=partial.folder.with_name("other"))
    other.begin()
    partial.remove()
    assert not partial.folder.exists() and other.folder.exists()
    other.remove()
    assert list(tmp_path.iterdir()) == []
