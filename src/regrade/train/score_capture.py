"""Capture the scores of a network during any training, epoch by epoch, as a member of an ensemble."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from regrade.core import AlreadyStored, ClassSpace, InputError, Preprocessing, TestSet
from regrade.core.arrays import FloatArray
from regrade.core.names import refuse_text
from regrade.models.torch_runtime import require_torch
from regrade.store import CheckpointWriter, Store
from regrade.studies.loading import resolve_class_space
from regrade.studies.methods import HasStore
from regrade.train.evaluation import inputs_of, scores_of
from regrade.train.images import ImageTensors
from regrade.train.member import ensemble_writer
from regrade.train.ranks import ProcessRank
from regrade.train.read_images import read_images

Batches = Iterable[Any]
"""Batches of a network's inputs, in the order of a test set; they are iterated over after every epoch."""


@dataclass(frozen=True)
class _CapturedSet:
    """A test set, its inputs, and the writer of its scores."""

    test_set: TestSet
    batches: Batches
    writer: CheckpointWriter

    def scores(self, model: Any, rank: ProcessRank) -> FloatArray:
        """Shape (n, c): the scores of all images, computed by all processes."""
        has_images = rank.number < len(self.test_set)
        part = scores_of(model, self.batches, name=f"the network on {self.test_set.name}") if has_images else None
        scores = rank.whole(part)
        if not np.isfinite(scores).all():
            raise InputError(f"the network returned NaN or infinity on {self.test_set.name}: the training has diverged")
        return scores


class ScoreCapture:
    """Scores of one member of an ensemble on test sets, stored while it is trained: call `epoch` after every epoch.

    The first call is epoch 1. Call it with ``epoch=0`` before the training too, if the scores of the untrained network
    belong to the study. The first epoch and every ``every``-th are stored, and what is stored is not computed again.
    """

    def __init__(
        self, store: Store, captured: Sequence[_CapturedSet], seed: int | str, every: int, rank: ProcessRank
    ) -> None:
        self.store = store
        self.seed = seed
        self.every = every
        self._captured = captured
        self._rank = rank
        self._epoch = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._captured = ()  # frees the images

    def epoch(self, model: Any, epoch: int | None = None) -> bool:
        """Store the scores after an epoch (default: the one after that of the last call); whether any were computed.

        In a distributed training every process has to call it.
        """
        self._rank.check()
        self._epoch = self._epoch + 1 if epoch is None else epoch
        missing = [captured for captured in self._captured if self._is_due(captured.writer)]
        due = self._rank.agreed([captured.test_set.name for captured in missing])
        unwrapped = _without_wrapper(model)
        for captured in self._captured:
            if captured.test_set.name in due:
                scores = captured.scores(unwrapped, self._rank)
                if self._rank.is_first:
                    captured.writer.add(scores, seed=self.seed, epoch=self._epoch)
        return bool(due)

    def _is_due(self, writer: CheckpointWriter) -> bool:
        """Whether an epoch is to be stored: the first (0 if it was stored, otherwise 1) or a multiple of ``every``."""
        is_first = self._epoch == 1 and not writer.has(seed=self.seed, epoch=0)
        return (is_first or self._epoch % self.every == 0) and not writer.has(seed=self.seed, epoch=self._epoch)

    def finish(self) -> bool:
        """Store the ensemble once all its seeds are captured; whether it is new. Seeds need the same epochs."""
        self._rank.check()
        if not self._rank.is_first:
            return False
        return any([captured.writer.finish() for captured in self._captured])


