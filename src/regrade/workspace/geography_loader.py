"""Geography study on the data of a workspace: models on the grouped set, and their counts on reference sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from regrade.core import InputError, TestSet
from regrade.core.arguments import refuse_text
from regrade.store import Store
from regrade.studies import Geography, SetCounts, counts_with_noise, geography
from regrade.workspace.loading import ProgressCallback, chosen_models, scored_predictions


def study_geography(
    store: Store,
    test_set: TestSet,
    *,
    by: str,
    original: str | None,
    standard: Sequence[str],
    models: Sequence[str],
    top: int,
    between: Sequence[tuple[str, str]],
    clusters: str | None,
    parts: int | None,
    growth: tuple[str, str] | None,
    class_map: str | Path | None,
    seed: int,
    progress: ProgressCallback,
) -> Geography:
    """Study the named models (default: all models of the test set)."""
    refuse_text(standard, "standard")
    reference_sets = [store.test_set(name) for name in ([original] if original else []) + list(standard)]
    chosen = chosen_models(store, test_set, models)
    counts = [_counts(store, reference_set, chosen, progress) for reference_set in reference_sets]
    return geography(
        test_set,
        scored_predictions(store, test_set, chosen, class_map=class_map, progress=progress),
        by=by,
        rng=np.random.default_rng(seed),
        top=top,
        clusters=clusters,
        parts=parts,
        between=between,
        original=counts[0] if original else None,
        standard=counts[1:] if original else counts,
        growth=growth,
        confidence=store.config.confidence,
    )


def _counts(store: Store, test_set: TestSet, models: Sequence[str], progress: ProgressCallback) -> SetCounts:
    """The counts of those models that have predictions on another test set."""
    stored_models = set(store.model_names(test_set.name))
    common = tuple(model for model in models if model in stored_models)
    if not common:
        raise InputError(f"none of these models has predictions on {test_set.name}")
    scored = scored_predictions(store, test_set, common, progress=progress)
    return counts_with_noise(test_set, scored, confidence=store.config.confidence)
