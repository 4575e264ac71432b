"""Loading what two versions of labels are held against: the labels, their reviews, and models."""

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
    watch: ProgressCallback,
) -> LabelChange:
    """What changed between two label sets, and what it did to the models that are named, or to all models."""
    first, second = (reviewed_labels(store, test_set, labels, rule=rule) for labels in (before, after))
    names = chosen_rows(store, test_set, models) if models else store.model_names(test_set.name)
    scored = scored_predictions(store, test_set, names, watch=watch)
    return label_change(test_set, scored, before=first, after=second, confidence=store.config.confidence)
