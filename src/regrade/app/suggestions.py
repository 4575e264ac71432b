"""Suggestions of the automatic triage for a mistake, shown to people after their own vote."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from regrade.app.cache import RecentCache, triage_stamp
from regrade.classes import superclasses
from regrade.core import RegradeError, TestSet
from regrade.ledger import Item, Queue
from regrade.store import Store
from regrade.studies.loading import reviewed_labels
from regrade.studies.mistakes.mistake_labels import MistakeLabels
from regrade.studies.mistakes.study import pair_labels
from regrade.studies.mistakes.triage import NO_ERROR, Triage, TriageKind, make_triage


class Suggestions:
    """The triage of mistakes of any test set, cached until its labels or reviews change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._triage: RecentCache[Triage] = RecentCache(4)

    def of(self, queue: Queue, item: Item) -> str | None:
        """The suggested kind of mistake of an item, or None without a suggestion."""
        try:
            triage = self._triage_of(queue)
        except RegradeError:
            return None
        test_set = triage.ground.test_set
        kind = _kind_of(triage, test_set.position(item.example), test_set.class_space.index(item.class_id))
        return None if kind is None else kind.value

    def _triage_of(self, queue: Queue) -> Triage:
        name, labels = queue.test_set, queue.labels
        return self._triage.get(
            (name, labels),
            lambda: _triage_under(self._store, self._store.test_set(name), labels),
            stamp=triage_stamp(self._store, name),
        )


def _triage_under(store: Store, test_set: TestSet, labels: str) -> Triage:
    """The triage of errors under a label set, from all data stored for its test set."""
    judged_labels = reviewed_labels(store, test_set, labels, collapsed=bool(test_set.class_space.collapsed))
    return make_triage(
        MistakeLabels(test_set, replace(judged_labels, review=None), judged_labels),
        superclasses=superclasses(test_set.class_space),
        pairs_from=pair_labels(store, test_set, labels),
        reviews=[store.mistakes.read(test_set, name) for name in store.mistakes.names(test_set.name)],
    )


def _kind_of(triage: Triage, example: int, answer: int) -> TriageKind | None:
    """The suggested kind of error of a prediction; None if it is not an error, or the image is not scored."""
    if not triage.scored[example]:
        return None
    (kind,) = triage.kinds(np.array([example]), np.array([answer])).tolist()
    return None if kind == NO_ERROR else list(TriageKind)[kind]
