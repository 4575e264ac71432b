"""A released test set: its images with everything that its selection depends on, as plain files.

`Release` is the content; `release_texts` writes its tables, and `read_release` reads them again.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from regrade.build.duplicates import DuplicateCheck
from regrade.build.eligibility import Candidate, Exclusion
from regrade.build.exchange import tile_names
from regrade.build.files import BuildTasks
from regrade.build.frequencies import (
    Assignment,
    SelectionFrequencies,
    TileAnswers,
    collect_answers,
    selection_frequencies,
)
from regrade.build.redraw import redraw, sample_options
from regrade.build.review import ReviewDecision
from regrade.build.samplers import Sample
from regrade.build.steps.sample import SampleOptions
from regrade.build.tasks import GridTask, TaskOptions, Tile, TileRole
from regrade.classes import class_space_from_file
from regrade.core import ClassSpace, FormatError, InputError
from regrade.core.errors import not_utf8
from regrade.core.panel import Fitness
from regrade.tables import read_json

MANIFEST = "manifest.csv"
CANDIDATES = "candidates.csv"
TASKS = "tasks.csv"
ANSWERS = "answers.csv"
DRAW = "draw.json"
CLASSES = "classes.json"
REVIEWS = "reviews.csv"
DATASHEET = "datasheet.md"
CROISSANT = "croissant.json"
CHECKSUMS = "checksums.txt"
IMAGES = "images"

_MANIFEST_COLUMNS = (
    "file_name", "image", "sha256", "label", "class_name", "selection_frequency", "frequency_bin", "selected", "answers"
)  # fmt: skip
_CANDIDATE_COLUMNS = (
    "image", "class", "selection_frequency", "selected", "answers", "keyword", "in_previous_revision", "excluded",
    "drawn", "confusion",
)  # fmt: skip
_TASK_COLUMNS = ("task", "class", "tile", "image", "role")
_ANSWER_COLUMNS = ("task", "worker", "selected", "seconds", "counted", "after_draw")
_REVIEW_COLUMNS = ("image", "class", "decision", "reason", "reviewers")
_YES, _NO = "yes", "no"


@dataclass(frozen=True)
class ReleasedImage:
    """An image of the set: its file, its id in the pool, its class, its frequency, and the columns of the pool."""

    file_name: str
    sha256: str
    class_name: str
    frequency_bin: str
    selected: int
    candidate: Candidate
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReleasedCandidate:
    """A candidate: its frequency, whether an earlier revision had it, why it was excluded, whether it was drawn.

    ``confusion`` is its confusion score in bits, if the set was drawn by scores.
    """

    candidate: Candidate
    selected: int
    in_previous: bool
    excluded: Exclusion | None
    drawn: bool
    confusion: float | None = None


@dataclass(frozen=True)
class Draw:
    """How the set was drawn: names and digests of what it was drawn from, and all settings.

    ``duplicates`` says how it was checked for duplicates; None for a release of an earlier version.
    """

    test_set: str
    build: str
    revision: int
    pool: str
    pool_digest: str
    reference: str
    reference_digest: str
    tasks: TaskOptions
    settings: Mapping[str, Any]
    keyword_counts: Mapping[str, Mapping[str, int]]
    encoded_as_png: bool
    regrade: str
    duplicates: DuplicateCheck | None = None

    def tile_key(self, tasks: tuple[GridTask, ...]) -> str:
        """The key of the names of tiles, which `regrade build export` used for these tasks."""
        sets = (self.pool, self.pool_digest, self.reference, self.reference_digest)
        return BuildTasks(self.build, *sets, self.tasks, tasks).digest

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Draw:
        """The record from the content of its file."""
        fields = {**content, "tasks": TaskOptions(**content["tasks"])}
        if fields.get("duplicates") is not None:
            fields["duplicates"] = DuplicateCheck.from_json(fields["duplicates"])
        return cls(**fields)

    def as_json(self) -> dict[str, Any]:
        """The content of its file."""
        return {name: value for name, value in asdict(self).items() if name != "duplicates" or value is not None}


@dataclass(frozen=True)
class Release:
    """The content of a release; workers and reviewers have anonymous names.

    ``late`` are the tasks and workers of the answers that arrived after the set was drawn. ``review`` contains what
    reviewers decided about candidates; None if the build has no review.
    """

    draw: Draw
    classes: ClassSpace
    images: tuple[ReleasedImage, ...]
    candidates: tuple[ReleasedCandidate, ...]
    tasks: tuple[GridTask, ...]
    assignments: tuple[Assignment, ...]
    left_out: frozenset[str]
    late: frozenset[tuple[str, str]] = frozenset()
    review: tuple[ReviewDecision, ...] | None = None

    @property
    def options(self) -> SampleOptions:
        """The options of the draw."""
        return sample_options(self.draw.build, self.draw.settings)

    @cached_property
    def tile_key(self) -> str:
        """The key of the names of tiles."""
        return self.draw.tile_key(self.tasks)

    @cached_property
    def answers(self) -> TileAnswers:
        """The answers as arrays."""
        return collect_answers(self.tasks, self.assignments)

    @cached_property
    def frequencies(self) -> SelectionFrequencies:
        """The frequencies, computed from the answers that count."""
        return selection_frequencies(self.answers, excluded_workers=self.left_out)

    @cached_property
    def counted_candidates(self) -> list[Candidate]:
        """The candidates with computed frequencies."""
        return self.frequencies.candidates(
            {row.candidate.image: row.candidate.keyword for row in self.candidates if row.candidate.keyword}
        )

    @cached_property
    def redrawn(self) -> Sample:
        """The sample that follows from the computed frequencies and the settings."""
        return redraw(
            self.options,
            self.counted_candidates,
            self.frequencies.references(),
            previous=frozenset(row.candidate.image for row in self.candidates if row.in_previous),
            excluded={
                (row.candidate.image, row.candidate.class_id): row.excluded for row in self.candidates if row.excluded
            },
            keyword_counts=self.draw.keyword_counts,
            scores={row.candidate.image: row.confusion for row in self.candidates if row.confusion is not None},
        )

    @property
    def without_late_answers(self) -> Release:
        """The release as it would be without the answers that arrived after the draw."""
        early = tuple(answer for answer in self.assignments if (answer.task, answer.worker) not in self.late)
        return replace(self, assignments=early, late=frozenset())


def release_texts(release: Release) -> dict[str, str]:
    """The tables of a release by file name."""
    review = {} if release.review is None else {REVIEWS: _csv(_REVIEW_COLUMNS, map(_review_row, release.review))}
    return {
        **review,
        MANIFEST: _manifest(release.images),
        CANDIDATES: _csv(_CANDIDATE_COLUMNS, map(_candidate_row, release.candidates)),
        TASKS: _csv(
            _TASK_COLUMNS,
            (
                (task.id, task.class_id, name, tile.image, tile.role.value)
                for task in release.tasks
                for name, tile in zip(tile_names(task, key=release.tile_key), task.tiles, strict=True)
            ),
        ),
        ANSWERS: _csv(_ANSWER_COLUMNS, _answer_rows(release)),
        DRAW: json.dumps(release.draw.as_json(), indent=1, sort_keys=True) + "\n",
        CLASSES: json.dumps(
            {"name": release.classes.name, "ids": release.classes.ids, "names": release.classes.names},
            indent=1,
            ensure_ascii=False,
        )
        + "\n",
    }


def _manifest(images: Sequence[ReleasedImage]) -> str:
    further = list(images[0].columns) if images else []
    rows = (
        (
            image.file_name,
            image.candidate.image,
            image.sha256,
            image.candidate.class_id,
            image.class_name,
            repr(image.candidate.frequency),
            image.frequency_bin,
            image.selected,
            image.candidate.assignments,
            *(image.columns[name] for name in further),
        )
        for image in images
    )
    return _csv((*_MANIFEST_COLUMNS, *further), rows)


def manifest_column(name: str) -> str:
    """The name of a column of the pool in the manifest: its own, unless the manifest has such a column."""
    return f"pool_{name}" if name in _MANIFEST_COLUMNS else name


def _candidate_row(row: ReleasedCandidate) -> tuple[Any, ...]:
    candidate = row.candidate
    return (
        candidate.image,
        candidate.class_id,
        repr(candidate.frequency),
        row.selected,
        candidate.assignments,
        candidate.keyword,
        _YES if row.in_previous else _NO,
        row.excluded.value if row.excluded else "",
        _YES if row.drawn else _NO,
        "" if row.confusion is None else repr(row.confusion),
    )


def _answer_rows(release: Release) -> Iterator[tuple[Any, ...]]:
    names = {task.id: tile_names(task, key=release.tile_key) for task in release.tasks}
    for answer in release.assignments:
        tiles = [name for name, image in names[answer.task].items() if image in answer.selected]
        counted = _NO if answer.worker in release.left_out else _YES
        seconds = "" if answer.seconds is None else repr(answer.seconds)
        late = _YES if (answer.task, answer.worker) in release.late else _NO
        yield answer.task, answer.worker, " ".join(tiles), seconds, counted, late


def _review_row(row: ReviewDecision) -> tuple[str, ...]:
    return row.image, row.class_id, row.fitness.value, row.reason, " ".join(row.by)


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return file.getvalue()


def read_release(folder: Path) -> Release:
    """Read the tables of a release; raise if one is missing, or does not have the expected format."""
    draw = _read_draw(folder / DRAW)
    tasks, images_of = _read_tasks(folder / TASKS)
    _check_tile_names(folder / TASKS, draw, tasks, images_of)
    assignments, left_out, late = _read_answers(folder / ANSWERS, images_of)
    return Release(
        draw,
        class_space_from_file(folder / CLASSES),
        tuple(_released_image(row) for row in _rows(folder / MANIFEST, _MANIFEST_COLUMNS)),
        tuple(_released_candidate(row) for row in _rows(folder / CANDIDATES, _CANDIDATE_COLUMNS)),
        tasks,
        assignments,
        left_out,
        late,
        review=_read_review(folder / REVIEWS),
    )


def _read_review(path: Path) -> tuple[ReviewDecision, ...] | None:
    """The decisions of reviewers; None if there is no such file."""
    if not path.is_file():
        return None
    decisions = []
    for row in _rows(path, _REVIEW_COLUMNS):
        with _cells_of(path):
            by = tuple(row["reviewers"].split())
            decision = ReviewDecision(row["image"], row["class"], Fitness(row["decision"]), row["reason"], by, "")
        decisions.append(decision)
    return tuple(decisions)


def _read_draw(path: Path) -> Draw:
    content = read_json(path)
    try:
        return Draw.from_json(content)  # type: ignore[arg-type]
    except (TypeError, ValueError, KeyError, InputError) as error:
        raise FormatError(f"{path} is not the record of a draw: {error}") from None


def _rows(path: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """The rows of a CSV file, which begins with these columns; errors name the file and the row."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    try:
        reader = csv.reader(io.StringIO(path.read_bytes().decode(), newline=""), strict=True)
        header = next(reader, [])
        if tuple(header[: len(columns)]) != tuple(columns) or len(set(header)) != len(header):
            raise FormatError(f"{path} must begin with the columns {', '.join(columns)}")
        for number, row in enumerate(reader, start=1):
            try:
                yield dict(zip(header, row, strict=True))
            except ValueError as error:  # more or fewer cells than columns
                raise FormatError(f"{path}, row {number}: {error}") from None
    except UnicodeDecodeError as error:
        raise FormatError(f"{path} {not_utf8(error)}") from None
    except csv.Error as error:
        raise FormatError(f"{path}: {error}") from None


