"""Bringing a file of labels into the workspace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from regrade.core import InputError, LabelSet, Unlisted
from regrade.store.folder import Store
from regrade.store.label_files import LabelFormat, read_label_file
from regrade.tables import Columns


@dataclass(frozen=True)
class ImportedLabels:
    """What an import did: the labels, and whether they were new."""

    labels: LabelSet
    new: bool


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
    labels = read_label_file(
        path, target, form=form, name=name, version=max(newest, 1), unlisted=unlisted, columns=columns
    )
    if newest and new_version:
        if store.label_set(target, name).digest == labels.digest:
            return ImportedLabels(labels, False)
        labels = replace(labels, version=newest + 1)
    return ImportedLabels(labels, bool(store.add_label_set(labels, target).new))
