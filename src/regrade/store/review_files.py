"""The files of a review: their names, how many there must be, and which predictions were drawn for which queue."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from regrade.core import InputError, NovelSample
from regrade.core.amounts import amount
from regrade.store.checked_files import Metadata, read_stored_json, stored_json
from regrade.store.file_errors import damaged
from regrade.store.layout import place_of
from regrade.store.transaction import Transaction

FRAME = "frame.parquet"
DRAWN = "drawn.json"
DECISION_FILES = "verdicts-*.parquet"
DRAW_FILES = "draw-*.json"


def draw_more(change: Transaction, folder: Path, frame: NovelSample, size: int, *, queue: str) -> NovelSample:
    """Draw the next ``size`` pairs of a review as part of a change, and record the queue they are for, if any."""
    left = len(frame) - frame.drawn
    if not 1 <= size <= left:
        raise InputError(f"{left:,} novel predictions are left to draw, got a size of {size:,}")
    more = replace(frame, drawn=frame.drawn + size)
    turns = turns_by_queue(folder)
    if queue:
        turns[queue] = [*turns.get(queue, []), [frame.drawn, more.drawn]]
    number = count_draws(folder) + 1
    _write_draw(change, folder, more, number=number, start=frame.drawn)
    decision_files = len(list(folder.glob(DECISION_FILES)))
    write_drawn(change, folder, more, decision_files=decision_files, draws=number, queues=turns)
    return more


def with_drawn(folder: Path, frame: NovelSample) -> NovelSample:
    """The frame with the number of pairs that were drawn from it."""
    stated = _read_drawn(folder)
    if stated["frame"] != frame.digest:
        raise damaged(folder / DRAWN, f"it belongs to another sample than {FRAME}")
    for path, trouble in draw_file_problems(folder, stated):
        raise damaged(path, trouble)
    for path in sorted(folder.glob(DRAW_FILES)):
        if read_stored_json(path)["frame"] != frame.digest:
            raise damaged(path, f"it belongs to another sample than {FRAME}")
    return replace(frame, drawn=int(stated["drawn"]))


def turns_by_queue(folder: Path) -> dict[str, list[list[int]]]:
    """The half-open ranges of turns that were drawn for each queue."""
    return dict(_read_drawn(folder).get("queues", {})) if (folder / DRAWN).is_file() else {}


def count_draws(folder: Path) -> int:
    """The expected number of draw files; reviews of earlier versions lack those of their first draws."""
    return int(_read_drawn(folder).get("draws", 0)) if (folder / DRAWN).is_file() else 0


def write_drawn(
    change: Transaction,
    folder: Path,
    frame: NovelSample,
    *,
    decision_files: int,
    draws: int,
    queues: Mapping[str, list[list[int]]],
) -> None:
    """Write drawn.json: the number of files that a review must have, to detect outdated and missing files."""
    counts = {"drawn": frame.drawn, "draws": draws, "verdict_files": decision_files}
    stated = {**counts, "queues": queues, "frame": frame.digest}
    content = stored_json(stated, place=review_place(frame, DRAWN))
    change.replace_at(folder / DRAWN, lambda file: file.write(content))


def _write_draw(change: Transaction, folder: Path, frame: NovelSample, *, number: int, start: int) -> None:
    """Write a permanent file with the turns of a draw, so that an outdated drawn.json is detected."""
    name = _draw_file(number)
    stated = {"start": start, "stop": frame.drawn, "frame": frame.digest}
    content = stored_json(stated, place=review_place(frame, name))
    change.write_at(folder / name, lambda file: file.write(content))


def _read_drawn(folder: Path) -> Metadata:
    path = folder / DRAWN
    if not path.is_file():
        raise damaged(path, "it is missing")
    return read_stored_json(path)


def decision_paths(folder: Path) -> list[Path]:
    """All files of decisions in order; raise if one is missing or there are more than counted."""
    for path, trouble in decision_file_problems(folder, _read_drawn(folder)):
        raise damaged(path, trouble)
    return sorted(folder.glob(DECISION_FILES))


def decision_file_problems(folder: Path, stated: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Missing files of decisions, and drawn.json if there are more files than it counts, with the problem."""
    names = [decision_file(number) for number in range(1, int(stated["verdict_files"]) + 1)]
    return _uncounted(folder, DECISION_FILES, names, of="decisions")


def draw_file_problems(folder: Path, stated: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Missing files of draws, and drawn.json if there are more files than it counts, with the problem."""
    names = [_draw_file(number) for number in range(1, int(stated.get("draws", 0)) + 1)]
    return _uncounted(folder, DRAW_FILES, names, of="draws")


def _uncounted(folder: Path, pattern: str, expected: Sequence[str], *, of: str) -> Iterator[tuple[Path, str]]:
    present = {path.name for path in folder.glob(pattern)}
    for name in expected:
        if name not in present:
            yield folder / name, "it is missing"
    if more := sorted(present.difference(expected)):
        yield folder / DRAWN, f"it counts {amount(len(expected), 'file')} of {of}, and {more[0]} is there too"


def decision_file(number: int) -> str:
    """The name of a file of decisions, numbered from 1."""
    return f"verdicts-{number:04d}.parquet"


def _draw_file(number: int) -> str:
    return f"draw-{number:04d}.json"


def review_place(frame: NovelSample, name: str) -> str:
    """The place of a file of a review in the workspace."""
    return f"{place_of('reviews', frame.test_set, frame.labels)}/{name}"
