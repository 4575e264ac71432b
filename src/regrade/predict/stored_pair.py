"""Predictions that are stored already: reused if they are of the same model, preprocessing and images."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regrade.core import NO_ANSWER, AlreadyStored, TestSet
from regrade.core.amounts import amount
from regrade.models import ModelMetadata
from regrade.predict.engine import EngineOptions
from regrade.predict.prepare import changed_images
from regrade.predict.result import ModelRun
from regrade.store import Manifest, Store
from regrade.testsets import images_are_missing, open_images


def match_stored_options(store: Store, test_set: TestSet, model: str, options: EngineOptions) -> EngineOptions:
    """Options for a retry of unreadable images: keep scores and features as stored; otherwise the same options."""
    if not options.retry_unreadable or model not in store.predictions.model_names(test_set.name):
        return options
    manifest = store.predictions.manifest(test_set.name, model)
    return replace(options, keep_scores=manifest.full_scores, keep_features=manifest.features)


def stored_pair(store: Store, model: ModelMetadata, test_set: TestSet, options: EngineOptions) -> ModelRun | None:
    """The stored run of a model on a test set, if any; raises if it is of another version of the model or images."""
    name = model.spec.name
    if name not in store.predictions.model_names(test_set.name):
        return None
    manifest = store.predictions.manifest(test_set.name, name)
    differs = {
        "another version of the test set": manifest.test_set_digest != test_set.digest,
        "other weights": manifest.model.weights_hash != model.spec.weights_hash,
        "other code": _both_differ(manifest.model.code_hash, model.spec.code_hash),
        "another preprocessing": not _same_preprocessing(manifest.model.preprocessing, model.spec.preprocessing),
        "other classes": manifest.class_space_digest != model.class_space.digest,
        "some of the images only": manifest.asked is not None,
        "only the best classes": options.keep_scores and not manifest.full_scores,
        "no features": options.keep_features and not manifest.features and len(manifest.unreadable) < manifest.examples,
    }
    if any(differs.values()):
        reasons = ", ".join(reason for reason, true in differs.items() if true)
        command = store.predictions.removal_command(test_set.name, name)
        raise AlreadyStored(f"predictions of {name} on {test_set.name} are stored with {reasons}: run {command} first")
    away = bool(manifest.fingerprints) and images_are_missing(store.images.read(test_set))
    if manifest.fingerprints and not away:
        _check_images(store, test_set, manifest, options)
    size, unreadable = len(test_set), manifest.unreadable
    return ModelRun(name, test_set.name, size, size, 0.0, unreadable, manifest.runtime, already=True, images_away=away)


def _both_differ(first: str, second: str) -> bool:
    """Whether two hashes exist and differ: older predictions have no hash of the code."""
    return bool(first and second and first != second)


def _same_preprocessing(first: str, second: str) -> bool:
    """Whether two summaries of a preprocessing agree.

    Earlier versions spelled the crop mode differently, but its first three words are the same and identify it.
    """
    (first_mode, _, first_values), (second_mode, _, second_values) = first.partition(":"), second.partition(":")
    return first_mode.split()[:3] == second_mode.split()[:3] and first_values == second_values


def _check_images(store: Store, test_set: TestSet, manifest: Manifest, options: EngineOptions) -> None:
    """Raise if images have changed since they were predicted."""
    images = open_images(store.images.read(test_set))
    stored = store.predictions.read(test_set, manifest.model.name)
    predicted = np.flatnonzero(stored.top1 != NO_ANSWER)
    changed = list(changed_images(images, np.asarray(stored.fingerprints), predicted, workers=options.workers))
    if changed:
        command = store.predictions.removal_command(test_set.name, manifest.model.name)
        raise AlreadyStored(
            f"{amount(len(changed), 'image')} of {test_set.name} changed after {manifest.model.name} was run, for "
            f"instance {test_set.ids[changed[0]]!r}: restore the old images, or {command} to predict the new ones"
        )
