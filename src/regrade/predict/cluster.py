"""One model on one test set by the workers of a cluster; what they answer is stored by this process alone."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import version
from typing import Any

import numpy as np

from regrade.core import (
    UNKNOWN_STAMP,
    ExecutorError,
    Fingerprints,
    Images,
    ImageSource,
    RegradeError,
    StoredImage,
    TestSet,
    UnreadableImage,
    no_fingerprints,
)
from regrade.executors import RayCluster, RayWorkerPool, WorkerSlot, run_tasks
from regrade.models import Device, ModelMetadata, Settings, load_model
from regrade.predict.engine import EngineOptions, PredictionEngine, PredictionInput, Progress
from regrade.predict.image_check import content_digest
from regrade.predict.result import ModelRun
from regrade.predict.run import ProgressCallback, predict_by, unwatched
from regrade.predict.runtime_choice import fastest, first_images
from regrade.predict.stored_pair import keeping_as_stored
from regrade.predict.workforce import Workforce
from regrade.store import Part, Store, joined_parts
from regrade.testsets import open_images

_TASK = 128  # examples a worker is given at a time, rounded to whole batches


@dataclass(frozen=True)
class NamedModel:
    """A model that others are to load: ``prefix:name``, and how."""

    name: str
    settings: Settings


@dataclass(frozen=True)
class WorkerInfo:
    """What a worker says of itself: its model's card, and whether it can read the images where they are."""

    version: str
    card: ModelMetadata
    note: str
    sees_images: bool


class Worker:
    """On a machine of the cluster: a loaded model that answers for a few examples at a time."""

    def __init__(
        self, model: NamedModel, how: EngineOptions, source: ImageSource, images: Mapping[int, StoredImage]
    ) -> None:
        chosen = fastest(load_model(model.name, model.settings), source, images, how)
        self._engine = PredictionEngine(chosen.model, how)
        self._hello = WorkerInfo(version("regrade"), self._engine.card, chosen.note, _sees(source, images))

    def hello(self) -> WorkerInfo:
        """What this worker says of itself."""
        return self._hello

    def find_batch(self) -> int:
        """How many images a batch."""
        return self._engine.find_batch()

    def part(
        self, examples: Sequence[str], source: ImageSource, shipped: Sequence[StoredImage | str] | None, batch: int
    ) -> Part:
        """The answers for some examples; their images are ``shipped`` where they cannot be read here."""
        images = open_images(source) if shipped is None else _Shipped(shipped)
        asked = PredictionInput(examples, source, images)
        (part,) = self._engine.parts(asked, [range(len(examples))], batch=batch, progress=lambda _: None)
        return part


def predict_on(
    cluster: RayCluster,
    model: NamedModel,
    store: Store,
    test_set: TestSet,
    how: EngineOptions,
    *,
    watch: ProgressCallback = unwatched,
) -> ModelRun:
    """As `predict`, with a model that the workers load."""
    source = store.images(test_set)
    how = keeping_as_stored(store, test_set, model.name, how)
    with _hired(cluster, model, test_set, source, how) as workforce:
        pair = predict_by(lambda _: workforce, workforce.card, store, test_set, how, watch=watch)
        return replace(pair, workers_lost=workforce.lost)


@contextmanager
def _hired(
    cluster: RayCluster, model: NamedModel, test_set: TestSet, source: ImageSource, how: EngineOptions
) -> Iterator[_Workers]:
    device = model.settings.device
    if device is Device.CPU and not model.settings.threads:
        model = replace(model, settings=replace(model.settings, threads=1))  # every worker has one CPU
    images = first_images(source)
    beginning = replace(source, locations=source.locations[: max(images, default=-1) + 1])
    make = partial(Worker, model, how, beginning, images)
    alike = _Alike()
    with cluster.pool(make, gpus=device is Device.CUDA, on_ready=alike.check) as crew:
        yield _Workers(crew, test_set, source)


class _Alike:
    """All workers must say the same of the model: the answers may not depend on who gave them."""

    def __init__(self) -> None:
        self._first: WorkerInfo | None = None

    def check(self, hello: WorkerInfo) -> None:
        if hello.version != version("regrade"):
            raise ExecutorError(
                f"a worker has regrade {hello.version}, here it is {version('regrade')}: install the same"
            )
        if self._first is None:
            self._first = hello
        for what, one, other in (
            ("runs it by", self._first.card.runtime, hello.card.runtime),
            ("has weights", self._first.card.spec.weights_hash, hello.card.spec.weights_hash),
            ("has code", self._first.card.spec.code_hash, hello.card.spec.code_hash),
        ):
            if one != other:
                raise ExecutorError(f"one worker {what} {one}, another {what} {other}: make all machines alike")


