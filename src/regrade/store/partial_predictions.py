"""Unfinished predictions: parts are written as they are computed, and joined once all are done."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from regrade.core import (
    NO_ANSWER,
    Fingerprints,
    FormatError,
    Predictions,
    StoreError,
    Ties,
    joined_ties,
    no_fingerprints,
)
from regrade.core.arrays import FloatArray, IntArray
from regrade.store.array_file import Array, add_rows, begin_array
from regrade.store.atomic import replace_file
from regrade.store.file_errors import write_errors
from regrade.store.locks import locked_without_waiting

_HASH = 32  # bytes of a SHA-256, in front of every part
_FORMAT = 3  # version of the part files: parts of other versions are ignored
_PLAN = "plan.json"
_BATCH = "batch"


@dataclass(frozen=True)
class Part:
    """Predictions for examples from ``start`` on: best classes (n, k), their scores, all scores and features.

    The last two are optional and in half precision, as they are stored. ``fingerprints`` (n,) are those of the images.
    ``unreadable`` maps the position of each example without a prediction to the reason. The rows of ``ties`` count from
    ``start``.
    """

    start: int
    classes: IntArray
    scores: FloatArray
    fingerprints: Fingerprints
    full_scores: FloatArray | None = None
    features: FloatArray | None = None
    unreadable: dict[int, str] = field(default_factory=dict)
    ties: Ties | None = None

    def __len__(self) -> int:
        return len(self.classes)


@dataclass(frozen=True)
class PartialPredictions:
    """Unfinished predictions of a model on a test set; ``plan`` is everything that they depend on.

    Every plan has its own parts: those of other weights or another preprocessing are never mixed with these, and are
    kept until the predictions are finished. Use it within `locked`.
    """

    folder: Path
    examples: int
    part_size: int
    plan: dict[str, Any]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock; raise if another process holds it. A killed process releases it."""
        with locked_without_waiting(self.folder):
            yield

    def begin(self, keeps: Callable[[Part], bool] = lambda _: True) -> None:
        """Prepare the folder, and check the parts that an earlier run of the same plan has left.

        A part for which ``keeps`` returns False is removed, and so computed again.
        """
        with write_errors(self.folder):
            self._own.mkdir(parents=True, exist_ok=True)
        replace_file(self._own / _PLAN, self._text.encode())  # not read, only for users who look into the folder
        for path in sorted(self._own.glob("*.part")):
            if not keeps(self._read(path)):
                path.unlink()

    def batch(self, find: Callable[[], int]) -> int:
        """The batch size of the first run, from ``find``; later runs keep it, so that predictions are the same."""
        path = self._own / _BATCH
        if not path.is_file():
            replace_file(path, str(find()).encode())
        text = path.read_text(errors="replace")
        if not (text.isdecimal() and int(text)):
            raise FormatError(f"{path} is damaged: remove {self._own} and run again")
        return int(text)

    def missing(self) -> list[range]:
        """The positions of each missing part, in order."""
        return [positions for positions in self._ranges() if not self._path(positions).is_file()]

    def add(self, part: Part) -> None:
        """Write a part atomically."""
        arrays: dict[str, Any] = {name: getattr(part, name) for name in _NARROW}
        arrays |= {name: values for name in _WIDE if (values := getattr(part, name)) is not None}
        if part.ties is not None:
            arrays |= {_TIED_ROWS: part.ties.rows, _TIED_CLASSES: part.ties.bits}
        reasons = json.dumps({str(position): reason for position, reason in part.unreadable.items()})
        replace_file(self._path(range(part.start, part.start + len(part))), _packed(arrays, reasons))

    def finished(self) -> Part:
        """All parts joined, each example exactly once, wide arrays as memory maps; raise if parts are missing."""
        paths = {self._path(positions): positions for positions in self._ranges()}
        if set(self._own.glob("*.part")) != set(paths):
            raise StoreError(
                f"the parts in {self._own} do not contain every example exactly once: remove the folder and run again"
            )
        k = self._read(next(iter(paths))).classes.shape[1]
        joined = empty_part(range(self.examples), k=k, width=None)
        with write_errors(self._own), ExitStack() as stack:
            wide = {name: stack.enter_context(_WideArray(self._own / name, self.examples)) for name in _WIDE}
            ties = []
            for path in paths:
                part = self._read(path)
                ties.append((part.start, part.ties))
                for name, array in wide.items():
                    array.append(getattr(part, name), len(part))
                rows = slice(part.start, part.start + len(part))
                for name in _NARROW:
                    getattr(joined, name)[rows] = getattr(part, name)
                joined.unreadable.update(part.unreadable)
        full_scores, features = wide["full_scores"].read(), wide["features"].read()
        return replace(joined, full_scores=full_scores, features=features, ties=joined_ties(ties))

    def remove(self) -> None:
        """Remove the parts of all plans, once the predictions are stored."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for parent in list(self.folder.parents)[:2]:
            with suppress(OSError):  # not empty: other processes use it
                parent.rmdir()

    @property
    def _text(self) -> str:
        facts = {"examples": self.examples, "part_size": self.part_size, "format": _FORMAT}
        return json.dumps({**self.plan, **facts}, sort_keys=True)

    @property
    def _own(self) -> Path:
        """The folder of this plan's parts."""
        return self.folder / hashlib.sha256(self._text.encode()).hexdigest()[:16]

    def _ranges(self) -> Iterator[range]:
        for start in range(0, self.examples, self.part_size):
            yield range(start, min(start + self.part_size, self.examples))

    def _path(self, positions: range) -> Path:
        return self._own / f"{positions.start:09d}-{positions.stop:09d}.part"

    def _read(self, path: Path) -> Part:
        data = path.read_bytes()
        if hashlib.sha256(data[_HASH:]).digest() != data[:_HASH]:
            raise FormatError(f"{path} is damaged: remove it and run again")
        start, stop = (int(number) for number in path.stem.split("-"))
        part = _unpacked(data[_HASH:], start)
        if len(part) != stop - start:
            raise FormatError(f"{path} contains {len(part)} predictions: remove it and run again")
        return part


