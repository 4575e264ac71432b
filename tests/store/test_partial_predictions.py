"""Unfinished predictions: parts of one plan, written atomically."""

import json
from dataclasses import replace

import numpy as np
import pytest

from regrade.core import FormatError, Predictions, StoreError, Ties
from regrade.store import Part, PartialPredictions, empty_part, joined_parts, with_replaced_rows


@pytest.fixture
def partial(tmp_path):
    started = PartialPredictions(tmp_path / ".partial" / "set" / "model", 10, 4, {"weights": "1"})
    started.begin()
    return started


def part(positions, *, value=0, width=None, features=None):
    filled = empty_part(positions, k=2, width=width)
    filled.classes[:] = np.arange(len(positions))[:, None] + value
    filled.scores[:] = value
    if filled.full_scores is not None:
        filled.full_scores[:] = positions.start
    return filled if features is None else replace(filled, features=rows(positions, features))


def rows(positions, width) -> np.ndarray:
    """Features that identify their position: 100 times the position plus the column."""
    return np.add.outer(100 * np.arange(positions.start, positions.stop), np.arange(width)).astype(np.float16)


def fill(partial, **options):
    for positions in partial.missing():
        partial.add(part(positions, value=positions.start, **options))


def files(partial):
    return sorted(partial.folder.glob("*/*.part"))


def test_finished_joins_parts_in_order(partial):
    assert partial.missing() == [range(0, 4), range(4, 8), range(8, 10)]
    for positions in reversed(partial.missing()):
        partial.add(part(positions, value=positions.start))
    assert partial.missing() == []
    whole = partial.finished()
    assert (whole.start, len(whole), whole.full_scores, whole.unreadable) == (0, 10, None, {})
    assert whole.classes[:, 0].tolist() == list(range(10))


def test_finished_returns_all_scores_as_a_memory_map(partial):
    fill(partial, width=3)
    scores = partial.finished().full_scores
    assert isinstance(scores, np.memmap) and scores.shape == (10, 3) and scores.dtype == np.float16
    assert scores[:, 1].tolist() == [0] * 4 + [4] * 4 + [8] * 2


def tied(*numbers):
    """Ties of these rows; the bits of each are its number."""
    return Ties(np.array(numbers), np.array(numbers, dtype=np.uint8)[:, None])


def test_ties_are_joined_at_their_positions_and_replaced_with_their_images(partial):
    of_part = {0: tied(1, 3), 4: None, 8: tied(0)}
    for positions in partial.missing():
        partial.add(replace(part(positions), ties=of_part[positions.start]))
    whole = partial.finished()
    assert (whole.ties.rows.tolist(), whole.ties.bits.ravel().tolist()) == ([1, 3, 8], [1, 3, 0])
    parts = [replace(part(positions), ties=of_part[positions.start]) for positions in (range(8, 10), range(4, 8))]
    assert joined_parts([parts[1], parts[0]]).ties.rows.tolist() == [4]  # counted from the first of the parts
    before = Predictions(
        "m", "set", "toys", whole.classes, whole.scores, fingerprints=whole.fingerprints, ties=whole.ties
    )
    again = [replace(part(range(2, 4)), ties=tied(0)), part(range(8, 9))]
    after = with_replaced_rows(before, again)
    assert (after.ties.rows.tolist(), after.ties.bits.ravel().tolist()) == ([1, 2], [1, 0])
    assert with_replaced_rows(before, [part(range(0, 10))]).ties is None


