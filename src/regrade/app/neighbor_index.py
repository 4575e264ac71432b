"""The stored nearest training images of test sets, cached until a file that they depend on changes."""

from __future__ import annotations

from regrade.app.cache import RecentCache, neighbors_stamp
from regrade.core import TestSet
from regrade.core.training_neighbors import TrainingNeighbors
from regrade.store import Store
from regrade.studies.neighbors.study import stored_neighbors

_CACHED_SEARCHES = 4


class NeighborIndex:
    """The nearest training images of test sets, with what people decided about pairs."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cache: RecentCache[tuple[TestSet, TrainingNeighbors]] = RecentCache(_CACHED_SEARCHES)

    def of(self, test_set: TestSet, model: str) -> tuple[TestSet, TrainingNeighbors]:
        """The training set and the neighbors of all images of a test set, by a model's embeddings if possible.

        Raises if none are stored, or if they are outdated.
        """
        return self._cache.get(
            (test_set.name, model),
            lambda: stored_neighbors(self._store, test_set, model=model),
            stamp=(test_set, neighbors_stamp(self._store, test_set.name)),
        )
