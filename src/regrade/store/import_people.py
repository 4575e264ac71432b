"""Importing people's answers into the workspace, where they are stored like the predictions of models."""

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
    """The result of an import: the new people, those stored before, and how many images each was asked about.

    ``passed_over`` counts answers to images that are not in the test set, ``timed`` those with a start and an end;
    ``notes`` are for the user.
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
    """Read a file of people's answers, check that it matches the test set, and store it atomically.

    People are stored like models, named ``person:`` and their name, with the images they were asked about.
    """
    target = store.test_set(test_set)
    content = read_people_file(path, target, form=form, name=name, columns=columns)
    source = source_of(path)
    space = target.class_space
    entries = [(answers, manifest_of(answers, target, space, source)) for answers in content.people]
    stored = store.add_predictions(target, entries, space)
    images = {answers.model: int(answers.counted.sum()) for answers in content.people}
    times = [answers.times for answers in content.people if answers.times is not None]
    timed = sum(int(np.isfinite(person_times.seconds).sum()) for person_times in times)
    return ImportedPeople(target, stored, images, content.passed_over, timed, content.notes)
