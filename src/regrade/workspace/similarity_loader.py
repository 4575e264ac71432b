"""Similarity study on the data of a workspace."""

from __future__ import annotations

from collections.abc import Sequence

from regrade.core import TestSet
from regrade.store import Store
from regrade.studies import Similarity, similarity
from regrade.workspace.loading import ProgressCallback, chosen_models, reviewed_labels, scored_predictions


def study_similarity(
    store: Store,
    test_set: TestSet,
    models: Sequence[str],
    *,
    labels: str | None,
    slice_name: str | None,
    progress: ProgressCallback,
) -> Similarity:
    """Study the similarity of models on a test set, scored against a label set if one is named."""
    judged = reviewed_labels(store, test_set, labels) if labels else None
    scored = scored_predictions(store, test_set, chosen_models(store, test_set, models), progress=progress)
    return similarity(test_set, scored, labels=judged, slice_name=slice_name, confidence=store.config.confidence)