class _WideArray:
    """An array (examples, width) in an NPY file, written block by block.

    Its width is that of the first block; rows without a block are NaN.
    """

    def __init__(self, path: Path, examples: int) -> None:
        self._path = path
        self._examples = examples
        self._width: int | None = None
        self._rows_before_first_block = 0

    def __enter__(self) -> Self:
        self._file = self._path.open("wb")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, block: FloatArray | None, rows: int) -> None:
        if block is None and self._width is None:
            self._rows_before_first_block += rows
            return
        if self._width is None and block is not None:
            self._width = block.shape[1]
            begin_array(self._file, block.dtype, (self._examples, self._width))
            self.append(None, self._rows_before_first_block)
        values = np.full((rows, self._width or 0), np.nan, dtype=np.float16) if block is None else block
        _check_width(values, self._width)
        add_rows(self._file, values)

    def read(self) -> FloatArray | None:
        return None if self._width is None else np.load(self._path, mmap_mode="r")


def empty_part(positions: range, *, k: int, width: int | None) -> Part:
    """A part without any predictions yet; with a ``width``, it has room for the scores of all classes."""
    count = len(positions)
    return Part(
        positions.start,
        np.full((count, k), NO_ANSWER, dtype=np.int32),
        np.full((count, k), np.nan, dtype=np.float32),
        no_fingerprints(count),
        None if width is None else np.full((count, width), np.nan, dtype=np.float16),
    )


def joined_parts(parts: Sequence[Part]) -> Part:
    """Consecutive parts as one part."""
    return Part(
        parts[0].start,
        np.concatenate([part.classes for part in parts]),
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.fingerprints for part in parts]),
        **{name: _stacked([(getattr(part, name), len(part)) for part in parts]) for name in _WIDE},
        unreadable={position: reason for part in parts for position, reason in part.unreadable.items()},
        ties=joined_ties([(part.start - parts[0].start, part.ties) for part in parts]),
    )


def _stacked(blocks: Sequence[tuple[FloatArray | None, int]]) -> FloatArray | None:
    """Blocks of rows as one array; rows without a block are NaN. None if there is no block."""
    width = next((block.shape[1] for block, _ in blocks if block is not None), None)
    if width is None:
        return None
    filled = [np.full((rows, width), np.nan, dtype=np.float16) if block is None else block for block, rows in blocks]
    for block in filled:
        _check_width(block, width)
    return np.concatenate(filled)


def _check_width(block: FloatArray, width: int | None) -> None:
    if block.shape[1] != width:
        raise StoreError(
            f"parts have rows of {width} and of {block.shape[1]} numbers: the model's output changed during the run"
        )


def with_replaced_rows(predictions: Predictions, parts: Sequence[Part]) -> Predictions:
    """Predictions in which the rows of some parts replace the stored ones; arrays that are not stored stay so."""
    changes: dict[str, Any] = {
        name: _with_replaced_rows(getattr(predictions, name), [(part, getattr(part, name)) for part in parts])
        for name in (*_NARROW, *_WIDE)
    }
    return replace(predictions, **changes, ties=_with_replaced_ties(predictions.ties, parts))


def _with_replaced_ties(before: Ties | None, parts: Sequence[Part]) -> Ties | None:
    computed = np.concatenate([np.arange(part.start, part.start + len(part)) for part in parts])
    kept = None
    if before is not None:
        unchanged = ~np.isin(before.rows, computed)
        kept = Ties(before.rows[unchanged], before.bits[unchanged])
    ties = joined_ties([(0, kept), *((part.start, part.ties) for part in parts)])
    if ties is None:
        return None
    order = np.argsort(ties.rows)
    return Ties(ties.rows[order], ties.bits[order])


def _with_replaced_rows(before: Array | None, parts: Sequence[tuple[Part, Array | None]]) -> Array | None:
    if before is None:
        return None
    after = np.array(before)
    for part, rows in parts:
        if rows is not None:
            after[part.start : part.start + len(part)] = rows
    return after


_TIED_ROWS, _TIED_CLASSES = "tied_rows", "tied_classes"
_NARROW = ("classes", "scores", "fingerprints")
_WIDE = ("full_scores", "features")


def _packed(arrays: dict[str, Any], reasons: str) -> bytes:
    """Arrays and reasons as bytes, preceded by a hash to detect damage."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays, unreadable=np.frombuffer(reasons.encode(), dtype=np.uint8))
    content = buffer.getvalue()
    return hashlib.sha256(content).digest() + content


def _unpacked(content: bytes, start: int) -> Part:
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        reasons = json.loads(archive["unreadable"].tobytes().decode())
        wide = {name: archive[name] for name in _WIDE if name in archive.files}
        unreadable = {int(position): reason for position, reason in reasons.items()}
        narrow = {name: archive[name] for name in _NARROW}
        ties = Ties(archive[_TIED_ROWS], archive[_TIED_CLASSES]) if _TIED_ROWS in archive.files else None
        return Part(start, **narrow, **wide, unreadable=unreadable, ties=ties)
