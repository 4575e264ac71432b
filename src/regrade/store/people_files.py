"""Reading the answers of people: tables with image, class, start and end, and the layout of Shankar et al. 2020."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
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
from regrade.core.similar_names import check_distinct_names
from regrade.store.moments import is_seconds, moment
from regrade.store.places import ExamplePositions
from regrade.tables import (
    LABEL_COLUMNS,
    Columns,
    Reading,
    column_named,
    ignored_columns,
    ignored_names,
    one_class_each,
    read_json,
    read_json_rows,
    read_table,
    texts,
)

_PERSON_COLUMNS = ("person", "labeler", "annotator", "worker", "participant", "user")
_CLASS_COLUMNS = ("answer", "class", "prediction", *LABEL_COLUMNS)
_TIME_COLUMNS = ("start", "end")
_TIME_KEYS = ("start_time", "end_time")


class PeopleFormat(Enum):
    """The forms in which the answers of people come."""

    TABLE = "table"
    """One row an answer: image, class, start, end, and person where there are several. An empty class is no answer."""

    SHANKAR2020 = "shankar2020"
    """JSON from image to label and extra_info with start_time and end_time, for one labeler or for several by name.

    Images that are not in the test set are passed over: the published answers are on two sets together.
    """


@dataclass(frozen=True)
class PeopleFile:
    """What a file of people's answers holds: predictions by person, and how many answers were to other images.

    ``notes`` are for people.
    """

    people: tuple[Predictions, ...]
    passed_over: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Answer:
    """One row of a file: who said what of which image, and when."""

    person: str
    image: str
    class_given: Any
    start: Any
    end: Any


def read_people_file(
    path: Path, test_set: TestSet, *, form: PeopleFormat, name: str | None = None, columns: Columns | None = None
) -> PeopleFile:
    """Read what people answered on images of a test set; anything amiss raises in one line.

    ``name`` is the person's if the file names none, and the only one to be taken if it names several.
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
            places = ExamplePositions(test_set)
            everything = _from_shankar(path, name)
            answers = [answer for answer in everything if places.of(answer.image) is not None]
            passed_over = len(everything) - len(answers)
            if not answers:
                raise MismatchError(f"{path} names no image of test set {test_set.name} ({test_set.ids[0]!r}, ...)")
    try:
        return PeopleFile(tuple(_people(answers, test_set, reading)), passed_over, (*notes, *_notes(answers)))
    except InputError as error:
        raise type(error)(f"{path}: {error}") from None


@dataclass(frozen=True)
class _AnswerColumns:
    """What the columns of a table of answers are called; None where there is no such column."""

    id: str
    classes: str
    person: str | None
    start: str | None
    end: str | None

    @classmethod
    def of(cls, table: pa.Table, columns: Columns, path: Path) -> _AnswerColumns:
        classes = columns.label or column_named(table, *_CLASS_COLUMNS)
        if classes is None or classes not in table.column_names:
            raise FormatError(f"{path}: there is no column with the classes that were answered: call it class")
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
    return _of(name, [_Answer(*row) for row in zip(people, images, *cells, strict=True)])


def _cells(table: pa.Table, column: str | None, path: Path) -> list[Any]:
    """The values of a column, all of them empty where there is no such column."""
    if column is None:
        return [None] * table.num_rows
    values = table[column]
    try:
        if pa.types.is_timestamp(values.type):  # a finer clock, or a later year, than datetime has would raise
            values = values.cast(pa.timestamp("us", values.type.tz), safe=False)
        return [None if isinstance(cell, str) and not cell.strip() else cell for cell in values.to_pylist()]
    except (pa.ArrowException, ValueError, OverflowError):
        raise FormatError(
            f"{path}: column {column!r} cannot be read: it holds values of {values.type} that are out of range"
        ) from None


def _from_shankar(path: Path, name: str | None) -> list[_Answer]:
    content = read_json(path)
    if isinstance(content, dict) and isinstance(content.get("annot_data"), dict):
        content = content["annot_data"]
    if not (isinstance(content, dict) and content and all(isinstance(entry, dict) for entry in content.values())):
        raise FormatError(f"{path}: an object from image to label and extra_info is wanted, or one such a labeler")
    if all("label" in entry for entry in content.values()):
        if name is None:
            raise FormatError(f"{path} does not say who answered: give --name")
        content = {name: content}
    return _of(name, [answer for person, given in content.items() for answer in _labeled(person, given, path)])


def _labeled(person: str, given: Mapping[str, Any], path: Path) -> Iterable[_Answer]:
    for image, entry in given.items():
        more = entry.get("extra_info") or {} if isinstance(entry, dict) else None
        where = f"{path}, {person}, image {image!r}"
        if not isinstance(more, dict) or "label" not in entry:
            raise FormatError(f"{where}: an object with label and extra_info is wanted")
        for keys, optional in ((entry, ("label", "extra_info")), (more, _TIME_KEYS)):
            used = [key for key in optional if key in keys]
            ignored_names(keys, used, optional=optional, noun="key", where=f" of {where}")  # a near miss raises
        yield _Answer(person, image, entry["label"], *(more.get(key) for key in _TIME_KEYS))


