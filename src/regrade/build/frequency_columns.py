"""The selection frequencies of a build as group columns of a test set, such as its reference set."""

from __future__ import annotations

from regrade.build.frequencies import SelectionFrequencies
from regrade.core import UNLABELED, InputError, SliceSet, TestSet
from regrade.core.test_set import SELECTION_FREQUENCY


def frequency_columns(
    build: str, frequencies: SelectionFrequencies, test_set: TestSet, *, min_answers: int
) -> SliceSet:  # fmt: skip
    """The columns ``BUILD:selection_frequency`` and ``BUILD:answers``, for the class of each example's label.

    Both are empty for images with fewer than ``min_answers``. Raises if no image of the test set has as many.
    """
    counts = zip(
        frequencies.entries, frequencies.frequency.tolist(), frequencies.assignments.tolist(), strict=True
    )  # fmt: skip
    measured = {entry: (repr(share), str(answers)) for entry, share, answers in counts if answers >= min_answers}
    classes = test_set.class_space.ids
    rows = [
        measured.get((image, classes[label]), ("", "")) if label != UNLABELED else ("", "")
        for image, label in zip(test_set.ids, test_set.labels.tolist(), strict=True)
    ]
    if not any(share for share, _ in rows):
        raise InputError(f"no image of {test_set.name} has {min_answers} answers in build {build} for its label")
    shares, answers = zip(*rows, strict=True)
    columns = {f"{build}:{SELECTION_FREQUENCY}": tuple(shares), f"{build}:answers": tuple(answers)}
    return SliceSet(build, test_set.name, len(test_set), columns=columns, origin=f"build {build}")
