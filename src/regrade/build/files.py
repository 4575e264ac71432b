"""The files of a build: its tasks, the answers of workers, and the revisions of the set, each written once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from regrade.build.eligibility import Exclusion
from regrade.build.frequencies import Assignment
from regrade.build.samplers import ClassSample, Sample, Strategy
from regrade.build.tasks import GridTask, TaskOptions, Tile, TileRole
from regrade.core import UnknownName
from regrade.store.checked_files import PLACE, read_parquet, write_parquet
from regrade.store.collection import Collection
from regrade.store.layout import place_of

_TASKS = "tasks"
_ANSWERS = "answers-"
_REVISION = "revision-"
_DIGITS = 12  # of the digest in the name of a batch of answers


@dataclass(frozen=True)
class BuildTasks:
    """The tasks of a build, the test sets of its candidates and reference images, and how the tasks were made."""

    build: str
    pool: str
    pool_digest: str
    reference: str
    reference_digest: str
    options: TaskOptions
    tasks: tuple[GridTask, ...] = field(repr=False)

    @property
    def digest(self) -> str:
        """A hash of the origin and of every tile."""
        tiles = [[task.id, task.class_id, tile.image, tile.role.value] for task in self.tasks for tile in task.tiles]
        options = {name: value for name, value in asdict(self.options).items() if value != ""}
        origin = [self.pool, self.pool_digest, self.reference, self.reference_digest, options]
        return hashlib.sha256(json.dumps([origin, tiles]).encode()).hexdigest()


class TaskCollection(Collection[BuildTasks, None]):
    """The tasks of builds."""

    kind = "builds"

    def names_of(self, tasks: BuildTasks, _context: None) -> tuple[str, ...]:
        """The name of the build."""
        return tasks.build, _TASKS

    def refusal(self, tasks: BuildTasks, _context: None) -> str:
        """The error for other tasks of the same build."""
        return f"build {tasks.build} has other tasks already: choose another name, since workers may have answered them"

    def write(self, tasks: BuildTasks, _context: None, file: BinaryIO) -> None:
        """Write one row per tile."""
        rows = [(task, tile) for task in tasks.tasks for tile in task.tiles]
        table = pa.table(
            {
                "task": pa.array([task.id for task, _ in rows], pa.string()),
                "class": pa.array([task.class_id for task, _ in rows], pa.string()),
                "image": pa.array([tile.image for _, tile in rows], pa.string()),
                "role": pa.array([tile.role.value for _, tile in rows], pa.string()),
            }
        )
        meta = {
            PLACE: place_of(self.kind, tasks.build, _TASKS),
            **{key: getattr(tasks, key) for key in ("pool", "pool_digest", "reference", "reference_digest")},
            "options": asdict(tasks.options),
            "digest": tasks.digest,
        }
        write_parquet(table, meta, file)

    def read(self, build: str) -> BuildTasks:
        """Read the tasks of a build; raise if there is none of this name."""
        if not self.has(build, _TASKS):
            raise UnknownName("build", build, self.builds(), first="regrade build tasks NAME")
        table, meta = read_parquet(self.path(build, _TASKS))
        tiles: dict[tuple[str, str], list[Tile]] = {}
        roles = {role.value: role for role in TileRole}
        columns = (_shared_texts(table[name]) for name in ("task", "class", "image", "role"))
        for task, class_id, image, role in zip(*columns, strict=True):
            tiles.setdefault((task, class_id), []).append(Tile(image, roles[role]))
        return BuildTasks(
            build,
            meta["pool"],
            meta["pool_digest"],
            meta["reference"],
            meta["reference_digest"],
            TaskOptions(**meta["options"]),
            tuple(GridTask(task, class_id, tuple(own)) for (task, class_id), own in tiles.items()),
        )

    def builds(self) -> tuple[str, ...]:
        """The names of the builds that have tasks."""
        folder = self.root / self.kind
        return tuple(sorted(path.parent.name for path in folder.glob(f"*/{_TASKS}.parquet")))


@dataclass(frozen=True)
class AnswerBatch:
    """Answers that arrived together, such as one file of a crowd platform."""

    build: str
    assignments: tuple[Assignment, ...] = field(repr=False)
    origin: str = ""

    @property
    def digest(self) -> str:
        """A hash of all answers, independent of their order."""
        rows = sorted(
            json.dumps([answer.task, answer.worker, sorted(answer.selected), answer.seconds])
            for answer in self.assignments
        )
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()


class AnswerCollection(Collection[AnswerBatch, None]):
    """The batches of answers of builds; the name of a batch is its digest, so that the same file is stored once."""

    kind = "builds"

    def names_of(self, batch: AnswerBatch, _context: None) -> tuple[str, ...]:
        """The build and the digest."""
        return batch.build, _ANSWERS + batch.digest[:_DIGITS]

    def refusal(self, batch: AnswerBatch, _context: None) -> str:
        """The error for other answers with the same digest."""
        return f"other answers are stored as {self.path(*self.names_of(batch, None))}"

    def write(self, batch: AnswerBatch, _context: None, file: BinaryIO) -> None:
        """Write one row per answered task."""
        rows = batch.assignments
        table = pa.table(
            {
                "task": pa.array([row.task for row in rows], pa.string()),
                "worker": pa.array([row.worker for row in rows], pa.string()),
                "selected": pa.array([sorted(row.selected) for row in rows], pa.list_(pa.string())),
                "seconds": pa.array([row.seconds for row in rows], pa.float64()),
            }
        )
        meta = {
            PLACE: place_of(self.kind, *self.names_of(batch, None)),
            "origin": batch.origin,
            "digest": batch.digest,
        }
        write_parquet(table, meta, file)

    def batches(self, build: str) -> tuple[str, ...]:
        """The names of the batches of a build."""
        return tuple(name for name in self.names(build) if name.startswith(_ANSWERS))

    def read_batch(self, build: str, name: str) -> AnswerBatch:
        """Read a batch by its name."""
        table, meta = read_parquet(self.path(build, name))
        return AnswerBatch(build, tuple(_assignments(table)), meta["origin"])

    def iterate(self, build: str) -> Iterator[Assignment]:
        """All answers of a build, batch by batch, without keeping them."""
        for name in self.batches(build):
            yield from _assignments(read_parquet(self.path(build, name))[0])

    def read(self, build: str) -> tuple[Assignment, ...]:
        """All answers of a build, batch by batch."""
        return tuple(self.iterate(build))


def _assignments(table: pa.Table) -> Iterator[Assignment]:
    selected = table["selected"].combine_chunks()
    images, ends = _shared_texts(pa.chunked_array([selected.flatten()], pa.string())), [0]
    ends += np.cumsum(selected.value_lengths().to_numpy(zero_copy_only=False)).tolist()
    rows = zip(_shared_texts(table["task"]), _shared_texts(table["worker"]), table["seconds"].to_pylist(), strict=True)
    for number, (task, worker, seconds) in enumerate(rows):
        yield Assignment(task, worker, frozenset(images[ends[number] : ends[number + 1]]), seconds)


def _shared_texts(column: pa.ChunkedArray) -> list[str]:
    """The texts of a column; equal ones are the same object, which takes less memory."""
    encoded = column.combine_chunks().dictionary_encode()
    texts: list[str] = np.array(encoded.dictionary.to_pylist(), dtype=object)[encoded.indices.to_numpy()].tolist()
    return texts


@dataclass(frozen=True)
class StoredRevision:
    """A drawn set of a build, by its number; ``settings`` are the options of the strategy.

    ``answers`` are the names of the batches that were stored when it was drawn; None before it is stored, and if the
    file does not record them.
    """

    build: str
    number: int
    sample: Sample
    settings: dict[str, Any] = field(default_factory=dict)
    answers: tuple[str, ...] | None = None

    @property
    def digest(self) -> str:
        """A hash of the strategy, its settings and the drawn images."""
        content = [self.sample.strategy.value, self.sample.seed, self.settings, list(self.sample.examples)]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _batches(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


class RevisionCollection(Collection[StoredRevision, None]):
    """The revisions of builds, numbered from 0."""

    kind = "builds"

    def names_of(self, revision: StoredRevision, _context: None) -> tuple[str, ...]:
        """The build and the number."""
        return revision.build, f"{_REVISION}{revision.number:04}"

    def refusal(self, revision: StoredRevision, _context: None) -> str:
        """The error for another revision with the same number."""
        return f"build {revision.build} has another revision {revision.number} already"

    def write(self, revision: StoredRevision, _context: None, file: BinaryIO) -> None:
        """Write the drawn images in their order, then the excluded ones with their reasons, and the answers so far."""
        sample = revision.sample
        borrowed = {image: bin_ for of_class in sample.classes for image, bin_ in of_class.borrowed.items()}
        excluded = [(image, c.class_id, why.value) for c in sample.classes for image, why in c.excluded.items()]
        count = len(excluded)
        table = pa.table(
            {
                "image": pa.array(
                    [*(image for image, _ in sample.examples), *(row[0] for row in excluded)], pa.string()
                ),
                "class": pa.array([*(name for _, name in sample.examples), *(row[1] for row in excluded)], pa.string()),
                "excluded": pa.array([*[None] * len(sample.examples), *(row[2] for row in excluded)], pa.string()),
                "stands_for": pa.array(
                    [*(borrowed.get(image) for image, _ in sample.examples), *[None] * count], pa.string()
                ),
            }
        )
        meta = {
            PLACE: place_of(self.kind, *self.names_of(revision, None)),
            "strategy": sample.strategy.value,
            "seed": sample.seed,
            "settings": revision.settings,
            "answers": AnswerCollection(self.root).batches(revision.build),
            "classes": {c.class_id: [dict(c.targets), list(c.problems)] for c in sample.classes},
            "digest": revision.digest,
        }
        write_parquet(table, meta, file)

    def numbers(self, build: str) -> list[int]:
        """The numbers of the stored revisions of a build, ascending."""
        return [int(name.removeprefix(_REVISION)) for name in self.names(build) if name.startswith(_REVISION)]

    def read(self, build: str, number: int) -> StoredRevision:
        """Read a revision by its number; raise if there is none."""
        if number not in self.numbers(build):
            raise UnknownName(f"revision of {build}", str(number), list(map(str, self.numbers(build))))
        path = self.path(build, f"{_REVISION}{number:04}")
        table, meta = read_parquet(path)
        drawn: list[tuple[str, str]] = []
        images: dict[str, list[str]] = {class_id: [] for class_id in meta["classes"]}
        excluded: dict[str, dict[str, Exclusion]] = {class_id: {} for class_id in meta["classes"]}
        borrowed: dict[str, dict[str, str]] = {class_id: {} for class_id in meta["classes"]}
        for row in table.to_pylist():
            image, class_id = row["image"], row["class"]
            if row["excluded"] is not None:
                excluded[class_id][image] = Exclusion(row["excluded"])
                continue
            drawn.append((image, class_id))
            images[class_id].append(image)
            if row["stands_for"] is not None:
                borrowed[class_id][image] = row["stands_for"]
        classes = tuple(
            ClassSample(
                class_id, tuple(images[class_id]), excluded[class_id], targets, borrowed[class_id], tuple(problems)
            )
            for class_id, (targets, problems) in meta["classes"].items()
        )
        sample = Sample(Strategy(meta["strategy"]), meta["seed"], tuple(drawn), classes)
        return StoredRevision(build, number, sample, meta["settings"], _batches(meta.get("answers")))
