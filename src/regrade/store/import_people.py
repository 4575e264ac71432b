"""Bringing the answers of people into the workspace, where they stand beside those of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from regrade.core import TestSet
from regrade.store.folder import Store, Stored
from regrade.store.import_predictions import manifest_of, source_of
from regrade.store.people_files import PeopleFormat, read_people_file
from regrade.tables import Columns


@dataclass(frozen=True)
class ImportedPeople:
    """What an import did: the people stored, those that were there already, and how many images each was asked about.

    ``passed_over`` counts answers to images that are not in the test set, ``timed`` answers whose times are known, and
    ``notes`` are for people.
    """

    test_set: TestSet
    people: Stored
    images: Mapping[str, int]
    passed_over: int
    timed: int = 0
    notes: tuple[str, ...] = ()


def import_people(
    store: Store,
    path: Path,
    *,
    test_set: str,
    form: PeopleFormat,
    name: str | None = None,
    columns: Columns | None = None,
) -> ImportedPeople:
    """Read a file of people's answers, hold it against the test set and store it, all of it or nothing.

    People are stored as models are, under ``person:`` and their name, with the images they were asked about.
    """
    target = store.test_set(test_set)
    found = read_people_file(path, target, form=form, name=name, columns=columns)
    source = source_of(path)
    space = target.class_space
    entries = [(answers, manifest_of(answers, target, space, source)) for answers in found.people]
    stored = store.add_predictions(target, entries, space)
    images = {answers.model: int(answers.counted.sum()) for answers in found.people}
    timed = sum(int(np.isfinite(own.times.seconds).sum()) for own in found.people if own.times is not None)
    return ImportedPeople(target, stored, images, found.passed_over, timed, found.notes)