class _Workers(Workforce):
    """The workers of a cluster on one test set."""

    def __init__(self, crew: RayWorkerPool, test_set: TestSet, source: ImageSource) -> None:
        self._crew = crew
        self._test_set = test_set
        self._source = source
        self._noted: dict[range, Fingerprints] = {}

    @property
    def lost(self) -> int:
        return self._crew.lost

    @property
    def card(self) -> ModelMetadata:
        return self._hello.card

    @property
    def note(self) -> str:
        return self._hello.note

    def find_batch(self) -> int:
        return int(self._crew.ask("find_batch"))

    def parts(self, wanted: Sequence[range], *, batch: int, progress: Progress) -> Generator[Part, None, None]:
        size = max(_TASK // batch, 1) * batch
        part_of = {task: positions for positions in wanted for task in _tasks(positions, size)}
        answered: dict[range, dict[int, Part]] = {positions: {} for positions in wanted}
        for task, answers in run_tasks(self._crew, part_of, "part", partial(self._arguments, batch)):
            positions = part_of[task]
            answered[positions][task.start] = _moved(self._with_noted(answers, task), task.start)
            progress(len(task))
            if sum(map(len, answered[positions].values())) == len(positions):
                pieces = answered.pop(positions)
                yield joined_parts([pieces[start] for start in sorted(pieces)])

    @cached_property
    def _hello(self) -> WorkerInfo:
        hello: WorkerInfo = self._crew.worker_info(self._crew.first())
        return hello

    def _arguments(self, batch: int, seat: WorkerSlot, task: range) -> tuple[Any, ...]:
        examples, places = (self._test_set.ids[task.start : task.stop], self._source.locations[task.start : task.stop])
        source = replace(self._source, locations=places)
        images, noted = open_images(source), no_fingerprints(len(task))
        stamps = [images.stamp(position) or UNKNOWN_STAMP for position in range(len(task))]
        noted["size"], noted["modified"] = np.array(stamps).T
        self._noted[task] = noted
        if self._crew.worker_info(seat).sees_images:
            return examples, source, None, batch
        return examples, source, [_shipped(images, position, noted) for position in range(len(task))], batch

    def _with_noted(self, part: Part, task: range) -> Part:
        """A worker's part, its images' files as this machine sees them: here they will be looked at again."""
        noted = self._noted.pop(task)
        noted["digest"] = np.where(noted["digest"] != 0, noted["digest"], part.fingerprints["digest"])
        return replace(part, fingerprints=noted)


class _Shipped(Images):
    """Images that came with the task; a text stands for one that could not be read, and says why."""

    def __init__(self, images: Sequence[StoredImage | str]) -> None:
        self._images = images

    def read(self, position: int) -> StoredImage:
        image = self._images[position]
        if isinstance(image, str):
            raise UnreadableImage(image)
        return image


def _shipped(images: Images, position: int, noted: Fingerprints) -> StoredImage | str:
    """An image to ship, or the reason why there is none; the digest of its stored content is noted."""
    try:
        stored = images.stored(position)
        noted["digest"][position] = content_digest(stored)
        return images.rendered(position, stored)
    except UnreadableImage as error:
        return str(error)


def _sees(source: ImageSource, images: Mapping[int, StoredImage]) -> bool:
    """Whether the same images can be read here, at the same place."""
    if not images or not source.path.exists():
        return False
    try:
        opened = open_images(source)
        return all(np.array_equal(opened.read(i), given) for i, given in images.items())
    except (RegradeError, OSError):
        return False


def _tasks(positions: range, size: int) -> Iterator[range]:
    for start in range(positions.start, positions.stop, size):
        yield range(start, min(start + size, positions.stop))


def _moved(part: Part, start: int) -> Part:
    """A part that counted from 0, where it belongs."""
    unreadable = {start + position: reason for position, reason in part.unreadable.items()}
    return replace(part, start=start, unreadable=unreadable)
