"""Importing labels into the workspace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from regrade.core import InputError, LabelSet, SliceSet, TestSet, Unlisted, own_labels
from regrade.store.folder import Store
from regrade.store.label_files import LabelFormat, read_label_file
from regrade.tables import Columns


@dataclass(frozen=True)
class ImportedLabels:
    """The result of an import: the labels, whether they are new, the slices that came with them, and notes."""

    labels: LabelSet
    new: bool
    slices: SliceSet | None = None
    notes: tuple[str, ...] = ()


def create_labels(store: Store, *, test_set: str, name: str) -> ImportedLabels:
    """Store a label set made from the test set's own labels: each is correct, and no other class is judged yet.

    Raises if other labels have the same name.
    """
    _check_name(name)
    target = store.test_set(test_set)
    if not target.labeled.any():
        raise InputError(f"no image of {test_set} has a label: import labels with regrade import labels")
    labels = own_labels(target, name=name)
    return ImportedLabels(labels, bool(store.add_label_set(labels, target).new))


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
    """Read a file of labels, check that it matches the test set, and store it.

    Raises if other labels have the same name; with ``new_version`` they are stored as its next version.
    """
    _check_name(name)
    target = store.test_set(test_set)
    content = read_label_file(path, target, form=form, name=name, version=1, unlisted=unlisted, columns=columns)
    with store.transaction():  # no other process can add a version in between
        labels = _numbered(store, target, content.labels, new_version=new_version)
        new = bool(store.add_label_set(labels, target, content.slices).new)
    return ImportedLabels(labels, new, content.slices, content.notes)


def _check_name(name: str) -> None:
    if not name.strip():
        raise InputError("a label set needs a name")
    if "@" in name:
        raise InputError(f"the name {name!r} contains @, which separates a label set's name from its version")


def _numbered(store: Store, test_set: TestSet, labels: LabelSet, *, new_version: bool) -> LabelSet:
    """The labels as the newest version, or as the next one if both are to be kept and they differ."""
    newest = store.newest_version(test_set.name, labels.name)
    if newest and new_version and store.label_set(test_set, labels.name).digest != labels.digest:
        return replace(labels, version=newest + 1)
    return replace(labels, version=max(newest, 1))
