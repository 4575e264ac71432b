"""Reading people's answers to import: tables, and the published format of Shankar et al. 2020."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from reprlib import repr as brief
from typing import Any

import numpy as np
import pyarrow as pa

from regrade.core import (
    NO_ANSWER,
    PERSON_PREFIX,
    Answerer,
    AnswerTimes,
    ClassSpace,
    FormatError,
    InputError,
    MismatchError,
    Predictions,
    TestSet,
    UnknownName,
)
from regrade.core.amounts import amount
from regrade.core.arrays import FloatArray, IntArray
from regrade.core.names import check_distinct_names
from regrade.tables import (
    LABEL_COLUMNS,
    Columns,
    ExamplePositions,
    Reading,
    column_named,
    ignored_columns,
    ignored_names,
    one_class_per_row,
    read_json,
    read_json_rows,
    read_table,
    texts,
)

_PERSON_COLUMNS = ("person", "labeler", "annotator", "worker", "participant", "user")
_CLASS_COLUMNS = ("answer", "class", "prediction", *LABEL_COLUMNS)
_TIME_COLUMNS = ("start", "end")
_TIME_KEYS = ("start_time", "end_time")
_LATEST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


class PeopleFormat(Enum):
    """The formats of files of people's answers."""

    TABLE = "table"
    """One row per answer: image, class, start, end, and person if there are several. An empty class is no answer."""

    SHANKAR2020 = "shankar2020"
    """JSON from image to label and extra_info with start_time and end_time, for one labeler or for several by name.

    Images that are not in the test set are skipped: the published answers cover two test sets.
    """


@dataclass(frozen=True)
class PeopleFile:
    """The content of a file of answers: predictions per person, and the number of answers to other images.

    ``notes`` are for the user.
    """

    people: tuple[Predictions, ...]
    passed_over: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Answer:
    """One row of a file: a person's answer to an image, with start and end."""

    person: str
    image: str
    answer: Any
    start: Any
    end: Any


def read_people_file(
    path: Path, test_set: TestSet, *, form: PeopleFormat, name: str | None = None, columns: Columns | None = None
) -> PeopleFile:
    """Read people's answers to images of a test set; a file that does not fit raises.

    ``name`` is the name of the person if the file contains none, and selects one person if it contains several.
    """
    notes: tuple[str, ...] = ()
    match form:
        case PeopleFormat.TABLE:
            reading = (columns or Columns()).reading
            table = read_json_rows(path) if path.suffix.lower() == ".json" else read_table(path)
            named = _AnswerColumns.of(table, columns or Columns(), path)
            notes = named.notes(table)
            answers, passed_over = _from_table(table, named, path, name), 0
        case PeopleFormat.SHANKAR2020:
            reading = Reading.IDS
            positions = ExamplePositions(test_set)
            all_answers = _from_shankar(path, name)
            answers = [answer for answer in all_answers if positions.of(answer.image) is not None]
            passed_over = len(all_answers) - len(answers)
            if not answers:
                raise MismatchError(f"{path} contains no image of test set {test_set.name} ({test_set.ids[0]!r}, ...)")
    try:
        return PeopleFile(tuple(_people(answers, test_set, reading)), passed_over, (*notes, *_notes(answers)))
    except InputError as error:
        raise type(error)(f"{path}: {error}") from None


@dataclass(frozen=True)
class _AnswerColumns:
    """The names of the columns of a table of answers; None if there is no such column."""

    id: str
    classes: str
    person: str | None
    start: str | None
    end: str | None

    @classmethod
    def of(cls, table: pa.Table, columns: Columns, path: Path) -> _AnswerColumns:
        classes = columns.label or column_named(table, *_CLASS_COLUMNS)
        if classes is None or classes not in table.column_names:
            raise FormatError(f"{path} has no column with the answered classes: name it class")
        times = (column_named(table, name) for name in _TIME_COLUMNS)
        return cls(columns.id_in(table), classes, column_named(table, *_PERSON_COLUMNS), *times)

    def notes(self, table: pa.Table) -> tuple[str, ...]:
        used = {name for name in (self.id, self.classes, self.person, self.start, self.end) if name}
        optional = _TIME_COLUMNS if self.person else (*_TIME_COLUMNS, _PERSON_COLUMNS[0])
        return ignored_columns(table, used, optional=optional)


def _from_table(table: pa.Table, named: _AnswerColumns, path: Path, name: str | None) -> list[_Answer]:
    images = texts(table, named.id)
    if named.person:
        people: Sequence[str] = texts(table, named.person)
    elif name:
        people = [name] * len(images)
    else:
        raise FormatError(f"{path} does not say who answered: add a column person, or give --name")
    cells = (_cells(table, column, path) for column in (named.classes, named.start, named.end))
    return _answers_by(name, [_Answer(*row) for row in zip(people, images, *cells, strict=True)])


