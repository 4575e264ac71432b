"""Reading checkpoints to import: a folder of arrays whose names state seed and epoch, or one array of all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regrade.core import FormatError, TestSet
from regrade.core.arrays import FloatArray
from regrade.core.checkpoints import check_same_epochs
from regrade.formats.file_predictions import NO_IDS
from regrade.formats.prediction_array_files import ID_KEYS, SCORE_KEYS, array_texts
from regrade.tables import (
    ARRAY_SUFFIXES,
    Examples,
    check_unique,
    errors_with_path,
    ignored_names,
    open_arrays,
    skipped_files,
)

_SEED = re.compile(r"(?<![a-z])(?:seed|member|run)[-_ ]?(\d+(?:\.\d+)?)", re.IGNORECASE)
_EPOCH = re.compile(r"(?<![a-z])(?:epoch|ep|step)[-_ ]?(\d+(?:\.\d+)?)", re.IGNORECASE)


@dataclass(frozen=True)
class CheckpointArray:
    """The scores (n, c) of one seed after one epoch, in the order of the test set."""

    seed: str
    epoch: int
    scores: FloatArray


def read_checkpoint_files(path: Path, test_set: TestSet) -> Iterator[CheckpointArray]:
    """Read checkpoints one at a time; a file that does not fit raises.

    A folder contains NPY or NPZ files of shape (examples, classes), also in subfolders, whose path states an epoch and,
    if there are several, a seed: seed-0/epoch-003.npy, run1_ep12.npz. A single file has the shape (seeds, epochs,
    examples, classes) or (epochs, examples, classes), numbered from 0. An NPZ file may contain ids; without ids, rows
    are in the order of the test set.
    """
    if path.is_dir():
        yield from _folder(path, test_set)
    elif path.is_file() and path.suffix.lower() in ARRAY_SUFFIXES:
        yield from _whole(path, test_set)
    else:
        raise FormatError(f"{path} is neither a folder nor an array (.npy, .npz) of checkpoints")


def checkpoint_notes(path: Path) -> tuple[str, ...]:
    """Notes on files that are not arrays, counted by suffix, and on arrays without ids."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    arrays = [file for file in files if file.suffix.lower() in ARRAY_SUFFIXES]
    other_suffixes = (file.suffix.lower() for file in files if file.suffix.lower() not in ARRAY_SUFFIXES)
    without_ids = any(open_arrays(file).first_of(ID_KEYS) is None for file in arrays)
    return (*skipped_files(other_suffixes, expected="arrays"), *((NO_IDS,) if without_ids else ()))


def _folder(path: Path, test_set: TestSet) -> Iterator[CheckpointArray]:
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in ARRAY_SUFFIXES)
    if not files:
        raise FormatError(f"{path} contains no arrays (.npy, .npz)")
    by_seed_and_epoch: dict[tuple[str, int], Path] = {}
    for file in files:
        key = _seed_and_epoch(file.relative_to(path))
        if key in by_seed_and_epoch:
            raise FormatError(f"{by_seed_and_epoch[key]} and {file} both state seed {key[0]} and epoch {key[1]}")
        by_seed_and_epoch[key] = file
    epochs: dict[str, list[int]] = {}
    for seed, epoch in sorted(by_seed_and_epoch):
        epochs.setdefault(seed, []).append(epoch)
    check_same_epochs(epochs)
    for (seed, epoch), file in by_seed_and_epoch.items():
        scores, rows = _scores(file, test_set)
        if scores.ndim != 2:
            raise FormatError(f"{file} has shape {scores.shape}: expected (examples, classes)")
        yield CheckpointArray(seed, epoch, scores if rows is None else scores[rows])


def _seed_and_epoch(path: Path) -> tuple[str, int]:
    text = path.with_suffix("").as_posix()
    epochs, seeds = _EPOCH.findall(text), _SEED.findall(text)
    if len(epochs) != 1 or len(seeds) > 1:
        raise FormatError(
            f"{path} must state one epoch, and one seed if there are several: name it like seed-0/epoch-003.npy"
        )
    for number in (*epochs, *seeds):
        if not number.isdecimal():
            raise FormatError(f"{path} states the number {number}: epochs and seeds are whole numbers")
    return str(int(seeds[0])) if seeds else "0", int(epochs[0])


def _whole(path: Path, test_set: TestSet) -> Iterator[CheckpointArray]:
    scores, rows = _scores(path, test_set)
    if scores.ndim not in (3, 4):
        raise FormatError(
            f"{path} has shape {scores.shape}: expected (seeds, epochs, examples, classes) or "
            "(epochs, examples, classes)"
        )
    if 0 in scores.shape[:-2]:
        raise FormatError(f"{path} has shape {scores.shape}: it contains no seed or no epoch")
    stacked = scores if scores.ndim == 4 else scores[None]
    for seed in range(stacked.shape[0]):
        for epoch in range(stacked.shape[1]):
            own_scores = stacked[seed, epoch]
            yield CheckpointArray(str(seed), epoch, own_scores if rows is None else own_scores[rows])


def _scores(path: Path, test_set: TestSet) -> tuple[FloatArray, Any]:
    """The scores of a file, and the row of each example of the test set; None if the order is the same."""
    arrays = open_arrays(path)
    name = arrays.first_of(("", *SCORE_KEYS))
    if name is None:
        raise FormatError(f"{path} has the arrays {', '.join(arrays.declared)}: name the array of scores 'scores'")
    key = arrays.first_of(ID_KEYS)
    with errors_with_path(path):
        used = {name, *([key] if key else [])}
        ignored_names(arrays.declared, used, optional=("ids", "scores"), noun="array")  # a near miss raises
        ids = None if key is None else array_texts(arrays, key)
        _check_declared(arrays.declared[name].shape, ids, test_set)
        scores = arrays.load(name)
        if ids is None:
            return scores, None
        check_unique(ids)
        return scores, Examples(ids, None).order_in(test_set)


def _check_declared(shape: tuple[int, ...], ids: tuple[str, ...] | None, test_set: TestSet) -> None:
    """Raise, before scores are read, if their shape does not match the ids or the test set."""
    rows = shape[-2:-1]
    if ids is not None and rows != (len(ids),):
        raise FormatError(f"{len(ids):,} ids, but scores of shape {shape}: expected one row per id")
    if rows and rows != (len(test_set),):
        raise FormatError(f"scores of shape {shape}, but test set {test_set.name} has {len(test_set):,} examples")
