"""Store the predictions of trained members on test sets, as `regrade predict --keep scores` would."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from regrade.core import AlreadyStored, ModelSpec, Predictions, TestSet
from regrade.core.arrays import FloatArray, IntArray
from regrade.core.predictions import STORED_K
from regrade.metrics import ties_across, top_k_classes
from regrade.models import Device, Model, Settings, fastest_resizer
from regrade.models.trained_model import load_trained, network_files
from regrade.store import PredictionSource, Store, manifest_of
from regrade.train.evaluation import within_half_precision
from regrade.train.images import ImageTensors
from regrade.train.plan import TrainingPlan
from regrade.train.training_data import LabeledImages, TrainingData

_BATCH = 500


@dataclass(frozen=True, eq=False)
class PredictedImages:
    """The positions (n,) of images of a test set that the network of one ``plan`` predicts; None: all images."""

    plan: TrainingPlan
    positions: IntArray | None = None


@dataclass(frozen=True)
class MemberPredictions:
    """Stores the predictions of the members of a training on its test sets, computed on a device.

    ``keep_features`` also stores the input of their last layer; a member needs a single network for that.
    """

    store: Store
    plan: TrainingPlan
    data: TrainingData
    device: Device
    keep_features: bool = False

    def add_all(self, seeds: Sequence[int]) -> None:
        """Store the predictions of every member on every test set of a training without parts."""
        for seed in seeds if self.plan.test_sets else ():
            self.add(seed, {name: [PredictedImages(self.plan)] for name in self.plan.test_sets})

    def add(self, seed: int, parts: Mapping[str, Sequence[PredictedImages]]) -> None:
        """Store the predictions of a member on test sets, each from networks for parts of its images.

        Predictions that are stored are kept; those of other weights raise.
        """
        plans = {part.plan.part: part.plan for predicted in parts.values() for part in predicted}
        settings = Settings(workspace=self.store.root.absolute(), device=self.device)
        networks = {part: load_trained(plan.network_name(seed), settings) for part, plan in sorted(plans.items())}
        spec = _spec(model_name(self.plan, seed), [model.spec for model in networks.values()], parts)
        for set_name, predicted in parts.items():
            test_set = self.store.test_set(set_name)
            if not _is_stored(self.store, spec, test_set, features=self.keep_features):
                own = [(networks[part.plan.part], part.positions) for part in predicted]
                scores = _scores(self.data.sets[set_name], own)
                self._store(test_set, scores, spec, own[0][0], note=_note(predicted))

    def scores(self, seed: int, plan: TrainingPlan, test_set: str) -> FloatArray:
        """Shape (n, c): the scores of the network of one part for all images of a test set."""
        settings = Settings(workspace=self.store.root.absolute(), device=self.device)
        return _scores(self.data.sets[test_set], [(load_trained(plan.network_name(seed), settings), None)])

    def _store(self, test_set: TestSet, scores: FloatArray, spec: ModelSpec, model: Model, *, note: str) -> None:
        best = top_k_classes(scores, k=min(STORED_K, scores.shape[1]))
        predictions = Predictions(
            spec.name,
            test_set.name,
            model.class_space.name,
            best,
            np.take_along_axis(scores, best, axis=1).astype(np.float32, copy=False),
            scores.astype(np.float16),
            score_kind=model.score_kind,
            features=_features(self.data.sets[test_set.name], model) if self.keep_features else None,
            fingerprints=self.data.sets[test_set.name].fingerprints,
            ties=ties_across(scores, best),
        )
        manifest = replace(
            manifest_of(predictions, test_set, model.class_space, PredictionSource()),
            model=spec,
            runtime=f"{model.runtime}, images by {fastest_resizer().runtime}",
            runtime_note=note,
        )
        self.store.add_predictions(test_set, [(predictions, manifest)], model.class_space)


def model_name(plan: TrainingPlan, seed: int) -> str:
    """The name of a member as a model; a training with parts has predictions under it, but no single network."""
    return f"trained:{plan.name}/seed-{seed}"


def refuse_stored_predictions(store: Store, plan: TrainingPlan, folders: Mapping[int, Path]) -> None:
    """Raise if a member without networks in its folder has predictions: those of a training that was removed."""
    for seed, folder in folders.items():
        for test_set in plan.test_sets:
            name = model_name(plan, seed)
            if not network_files(folder) and name in store.predictions.model_names(test_set):
                raise AlreadyStored(
                    f"predictions of {name} on {test_set} are stored, but its network is not: choose another name, or "
                    f"run {store.predictions.removal_command(test_set, name)} first"
                )


def _spec(name: str, specs: Sequence[ModelSpec], parts: Mapping[str, Sequence[PredictedImages]]) -> ModelSpec:
    """The record of a member: that of its network, or with a hash of all its networks and what each predicts."""
    if len(specs) == 1:
        return replace(specs[0], name=name)
    state = hashlib.sha256("\n".join(spec.weights_hash for spec in specs).encode())
    for set_name, predicted in parts.items():
        for part in predicted:
            positions = b"all" if part.positions is None else part.positions.astype("<i8").tobytes()
            state.update(f"{set_name} {part.plan.part} ".encode() + positions)
    return replace(specs[0], name=name, weights_hash=state.hexdigest())


def _is_stored(store: Store, spec: ModelSpec, test_set: TestSet, *, features: bool) -> bool:
    """Whether these predictions are stored; raise if they are of other weights or another set, or lack features."""
    if spec.name not in store.predictions.model_names(test_set.name):
        return False
    manifest = store.predictions.manifest(test_set.name, spec.name)
    if (manifest.model.weights_hash, manifest.test_set_digest) != (spec.weights_hash, test_set.digest):
        difference = "with other weights or for another version of the set"
    elif features and not manifest.features:
        difference = "without features"
    else:
        return True
    raise AlreadyStored(
        f"predictions of {spec.name} on {test_set.name} are stored {difference}: run "
        f"{store.predictions.removal_command(test_set.name, spec.name)}, then the same command again"
    )


def _scores(images: LabeledImages, parts: Sequence[tuple[Model, IntArray | None]]) -> FloatArray:
    """Shape (n, c): the scores of all images, each by its network."""
    scores = None
    for model, positions in parts:
        chosen = np.arange(len(images.labels)) if positions is None else positions
        own = _storable(np.concatenate([model.scores(batch) for batch in _batches(images, model, chosen)]))
        scores = np.empty((len(images.labels), own.shape[1]), dtype=own.dtype) if scores is None else scores
        scores[chosen] = own
    assert scores is not None
    return scores


def _features(images: LabeledImages, model: Model) -> FloatArray:
    """Shape (n, d): the input of the last layer for all images."""
    everything = np.arange(len(images.labels))
    return np.concatenate([model.scores_and_features(batch)[1] for batch in _batches(images, model, everything)])


def _storable(scores: FloatArray) -> FloatArray:
    """Scores (n, c) that half precision can hold, as those of checkpoints."""
    import torch

    return np.asarray(within_half_precision(torch.from_numpy(scores)))


def _batches(images: LabeledImages, model: Model, positions: IntArray) -> Iterator[Any]:
    for start in range(0, len(positions), _BATCH):
        chosen = positions[start : start + _BATCH]
        if model.takes_pixels:
            yield images.pixels[chosen]
        else:
            tensors = ImageTensors.of(images.pixels[chosen], images.labels[chosen], model.preprocessing)
            yield tensors.normalized(tensors.pixels).numpy()


def _note(predicted: Sequence[PredictedImages]) -> str:
    """Which network predicted which images, for the manifest; empty if it is the only one of the member."""
    if not predicted[0].plan.part:
        return ""
    shares = [
        f"{'all' if part.positions is None else f'{len(part.positions):,}'} images by {part.plan.part}"
        for part in predicted
    ]
    return ", ".join(shares)
