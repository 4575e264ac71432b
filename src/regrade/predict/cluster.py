"""Run one model on one test set on a cluster; only this process stores the workers' predictions."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
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
from regrade.predict.engine import EngineOptions, PredictionInput
from regrade.predict.job import ProgressCallback
from regrade.predict.predictor import Predictor, choose_runtime, engine_for, first_images
from regrade.predict.result import ModelRun
from regrade.predict.run import no_progress, predict_with
from regrade.predict.shared_pass import Progress, blocks_of
from regrade.predict.stored_pair import match_stored_options
from regrade.store import Part, Store, joined_parts
from regrade.testsets import open_images
from regrade.testsets.check import content_digest

_TASK_SIZE = 128  # examples per task of a worker, rounded to whole batches


@dataclass(frozen=True)
class NamedModel:
    """The name ``prefix:name`` of a model and the settings to load it with."""

    name: str
    settings: Settings


@dataclass(frozen=True)
class WorkerInfo:
    """The description of a worker: its model's metadata, and whether it can read the images at their location."""

    version: str
    metadata: ModelMetadata
    note: str
    can_read_images: bool


class Worker:
    """A process on a machine of the cluster: a loaded model that predicts a few examples at a time."""

    def __init__(
        self, model: NamedModel, options: EngineOptions, source: ImageSource, images: Mapping[int, StoredImage]
    ) -> None:
        choice = choose_runtime(load_model(model.name, model.settings), source, options, images)
        self._engine = engine_for(choice.model, options)
        self._info = WorkerInfo(version("regrade"), self._engine.metadata, choice.note, _can_read(source, images))

    def hello(self) -> WorkerInfo:
        """The description of this worker."""
        return self._info

    def find_batch_size(self) -> int:
        """Number of images per batch."""
        return self._engine.find_batch_size()

    def part(
        self, examples: Sequence[str], source: ImageSource, shipped: Sequence[StoredImage | str] | None, batch: int
    ) -> Part:
        """The predictions of some examples; their images are ``shipped`` if this worker cannot read them."""
        images = open_images(source) if shipped is None else _Shipped(shipped)
        inputs = PredictionInput(examples, source, images)
        (part,) = self._engine.parts(inputs, [range(len(examples))], batch=batch, progress=lambda _: None)
        return part


def predict_on(
    cluster: RayCluster,
    model: NamedModel,
    store: Store,
    test_set: TestSet,
    options: EngineOptions,
    *,
    progress: ProgressCallback = no_progress,
) -> ModelRun:
    """As `predict`, with a model that the workers of a cluster load."""
    source = store.images.read(test_set)
    options = match_stored_options(store, test_set, model.name, options)
    with _started_workers(cluster, model, test_set, source, options) as predictor:
        pair = predict_with(lambda _: predictor, predictor.metadata, store, test_set, options, progress=progress)
        return replace(pair, workers_lost=predictor.lost)


@contextmanager
def _started_workers(
    cluster: RayCluster, model: NamedModel, test_set: TestSet, source: ImageSource, options: EngineOptions
) -> Iterator[_ClusterPredictor]:
    device = model.settings.device
    if device is Device.CPU and not model.settings.threads:
        model = replace(model, settings=replace(model.settings, threads=1))  # every worker has one CPU
    images = first_images(source)
    beginning = replace(source, locations=source.locations[: max(images, default=-1) + 1])
    make = partial(Worker, model, options, beginning, images)
    consistency = _ConsistencyCheck()
    with cluster.pool(make, gpus=device is Device.CUDA, on_ready=consistency.check) as crew:
        yield _ClusterPredictor(crew, test_set, source)


class _ConsistencyCheck:
    """All workers must have the same model and runtime: predictions must not depend on which worker computes them."""

    def __init__(self) -> None:
        self._first: WorkerInfo | None = None

    def check(self, info: WorkerInfo) -> None:
        if info.version != version("regrade"):
            raise ExecutorError(
                f"a worker has regrade {info.version}, this machine has {version('regrade')}: install the same version"
            )
        if self._first is None:
            self._first = info
        for verb, expected, actual in (
            ("runs the model by", self._first.metadata.runtime, info.metadata.runtime),
            ("has weights", self._first.metadata.spec.weights_hash, info.metadata.spec.weights_hash),
            ("has code", self._first.metadata.spec.code_hash, info.metadata.spec.code_hash),
        ):
            if expected != actual:
                raise ExecutorError(
                    f"one worker {verb} {expected}, another {verb} {actual}: set up all machines in the same way"
                )


