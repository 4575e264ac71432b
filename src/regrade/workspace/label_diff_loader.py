"""Comparison of two versions of labels on the data of a workspace."""

from __future__ import annotations

from collections.abc import Sequence

from regrade.core import TestSet
from regrade.metrics import MultilabelRule
from regrade.store import Store
from regrade.studies import LabelChange, label_change
from regrade.workspace.loading import ProgressCallback, chosen_rows, reviewed_labels, scored_predictions


def compare_labels(
    store: Store,
    test_set: TestSet,
    before: str,
    after: str,
    *,
    models: Sequence[str],
    rule: MultilabelRule | str | None,
    progress: ProgressCallback,
) -> LabelChange:
    """Compare two label sets, and the accuracies of the named rows (default: all models) under each."""
    first, second = (reviewed_labels(store, test_set, labels, rule=rule) for labels in (before, after))
    names = chosen_rows(store, test_set, models) if models else store.model_names(test_set.name)
    scored = scored_predictions(store, test_set, names, progress=progress)
    return label_change(test_set, scored, before=first, after=second, confidence=store.config.confidence)
