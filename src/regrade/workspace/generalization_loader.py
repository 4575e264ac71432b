"""Counts of the same models on an original and on new test sets, each pair within the same classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from regrade.core import ClassSpace, InputError, TestSet, UnknownName
from regrade.core.amounts import amount
from regrade.core.arguments import refuse_text
from regrade.store import Store
from regrade.studies import SetCounts, SetPair, counts_with_noise
from regrade.workspace.loading import ProgressCallback, scored_predictions
from regrade.workspace.shared_images import shared_images

_NO_HASH = 0  # the hash of an image that was not read


def set_pairs(
    store: Store,
    original: str,
    new: Sequence[str],
    *,
    models: Sequence[str] = (),
    within: str | ClassSpace | None = None,
    class_map: str | Path | None = None,
    progress: ProgressCallback = iter,
) -> list[SetPair]:
    """The counts of the named models (default: all) on each pair of the original and a new test set.

    If a new set has only a part of the original's classes, as ImageNet-A has, the original is scored within these.
    """
    refuse_text(new, "new")
    refuse_text(models, "models")
    old, targets = store.test_set(original), [store.test_set(name) for name in new]
    if not targets:
        raise InputError("name at least one new test set")
    _check_models(store, models, (old, *targets))
    originals: dict[str, SetCounts] = {}
    pairs = []
    for target in targets:
        among = within or _part_of_classes(old, target)
        key = among.digest if isinstance(among, ClassSpace) else str(among)
        if key not in originals:
            originals[key] = _counts(store, old, models, within=among, progress=progress)
        counts = _counts(store, target, models, within=within, class_map=class_map, progress=progress)
        if class_map or store.class_map(target):
            note = (
                f"{target.name} is scored through a class map and {old.name} among all its classes: the gap holds that"
            )
            counts = replace(counts, notes=(*counts.notes, note))
        if overlap := _overlap(store, old, target):
            counts = replace(counts, notes=(*counts.notes, overlap))
        pairs.append(SetPair(originals[key], counts))
    return pairs


def _counts(
    store: Store,
    test_set: TestSet,
    models: Sequence[str],
    *,
    within: str | ClassSpace | None,
    class_map: str | Path | None = None,
    progress: ProgressCallback,
) -> SetCounts:
    stored_models = store.model_names(test_set.name)
    chosen = tuple(model for model in models if model in stored_models) if models else stored_models
    if not chosen:
        raise InputError(f"none of these models has predictions on {test_set.name}")
    scored = scored_predictions(store, test_set, chosen, within=within, class_map=class_map, progress=progress)
    return counts_with_noise(test_set, scored, confidence=store.config.confidence)


def _overlap(store: Store, old: TestSet, new: TestSet) -> str:
    """A note on images of the new set that are also in the original, by id or content; empty if there are none."""
    shared = shared_images(old, new)
    by_id = np.zeros(len(new), dtype=bool) if shared is None else shared.second >= 0
    content = _content(store, new)
    by_content = np.isin(content, _content(store, old)) & (content != _NO_HASH)
    count = int((by_id | by_content).sum())
    if not count:
        return ""
    return (
        f"{count:,} of {amount(len(new), 'image')} of {new.name} are images of {old.name} too: what is said of new "
        "images does not hold for them, and intervals take them as different images"
    )


def _content(store: Store, test_set: TestSet) -> NDArray[np.uint64]:
    """Content hashes (n,) of the images, as stored by `predict` for any model."""
    for model in store.model_names(test_set.name):
        manifest = store.manifest(test_set, model)
        if manifest.fingerprints and manifest.test_set_digest == test_set.digest:
            fingerprints = store.predictions(test_set, model).fingerprints
            assert fingerprints is not None
            return np.asarray(fingerprints["digest"])
    return np.full(len(test_set), _NO_HASH, dtype=np.uint64)


def _check_models(store: Store, models: Sequence[str], test_sets: Sequence[TestSet]) -> None:
    for test_set in test_sets:
        store.check_manifests(test_set.name, models)
    stored_models = {model for test_set in test_sets for model in store.model_names(test_set.name)}
    for model in models:
        if model not in stored_models:
            raise UnknownName("model", model, sorted(stored_models))


def _part_of_classes(old: TestSet, new: TestSet) -> ClassSpace | None:
    """The classes of a new set if they are a proper subset of the original's."""
    return new.class_space if set(new.class_space.ids) < set(old.class_space.ids) else None
