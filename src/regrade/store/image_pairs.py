"""Pairs of similar images as Parquet files: searches, and the decisions of people; files are only added."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import pyarrow as pa

from regrade.core import TestSet
from regrade.core.image_pairs import ImagePair, PairDecision, PairSearch, PairSide, standing_decisions
from regrade.core.panel import PairRelation
from regrade.store.checked_files import PLACE, read_meta, read_parquet, write_parquet
from regrade.store.collection import Collection, check_test_set
from regrade.store.contents import removed
from regrade.store.layout import place_of
from regrade.store.transaction import transaction

_SEARCH, _DECISIONS = "search-", "decisions-"
_COLUMNS = ("image", "reference", "mirrored")


class PairSearchCollection(Collection[PairSearch, int]):
    """Searches for near duplicates by test set, numbered from 1; the last one for a build says which targets hold."""

    kind = "pairs"

    def names_of(self, search: PairSearch, number: int) -> tuple[str, ...]:
        """The test set and the number."""
        return search.test_set, f"{_SEARCH}{number:04}"

    def refusal(self, search: PairSearch, number: int) -> str:
        """The error for another search with the same number."""
        return f"another search {number} for near duplicates of {search.test_set} is stored"

    def write(self, search: PairSearch, number: int, file: BinaryIO) -> None:
        """Write one row per compared image, without a reference, and one per pair, with a column per distance."""
        count, pairs = len(search.images), search.pairs
        columns: dict[str, Any] = {
            "image": pa.array([*search.images, *(pair.first.image for pair in pairs)], pa.string()),
            "reference": pa.array([*[None] * count, *(pair.second.image for pair in pairs)], pa.string()),
            "mirrored": pa.array([*[None] * count, *(pair.mirrored for pair in pairs)], pa.bool_()),
        }
        for name in dict.fromkeys(name for pair in pairs for name in pair.distances):
            values = [*[None] * count, *(pair.distances.get(name) for pair in pairs)]
            columns[name] = pa.array(values, pa.float64())
        meta = {
            PLACE: place_of(self.kind, *self.names_of(search, number)),
            **search.settings,
            "same_source": search.same_source,
            "crowded": search.crowded,
            "question": search.question,
            "digest": search.digest,
        }
        write_parquet(pa.table(columns), meta, file)

    def append(self, search: PairSearch) -> bool:
        """Store a search after all others, and return whether it is new: not if it repeats the last one of its kind."""
        with transaction(self.root):
            numbers = self._numbers(search.test_set)
            metas = [read_meta(self.path(search.test_set, f"{_SEARCH}{number:04}")) for number in numbers]
            same = [meta for meta in metas if (meta["against"], meta["build"]) == (search.against, search.build)]
            if same and same[-1]["digest"] == search.digest:
                return False
            self.add(search, numbers[-1] + 1 if numbers else 1)
        return True

    def stored(self, question: PairSearch) -> PairSearch | None:
        """A stored search of the same images in the same way, with its pairs; None if there is none."""
        for number in reversed(self._numbers(question.test_set)):
            path = self.path(question.test_set, f"{_SEARCH}{number:04}")
            if read_meta(path)["question"] == question.question:
                return self._read(question.test_set, number)
        return None

    def read(self, test_set: str) -> tuple[PairSearch, ...]:
        """All searches for near duplicates of a test set, in the order in which they were stored."""
        return tuple(search for _, search in self.numbered(test_set))

    def numbered(self, test_set: str) -> tuple[tuple[int, PairSearch], ...]:
        """All searches for near duplicates of a test set with their numbers."""
        return tuple((number, self._read(test_set, number)) for number in self._numbers(test_set))

    def pairs(self, test_set: str) -> dict[str, ImagePair]:
        """All pairs that searches of a test set found, by key; of a pair that was found again, the last one."""
        return {pair.key: pair for search in self.read(test_set) for pair in search.pairs}

    def _numbers(self, test_set: str) -> list[int]:
        return [int(name.removeprefix(_SEARCH)) for name in _present(self, test_set, _SEARCH)]

    def _read(self, test_set: str, number: int) -> PairSearch:
        table, meta = read_parquet(self.path(test_set, f"{_SEARCH}{number:04}"))
        images, pairs = [], []
        for row in table.to_pylist():
            if row["reference"] is None:
                images.append(row["image"])
            else:
                pairs.append(_pair(row, meta))
        names = ("test_set", "test_set_digest", "against", "against_digest", "targets", "neighbors", "size", "model")
        further = {name: meta[name] for name in (*names, "build", "same_source", "crowded")}
        return PairSearch(**further, images=tuple(images), pairs=tuple(pairs))


def _pair(row: Mapping[str, Any], meta: Mapping[str, Any]) -> ImagePair:
    return ImagePair(
        PairSide(meta["test_set"], row["image"]),
        PairSide(meta["against"], row["reference"]),
        {name: value for name, value in row.items() if name not in _COLUMNS and value is not None},
        row["mirrored"],
    )


@dataclass(frozen=True)
class DecisionBatch:
    """Decisions on pairs that were published together, from a queue about a test set."""

    test_set: str
    test_set_digest: str
    queue: str
    decisions: tuple[PairDecision, ...] = field(repr=False)

    @property
    def digest(self) -> str:
        """A hash of the decisions."""
        rows = [[decision.key, decision.relation and decision.relation.value] for decision in self.decisions]
        return hashlib.sha256(json.dumps([self.queue, sorted(rows)]).encode()).hexdigest()


class PairDecisionCollection(Collection[DecisionBatch, int]):
    """Decisions of people on pairs by test set, in batches that are numbered from 1; the last decision holds."""

    kind = "pairs"

    def names_of(self, batch: DecisionBatch, number: int) -> tuple[str, ...]:
        """The test set and the number."""
        return batch.test_set, f"{_DECISIONS}{number:04}"

    def refusal(self, batch: DecisionBatch, number: int) -> str:
        """The error for another batch with the same number."""
        return f"other decisions on pairs of {batch.test_set} are stored as batch {number}"

    def write(self, batch: DecisionBatch, number: int, file: BinaryIO) -> None:
        """Write one row per decision; a decision that was taken back has no relation."""
        rows, text = batch.decisions, pa.string()
        table = pa.table(
            {
                "test_set": pa.array([row.first.test_set for row in rows], text),
                "image": pa.array([row.first.image for row in rows], text),
                "against": pa.array([row.second.test_set for row in rows], text),
                "reference": pa.array([row.second.image for row in rows], text),
                "relation": pa.array([row.relation and row.relation.value for row in rows], text),
                "at": pa.array([row.at for row in rows], text),
            }
        )
        meta = {
            PLACE: place_of(self.kind, *self.names_of(batch, number)),
            "test_set": batch.test_set,
            "test_set_digest": batch.test_set_digest,
            "queue": batch.queue,
            "digest": batch.digest,
        }
        write_parquet(table, meta, file)

    def append(self, batch: DecisionBatch) -> None:
        """Store a batch after all others."""
        with transaction(self.root):
            self.add(batch, len(_present(self, batch.test_set, _DECISIONS)) + 1)

    def read(self, test_set: TestSet) -> tuple[PairDecision, ...]:
        """All decisions from queues about a test set, in the order in which they were stored."""
        names = _present(self, test_set.name, _DECISIONS)
        return tuple(decision for name in names for decision in self._batch(test_set, name))

    def standing(self, test_sets: Iterable[TestSet]) -> dict[str, PairDecision]:
        """The decisions that hold on pairs of these test sets, by key."""
        distinct = {test_set.name: test_set for test_set in test_sets}
        return standing_decisions(decision for test_set in distinct.values() for decision in self.read(test_set))

    def _batch(self, test_set: TestSet, name: str) -> Iterable[PairDecision]:
        path = self.path(test_set.name, name)
        table, meta = read_parquet(path)
        check_test_set(path, meta["test_set_digest"], test_set)
        for row in table.to_pylist():
            yield PairDecision(
                PairSide(row["test_set"], row["image"]),
                PairSide(row["against"], row["reference"]),
                PairRelation(row["relation"]) if row["relation"] else None,
                meta["queue"],
                row["at"],
            )


def _present(collection: Collection[Any, int], test_set: str, prefix: str) -> list[str]:
    """The names of the files with a prefix; raise if one is missing, since decisions would silently be lost."""
    for lost in collection.lost_names(test_set):
        if lost.startswith(prefix):
            raise removed(collection.path(test_set, lost))
    return [name for name in collection.names(test_set) if name.startswith(prefix)]
