"""Who has answers on every one of several test sets, and whether the sets can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from regrade.core import InputError, MismatchError, TestSet, UnknownName
from regrade.core.amounts import amount
from regrade.studies.shared_images import shared_images


def check_sets(sets: Sequence[TestSet]) -> None:
    """Raise if a test set is named twice, or has other classes than the first."""
    original = sets[0]
    names = [test_set.name for test_set in sets]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise InputError(f"--test-set names {repeated} twice: its accuracies would be compared with themselves")
    for test_set in sets[1:]:
        if test_set.class_space.digest != original.class_space.digest:
            raise MismatchError(
                f"{test_set.name} has other classes ({test_set.class_space.name}) than {original.name} "
                f"({original.class_space.name}): compare people on sets of the same classes"
            )


StoredNames = Mapping[str, Sequence[str]]
"""The people, or the models, that have answers on each test set."""


def common_people(stored: StoredNames, named: Sequence[str]) -> tuple[list[str], list[str]]:
    """The named people (default: all that have answers on every set), and a note on those left out.

    A named person without answers on one of the sets raises, and so does if no one has answers on all of them.
    """
    common, notes = _on_every_set(stored, named, "person", "people")
    if not common:
        lacking = "; ".join(f"{name} lacks {', '.join(sets)}" for name, sets in _lacking(stored).items())
        raise InputError(
            f"no person has answers on all of {', '.join(stored)} ({lacking or 'there are none yet'}): run regrade "
            "import people for the other sets"
        )
    return common, notes


def common_models(stored: StoredNames, named: Sequence[str]) -> tuple[list[str], list[str]]:
    """The named models (default: all that have predictions on every set), and a note on those left out."""
    return _on_every_set(stored, named, "model", "models")


def _on_every_set(stored: StoredNames, named: Sequence[str], what: str, plural: str) -> tuple[list[str], list[str]]:
    lacking = _lacking(stored)
    if len(set(named)) < len(named):
        raise InputError(f"a {what} is named twice")
    for name in named:
        if all(name not in names for names in stored.values()):
            raise UnknownName(f"{what} on {', '.join(stored)}", name, sorted({n for ns in stored.values() for n in ns}))
        if name in lacking:
            raise InputError(
                f"{name} has no answers on {', '.join(lacking[name])}: import them, or name {plural} with answers on "
                f"all of {', '.join(stored)}"
            )
    if named:
        return list(named), []
    common = [name for name in next(iter(stored.values())) if name not in lacking]
    words = "; ".join(f"{name} ({', '.join(sets)})" for name, sets in lacking.items())
    return common, [f"{plural} left out, without answers on a set: {words}"] if words else []


def _lacking(stored: StoredNames) -> dict[str, list[str]]:
    """The test sets on which a participant has no answers, for those who lack any."""
    everyone = dict.fromkeys(name for names in stored.values() for name in names)
    lacking = {name: [each for each, names in stored.items() if name not in names] for name in everyone}
    return {name: sets for name, sets in lacking.items() if sets}


def overlaps(sets: Sequence[TestSet]) -> Iterator[str]:
    """Notes on images of new sets that are also in the original, by their ids."""
    for new in sets[1:]:
        shared = shared_images(sets[0], new)
        count = 0 if shared is None else int(np.count_nonzero(shared.second >= 0))
        if count:
            yield (
                f"{count:,} of {amount(len(new), 'image')} of {new.name} are images of {sets[0].name} too: intervals "
                "and tests take them as different images"
            )
