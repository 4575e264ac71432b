"""Reading labels to import: ReaL, multi-label annotations, and plain tables or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from pathlib import Path
from reprlib import repr as brief
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from regrade.core import (
    FormatError,
    InputError,
    LabelSet,
    LabelState,
    MismatchError,
    SliceSet,
    TestSet,
    UnknownName,
    Unlisted,
)
from regrade.core.amounts import amount
from regrade.tables import (
    LABEL_COLUMNS,
    TABLE_SUFFIXES,
    Columns,
    ExamplePositions,
    Reading,
    class_index,
    class_indices,
    column_named,
    ignored_columns,
    ignored_names,
    read_json,
    read_table,
    refuse_other_labels,
    texts,
)

REAL_SIZE = 50_000
IMAGENET_M = "imagenet-m"
"""The slice of major mistakes that comes with the multi-label annotations."""
_VALIDATION_NAME = re.compile(r"ILSVRC2012_val_(\d{8})")
_LISTS = {"correct": LabelState.CORRECT, "unclear": LabelState.UNCLEAR, "wrong": LabelState.WRONG}
_CLASS_COLUMNS = ("class", "classes", "labels", *LABEL_COLUMNS)
_OPTIONAL_COLUMNS = ("state", "problematic")
_STATE_SYNONYMS = ("status", "verdict", "judgment", "judgement")
_KEYS = (*_LISTS, "problematic")
_EXPORTED_KEYS = ("problematic_by", "problematic_at", "decided")  # who decided, as `labels_as_file` writes it
_MULTILABEL_KEYS = ("initial_annots", "problematic_images", "imagenet_m")
_YES, _NO = ("true", "yes", "1"), ("false", "no", "0", "")


class LabelFormat(Enum):
    """The formats of label files."""

    REAL = "real"
    """Reassessed labels: a JSON list of 50,000 lists of class indices, in the order of the validation images."""

    MULTILABEL_V3 = "multilabel-v3"
    """Multi-label annotations, version 3: JSON with initial_annots, problematic_images, imagenet_m.

    A class in two lists of an image counts as correct rather than unclear, and as unclear rather than wrong. The
    images of imagenet_m become a slice.
    """

    PLAIN = "plain"
    """A table with image, class and optionally state and problematic; or JSON from image to classes.

    A row with neither class nor state is for an image for which no class was judged.
    """


class _Conflict(Enum):
    """What to do with a class that is in two lists of an image."""

    REFUSE = "refuse"
    KINDEST = "correct before unclear before wrong"


@dataclass(frozen=True)
class LabelFile:
    """The content of a label file: the labels, the slice that comes with them if any, and notes for the user."""

    labels: LabelSet
    slices: SliceSet | None
    notes: tuple[str, ...] = ()


@dataclass
class _Judgments:
    """Judgments collected from a file, each checked against the test set as it is added."""

    test_set: TestSet
    conflict: _Conflict = _Conflict.REFUSE
    reading: Reading = Reading.INDICES
    states: dict[tuple[int, int], LabelState] = field(default_factory=dict)
    covered: set[int] = field(default_factory=set)
    reasons: dict[int, str] = field(default_factory=dict)
    not_problematic: set[int] = field(default_factory=set)
    major_mistakes: set[int] = field(default_factory=set)
    repeated: int = 0
    outvoted: int = 0
    passed_over: set[str] = field(default_factory=set)
    ignored_keys: dict[str, None] = field(default_factory=dict)
    more_notes: tuple[str, ...] = ()

    @cached_property
    def positions(self) -> ExamplePositions:
        return ExamplePositions(self.test_set)

    def placed(self, images: Iterable[str]) -> Iterator[tuple[str, int]]:
        """The images that are in the test set, with their positions; others are skipped and counted."""
        for image in images:
            if (example := self.positions.of(image)) is None:
                self.passed_over.add(image)
            else:
                yield image, example

    def add(self, example: int, class_id: Any, state: LabelState) -> None:
        self.covered.add(example)
        try:
            index = class_index(class_id, self.test_set.class_space, reading=self.reading)
        except InputError as error:
            raise FormatError(f"image {self.test_set.ids[example]!r}: {error}") from None
        if (example, index) not in self.states:
            self.states[example, index] = state
        elif self.states[example, index] is state:
            self.repeated += 1
        elif self.conflict is _Conflict.KINDEST:
            self.outvoted += 1
        else:
            first = self.states[example, index].name.lower()
            name = self.test_set.class_space.ids[index]
            image = self.test_set.ids[example]
            raise FormatError(f"image {image!r}: class {name} is both {first} and {state.name.lower()}")

    def add_problematic(self, example: int, value: Any) -> None:
        """Record whether an image is problematic, and why; contradictions raise, and an empty cell is ignored."""
        image = self.test_set.ids[example]
        reason = _reason(value, image)
        if not reason and value is not None and str(value).strip():
            self.not_problematic.add(example)
        self._add_reason(example, reason)
        if example in self.not_problematic and example in self.reasons:
            raise FormatError(
                f"image {image!r} is problematic ({self.reasons[example]!r}) in one row and not problematic in another"
            )

    def _add_reason(self, example: int, reason: str) -> None:
        if reason and self.reasons.setdefault(example, reason) != reason:
            image = self.test_set.ids[example]
            raise FormatError(
                f"image {image!r} is problematic for two reasons, {self.reasons[example]!r} and {reason!r}"
            )

    def notes(self) -> tuple[str, ...]:
        """Notes on content of the file that is not in the labels."""
        bare = self.covered.difference((example for example, _ in self.states), self.reasons)
        counts = (
            (len(self.passed_over), "image", f"not in {self.test_set.name} passed over"),
            (len(bare), "image", "listed without a judgment"),
            (self.repeated, "judgment", "repeated and counted once"),
            (self.outvoted, "judgment", "dropped, since a kinder list of the image has the class too"),
        )
        counted = (f"{amount(number, noun)} {what}" for number, noun, what in counts if number)
        return (*counted, *ignored_names(self.ignored_keys, (), noun="key"), *self.more_notes)

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
        subsets = {IMAGENET_M: inside}
        return SliceSet(IMAGENET_M, self.test_set.name, len(inside), subsets, origin=origin, chosen_hard=True)


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
    """Read labels for a test set; raise if the file belongs to another test set.

    ``unlisted`` is the state of classes that a plain file does not list. The lists of ReaL are complete, those of the
    multi-label annotations are not.
    """
    match form:
        case LabelFormat.REAL:
            judgments, unlisted = _read_real(path, test_set), Unlisted.WRONG
        case LabelFormat.MULTILABEL_V3:
            judgments, unlisted = _read_multilabel(path, test_set), Unlisted.NOVEL
        case LabelFormat.PLAIN:
            judgments = _read_plain(path, test_set, columns or Columns())
    if not judgments.covered:
        raise MismatchError(f"{path} contains no image of test set {test_set.name} ({test_set.ids[0]!r}, ...)")
    origin = f"{form.value}: {path.name}"
    labels = judgments.as_label_set(name, version, unlisted, origin)
    return LabelFile(labels, judgments.as_slices(origin), judgments.notes())


def _read_real(path: Path, test_set: TestSet) -> _Judgments:
    lists = read_json(path)
    if not (isinstance(lists, list) and all(isinstance(entry, list) for entry in lists)):
        raise FormatError(f"{path}: ReaL labels are a list of lists of class indices")
    if len(lists) != REAL_SIZE:
        raise FormatError(f"{path}: ReaL labels are {REAL_SIZE:,} lists, this file has {len(lists):,}")
    judgments = _Judgments(test_set)
    for example, number in _validation_numbers(test_set, path):
        for index in lists[number - 1]:  # entry i is image i + 1
            judgments.add(example, index, LabelState.CORRECT)
    _refuse_foreign(judgments, path)
    return judgments


def _validation_numbers(test_set: TestSet, path: Path) -> list[tuple[int, int]]:
    matches = [(i, _VALIDATION_NAME.search(example)) for i, example in enumerate(test_set.ids)]
    numbers = [(i, int(match[1])) for i, match in matches if match]
    if len(numbers) != len(test_set) or not all(1 <= number <= REAL_SIZE for _, number in numbers):
        unmatched = next((test_set.ids[i] for i, match in matches if not match), test_set.ids[0])
        raise MismatchError(
            f"{path} contains labels of the ImageNet validation images (ILSVRC2012_val_...), but test set "
            f"{test_set.name} has examples such as {unmatched!r}"
        )
    return numbers


def _read_multilabel(path: Path, test_set: TestSet) -> _Judgments:
    content = read_json(path)
    if not (isinstance(content, dict) and isinstance(content.get("initial_annots"), dict)):
        raise FormatError(f"{path}: multi-label annotations are a JSON object with initial_annots")
    judgments = _Judgments(test_set, _Conflict.KINDEST)
    used = [key for key in _MULTILABEL_KEYS if key in content]
    judgments.more_notes = ignored_names(content, used, optional=_MULTILABEL_KEYS, noun="key")
    for image, example in judgments.placed(content["initial_annots"]):
        _add_lists(judgments, example, image, content["initial_annots"][image])
    problems = _mapping(content.get("problematic_images", {}), path)
    for image, example in judgments.placed(problems):
        judgments.covered.add(example)
        judgments.reasons[example] = _reason(problems[image], image) or "problematic"
    major = judgments.placed(_images(content.get("imagenet_m", []), path))
    judgments.major_mistakes.update(example for _, example in major)
    _refuse_foreign(judgments, path)
    return judgments


def _read_plain(path: Path, test_set: TestSet, columns: Columns) -> _Judgments:
    if path.suffix.lower() in TABLE_SUFFIXES:
        return _read_plain_table(path, test_set, columns)
    content = _mapping(read_json(path), path)
    judgments = _Judgments(test_set, reading=columns.reading)
    for image, entry in content.items():
        example = _known_place(image, test_set, path)
        lists = entry if isinstance(entry, dict) else {"correct": entry if isinstance(entry, list) else [entry]}
        _check_states(lists, image)
        _add_lists(judgments, example, image, lists)
        judgments.add_problematic(example, lists.get("problematic"))
    return judgments


@dataclass(frozen=True)
class _PlainColumns:
    """The names of the columns of a plain table; None if there is no such column."""

    id: str
    classes: str
    state: str | None
    problematic: str | None

    @classmethod
    def of(cls, table: pa.Table, columns: Columns, path: Path) -> _PlainColumns:
        classes = columns.label or column_named(table, *_CLASS_COLUMNS)
        if classes is None or classes not in table.column_names:
            raise FormatError(f"{path} has no column with classes: name it class")
        return cls(columns.id_in(table), classes, *(column_named(table, name) for name in _OPTIONAL_COLUMNS))

    def notes(self, table: pa.Table) -> tuple[str, ...]:
        used = {name for name in (self.id, self.classes, self.state, self.problematic) if name}
        if self.state is None:
            _refuse_other_state(table)
        notes = ignored_columns(table, used, optional=_OPTIONAL_COLUMNS)
        return notes if self.state else (*notes, "there is no column state: every class is taken as correct")


def _refuse_other_state(table: pa.Table) -> None:
    """Raise if a column has a synonym of ``state`` as its name: without states, every class counts as correct."""
    for name in table.column_names:
        if name.casefold() in _STATE_SYNONYMS:
            raise UnknownName("column", name, None, hint=": rename it to state, or remove it if it is something else")


def _read_plain_table(path: Path, test_set: TestSet, columns: Columns) -> _Judgments:
    table = read_table(path)
    named = _PlainColumns.of(table, columns, path)
    judgments = _Judgments(test_set, more_notes=named.notes(table))
    examples = [_known_place(image, test_set, path) for image in texts(table, named.id)]
    if named.problematic:
        for example, reason in zip(examples, table[named.problematic].to_pylist(), strict=True):
            judgments.add_problematic(example, reason)
    if named.state:
        bare = pc.and_(table[named.classes].is_null(), table[named.state].is_null()).to_pylist()
        judgments.covered.update(example for example, empty in zip(examples, bare, strict=True) if empty)
        examples = [example for example, empty in zip(examples, bare, strict=True) if not empty]
        table = table.filter(pa.array([not empty for empty in bare]))
    if examples:
        _add_rows(judgments, examples, table, named, columns)
    return judgments


def _add_rows(
    judgments: _Judgments, examples: list[int], table: pa.Table, named: _PlainColumns, columns: Columns
) -> None:
    states = texts(table, named.state) if named.state else ("correct",) * table.num_rows
    space = judgments.test_set.class_space
    classes = class_indices(table[named.classes], space, name=named.classes, reading=columns.reading)
    if not columns.label and classes.shape[1] == 1:
        refuse_other_labels(table, named.classes, classes[:, 0], space, columns.reading)
    for example, row, state in zip(examples, classes, states, strict=True):
        for index in row:
            judgments.add(example, int(index), state_named(state))


def _check_states(lists: Mapping[str, Any], image: str) -> None:
    """Raise if an unknown key lists classes: it is meant as a state."""
    for key, value in lists.items():
        if isinstance(value, list) and key not in (*_KEYS, *_EXPORTED_KEYS):
            raise FormatError(f"image {image!r}: unknown state {key!r}: it must be one of {', '.join(_LISTS)}")


def _reason(value: Any, image: str) -> str:
    """Why an image is problematic, from a text or a boolean; empty if it is not problematic."""
    if value is None or isinstance(value, bool | int | str):
        word = "" if value is None else str(value).strip()
        if word.lower() in _NO:
            return ""
        return "problematic" if word.lower() in _YES else word
    raise FormatError(f"image {image!r}: problematic must be a reason, true or false, not {brief(value)}")


def state_named(name: str) -> LabelState:
    """The state with this name: correct, unclear or wrong."""
    try:
        return _LISTS[name.strip().lower()]
    except KeyError:
        raise FormatError(f"unknown state {name!r}: it must be one of {', '.join(_LISTS)}") from None


def _add_lists(judgments: _Judgments, example: int, image: str, lists: Any) -> None:
    if not isinstance(lists, Mapping) or not all(isinstance(lists.get(k, []), list) for k in _LISTS):
        raise FormatError(f"image {image!r}: expected lists named {', '.join(_LISTS)}")
    ignored = [key for key in lists if key not in (*_KEYS, *_EXPORTED_KEYS)]
    used = [key for key in _KEYS if key in lists]
    ignored_names(ignored, used, optional=_KEYS, noun="key", where=f" in image {image!r}")  # a near miss raises
    judgments.ignored_keys.update(dict.fromkeys(ignored))
    judgments.covered.add(example)
    for key, state in _LISTS.items():
        for class_id in lists.get(key, ()):
            judgments.add(example, class_id, state)


def _known_place(image: str, test_set: TestSet, path: Path) -> int:
    if image not in test_set.position_of:
        raise MismatchError(
            f"{path} contains {image!r}, which is not in test set {test_set.name} ({test_set.ids[0]!r}, ...)"
        )
    return test_set.position_of[image]


def _images(content: Any, path: Path) -> list[str]:
    if not (isinstance(content, list) and all(isinstance(image, str) for image in content)):
        raise FormatError(f"{path}: imagenet_m must be a list of image file names")
    return content


def _mapping(content: Any, path: Path) -> Mapping[str, Any]:
    if not isinstance(content, dict):
        published = "; the published list of ReaL is read with --format real" if isinstance(content, list) else ""
        raise FormatError(f"{path}: expected a JSON object that maps images to classes{published}")
    return content


def _refuse_foreign(judgments: _Judgments, path: Path) -> None:
    """Raise if most images lack the test set's own label: the labels are shifted, or belong to another set."""
    test_set = judgments.test_set
    judged = {e for e in judgments.covered if e not in judgments.reasons and test_set.labels[e] >= 0}
    own = {e for (e, c), state in judgments.states.items() if state != LabelState.WRONG and test_set.labels[e] == c}
    if judged and len(own & judged) < 0.5 * len(judged):
        raise MismatchError(
            f"{path}: only {len(own & judged):,} of {len(judged):,} images have their label in test set "
            f"{test_set.name} among their labels: the file belongs to another test set or another order"
        )
