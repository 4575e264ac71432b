"""Provenance of a report: versions, settings, and the digests of all data that was read."""

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
_DIGEST_LENGTH = 16  # characters shown; the data contains the whole digest


def report_provenance(store: Store, test_sets: Sequence[str], references: Sequence[str], *, created: str) -> Provenance:
    """Versions, settings and digests for a report on these test sets and the ``references`` they were compared with."""
    sets = [store.test_set(name) for name in test_sets]
    labels = [store.label_set(test_set, name) for test_set in sets for name in store.label_set_names(test_set.name)]
    people = {test_set.name: store.people_names(test_set.name) for test_set in sets}
    manifests = [
        store.manifest(test_set, name)
        for test_set in sets
        for name in (*store.model_names(test_set.name), *people[test_set.name])
    ]  # fmt: skip
    libraries = {name: installed for name in _LIBRARIES if (installed := _version(name))}
    settings = {
        "date": _minute(created),
        "confidence": f"{100 * store.config.confidence:g}%",
        "Python": platform.python_version(),
        **libraries,
    }
    set_rows = [
        {
            "test_set": test_set.name, "images": len(test_set), "labeled": int(test_set.labeled.sum()),
            "classes": test_set.class_space.name, "digest": test_set.digest,
        }
        for test_set in (*sets, *(store.test_set(name) for name in references))
    ]  # fmt: skip
    label_rows = [
        {
            "labels": label_set.full_name, "test_set": label_set.test_set, "images": int(label_set.scored.sum()),
            "judgments": len(label_set.examples), "origin": label_set.origin, "digest": label_set.digest,
        }
        for label_set in labels
    ]  # fmt: skip
    tables = [_table("Test sets", set_rows)]
    tables += [_table("Label sets", label_rows)] if label_rows else []
    ensembles = [
        store.ensembles.manifest(test_set.name, name)
        for test_set in sets
        for name in store.ensemble_names(test_set.name)
    ]
    tables += (
        [_table("Ensembles over epochs", [_ensemble_row(ensemble) for ensemble in ensembles])] if ensembles else []
    )
    tables.append(_table("Models and people", [_manifest_row(manifest) for manifest in manifests]))
    data = {
        "test_sets": set_rows,
        "label_sets": label_rows,
        "predictions": [asdict(manifest) for manifest in manifests],
        "checkpoints": [asdict(manifest) for manifest in ensembles],
    }
    return Provenance(settings, tuple(tables), data)


def _minute(stamp: str) -> str:
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
        "stored": _minute(manifest.created),
    }


def _ensemble_row(manifest: CheckpointManifest) -> dict[str, Any]:
    return {
        "ensemble": manifest.ensemble,
        "test_set": manifest.test_set,
        "members": len(manifest.members),
        "epochs": len(manifest.epochs),
        "digest": manifest.digest,
        "stored": _minute(manifest.created),
    }


_HEADINGS = {"test_set": "test set", "file_digest": "SHA-256 of the file"}


def _table(title: str, rows: Sequence[dict[str, Any]]) -> Table:
    columns = tuple(Column(key, _HEADINGS.get(key, key)) for key in (rows[0] if rows else ()))
    cells = tuple(tuple(_cell(key, value) for key, value in row.items()) for row in rows)
    return Table(title, columns, cells)


def _cell(key: str, value: Any) -> Any:
    return value[:_DIGEST_LENGTH] if key.endswith("digest") and value else value
