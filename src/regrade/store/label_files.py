"""Reading labels that people bring: ReaL, multi-label annotations, and plain tables or JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from regrade.core import FormatError, InputError, LabelSet, LabelState, MismatchError, SliceSet, TestSet, Unlisted
from regrade.store.places import Places
from regrade.tables import LABEL_COLUMNS, TABLE_SUFFIXES, Columns, class_indices, read_json, read_table, texts

REAL_SIZE = 50_000
IMAGENET_M = "imagenet-m"
"""The slice of major mistakes that comes with the multi-label annotations."""
_VALIDATION_NAME = re.compile(r"ILSVRC2012_val_(\d{8})")
_LISTS = {"correct": LabelState.CORRECT, "unclear": LabelState.UNCLEAR, "wrong": LabelState.WRONG}
_CLASS_COLUMNS = ("class", "classes", "labels", *LABEL_COLUMNS)


class LabelFormat(Enum):
    """The forms in which labels come."""

    REAL = "real"
    """Reassessed labels: a JSON list of 50,000 lists of class indices, in the order of the validation images."""

    MULTILABEL_V3 = "multilabel-v3"
    """Multi-label annotations, version 3: JSON with initial_annots, problematic_images, imagenet_m.

    A class in two lists of an image counts by the kindest: what stands among the correct ones is right. The images
    of imagenet_m become a slice.
    """

    PLAIN = "plain"
    """A table with image, class and optionally state and problematic; or JSON from image to classes.

    A row with neither class nor state speaks of an image for which no class was judged.
    """


class _Conflict(Enum):
    """What becomes of a class that stands in two lists of one image."""

    REFUSE = "refuse"
    KINDEST = "correct before unclear before wrong"


@dataclass(frozen=True)
class LabelFile:
    """What a file of labels holds: the labels, and the slice that comes with them if there is one."""

    labels: LabelSet
    slices: SliceSet | None


@dataclass
class _Judgements:
    """Judgements gathered from a file, held against a test set as they come."""

    test_set: TestSet
    conflict: _Conflict = _Conflict.REFUSE
    states: dict[tuple[int, int], LabelState] = field(default_factory=dict)
    covered: set[int] = field(default_factory=set)
    reasons: dict[int, str] = field(default_factory=dict)
    major_mistakes: set[int] = field(default_factory=set)

    def add(self, example: int, class_id: Any, state: LabelState) -> None:
        self.covered.add(example)
        image = self.test_set.ids[example]
        try:
            class_index = _class_index(class_id, self.test_set)
        except InputError as error:
            raise FormatError(f"image {image!r}: {error}") from None
        if self.states.setdefault((example, class_index), state) is not state and self.conflict is _Conflict.REFUSE:
            first = self.states[example, class_index].name.lower()
            name = self.test_set.class_space.ids[class_index]
            raise FormatError(f"image {image!r}: class {name} is both {first} and {state.name.lower()}")

    def as_label_set(self, name: str, version: int, unlisted: Unlisted, origin: str) -> LabelSet:
        size = len(self.test_set)
        covered = np.zeros(size, dtype=bool)
        covered[list(self.covered)] = True
        pairs = np.array(list(self.states), dtype=np.int64).reshape(-1, 2)
        return LabelSet(
            name,
            version,
            self.test_set.name,
            len(self.test_set.class_space),
            pairs[:, 0],
            pairs[:, 1],
            np.array(list(self.states.values()), dtype=np.int8),
            covered,
            tuple(self.reasons.get(i, "").encode(errors="replace").decode() for i in range(size)),
            unlisted,
            origin,
        )

    def as_slices(self, origin: str) -> SliceSet | None:
        if not self.major_mistakes:
            return None
        inside = np.zeros(len(self.test_set), dtype=bool)
        inside[list(self.major_mistakes)] = True
        return SliceSet(IMAGENET_M, self.test_set.name, len(inside), {IMAGENET_M: inside}, origin=origin)


def read_label_file(
    path: Path,
    test_set: TestSet,
    *,
    form: LabelFormat,
    name: str,
    version: int,
    unlisted: Unlisted = Unlisted.NOVEL,
    columns: Columns | None = None,
) -> LabelFile:
    """Read labels for a test set; a file that belongs to another set raises.

    ``unlisted`` says what a class that a plain file does not name is; ReaL's lists are complete, and the
    multi-label annotations are not.
    """
    match form:
        case LabelFormat.REAL:
            judgements, unlisted = _read_real(path, test_set), Unlisted.WRONG
        case LabelFormat.MULTILABEL_V3:
            judgements, unlisted = _read_multilabel(path, test_set), Unlisted.NOVEL
        case LabelFormat.PLAIN:
            judgements = _read_plain(path, test_set, columns or Columns())
    if not judgements.covered:
        raise MismatchError(f"{path} names no image of test set {test_set.name} ({test_set.ids[0]!r}, ...)")
    origin = f"{form.value}: {path.name}"
    return LabelFile(judgements.as_label_set(name, version, unlisted, origin), judgements.as_slices(origin))


def _read_real(path: Path, test_set: TestSet) -> _Judgements:
    lists = read_json(path)
    if not (isinstance(lists, list) and all(isinstance(entry, list) for entry in lists)):
        raise FormatError(f"{path}: ReaL labels are a list of lists of class indices")
    if len(lists) != REAL_SIZE:
        raise FormatError(f"{path}: ReaL labels are {REAL_SIZE:,} lists, this file has {len(lists):,}")
    judgements = _Judgements(test_set)
    for example, number in _validation_numbers(test_set, path):
        for class_index in lists[number - 1]:  # entry i is image i + 1
            judgements.add(example, class_index, LabelState.CORRECT)
    _refuse_foreign(judgements, path)
    return judgements


def _validation_numbers(test_set: TestSet, path: Path) -> list[tuple[int, int]]:
    matches = [(i, _VALIDATION_NAME.search(example)) for i, example in enumerate(test_set.ids)]
    numbers = [(i, int(match[1])) for i, match in matches if match]
    if len(numbers) != len(test_set) or not all(1 <= number <= REAL_SIZE for _, number in numbers):
        stranger = next((test_set.ids[i] for i, match in matches if not match), test_set.ids[0])
        raise MismatchError(
            f"{path} holds labels of the ImageNet validation images (ILSVRC2012_val_...), but test set "
            f"{test_set.name} has examples such as {stranger!r}"
        )
    return numbers


def _read_multilabel(path: Path, test_set: TestSet) -> _Judgements:
    content = read_json(path)
    if not (isinstance(content, dict) and isinstance(content.get("initial_annots"), dict)):
        raise FormatError(f"{path}: multi-label annotations are a JSON object with initial_annots")
    judgements = _Judgements(test_set, _Conflict.KINDEST)
    places = Places(test_set)
    for image, lists in content["initial_annots"].items():
        if (example := places.of(image)) is not None:
            _add_lists(judgements, example, image, lists)
    for image, reason in _mapping(content.get("problematic_images", {}), path).items():
        if (example := places.of(image)) is not None:
            judgements.covered.add(example)
            judgements.reasons[example] = str(reason) or "problematic"
    for image in _images(content.get("imagenet_m", []), path):
        if (example := places.of(image)) is not None:
            judgements.major_mistakes.add(example)
    _refuse_foreign(judgements, path)
    return judgements


def _read_plain(path: Path, test_set: TestSet, columns: Columns) -> _Judgements:
    if path.suffix.lower() in TABLE_SUFFIXES:
        return _read_plain_table(path, test_set, columns)
    content = _mapping(read_json(path), path)
    judgements = _Judgements(test_set)
    for image, entry in content.items():
        example = _known_place(image, test_set, path)
        lists = entry if isinstance(entry, dict) else {"correct": entry if isinstance(entry, list) else [entry]}
        _add_lists(judgements, example, image, lists)
        if isinstance(entry, dict) and entry.get("problematic"):
            judgements.reasons[example] = str(entry["problematic"])
    return judgements


def _read_plain_table(path: Path, test_set: TestSet, columns: Columns) -> _Judgements:
    table = read_table(path)
    class_column = columns.label or next((c for c in _CLASS_COLUMNS if c in table.column_names), "")
    if class_column not in table.column_names:
        raise FormatError(f"{path}: there is no column with classes: call it class")
    judgements = _Judgements(test_set)
    id_column = columns.id_in(table)
    images = texts(table, id_column)
    if "problematic" in table.column_names:
        for image, reason in zip(images, table["problematic"].to_pylist(), strict=True):
            if reason:
                judgements.reasons[_known_place(image, test_set, path)] = str(reason)
    if "state" in table.column_names:
        bare = pc.and_(table[class_column].is_null(), table["state"].is_null())
        judgements.covered.update(_known_place(image, test_set, path) for image in texts(table.filter(bare), id_column))
        table = table.filter(pc.invert(bare))
    if not table.num_rows:
        return judgements
    states = texts(table, "state") if "state" in table.column_names else ("correct",) * table.num_rows
    classes = class_indices(table[class_column], test_set.class_space, name=class_column, reading=columns.reading)
    for image, row, state in zip(texts(table, id_column), classes, states, strict=True):
        example = _known_place(image, test_set, path)
        for class_index in row:
            judgements.add(example, int(class_index), state_named(state))
    return judgements


def state_named(name: str) -> LabelState:
    """The state that a word stands for: correct, unclear or wrong."""
    try:
        return _LISTS[name.strip().lower()]
    except KeyError:
        raise FormatError(f"unknown state {name!r}: it must be one of {', '.join(_LISTS)}") from None


def _add_lists(judgements: _Judgements, example: int, image: str, lists: Any) -> None:
    if not isinstance(lists, Mapping) or not all(isinstance(lists.get(k, []), list) for k in _LISTS):
        raise FormatError(f"image {image!r}: expected lists called {', '.join(_LISTS)}")
    judgements.covered.add(example)
    for key, state in _LISTS.items():
        for class_id in lists.get(key, ()):
            judgements.add(example, class_id, state)


def _class_index(class_id: Any, test_set: TestSet) -> int:
    space = test_set.class_space
    if isinstance(class_id, str):
        return space.index(class_id)
    if not isinstance(class_id, int) or isinstance(class_id, bool) or not 0 <= class_id < len(space):
        raise InputError(f"class index {class_id} is outside {space.name} (0 to {len(space) - 1})")
    return class_id


def _known_place(image: str, test_set: TestSet, path: Path) -> int:
    if image not in test_set.position_of:
        raise MismatchError(
            f"{path} names {image!r}, which is not in test set {test_set.name} ({test_set.ids[0]!r}, ...)"
        )
    return test_set.position_of[image]


def _images(content: Any, path: Path) -> list[str]:
    if not (isinstance(content, list) and all(isinstance(image, str) for image in content)):
        raise FormatError(f"{path}: imagenet_m must be a list of image file names")
    return content


def _mapping(content: Any, path: Path) -> Mapping[str, Any]:
    if not isinstance(content, dict):
        raise FormatError(f"{path}: a JSON object from image to classes is wanted")
    return content


def _refuse_foreign(judgements: _Judgements, path: Path) -> None:
    """Labels whose images mostly lack the set's own label were shifted, or belong to another set."""
    test_set = judgements.test_set
    judged = {e for e in judgements.covered if e not in judgements.reasons and test_set.labels[e] >= 0}
    own = {e for (e, c), state in judgements.states.items() if state != LabelState.WRONG and test_set.labels[e] == c}
    if judged and len(own & judged) < 0.5 * len(judged):
        raise MismatchError(
            f"{path}: only {len(own & judged):,} of {len(judged):,} images have the label that test set "
            f"{test_set.name} gives them among their labels: the file belongs to another set or order"
        )