class _ClusterPredictor(Predictor):
    """The workers of a cluster on one test set; waits for the first of them."""

    def __init__(self, crew: RayWorkerPool, test_set: TestSet, source: ImageSource) -> None:
        self._crew = crew
        self._test_set = test_set
        self._source = source
        self._fingerprints: dict[range, Fingerprints] = {}
        first: WorkerInfo = crew.worker_info(crew.first())
        self.metadata = first.metadata
        self._note = first.note

    @property
    def note(self) -> str:
        return self._note

    @property
    def lost(self) -> int:
        return self._crew.lost

    def find_batch_size(self) -> int:
        return int(self._crew.ask("find_batch_size"))

    def parts(self, ranges: Sequence[range], *, batch: int, progress: Progress) -> Generator[Part, None, None]:
        size = max(_TASK_SIZE // batch, 1) * batch
        range_of = {task: positions for positions in ranges for task in blocks_of(positions, size)}
        finished: dict[range, dict[int, Part]] = {positions: {} for positions in ranges}
        for task, part in run_tasks(self._crew, range_of, "part", partial(self._arguments, batch)):
            positions = range_of[task]
            finished[positions][task.start] = _shifted(self._with_fingerprints(part, task), task.start)
            progress(len(task))
            if sum(map(len, finished[positions].values())) == len(positions):
                pieces = finished.pop(positions)
                yield joined_parts([pieces[start] for start in sorted(pieces)])

    def _arguments(self, batch: int, slot: WorkerSlot, task: range) -> tuple[Any, ...]:
        examples = self._test_set.ids[task.start : task.stop]
        source = replace(self._source, locations=self._source.locations[task.start : task.stop])
        images, fingerprints = open_images(source), no_fingerprints(len(task))
        stamps = [images.stamp(position) or UNKNOWN_STAMP for position in range(len(task))]
        fingerprints["size"], fingerprints["modified"] = np.array(stamps).T
        self._fingerprints[task] = fingerprints
        if self._crew.worker_info(slot).can_read_images:
            return examples, source, None, batch
        return (
            examples,
            source,
            [_image_to_ship(images, position, fingerprints) for position in range(len(task))],
            batch,
        )

    def _with_fingerprints(self, part: Part, task: range) -> Part:
        """A worker's part with the file stamps of this machine, on which later runs will check the images."""
        fingerprints = self._fingerprints.pop(task)
        digests = fingerprints["digest"]
        fingerprints["digest"] = np.where(digests != 0, digests, part.fingerprints["digest"])
        return replace(part, fingerprints=fingerprints)


class _Shipped(Images):
    """Images that came with the task; a string is the reason why an image could not be read."""

    def __init__(self, images: Sequence[StoredImage | str]) -> None:
        self._images = images

    def read(self, position: int) -> StoredImage:
        image = self._images[position]
        if isinstance(image, str):
            raise UnreadableImage(image)
        return image


def _image_to_ship(images: Images, position: int, fingerprints: Fingerprints) -> StoredImage | str:
    """An image, or the reason why it cannot be read; the digest of its stored content is added to the fingerprints."""
    try:
        stored = images.stored(position)
        fingerprints["digest"][position] = content_digest(stored)
        return images.rendered(position, stored)
    except UnreadableImage as error:
        return str(error)


def _can_read(source: ImageSource, images: Mapping[int, StoredImage]) -> bool:
    """Whether this machine can read the same images at the same location."""
    if not images or not source.path.exists():
        return False
    try:
        opened = open_images(source)
        return all(np.array_equal(opened.read(position), image) for position, image in images.items())
    except (RegradeError, OSError):
        return False


def _shifted(part: Part, start: int) -> Part:
    """A part whose positions start at ``start`` instead of 0."""
    unreadable = {start + position: reason for position, reason in part.unreadable.items()}
    return replace(part, start=start, unreadable=unreadable)
