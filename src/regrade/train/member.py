"""One member of an ensemble: its training, the files that let it resume, and its scores after every epoch."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from regrade.core import ClassSpace, MismatchError, ScoreKind
from regrade.core.arrays import FloatArray
from regrade.models.trained_model import load_weights, network_files, packed_network, read_network_file
from regrade.store import CheckpointWriter, Store, replace_file
from regrade.store.locks import locked_without_waiting
from regrade.train.evaluation import scores_of
from regrade.train.images import ImageTensors
from regrade.train.loop import DivergedTraining, Training
from regrade.train.plan import TrainingPlan

_EVALUATED = 500  # images per batch, on a CPU
_EVALUATED_ON_GPU = 5000


@dataclass(frozen=True)
class EpochReport:
    """An epoch of a member: its seconds, and loss and accuracy on the training images while the weights changed.

    ``right`` are the right predictions after the epoch and the number of labels, of every set that was scored.
    ``group_weights`` are those of GroupDRO after the epoch. Epoch 0 is the untrained network.
    """

    seed: int
    epoch: int
    seconds: float
    loss: float | None = None
    accuracy: float | None = None
    right: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    group_weights: tuple[float, ...] = ()


class MemberTraining:
    """The training of one seed; it holds the lock of its folder until it is closed.

    ``tensors`` are the images of all sets by name; those of ``training_set`` are trained with. A part of a training has
    no scores after epochs.
    """

    def __init__(
        self, store: Store, plan: TrainingPlan, training_set: str, tensors: Mapping[str, ImageTensors], seed: int
    ) -> None:
        self.plan, self.seed = plan, seed
        self.folder = plan.member_folder(store.root, seed)
        self.curve: list[EpochReport] = []
        self._training_set, self._tensors = training_set, tensors
        self._cleanup = ExitStack()
        self._cleanup.enter_context(locked_without_waiting(self.folder))
        self._training = Training(
            plan.network.new_network,
            tensors[training_set],
            plan.hyperparameters,
            seed=seed,
            batch_loss=plan.remedy.batch_loss() if plan.remedy else None,
            weights=plan.remedy.image_weights() if plan.remedy else None,
        )
        self._writers = {
            name: ensemble_writer(store, plan.name, name, plan.network.class_space)
            for name in plan.test_sets
            if not plan.part and not store.ensembles.has(name, plan.name)  # a finished one has all scores
        }
        self._resume()

    def close(self) -> None:
        """Release the lock."""
        self._cleanup.close()

    @property
    def is_done(self) -> bool:
        """Whether all epochs are trained."""
        return self._training.epoch == self.plan.hyperparameters.epochs

    @property
    def is_warm(self) -> bool:
        """Whether the member can be trained next to others."""
        return self._training.is_warm

    def train_epoch(self) -> EpochReport:
        """Train one epoch, then store the state, then the scores: what a killed run leaves is complete."""
        started = time.perf_counter()
        result = self._training.train_epoch()
        scores = self._scores()
        right = {name: self._tensors[name].right(values) for name, values in scores.items()}
        seconds = time.perf_counter() - started
        self.curve.append(
            EpochReport(self.seed, result.epoch, seconds, result.loss, result.accuracy, right, result.group_weights)
        )
        self._save()
        self._add(scores)
        return self.curve[-1]

    def _resume(self) -> None:
        """Continue after the last stored epoch, or begin with the scores of the untrained network."""
        states = network_files(self.folder, "state")
        if states:
            path = list(states.values())[-1]
            network, content = read_network_file(path)
            if network != self.plan.network:
                raise MismatchError(
                    f"{path} is a {network.architecture} for {network.class_space.name}, not a "
                    f"{self.plan.network.architecture} for {self.plan.network.class_space.name}: remove it"
                )
            architecture = network.architecture
            load_weights(self._training.network, content["network"], name=str(path), architecture=architecture)
            self._training.resume(content)
            self.curve = [_report(plain) for plain in content["curve"]]
        started = time.perf_counter()
        if not states or self._has_unstored_scores():
            scores = self._scores()
            self._add(scores)
            if not states:
                right = {name: self._tensors[name].right(values) for name, values in scores.items()}
                self.curve = [EpochReport(self.seed, 0, time.perf_counter() - started, right=right)]

    def _has_unstored_scores(self) -> bool:
        epoch = self._training.epoch
        has_all = all(writer.has(seed=self.seed, epoch=epoch) for writer in self._writers.values())
        return self.plan.is_scored(epoch) and not has_all

    def _scores(self) -> dict[str, FloatArray]:
        """The scores of every set that is to be scored now; at the end, also of the training set."""
        names = self.plan.test_sets if self.is_done or self.plan.is_scored(self._training.epoch) else ()
        if self.is_done:
            names = (*dict.fromkeys((*names, self._training_set)),)
        size = _EVALUATED_ON_GPU if self._training.device.type == "cuda" else _EVALUATED
        scores = {name: scores_of(self._training.network, self._tensors[name].batches(size)) for name in names}
        epoch = self._training.epoch
        if not all(np.isfinite(values).all() for values in scores.values()):
            remedy = f"choose a smaller learning rate; what was stored until epoch {epoch - 1} is kept"
            raise DivergedTraining(
                f"scores of seed {self.seed} after epoch {epoch} are not finite numbers: "
                f"{remedy if epoch else 'the untrained network returns NaN or infinity'}"
            )
        return scores

    def _add(self, scores: Mapping[str, FloatArray]) -> None:
        epoch = self._training.epoch
        for name, writer in self._writers.items():
            if self.plan.is_scored(epoch) and not writer.has(seed=self.seed, epoch=epoch):
                writer.add(scores[name], seed=self.seed, epoch=epoch)

    def _save(self) -> None:
        """Store the state, without what only further epochs need after the last, and remove the earlier one."""
        state = self._training.state()
        weights = {key: state[key] for key in ("epoch", "network")}
        kept = {**(weights if self.is_done else state), "curve": [asdict(report) for report in self.curve]}
        earlier = network_files(self.folder, "state").values()
        path = self._write("state", kept)
        if self.plan.keep_weights and self.plan.is_scored(self._training.epoch):
            self._write("weights", weights)
        for old in earlier:
            if old != path:
                old.unlink(missing_ok=True)

    def _write(self, kind: str, content: Mapping[str, Any]) -> Path:
        name, data = packed_network(self.plan.network, content)
        path = self.folder / f"{kind}-{name}"
        replace_file(path, data)
        return path


def _report(plain: Mapping[str, Any]) -> EpochReport:
    right = {name: (int(counts[0]), int(counts[1])) for name, counts in plain["right"].items()}
    return EpochReport(**{**plain, "right": right, "group_weights": tuple(plain.get("group_weights", ()))})


def ensemble_writer(store: Store, ensemble: str, test_set: str, space: ClassSpace | None = None) -> CheckpointWriter:
    """The writer of an ensemble's logits on a test set; raise if there are unfinished scores that do not belong to it.

    ``space`` is the class space of the scores (default: that of the test set).
    """
    writer = store.ensembles.writer(store.test_set(test_set), ensemble, ScoreKind.LOGITS, space)
    writer.refuse_mixed()
    return writer