def _cells(table: pa.Table, column: str | None, path: Path) -> list[Any]:
    """The values of a column; all None if there is no such column."""
    if column is None:
        return [None] * table.num_rows
    values = table[column]
    try:
        if pa.types.is_timestamp(values.type):  # nanoseconds and late years do not fit into datetime
            values = values.cast(pa.timestamp("us", values.type.tz), safe=False)
        return [None if isinstance(cell, str) and not cell.strip() else cell for cell in values.to_pylist()]
    except (pa.ArrowException, ValueError, OverflowError):
        raise FormatError(
            f"{path}: column {column!r} cannot be read: it contains values of {values.type} that are out of range"
        ) from None


def _from_shankar(path: Path, name: str | None) -> list[_Answer]:
    content = read_json(path)
    if isinstance(content, dict) and isinstance(content.get("annot_data"), dict):
        content = content["annot_data"]
    if not (isinstance(content, dict) and content and all(isinstance(entry, dict) for entry in content.values())):
        raise FormatError(
            f"{path}: expected an object that maps images to label and extra_info, or labelers to such objects"
        )
    if all("label" in entry for entry in content.values()):
        if name is None:
            raise FormatError(f"{path} does not say who answered: give --name")
        content = {name: content}
    answers = [answer for person, entries in content.items() for answer in _shankar_answers(person, entries, path)]
    return _answers_by(name, answers)


def _shankar_answers(person: str, entries: Mapping[str, Any], path: Path) -> Iterable[_Answer]:
    for image, entry in entries.items():
        extra_info = entry.get("extra_info") or {} if isinstance(entry, dict) else None
        where = f"{path}, {person}, image {image!r}"
        if not isinstance(extra_info, dict) or "label" not in entry:
            raise FormatError(f"{where}: expected an object with label and extra_info")
        for keys, optional in ((entry, ("label", "extra_info")), (extra_info, _TIME_KEYS)):
            used = [key for key in optional if key in keys]
            ignored_names(keys, used, optional=optional, noun="key", where=f" of {where}")  # a near miss raises
        yield _Answer(person, image, entry["label"], *(extra_info.get(key) for key in _TIME_KEYS))


def _answers_by(name: str | None, answers: list[_Answer]) -> list[_Answer]:
    """The answers of one person if a name is given, all answers otherwise."""
    if name is None:
        return answers
    matching = [answer for answer in answers if answer.person == name]
    if not matching:
        raise UnknownName("person", name, dict.fromkeys(answer.person for answer in answers))
    return matching


def _people(answers: Sequence[_Answer], test_set: TestSet, reading: Reading) -> Iterable[Predictions]:
    positions = _positions(answers, test_set)
    classes = _classes(answers, test_set.class_space, reading)
    times = _times(answers)
    people = np.array([answer.person.removeprefix(PERSON_PREFIX) for answer in answers])
    names = dict.fromkeys(people.tolist())
    check_distinct_names("person", names)
    for person in names:
        rows = np.flatnonzero(people == person)
        _refuse_repeated(positions[rows], person, test_set)
        person_times = AnswerTimes(times.start[rows], times.end[rows])
        yield _predictions(person, test_set, positions[rows], classes[rows], person_times)


def _predictions(
    person: str, test_set: TestSet, positions: IntArray, classes: IntArray, times: AnswerTimes
) -> Predictions:
    answered = np.full((len(test_set), 1), NO_ANSWER, dtype=np.int32)
    answered[positions, 0] = classes
    is_asked = np.zeros(len(test_set), dtype=bool)
    is_asked[positions] = True
    all_times = None
    if np.isfinite(times.seconds).any():
        all_times = AnswerTimes(*(_spread(values, positions, len(test_set)) for values in (times.start, times.end)))
    return Predictions(
        PERSON_PREFIX + person,
        test_set.name,
        test_set.class_space.name,
        answered,
        by=Answerer.PERSON,
        covered=None if is_asked.all() else is_asked,
        times=all_times,
    )


def _spread(values: FloatArray, positions: IntArray, size: int) -> FloatArray:
    """Shape (size,): values at their positions, NaN elsewhere."""
    spread = np.full(size, np.nan)
    spread[positions] = values
    return spread


def _positions(answers: Sequence[_Answer], test_set: TestSet) -> IntArray:
    in_test_set = ExamplePositions(test_set)
    positions = [in_test_set.of(answer.image) for answer in answers]
    unknown = [answer.image for answer, position in zip(answers, positions, strict=True) if position is None]
    if unknown:
        raise MismatchError(
            f"{amount(len(unknown), 'image')} not in test set {test_set.name}, for instance {unknown[0]!r} "
            f"(the test set has {test_set.ids[0]!r}, ...)"
        )
    return np.array(positions, dtype=np.int64)


