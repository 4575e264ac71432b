"""Stored files that were published from queues of a ledger."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from regrade.core import FormatError
from regrade.store.layout import PREDICTIONS
from regrade.store.parquet import read_meta
from regrade.store.predictions import MANIFEST, read_manifest
from regrade.store.reviews import VERDICT_FILES

_TABLES = ("labels/*/*@*.parquet", "mistakes/*/*.parquet", f"reviews/*/*/{VERDICT_FILES}")


def first_published_file(root: Path) -> Path | None:
    """The relative path of a file that was published from a ledger, None if there is none; skips damaged files."""
    tables = (path for pattern in _TABLES for path in sorted(root.glob(pattern)))
    manifests = sorted(root.glob(PREDICTIONS))
    published = (path for path in chain(tables, manifests) if _is_published(path))
    return next((path.relative_to(root) for path in published), None)


def _is_published(path: Path) -> bool:
    try:
        if path.name == MANIFEST:
            return bool(read_manifest(path.parent).queues)
        stated = read_meta(path)
    except FormatError:
        return False
    return bool(stated.get("queues") or stated.get("queue"))