def capture(
    workspace: str | Path | HasStore,
    *,
    ensemble: str,
    seed: int | str,
    test_sets: Sequence[str] | Mapping[str, Batches],
    every: int = 1,
    preprocessing: Preprocessing | None = None,
    classes: str | Path | ClassSpace | None = None,
    batch: int = 256,
) -> ScoreCapture:
    """Capture a training for a workspace, given by its folder or opened: the scores of one member on test sets.

    ``test_sets`` are names of stored test sets, whose images are read once with a ``preprocessing``; or names with
    batches of your own inputs, in the order of the test set, such as a data loader that does not shuffle. ``classes``
    is the class space of the scores (default: that of the test set). ``every`` k stores every k-th epoch.
    """
    require_torch("regrade.capture", "torch")
    refuse_text(tuple(test_sets) if isinstance(test_sets, Mapping) else test_sets, "test_sets")
    if not test_sets:
        raise InputError("name at least one test set to capture scores on")
    if every < 1 or batch < 1:
        raise InputError(f"every and batch must be at least 1, got {every} and {batch}")
    store = Store.open(Path(workspace)) if isinstance(workspace, str | Path) else workspace.store
    space = None if classes is None else resolve_class_space(store, classes)
    rank = ProcessRank.current()
    captured = []
    for name in test_sets:
        target = store.test_set(name)
        if _is_stored(store, target, ensemble, seed):
            continue
        writer = ensemble_writer(store, ensemble, name, space)
        own = test_sets[name] if isinstance(test_sets, Mapping) else None
        if own is None:
            batches: Batches = _read_batches(store, target, preprocessing, rank, batch)
        else:
            batches = _OwnBatches(own, target, rank)
        captured.append(_CapturedSet(target, batches, writer))
    return ScoreCapture(store, captured, seed, every, rank)


def _is_stored(store: Store, test_set: TestSet, ensemble: str, seed: int | str) -> bool:
    """Whether the ensemble is finished with this seed; raise if it is finished without it."""
    if not store.ensembles.has(test_set.name, ensemble):
        return False
    members = store.ensembles.manifest(test_set.name, ensemble).members
    if str(seed) not in members:
        raise AlreadyStored(
            f"ensemble {ensemble!r} on {test_set.name} is finished with the seeds {', '.join(members)}: choose another "
            f"name, or run {store.ensembles.removal_command(test_set.name, ensemble)} first"
        )
    return True


def _read_batches(
    store: Store, test_set: TestSet, preprocessing: Preprocessing | None, rank: ProcessRank, batch: int
) -> Batches:
    if preprocessing is None:
        raise InputError(f"give the preprocessing of the images of {test_set.name}, or batches of your own inputs")
    positions = range(rank.number, len(test_set), rank.count)
    decoded = read_images(store, test_set, preprocessing, positions)
    return _ReadBatches(
        ImageTensors.of(decoded.pixels, test_set.labels[rank.number :: rank.count], preprocessing), batch
    )


@dataclass(frozen=True)
class _ReadBatches:
    """The normalized images of a test set in batches, as often as they are needed."""

    images: ImageTensors
    size: int

    def __iter__(self) -> Iterator[Any]:
        return self.images.batches(self.size)


@dataclass(frozen=True)
class _OwnBatches:
    """The part of one process in the batches of a user."""

    batches: Batches
    test_set: TestSet
    rank: ProcessRank

    def __post_init__(self) -> None:
        if isinstance(self.batches, Iterator):
            raise InputError(f"the inputs of {self.test_set.name} can be read only once: give a list or a data loader")

    def __iter__(self) -> Iterator[Any]:
        start = 0
        for batch in self.batches:
            inputs = dict(batch) if isinstance(batch, Mapping) else inputs_of(batch)
            rows = len(next(iter(inputs.values())) if isinstance(inputs, dict) else inputs)
            if self.rank.has_part(rows, start):
                yield self.rank.part(inputs, start)
            start += rows
        if start != len(self.test_set):
            raise InputError(
                f"the inputs of {self.test_set.name} are {start:,} images, expected {len(self.test_set):,}"
            )


def _without_wrapper(model: Any) -> Any:
    """The network inside a wrapper for distributed training, which would wait for the other processes."""
    import torch.distributed as processes

    if not processes.is_available():
        return model
    from torch.nn.parallel import DistributedDataParallel

    return model.module if isinstance(model, DistributedDataParallel) else model
