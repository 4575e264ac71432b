"""The record of a pool: every listed candidate with where it came from, and why it was excluded if it was."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import pyarrow as pa

from regrade.build.pool import PoolExclusion
from regrade.core import UnknownName
from regrade.store.checked_files import PLACE, read_parquet, write_parquet
from regrade.store.collection import Collection
from regrade.store.layout import place_of

_POOL = "pool"


@dataclass(frozen=True)
class PoolEntry:
    """A listed candidate: its class as the source names it, its URL if it was downloaded, and why it was excluded."""

    image: str
    class_name: str
    url: str = ""
    excluded: PoolExclusion | None = None
    detail: str = ""


@dataclass(frozen=True)
class StoredPool:
    """All listed candidates of a pool, in the order of their source, and the options with which it was filled."""

    name: str
    origin: str
    settings: dict[str, Any]
    entries: tuple[PoolEntry, ...] = field(repr=False)

    @property
    def digest(self) -> str:
        """A hash of all candidates and options."""
        rows = [[entry.image, entry.class_name, entry.url, entry.excluded] for entry in self.entries]
        return hashlib.sha256(json.dumps([self.settings, rows], sort_keys=True).encode()).hexdigest()


class PoolCollection(Collection[StoredPool, None]):
    """The records of pools; the images of a pool are a test set of the same name."""

    kind = "builds"

    def names_of(self, pool: StoredPool, _context: None) -> tuple[str, ...]:
        """The name of the pool."""
        return pool.name, _POOL

    def refusal(self, pool: StoredPool, _context: None) -> str:
        """The error for another pool of the same name."""
        return f"pool {pool.name} is stored with other candidates or options: choose another name"

    def write(self, pool: StoredPool, _context: None, file: BinaryIO) -> None:
        """Write one row per listed candidate."""
        entries = pool.entries
        table = pa.table(
            {
                "image": pa.array([entry.image for entry in entries], pa.string()),
                "class": pa.array([entry.class_name for entry in entries], pa.string()),
                "url": pa.array([entry.url for entry in entries], pa.string()),
                "excluded": pa.array([entry.excluded for entry in entries], pa.string()),
                "detail": pa.array([entry.detail for entry in entries], pa.string()),
            }
        )
        meta = {
            PLACE: place_of(self.kind, *self.names_of(pool, None)),
            "origin": pool.origin,
            "settings": pool.settings,
            "digest": pool.digest,
        }
        write_parquet(table, meta, file)

    def has_pool(self, name: str) -> bool:
        """Whether there is a record of a pool."""
        return self.has(name, _POOL)

    def read(self, name: str) -> StoredPool:
        """Read the record of a pool; raise if there is none."""
        if not self.has_pool(name):
            pools = sorted(path.parent.name for path in (self.root / self.kind).glob(f"*/{_POOL}.parquet"))
            raise UnknownName("pool", name, pools, first=f"regrade build pool {name} SOURCE")
        table, meta = read_parquet(self.path(name, _POOL))
        entries = tuple(
            PoolEntry(
                row["image"],
                row["class"],
                row["url"],
                None if row["excluded"] is None else PoolExclusion(row["excluded"]),
                row["detail"],
            )
            for row in table.to_pylist()
        )
        return StoredPool(name, meta["origin"], meta["settings"], entries)
