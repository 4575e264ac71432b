"""What stands behind every number of a report: versions, settings, and the digests of all that was read."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from regrade.core import Column, Table
from regrade.report import Provenance
from regrade.store import CheckpointManifest, Manifest, Store

_LIBRARIES = ("regrade", "numpy", "scipy", "pyarrow", "pillow", "altair", "vl-convert-python")
_SHOWN = 16  # letters of a digest that people compare; all of them are in the data


def behind_numbers(store: Store, test_sets: Sequence[str], references: Sequence[str], *, created: str) -> Provenance:
    """The versions, settings and digests behind a report on these test sets, and on others they were held against."""
    sets = [store.test_set(name) for name in test_sets]
    labels = [store.label_set(found, name) for found in sets for name in store.label_set_names(found.name)]
    people = {found.name: store.people_names(found.name) for found in sets}
    manifests = [
        store.manifest(found, name)
        for found in sets
        for name in (*store.model_names(found.name), *people[found.name])
    ]  # fmt: skip
    libraries = {name: known for name in _LIBRARIES if (known := _version(name))}
    settings = {
        "date": _moment(created),
        "confidence": f"{100 * store.config.confidence:g}%",
        "Python": platform.python_version(),
        **libraries,
    }
    set_rows = [
        {
            "test_set": found.name, "images": len(found), "labeled": int(found.labeled.sum()),
            "classes": found.class_space.name, "digest": found.digest,
        }
        for found in (*sets, *(store.test_set(name) for name in references))
    ]  # fmt: skip
    label_rows = [
        {
            "labels": one.full_name, "test_set": one.test_set, "images": int(one.scored.sum()),
            "judgments": len(one.examples), "origin": one.origin, "digest": one.digest,
        }
        for one in labels
    ]  # fmt: skip
    tables = [_table("Test sets", set_rows)]
    tables += [_table("Label sets", label_rows)] if label_rows else []
    ensembles = [
        store.checkpoint_manifest(found, name) for found in sets for name in store.ensemble_names(found.name)
    ]  # fmt: skip
    tables += [_table("Ensembles over epochs", [_ensemble_row(one) for one in ensembles])] if ensembles else []
    tables.append(_table("Models and people", [_manifest_row(manifest) for manifest in manifests]))
    data = {
        "test_sets": set_rows,
        "label_sets": label_rows,
        "predictions": [asdict(manifest) for manifest in manifests],
        "checkpoints": [asdict(manifest) for manifest in ensembles],
    }
    return Provenance(settings, tuple(tables), data)


def _moment(stamp: str) -> str:
    """A time to the minute."""
    return f"{datetime.fromisoformat(stamp).astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None


def _manifest_row(manifest: Manifest) -> dict[str, Any]:
    return {
        "model": manifest.model.name,
        "test_set": manifest.test_set,
        "digest": manifest.digest,
        "from": manifest.source.file or manifest.runtime or "scores given in Python",
        "file_digest": manifest.source.sha256 or None,
        "stored": _moment(manifest.created),
    }


def _ensemble_row(manifest: CheckpointManifest) -> dict[str, Any]:
    return {
        "ensemble": manifest.ensemble,
        "test_set": manifest.test_set,
        "members": len(manifest.members),
        "epochs": len(manifest.epochs),
        "digest": manifest.digest,
        "stored": _moment(manifest.created),
    }


_HEADINGS = {"test_set": "test set", "file_digest": "SHA-256 of the file"}


def _table(title: str, rows: Sequence[dict[str, Any]]) -> Table:
    columns = tuple(Column(key, _HEADINGS.get(key, key)) for key in (rows[0] if rows else ()))
    cells = tuple(tuple(_cell(key, value) for key, value in row.items()) for row in rows)
    return Table(title, columns, cells)


def _cell(key: str, value: Any) -> Any:
    return value[:_SHOWN] if key.endswith("digest") and value else value
