"""Reviews as folders: the frame that samples are drawn from, written once, and decisions, which are only added."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import (
    AlreadyStored,
    FormatError,
    InputError,
    LabelSet,
    LabelState,
    MismatchError,
    NovelSample,
    TestSet,
)
from regrade.core.arrays import IntArray
from regrade.core.novel_sample import ReviewDecisions
from regrade.store.checked_files import PLACE, read_parquet, write_parquet
from regrade.store.collection import Collection, check_test_set
from regrade.store.file_errors import damaged, is_filled, lost
from regrade.store.review_files import (
    DRAWN,
    FRAME,
    count_draws,
    decision_file,
    decision_paths,
    draw_more,
    review_place,
    turns_by_queue,
    with_drawn,
    write_drawn,
)
from regrade.store.transaction import Transaction, transaction
from regrade.tables import Reading, number_array, one_class_per_row, text_array


@dataclass(frozen=True)
class AddedDecisions:
    """The result of adding decisions: how many are new, how many stored ones got a reason, and notes for the user."""

    new: int
    reasons: int = 0
    notes: tuple[str, ...] = ()


class ReviewCollection(Collection[NovelSample, TestSet]):
    """The reviews of novel predictions under label sets: a frame, written once, and decisions, which are only added."""

    kind = "reviews"
    main_file = FRAME

    def names_of(self, frame: NovelSample, test_set: TestSet) -> tuple[str, ...]:
        """The name of the test set, and the full name of the label set."""
        return test_set.name, frame.labels

    def refusal(self, frame: NovelSample, test_set: TestSet) -> str:
        """The error for another frame of the same label set."""
        return (
            f"a sample for {frame.labels} of {test_set.name} was drawn already, and drawing again would bias it: judge "
            f"that one, or remove {self.path(test_set.name, frame.labels)} first"
        )

    def has(self, *names: str) -> bool:
        """Whether a review is stored; raise if its frame is missing and other files are not."""
        if super().has(*names):
            return True
        if is_filled(self.path(*names)):
            raise lost(self.main_path(*names), "other files of the review are there")
        return False

    def put(self, change: Transaction, frame: NovelSample, test_set: TestSet) -> None:
        """Stage the frame of a new review, from which nothing is drawn yet."""
        folder = self.path(test_set.name, frame.labels)
        change.write_at(folder / FRAME, lambda file: self.write(frame, test_set, file))
        write_drawn(change, folder, frame, decision_files=0, draws=0, queues={})

    def write(self, frame: NovelSample, test_set: TestSet, file: BinaryIO) -> None:
        """Write all novel pairs with their strata, turns and proxies; decisions are in other files."""
        table = pa.table(
            {
                "example": text_array(test_set.ids).take(pa.array(frame.examples)),
                "class": pa.array(test_set.class_space.ids).take(pa.array(frame.classes)),
                "stratum": frame.strata,
                "turn": frame.turns,
                "proxy": frame.proxy,
            }
        )
        meta = {
            PLACE: review_place(frame, FRAME),
            "test_set": frame.test_set,
            "test_set_digest": test_set.digest,
            "labels": frame.labels,
            "stratified_by": frame.stratified_by,
            "digest": frame.digest,
        }
        write_parquet(table, meta, file)

    def read(self, test_set: TestSet, labels: LabelSet) -> NovelSample | None:
        """The review of the novel predictions under a label set, with its decisions; None if there is none."""
        if not self.has(test_set.name, labels.full_name):
            return None
        folder = self.path(test_set.name, labels.full_name)
        table, meta = read_parquet(folder / FRAME)
        check_test_set(folder, meta["test_set_digest"], test_set)
        examples, classes = _pairs(table, test_set)
        frame = NovelSample(
            test_set.name,
            meta["labels"],
            len(test_set.class_space),
            examples,
            classes,
            number_array(table["stratum"]),
            number_array(table["turn"]),
            number_array(table["proxy"]),
            np.full(len(examples), LabelState.UNJUDGED, dtype=np.int8),
            meta["stratified_by"],
        )
        return _with_stored_decisions(folder, with_drawn(folder, frame), test_set)

    def draw_more(self, frame: NovelSample, size: int, *, queue: str = "") -> NovelSample:
        """Draw the next ``size`` pairs of a review, and record the queue they are for, if any."""
        with transaction(self.root) as change:
            return draw_more(change, self._folder_of(frame), frame, size, queue=queue)

    def rows_drawn_for(self, frame: NovelSample, queue: str) -> IntArray:
        """The rows that were drawn for a queue, in the order of drawing."""
        rows = [frame.given_out(start, stop) for start, stop in turns_by_queue(self._folder_of(frame)).get(queue, [])]
        return np.concatenate([np.empty(0, dtype=np.int64), *rows])

    def add_decisions(
        self, frame: NovelSample, test_set: TestSet, decisions: ReviewDecisions, *, correction: str = ""
    ) -> AddedDecisions:
        """Add decisions to a review and return how many are new; a decision on a pair that was not drawn raises.

        Nothing is overwritten: a decision or reason that contradicts a stored one raises unless ``correction`` gives
        the reason; it is then added as a new row, and the last row counts. A later reason is added in the same way.
        """
        with transaction(self.root) as change:
            return _add_decisions(change, self._folder_of(frame), frame, test_set, decisions, correction=correction)

    def with_decisions(
        self, frame: NovelSample, test_set: TestSet, decisions: ReviewDecisions, *, queue: str
    ) -> NovelSample:
        """The review with the present decisions of a queue in place of its earlier ones.

        A pair whose decision was withdrawn gets its decision from other sources, if any; a decision that was corrected
        from another source since stays corrected.
        """
        folder = self._folder_of(frame)
        rest = _with_stored_decisions(folder, frame, test_set, from_queue=lambda name: name != queue)
        own = _with_stored_decisions(folder, frame, test_set, from_queue=lambda name: name == queue)
        states, reasons = rest.states.copy(), dict(rest.reasons)
        for index, row in enumerate(frame.find(decisions.examples, decisions.classes).tolist()):
            state, reason = int(decisions.states[index]), decisions.reasons.get(index, "")
            if (own.states[row], own.reasons.get(row, "")) == (state, reason):
                state, reason = int(frame.states[row]), frame.reasons.get(row, "")
            states[row], reasons[row] = state, reason
        return replace(frame, states=states, reasons={row: reason for row, reason in reasons.items() if reason})

    def add_changes(self, before: NovelSample, after: NovelSample, test_set: TestSet, *, queue: str) -> None:
        """Store the changes of a review that a queue's decisions made, as new rows."""
        rows = _changed_rows(before, after)
        decisions = {int(row): (_word(after.states[row]), after.reasons.get(int(row), "")) for row in rows}
        if decisions:
            reason = f"decided in queue {queue}"
            with transaction(self.root) as change:
                folder = self._folder_of(before)
                _write_decisions(change, folder, before, test_set, decisions, reason=reason, queue=queue)

    def _folder_of(self, frame: NovelSample) -> Path:
        return self.path(frame.test_set, frame.labels)


