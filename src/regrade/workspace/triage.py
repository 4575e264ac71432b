"""Automatic triage of single mistakes: a suggested kind, shown to people after they have voted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regrade.classes import superclasses
from regrade.core import TestSet
from regrade.store import Store
from regrade.studies.loading import reviewed_labels
from regrade.studies.mistakes.mistake_labels import MistakeLabels
from regrade.studies.mistakes.study import pair_labels
from regrade.studies.mistakes.triage import NO_ERROR, Triage, TriageKind, make_triage


def triage_under(store: Store, test_set: TestSet, labels: str) -> Triage:
    """The triage of errors under a label set, from all data stored for its test set."""
    judged_labels = reviewed_labels(store, test_set, labels, collapsed=bool(test_set.class_space.collapsed))
    return make_triage(
        MistakeLabels(test_set, replace(judged_labels, review=None), judged_labels),
        superclasses=superclasses(test_set.class_space),
        pairs_from=pair_labels(store, test_set, labels),
        reviews=[store.mistake_review(test_set, name) for name in store.mistake_review_names(test_set.name)],
    )


def kind_of(triage: Triage, example: int, answer: int) -> TriageKind | None:
    """The suggested kind of error of a prediction; None if it is not an error, or the image is not scored."""
    if not triage.scored[example]:
        return None
    (kind,) = triage.kinds(np.array([example]), np.array([answer])).tolist()
    return None if kind == NO_ERROR else list(TriageKind)[kind]
