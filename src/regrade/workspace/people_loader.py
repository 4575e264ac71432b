"""Loading what a study of people asks for: people and models with how their answers are scored."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regrade.core import InputError, TestSet
from regrade.metrics import MultilabelRule
from regrade.store import Store
from regrade.studies import People, people
from regrade.workspace.loading import (
    ProgressCallback,
    chosen_models,
    chosen_people,
    reviewed_labels,
    scored_predictions,
)


def study_people(
    store: Store,
    test_set: TestSet,
    *,
    persons: Sequence[str],
    models: Sequence[str],
    labels: str | None,
    rule: MultilabelRule | str | None,
    collapsed: bool,
    subsets: Sequence[str],
    fast_seconds: float,
    seed: int,
    watch: ProgressCallback,
) -> People:
    """Study the people that are named, or all there are, beside the models that are named, or all."""
    if not labels and (rule or collapsed):
        raise InputError("rule and collapsed speak of multi-label accuracy: name the labels too")
    names = chosen_people(store, test_set, persons)
    if not names:
        raise InputError(f"no person has answers on {test_set.name} yet: regrade import people")
    judged = reviewed_labels(store, test_set, labels, rule=rule, collapsed=collapsed) if labels else None
    everyone = (*names, *chosen_models(store, test_set, models))
    return people(
        test_set,
        scored_predictions(store, test_set, everyone, watch=watch),
        rng=np.random.default_rng(seed),
        labels=judged,
        subsets=subsets or None,
        fast_seconds=fast_seconds,
        confidence=store.config.confidence,
    )