def _with_stored_decisions(
    folder: Path, frame: NovelSample, test_set: TestSet, *, from_queue: Callable[[str], bool] = lambda _: True
) -> NovelSample:
    """The frame with the last decision on each pair, from all files or those whose queue ``from_queue`` accepts."""
    states, reasons = np.full(len(frame), LabelState.UNJUDGED, dtype=np.int8), dict[int, str]()
    for path in decision_paths(folder):
        decisions, meta = read_parquet(path)
        if meta["frame"] != frame.digest:
            raise damaged(path, f"it was given on another sample than {FRAME}")
        if not from_queue(meta.get("queue", "")):
            continue
        rows = frame.find(*_pairs(decisions, test_set))
        if (frame.turns[rows] >= frame.drawn).any():
            raise damaged(folder / DRAWN, f"{path.name} judges more than the {frame.drawn:,} predictions it counts")
        states[rows] = [LabelState[word.upper()] for word in decisions["verdict"].to_pylist()]
        file_reasons = decisions["reason"].to_pylist() if "reason" in decisions.column_names else [""] * len(rows)
        reasons.update(zip(rows.tolist(), file_reasons, strict=True))
    kept = {row: reason for row, reason in reasons.items() if reason and states[row] == LabelState.PROBLEMATIC}
    return replace(frame, states=states, reasons=kept)


def _add_decisions(
    change: Transaction,
    folder: Path,
    frame: NovelSample,
    test_set: TestSet,
    decisions: ReviewDecisions,
    *,
    correction: str = "",
) -> AddedDecisions:
    if correction and not correction.strip():
        raise InputError("the reason of a correction is blank: say why the old decision is wrong")
    examples, classes, states = decisions.examples, decisions.classes, decisions.states
    rows = frame.find(examples, classes)
    outside = np.flatnonzero((rows < 0) | (frame.turns[rows] >= frame.drawn))
    if outside.size:
        raise MismatchError(
            f"{_named(test_set, examples[outside[0]], classes[outside[0]])} is not in the sample: only pairs that were "
            "drawn at random can be judged"
        )
    _refuse_contradictions(rows, states, frame, test_set)
    reasons = _reasons_by_row(rows, decisions, frame, test_set)
    stored = frame.states[rows]
    contrary = np.flatnonzero((stored != LabelState.UNJUDGED) & (stored != states))
    if contrary.size and not correction:
        first = contrary[0]
        raise AlreadyStored(
            f"{_named(test_set, examples[first], classes[first])} was judged {_word(stored[first])} and is now "
            f"{_word(states[first])}: if the old decision is wrong, say --correct REASON"
        )
    judged = {int(row): int(state) for row, state in zip(rows, states, strict=True)}
    new = {row for row, state in judged.items() if frame.states[row] != state}
    explained = {row for row in reasons if row not in new and frame.reasons.get(row) != reasons[row]}
    if not correction:
        _refuse_other_reasons(explained.intersection(frame.reasons), reasons, frame, test_set)
    if changed := [row for row in judged if row in new | explained]:
        fresh = {row: (_word(judged[row]), reasons.get(row, "")) for row in changed}
        _write_decisions(change, folder, frame, test_set, fresh, reason=correction)
    return AddedDecisions(len(new), len(explained), decisions.notes)