def _read_tasks(path: Path) -> tuple[tuple[GridTask, ...], dict[str, dict[str, str]]]:
    """The tasks, and for each the image of each tile name."""
    tiles: dict[tuple[str, str], list[Tile]] = {}
    names: dict[str, dict[str, str]] = {}
    for row in _rows(path, _TASK_COLUMNS):
        with _cells_of(path):
            tiles.setdefault((row["task"], row["class"]), []).append(Tile(row["image"], TileRole(row["role"])))
        names.setdefault(row["task"], {})[row["tile"]] = row["image"]
    tasks = tuple(GridTask(task, class_id, tuple(own)) for (task, class_id), own in tiles.items())
    if len(tasks) != len(names):
        raise FormatError(f"{path}: a task has tiles of two classes")
    return tasks, names


def _check_tile_names(path: Path, draw: Draw, tasks: tuple[GridTask, ...], names: dict[str, dict[str, str]]) -> None:
    key = draw.tile_key(tasks)
    for task in tasks:
        if names[task.id] != tile_names(task, key=key):
            raise FormatError(f"{path}: the names of the tiles of task {task.id} are not those of its images")


def _read_answers(
    path: Path, images_of: Mapping[str, Mapping[str, str]]
) -> tuple[tuple[Assignment, ...], frozenset[str], frozenset[tuple[str, str]]]:
    """The answers, the workers who are not counted, and the tasks and workers of late answers."""
    assignments: list[Assignment] = []
    late = set()
    counted: dict[str, str] = {}
    for row in _rows(path, _ANSWER_COLUMNS):
        with _cells_of(path):
            selected = frozenset(images_of[row["task"]][tile] for tile in row["selected"].split())
            seconds = float(row["seconds"]) if row["seconds"] else None
            assignments.append(Assignment(row["task"], row["worker"], selected, seconds))
            if counted.setdefault(row["worker"], row["counted"]) != row["counted"] or row["counted"] not in (_YES, _NO):
                raise ValueError(
                    f"{row['worker']} is counted as {row['counted']!r}, expected {_YES} or {_NO} throughout"
                )
            if row["after_draw"] == _YES:
                late.add((row["task"], row["worker"]))
    left_out = frozenset(worker for worker, value in counted.items() if value == _NO)
    return tuple(assignments), left_out, frozenset(late)


