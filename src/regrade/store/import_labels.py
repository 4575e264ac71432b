"""Bringing a file of labels into the workspace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from regrade.core import InputError, LabelSet, SliceSet, Unlisted
from regrade.store.folder import Store
from regrade.store.label_files import LabelFormat, read_label_file
from regrade.tables import Columns


@dataclass(frozen=True)
class ImportedLabels:
    """What an import did: the labels, whether they were new, the slices that came with them if any did, and notes."""

    labels: LabelSet
    new: bool
    slices: SliceSet | None = None
    notes: tuple[str, ...] = ()


def import_labels(
    store: Store,
    path: Path,
    *,
    test_set: str,
    form: LabelFormat,
    name: str,
    unlisted: Unlisted = Unlisted.NOVEL,
    new_version: bool = False,
    columns: Columns | None = None,
) -> ImportedLabels:
    """Read a file of labels, hold it against the test set and store it.

    Other content under the same name raises, unless ``new_version`` asks to keep both.
    """
    if not name.strip():
        raise InputError("a label set needs a name")
    if "@" in name:
        raise InputError(f"the name {name!r} holds an @, which stands between a label set's name and its version")
    target = store.test_set(test_set)
    newest = store.newest_version(test_set, name)
    found = read_label_file(
        path, target, form=form, name=name, version=max(newest, 1), unlisted=unlisted, columns=columns
    )
    labels = found.labels
    if newest and new_version and store.label_set(target, name).digest != labels.digest:
        labels = replace(labels, version=newest + 1)
    stored = store.add_label_set(labels, target, found.slices)
    return ImportedLabels(labels, bool(stored.new), found.slices, found.notes)
