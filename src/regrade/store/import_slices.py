"""Bringing a file of slices into the workspace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from regrade.core import InputError, SliceSet, TestSet
from regrade.store.folder import Store, Stored
from regrade.store.slice_files import SliceFormat, read_slice_file
from regrade.tables import Columns


@dataclass(frozen=True)
class ImportedSlices:
    """What an import did: the slices, whether they were new, and notes for people."""

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
    """Read a file of slices, hold it against the test set and store it beside that; others under its name raise.

    ``chosen_hard`` says that the images were chosen because models find them hard.
    """
    target = store.test_set(test_set)
    _check_name(name, target)
    content = read_slice_file(path, target, form=form, name=name, columns=columns)
    slices = replace(content.slices, chosen_hard=chosen_hard)
    return ImportedSlices(slices, bool(store.add_slice_set(slices, target).new), content.notes)


def keep_slices(store: Store, slices: SliceSet) -> Stored:
    """Store slices that were found here beside their test set; others under their name raise."""
    target = store.test_set(slices.test_set)
    _check_name(slices.name, target)
    return store.add_slice_set(slices, target)


def _check_name(name: str, test_set: TestSet) -> None:
    """See that a name means nothing else yet where slices are asked for."""
    if not name.strip():
        raise InputError("a slice set needs a name")
    for mark in ":=":
        if mark in name:
            raise InputError(f"the name {name!r} holds a {mark}, which stands between the parts of a slice's name")
    space = test_set.class_space
    for what, known in (
        ("a group column", test_set.groups),
        ("a group of classes", space.groups),
        ("a class", space.index_of),
    ):
        if name in known:
            raise InputError(f"{name!r} is {what} of {test_set.name} already: choose another --name")