def _reasons_by_row(
    rows: IntArray, decisions: ReviewDecisions, frame: NovelSample, test_set: TestSet
) -> dict[int, str]:
    """Why an image is problematic, by row of the review; two reasons in one file raise."""
    reasons: dict[int, str] = {}
    for index, reason in decisions.reasons.items():
        row = int(rows[index])
        if decisions.states[index] == LabelState.PROBLEMATIC and reasons.setdefault(row, reason) != reason:
            pair = _named(test_set, frame.examples[row], frame.classes[row])
            raise FormatError(f"{pair} has two reasons: {reasons[row]!r} and {reason!r}")
    return reasons


def _refuse_other_reasons(
    rows: Iterable[int], reasons: Mapping[int, str], frame: NovelSample, test_set: TestSet
) -> None:
    """Raise if a reason would replace a stored one."""
    for row in sorted(rows):
        raise AlreadyStored(
            f"{_named(test_set, frame.examples[row], frame.classes[row])} was judged problematic with the reason "
            f"{frame.reasons[row]!r} and now has {reasons[row]!r}: if the old one is wrong, say --correct REASON"
        )


def _changed_rows(before: NovelSample, after: NovelSample) -> IntArray:
    """The rows of a review whose decision or reason differs."""
    with_reason = {*before.reasons, *after.reasons}
    reason_changed = {row for row in with_reason if before.reasons.get(row) != after.reasons.get(row)}
    state_changed = np.flatnonzero(before.states != after.states).tolist()
    return np.array(sorted(reason_changed.union(state_changed)), dtype=np.int64)


def _refuse_contradictions(rows: IntArray, states: IntArray, frame: NovelSample, test_set: TestSet) -> None:
    """Raise if a file contains two different decisions on a pair."""
    seen: dict[int, int] = {}
    for row, state in zip(rows.tolist(), states.tolist(), strict=True):
        if seen.setdefault(row, state) != state:
            pair = _named(test_set, frame.examples[row], frame.classes[row])
            raise FormatError(f"{pair} is judged both {_word(seen[row])} and {_word(state)}")


def _named(test_set: TestSet, example: int, class_index: int) -> str:
    return f"class {test_set.class_space.ids[class_index]} of {test_set.ids[example]!r}"


def _word(state: int) -> str:
    return LabelState(state).name.lower()


def _write_decisions(
    change: Transaction,
    folder: Path,
    frame: NovelSample,
    test_set: TestSet,
    decisions: dict[int, tuple[str, str]],
    *,
    reason: str,
    queue: str = "",
) -> None:
    rows = np.array(list(decisions))
    table = pa.table(
        {
            "example": [test_set.ids[e] for e in frame.examples[rows]],
            "class": [test_set.class_space.ids[c] for c in frame.classes[rows]],
            "verdict": [word for word, _ in decisions.values()],
            "reason": [row_reason for _, row_reason in decisions.values()],
        }
    )
    created = datetime.now(UTC).isoformat(timespec="seconds")
    number = len(decision_paths(folder)) + 1
    name = decision_file(number)
    stated = {PLACE: review_place(frame, name), "frame": frame.digest, "created": created}
    meta: dict[str, Any] = {**stated, "correction": reason, "queue": queue}
    change.write_at(folder / name, lambda file: write_parquet(table, meta, file))
    drawn, draws, turns = with_drawn(folder, frame), count_draws(folder), turns_by_queue(folder)
    write_drawn(change, folder, drawn, decision_files=number, draws=draws, queues=turns)


def _pairs(table: pa.Table, test_set: TestSet) -> tuple[IntArray, IntArray]:
    examples = number_array(pc.index_in(table["example"], value_set=text_array(test_set.ids)))
    return examples, one_class_per_row(table["class"], test_set.class_space, name="class", reading=Reading.IDS)
