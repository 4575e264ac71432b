"""Frequencies of a build as group columns: for the class of the label, empty without enough answers."""

import numpy as np
import pytest

from regrade.build.frequencies import Assignment, collect_answers, selection_frequencies
from regrade.build.frequency_columns import frequency_columns
from regrade.build.tasks import GridTask, Tile, TileRole
from regrade.core import ClassSpace, InputError, TestSet
from regrade.studies.frequency.column import NO_BIN, image_frequencies

SPACE = ClassSpace("pets", ("cat", "dog"))
REFERENCE = TestSet("ref", SPACE, ("a", "b", "c", "d"), np.array([0, 0, 1, -1], dtype=np.int32))


@pytest.fixture
def frequencies():
    """Image a is shown for cat and, as a negative control, for dog; b once; c never."""
    tasks = [
        GridTask("1", "cat", (Tile("a", TileRole.POSITIVE), Tile("d", TileRole.CANDIDATE))),
        GridTask("2", "dog", (Tile("a", TileRole.NEGATIVE), Tile("z", TileRole.CANDIDATE))),
        GridTask("3", "cat", (Tile("b", TileRole.POSITIVE),)),
    ]
    answers = [
        Assignment("1", worker, frozenset(selected))
        for worker, selected in zip("uvwx", ("a", "a", "a", ""), strict=True)
    ]
    answers += [Assignment("2", "u", frozenset()), Assignment("3", "u", frozenset("b"))]
    return selection_frequencies(collect_answers(tasks, answers))


def test_columns_are_of_the_class_of_the_label(frequencies):
    columns = frequency_columns("v2", frequencies, REFERENCE, min_answers=2).columns
    assert columns == {"v2:selection_frequency": ("0.75", "", "", ""), "v2:answers": ("4", "", "", "")}


def test_columns_are_what_the_study_of_frequencies_reads(frequencies):
    slices = frequency_columns("v2", frequencies, REFERENCE, min_answers=1)
    described = TestSet("ref", SPACE, REFERENCE.ids, REFERENCE.labels, dict(slices.columns))
    measured = image_frequencies(described, None)
    assert measured.bins.tolist() == [3, 4, NO_BIN, NO_BIN]
    assert measured.frequencies[:2].tolist() == [0.75, 1.0]
    assert measured.answers is None  # a single answer about b cannot be divided into halves


def test_a_set_without_answers_is_refused(frequencies):
    with pytest.raises(InputError, match="no image of ref has 5 answers in build v2"):
        frequency_columns("v2", frequencies, REFERENCE, min_answers=5)
