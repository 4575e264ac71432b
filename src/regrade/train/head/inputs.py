"""The stored embeddings of a base model on a set, checked before anything is fitted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.core import NO_ANSWER, InputError, MismatchError, Predictions, ScoreKind, TestSet
from regrade.core.amounts import amount
from regrade.core.arrays import BoolArray, FloatArray
from regrade.store import Manifest, Store


@dataclass(frozen=True, eq=False)
class StoredEmbeddings:
    """The embeddings (n, d) of a model on a set and, if asked for, its scores (n, c), both in half precision.

    ``readable`` (n,) are the images that have them.
    """

    test_set: TestSet
    predictions: Predictions
    manifest: Manifest
    embeddings: FloatArray
    scores: FloatArray | None
    readable: BoolArray

    @property
    def width(self) -> int:
        """The number of values per image."""
        return int(self.embeddings.shape[1])


def read_embeddings(store: Store, test_set: TestSet, model: str, *, needs_scores: bool) -> StoredEmbeddings:
    """Read the embeddings of a model on a set; raise with the command to run if they are not stored."""
    kept = "scores,features" if needs_scores else "features"
    command = f"run regrade predict {model} -t {test_set.name} --keep {kept}"
    if not store.predictions.has(test_set.name, model):
        raise InputError(f"{model} has no predictions on {test_set.name}: {command}")
    predictions = store.predictions.read(test_set, model)
    remove = store.predictions.removal_command(test_set.name, model)
    if predictions.features is None:
        raise InputError(f"{model} is stored on {test_set.name} without embeddings: {remove}, then {command}")
    scores = _logits(predictions, f"{remove}, then {command}") if needs_scores else None
    readable = predictions.top1 != NO_ANSWER
    embeddings = np.asarray(predictions.features)
    if not embeddings.ndim == 2 or not embeddings.shape[1]:
        raise InputError(f"{model} on {test_set.name} has embeddings of shape {embeddings.shape}, expected (images, d)")
    for what, values in (("embeddings", embeddings), ("scores", scores)):
        if values is not None:
            _check_finite(values, readable, what, model, test_set)
    manifest = store.predictions.manifest(test_set.name, model)
    return StoredEmbeddings(test_set, predictions, manifest, embeddings, scores, readable)


def _logits(predictions: Predictions, command: str) -> FloatArray:
    model, name = predictions.model, predictions.test_set
    if predictions.full_scores is None:
        raise InputError(f"{model} is stored on {name} with its best classes only, --keep-classes needs all: {command}")
    if predictions.score_kind is ScoreKind.PROBABILITIES:
        raise InputError(
            f"{model} has probabilities on {name}, and --keep-classes adds to logits: store its logits, or leave out "
            "--keep-classes"
        )
    return np.asarray(predictions.full_scores)


def _check_finite(values: FloatArray, readable: BoolArray, what: str, model: str, test_set: TestSet) -> None:
    broken = np.flatnonzero(readable & ~np.isfinite(values).all(axis=1))
    if broken.size:
        raise InputError(
            f"{what} of {model} on {test_set.name} are not finite numbers for {amount(len(broken), 'image')}, for "
            f"example {test_set.ids[int(broken[0])]!r}: predict them again"
        )


def check_width(training: StoredEmbeddings, stored: StoredEmbeddings) -> None:
    """Raise if the embeddings on another set are those of another version of the model."""
    name, model = stored.test_set.name, stored.predictions.model
    if stored.width != training.width:
        raise MismatchError(
            f"{model} has embeddings of {stored.width} numbers on {name}, and of {training.width} on "
            f"{training.test_set.name}: predict both with the same version of the model"
        )
    hashes = training.manifest.model.weights_hash, stored.manifest.model.weights_hash
    if all(hashes) and hashes[0] != hashes[1]:
        raise MismatchError(
            f"{model} has other weights on {name} than on {training.test_set.name}: predict both with the same ones"
        )


def refuse_shared(training: StoredEmbeddings, stored: StoredEmbeddings, column: str | None) -> None:
    """Raise if a set has images or clusters of the training set.

    Images are compared by their content if fingerprints are stored for both sets, and by their ids otherwise.
    """
    trained, tested = training.test_set, stored.test_set
    if column is not None and column in trained.group_columns and column in tested.group_columns:
        shared = sorted(set(trained.group_columns[column]) & set(tested.group_columns[column]) - {"", " "})
        if shared:
            raise _shared(trained, tested, f"{amount(len(shared), column)} in common, for example {shared[0]!r}")
    ours, theirs = training.predictions.fingerprints, stored.predictions.fingerprints
    if ours is not None and theirs is not None:
        readable = np.asarray(theirs)["digest"][stored.readable]
        places = np.flatnonzero(np.isin(readable, np.asarray(ours)["digest"][training.readable]))
        examples = [tested.ids[int(place)] for place in np.flatnonzero(stored.readable)[places]]
    else:
        examples = sorted(set(trained.ids) & set(tested.ids))
    if examples:
        raise _shared(trained, tested, f"{amount(len(examples), 'image')} in common, for example {examples[0]!r}")


def _shared(trained: TestSet, tested: TestSet, what: str) -> MismatchError:
    return MismatchError(
        f"{tested.name} and the training set {trained.name} have {what}: remove them from one set, or give "
        "--allow-shared"
    )