def _of(name: str | None, answers: list[_Answer]) -> list[_Answer]:
    """The answers of one person only, if one was named."""
    if name is None:
        return answers
    found = [answer for answer in answers if answer.person == name]
    if not found:
        raise UnknownName("person", name, dict.fromkeys(answer.person for answer in answers))
    return found


def _people(answers: Sequence[_Answer], test_set: TestSet, reading: Reading) -> Iterable[Predictions]:
    places = _places(answers, test_set)
    classes = _classes(answers, test_set.class_space, reading)
    times = _times(answers)
    people = np.array([answer.person.removeprefix(PERSON_PREFIX) for answer in answers])
    names = dict.fromkeys(people.tolist())
    check_distinct_names("person", names)
    for person in names:
        rows = np.flatnonzero(people == person)
        _refuse_repeated(places[rows], person, test_set)
        given = AnswerTimes(times.start[rows], times.end[rows])
        yield _predictions(person, test_set, places[rows], classes[rows], given)


def _predictions(
    person: str, test_set: TestSet, places: IntArray, classes: IntArray, given: AnswerTimes
) -> Predictions:
    answered = np.full((len(test_set), 1), NO_ANSWER, dtype=np.int32)
    answered[places, 0] = classes
    asked = np.zeros(len(test_set), dtype=bool)
    asked[places] = True
    times = None
    if np.isfinite(given.seconds).any():
        times = AnswerTimes(*(_spread(values, places, len(test_set)) for values in (given.start, given.end)))
    return Predictions(
        PERSON_PREFIX + person,
        test_set.name,
        test_set.class_space.name,
        answered,
        by=Answerer.PERSON,
        covered=None if asked.all() else asked,
        times=times,
    )


def _spread(values: FloatArray, places: IntArray, size: int) -> FloatArray:
    spread = np.full(size, np.nan)
    spread[places] = values
    return spread


def _places(answers: Sequence[_Answer], test_set: TestSet) -> IntArray:
    known = ExamplePositions(test_set)
    found = [known.of(answer.image) for answer in answers]
    strangers = [answer.image for answer, place in zip(answers, found, strict=True) if place is None]
    if strangers:
        raise MismatchError(
            f"{amount(len(strangers), 'image')} not in test set {test_set.name}, for instance {strangers[0]!r} "
            f"(there it is {test_set.ids[0]!r}, ...)"
        )
    return np.array(found, dtype=np.int64)


def _refuse_repeated(places: IntArray, person: str, test_set: TestSet) -> None:
    found, counts = np.unique(places, return_counts=True)
    if (counts > 1).any():
        image = test_set.ids[int(found[counts > 1][0])]
        raise FormatError(f"{person} answers {image!r} more than once: every image must stand once a person")


def _classes(answers: Sequence[_Answer], space: ClassSpace, reading: Reading) -> IntArray:
    """Shape (n,): classes by id, index or display name; what is empty is no answer."""
    by_name = {name.casefold(): space.ids[index] for index, name in enumerate(space.names)}
    classes = np.full(len(answers), NO_ANSWER, dtype=np.int32)
    rows = [row for row, answer in enumerate(answers) if answer.class_given is not None]
    if not rows:
        return classes
    values = [_known(answers[row], space, by_name, reading) for row in rows]
    try:
        column = pa.chunked_array([pa.array(values)])
    except pa.ArrowException:
        raise FormatError("the classes are of several kinds: give ids, indices or names") from None
    classes[rows] = one_class_each(column, space, name="class", reading=reading)
    return classes


def _known(answer: _Answer, space: ClassSpace, by_name: Mapping[str, str], reading: Reading) -> Any:
    """What was answered, a display name turned into its id; text that is no class raises."""
    given = answer.class_given
    if not isinstance(given, str) or given in space.index_of or reading is Reading.INDICES:
        return given
    if given.removesuffix(".0").isdigit():
        return given
    try:
        return by_name.get(given.strip().casefold()) or space.ids[space.index(given)]
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
        start[row], end[row] = moment(answer.start, where), moment(answer.end, where)
        if end[row] < start[row]:
            raise InputError(f"{where}: it ends ({answer.end}) before it starts ({answer.start})")
    return AnswerTimes(start, end)


def _notes(answers: Sequence[_Answer]) -> tuple[str, ...]:
    empty = sum(answer.class_given is None for answer in answers)
    half = sum((answer.start is None) != (answer.end is None) for answer in answers)
    counts = (
        (empty, "without a class: no answer, which counts as wrong"),
        (half, "with a start or an end only: how long they took is not known"),
    )
    return tuple(f"{amount(number, 'answer')} {what}" for number, what in counts if number)
