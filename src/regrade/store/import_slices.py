"""Importing slices into the workspace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from regrade.core import InputError, SliceSet, TestSet
from regrade.store.folder import Store, Stored
from regrade.store.slice_files import SliceFormat, read_slice_file
from regrade.tables import Columns


@dataclass(frozen=True)
class ImportedSlices:
    """The result of an import: the slices, whether they are new, and notes for the user."""

    slices: SliceSet
    new: bool
    notes: tuple[str, ...] = ()


def import_slices(
    store: Store,
    path: Path,
    *,
    test_set: str,
    form: SliceFormat,
    name: str,
    columns: Columns | None = None,
    chosen_hard: bool = False,
) -> ImportedSlices:
    """Read a file of slices, check that it matches the test set, and store it; raise if others have its name.

    ``chosen_hard`` says that the images were chosen because models find them hard.
    """
    target = store.test_set(test_set)
    _check_name(name, target)
    content = read_slice_file(path, target, form=form, name=name, columns=columns)
    slices = replace(content.slices, chosen_hard=chosen_hard)
    return ImportedSlices(slices, bool(store.add_slice_set(slices, target).new), content.notes)


def keep_slices(store: Store, slices: SliceSet) -> Stored:
    """Store slices that a study found; raise if others have their name."""
    target = store.test_set(slices.test_set)
    _check_name(slices.name, target)
    return store.add_slice_set(slices, target)


def _check_name(name: str, test_set: TestSet) -> None:
    """Raise if a name is not valid for slices or has another meaning for the test set."""
    if not name.strip():
        raise InputError("a slice set needs a name")
    for mark in ":=":
        if mark in name:
            raise InputError(f"the name {name!r} contains {mark}, which separates the parts of a slice's name")
    space = test_set.class_space
    for what, taken_names in (
        ("a group column", test_set.groups),
        ("a group of classes", space.groups),
        ("a class", space.index_of),
    ):
        if name in taken_names:
            raise InputError(f"{name!r} is {what} of {test_set.name} already: choose another --name")