def _refuse_repeated(positions: IntArray, person: str, test_set: TestSet) -> None:
    distinct, counts = np.unique(positions, return_counts=True)
    if (counts > 1).any():
        image = test_set.ids[int(distinct[counts > 1][0])]
        raise FormatError(f"{person} answers {image!r} more than once: give one answer per person and image")


def _classes(answers: Sequence[_Answer], space: ClassSpace, reading: Reading) -> IntArray:
    """Shape (n,): classes by id, index or display name; empty cells become `NO_ANSWER`."""
    by_name = {name.casefold(): space.ids[index] for index, name in enumerate(space.names)}
    classes = np.full(len(answers), NO_ANSWER, dtype=np.int32)
    rows = [row for row, answer in enumerate(answers) if answer.answer is not None]
    if not rows:
        return classes
    values = [_class_reference(answers[row], space, by_name, reading) for row in rows]
    try:
        column = pa.chunked_array([pa.array(values)])
    except pa.ArrowException:
        raise FormatError("the classes mix text and numbers: give ids, indices or names only") from None
    classes[rows] = one_class_per_row(column, space, name="class", reading=reading)
    return classes


def _class_reference(answer: _Answer, space: ClassSpace, by_name: Mapping[str, str], reading: Reading) -> Any:
    """The answer with a display name replaced by its class id; raise if a text is not a class."""
    value = answer.answer
    if not isinstance(value, str) or value in space.index_of or reading is Reading.INDICES:
        return value
    if value.removesuffix(".0").isdigit():
        return value
    try:
        return by_name.get(value.strip().casefold()) or space.ids[space.index(value)]
    except InputError as error:
        raise InputError(f"{answer.person}, image {answer.image!r}: {error}") from None


def _times(answers: Sequence[_Answer]) -> AnswerTimes:
    start, end = np.full(len(answers), np.nan), np.full(len(answers), np.nan)
    for row, answer in enumerate(answers):
        if answer.start is None or answer.end is None:
            continue
        where = f"{answer.person}, image {answer.image!r}"
        if is_seconds(answer.start) != is_seconds(answer.end):
            raise FormatError(f"{where}: start and end must both be ISO times, or both seconds")
        start[row], end[row] = parse_time(answer.start, where), parse_time(answer.end, where)
        if end[row] < start[row]:
            raise InputError(f"{where}: it ends ({answer.end}) before it starts ({answer.start})")
    return AnswerTimes(start, end)


def _notes(answers: Sequence[_Answer]) -> tuple[str, ...]:
    empty = sum(answer.answer is None for answer in answers)
    half = sum((answer.start is None) != (answer.end is None) for answer in answers)
    counts = (
        (empty, "without a class: no answer, which counts as wrong"),
        (half, "with a start or an end only: how long they took is not known"),
    )
    return tuple(f"{amount(number, 'answer')} {what}" for number, what in counts if number)


def parse_time(value: Any, where: str) -> float:
    """A time in seconds: a number, a number as text, or an ISO 8601 time since 1970 (UTC if it has no time zone).

    Seconds must lie between 0 and the year 9999: larger values are milliseconds, or not a time.

    >>> parse_time("2019-12-19T10:00:26Z", "") - parse_time("2019-12-19 10:00:00", "")
    26.0
    """
    if isinstance(value, datetime):
        return _since_1970(value)
    seconds = _seconds(value)
    if seconds is None:
        return _from_iso(value, where)
    if isinstance(value, bool) or math.isnan(seconds):
        raise FormatError(f"{where}: {value!r} is not a time")
    if not 0 <= seconds <= _LATEST:
        raise FormatError(f"{where}: {brief(value)} is not a time in seconds: expected 0 to {_LATEST:,.0f}")
    return seconds


def is_seconds(value: Any) -> bool:
    """Whether a time is a number, possibly as text, rather than an ISO 8601 time."""
    return _seconds(value) is not None


def _seconds(value: Any) -> float | None:
    try:
        return float(value)
    except OverflowError:  # an integer larger than any float
        return math.inf
    except (TypeError, ValueError):
        return None


def _from_iso(value: Any, where: str) -> float:
    try:
        return _since_1970(datetime.fromisoformat(value.strip()))
    except (AttributeError, ValueError):
        raise FormatError(
            f"{where}: {brief(value)} is not a time: give ISO 8601 (2019-12-19T10:00:26) or seconds"
        ) from None


def _since_1970(time: datetime) -> float:
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