def _released_image(row: Mapping[str, str]) -> ReleasedImage:
    with _cells_of(MANIFEST):
        candidate = Candidate(row["image"], row["label"], float(row["selection_frequency"]), int(row["answers"]))
        return ReleasedImage(
            row["file_name"],
            row["sha256"],
            row["class_name"],
            row["frequency_bin"],
            int(row["selected"]),
            candidate,
            {name: value for name, value in row.items() if name not in _MANIFEST_COLUMNS},
        )


def _released_candidate(row: Mapping[str, str]) -> ReleasedCandidate:
    with _cells_of(CANDIDATES):
        candidate = Candidate(
            row["image"], row["class"], float(row["selection_frequency"]), int(row["answers"]), row["keyword"]
        )
        return ReleasedCandidate(
            candidate,
            int(row["selected"]),
            row["in_previous_revision"] == _YES,
            Exclusion(row["excluded"]) if row["excluded"] else None,
            row["drawn"] == _YES,
            float(row["confusion"]) if row["confusion"] else None,
        )


@contextmanager
def _cells_of(path: Path | str) -> Iterator[None]:
    """Turn errors of cells into a `FormatError` that names the file."""
    try:
        yield
    except InputError:
        raise
    except (ValueError, KeyError) as error:
        raise FormatError(f"{path}: {error}") from None
