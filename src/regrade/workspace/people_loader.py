"""People study on the data of a workspace."""

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
    progress: ProgressCallback,
) -> People:
    """Compare the named people (default: all) with the named models (default: all)."""
    if not labels and (rule or collapsed):
        raise InputError("rule and collapsed require labels")
    names = chosen_people(store, test_set, persons)
    if not names:
        raise InputError(f"no person has answers on {test_set.name} yet: run regrade import people")
    judged = reviewed_labels(store, test_set, labels, rule=rule, collapsed=collapsed) if labels else None
    everyone = (*names, *chosen_models(store, test_set, models))
    return people(
        test_set,
        scored_predictions(store, test_set, everyone, progress=progress),
        rng=np.random.default_rng(seed),
        labels=judged,
        subsets=subsets or None,
        fast_seconds=fast_seconds,
        confidence=store.config.confidence,
    )