class TestFeatures:
    def test_finished_returns_features_as_a_memory_map(self, partial):
        fill(partial, width=3, features=5)
        whole = partial.finished()
        assert isinstance(whole.features, np.memmap) and whole.features.dtype == np.float16
        np.testing.assert_array_equal(whole.features, rows(range(10), 5))
        assert whole.full_scores.shape == (10, 3)

    @pytest.mark.parametrize("without", [{0}, {4}, {8}, {0, 4}, {0, 8}, {4, 8}])
    def test_finished_fills_missing_features_with_nan(self, partial, without):
        for positions in partial.missing():
            partial.add(part(positions, features=None if positions.start in without else 5))
        features = partial.finished().features
        gone = np.array([4 * (position // 4) in without for position in range(10)])
        assert features.shape == (10, 5) and np.isnan(features[gone]).all()
        np.testing.assert_array_equal(features[~gone], rows(range(10), 5)[~gone])

    def test_finished_returns_no_features_without_any(self, partial):
        fill(partial)
        assert partial.finished().features is None

    def test_finished_accepts_one_feature_per_example(self, partial):
        fill(partial, features=1)
        np.testing.assert_array_equal(partial.finished().features, rows(range(10), 1))

    def test_finished_rejects_features_of_another_width(self, partial):
        for positions in partial.missing():
            partial.add(part(positions, features=6 if positions.start == 4 else 5))
        with pytest.raises(StoreError, match="rows of 5 and of 6 numbers: the model's output changed during the run"):
            partial.finished()


class TestJoinedParts:
    def pieces(self, *features):
        positions = [range(20, 23), range(23, 24), range(24, 28)]
        return [
            part(at, value=at.start, width=3, features=width) for at, width in zip(positions, features, strict=True)
        ]

    def test_joined_parts_concatenates_rows(self):
        first, *rest = self.pieces(5, 5, 5)
        first.unreadable[21] = "gone"
        rest[-1].unreadable[27] = "cut"
        whole = joined_parts([first, *rest])
        assert (whole.start, len(whole), whole.unreadable) == (20, 8, {21: "gone", 27: "cut"})
        assert whole.classes[:, 0].tolist() == [20, 21, 22, 23, 24, 25, 26, 27]
        assert whole.full_scores[:, 0].tolist() == [20] * 3 + [23] + [24] * 4
        np.testing.assert_array_equal(whole.features, rows(range(20, 28), 5))

    @pytest.mark.parametrize("features", [(None, 5, 5), (5, None, 5), (None, None, 5), (5, None, None)])
    def test_joined_parts_fills_missing_features_with_nan(self, features):
        whole = joined_parts(self.pieces(*features))
        has_features = np.repeat([width is not None for width in features], [3, 1, 4])
        np.testing.assert_array_equal(whole.features[has_features], rows(range(20, 28), 5)[has_features])
        assert np.isnan(whole.features[~has_features]).all() and whole.features.dtype == np.float16

    def test_joined_parts_without_features_has_none(self):
        assert joined_parts(self.pieces(None, None, None)).features is None

    def test_joined_parts_rejects_features_of_another_width(self):
        with pytest.raises(StoreError, match="rows of 5 and of 4 numbers"):
            joined_parts(self.pieces(5, None, 4))

    def test_joined_parts_of_one_part_is_the_same(self):
        (single,) = self.pieces(5, 5, 5)[:1]
        whole = joined_parts([single])
        assert isinstance(whole, Part) and whole.start == 20
        np.testing.assert_array_equal(whole.features, single.features)


class TestBatch:
    def test_batch_is_determined_once(self, partial):
        assert partial.batch(lambda: 24) == 24
        assert partial.batch(lambda: pytest.fail("it is known")) == 24
        again = replace(partial)
        again.begin()
        assert again.batch(lambda: 1) == 24

    def test_batch_is_kept_per_plan(self, partial):
        changed = replace(partial, plan={"weights": "2"})
        changed.begin()
        assert (partial.batch(lambda: 8), changed.batch(lambda: 4), partial.batch(lambda: 2)) == (8, 4, 8)

    @pytest.mark.parametrize("text", ["", "0", "-8", "eight", "8.5", "\N{SUPERSCRIPT TWO}"])
    def test_batch_rejects_a_damaged_file(self, partial, text):
        partial.batch(lambda: 8)
        (path,) = partial.folder.glob("*/batch")
        path.write_text(text)
        with pytest.raises(FormatError, match=r"batch is damaged: remove .* and run again"):
            partial.batch(lambda: 8)

    def test_batch_leaves_nothing_after_an_error(self, partial):
        with pytest.raises(ZeroDivisionError):
            partial.batch(lambda: 1 // 0)
        assert partial.batch(lambda: 3) == 3


def test_finished_keeps_unreadable_reasons(partial):
    fill(partial)
    late = empty_part(range(8, 10), k=2, width=None)
    late.unreadable[9] = "no image – «gone»"
    partial.add(late)
    assert partial.finished().unreadable == {9: "no image – «gone»"}


def test_begin_keeps_parts_of_the_same_plan(partial):
    partial.add(part(range(4, 8)))
    again = replace(partial)
    again.begin()
    assert again.missing() == [range(0, 4), range(8, 10)]


@pytest.mark.parametrize("change", [{"plan": {"weights": "2"}}, {"part_size": 5}, {"examples": 11}])
def test_begin_ignores_parts_of_another_plan(partial, change):
    fill(partial)
    changed = replace(partial, **change)
    changed.begin()
    assert sum(len(positions) for positions in changed.missing()) == changed.examples
    assert partial.missing() == []
    assert {json.loads(path.read_text())["weights"] for path in partial.folder.glob("*/plan.json")} >= {"1"}


def test_finished_rejects_missing_and_additional_parts(partial):
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


def test_finished_rejects_a_part_of_another_length(partial):
    fill(partial)
    first, last = files(partial)[0], files(partial)[-1]
    first.write_bytes(last.read_bytes())
    with pytest.raises(FormatError, match="contains 2 predictions"):
        partial.finished()


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda _: b"", lambda b: b[:40] + bytes([b[40] ^ 1]) + b[41:], lambda b: b[:10]]
)
def test_begin_rejects_a_damaged_part(partial, damage):
    fill(partial)
    path = files(partial)[1]
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(FormatError, match=rf"{path.name} is damaged: remove it and run again"):
        partial.begin()
    path.unlink()
    partial.begin()
    assert partial.missing() == [range(4, 8)]


def test_locked_rejects_a_second_process(partial):
    with partial.locked(), pytest.raises(StoreError, match="is locked by another process"), partial.locked():
        pass
    with partial.locked():
        pass


def test_remove_removes_all_plans_and_empty_folders(partial, tmp_path):
    replace(partial, plan={}).begin()
    second = replace(partial, folder=partial.folder.with_name("other"))
    second.begin()
    partial.remove()
    assert not partial.folder.exists() and second.folder.exists()
    second.remove()
    assert list(tmp_path.iterdir()) == []
