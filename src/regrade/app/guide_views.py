"""What the guide shows of a class: its entry, its place among others, those it is taken for, and images of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from regrade.app.difference import TextChange, difference
from regrade.app.hidden_images import HiddenImages
from regrade.app.references import reference_addresses
from regrade.app.site import Site
from regrade.core import ClassSpace, InputError, Paths, Steps, hierarchy_distances
from regrade.core.hierarchy_distance import UNRELATED
from regrade.ledger import GuideEntry, GuideText, Person

VARIANT = (Steps.MAX, Paths.ALL)
"""Which of the hierarchy's distances the guide speaks of."""

_IMAGES = 24  # of a class, beside the examples that someone chose
_NEIGHBORS = 8  # classes next to one in the hierarchy
_NEAR = 2  # steps within which a class is a neighbor


@dataclass(frozen=True)
class ConfusableClass:
    """A class that another is taken for, and how far apart they stand; none where there is no hierarchy."""

    id: str
    name: str
    distance: int | None


def alike(space: ClassSpace, index: int, ids: Iterable[str]) -> tuple[ConfusableClass, ...]:
    """The classes that an entry names, the nearest first; those that the space does not know are left out."""
    known = [space.index_of[one] for one in ids if one in space.index_of]
    found = (ConfusableClass(space.ids[one], space.names[one], _distance(space, index, one)) for one in known)
    return tuple(sorted(found, key=lambda one: (one.distance is None, one.distance or 0, one.name)))


def neighbors(space: ClassSpace, index: int, but: Iterable[str] = ()) -> tuple[ConfusableClass, ...]:
    """The classes next to one in the hierarchy, the nearest first."""
    if space.hierarchy is None:
        return ()
    distances = _distances(space)[index]
    near = np.flatnonzero((distances <= _NEAR) & (distances > 0))
    left_out = set(but)
    ids = [space.ids[one] for one in near[np.argsort(distances[near], kind="stable")] if space.ids[one] not in left_out]
    return alike(space, index, ids[:_NEIGHBORS])


def breadcrumbs(space: ClassSpace, index: int) -> tuple[str, ...]:
    """The words for the concepts above a class, from the top, along each one's first parent."""
    if space.hierarchy is None:
        return ()
    above = list(space.hierarchy.first_path_ancestors(space.ids[index]))[1:]
    return tuple(next(iter(space.hierarchy.lemmas.get(one, ())), one) for one in reversed(above))


def example_images(
    site: Site, examples: Iterable[tuple[str, str]], person: Person, *, excluded: frozenset[str]
) -> list[str]:
    """Addresses of images that an entry names, none that gives an answer away to someone, nor those that are gone."""
    named = [(test_set, example) for test_set, example in examples if test_set not in excluded]
    if not named:
        return []
    hidden = site.hidden_from(person) | site.hiding.examined(site.ledger.examinations())
    addresses = []
    for test_set, example in named:
        position = _position(site, test_set, example)
        if position is not None and hidden.visible(site.test_set(test_set), [position]):
            addresses.append(site.images.address(test_set, position))
    return [address for address in addresses if address is not None]


def hidden_examples(
    site: Site, examples: Iterable[tuple[str, str]], hidden: HiddenImages
) -> frozenset[tuple[str, str]]:
    """Those of an entry's examples that someone still has to answer: beside a class their ids alone would tell it."""
    located = ((test_set, example, _position(site, test_set, example)) for test_set, example in examples)
    return frozenset(
        (test_set, example)
        for test_set, example, position in located
        if position is not None and not hidden.visible(site.test_set(test_set), [position])
    )


def without_examples(text: GuideText, hidden: frozenset[tuple[str, str]]) -> GuideText:
    """An entry's text without its hidden examples."""
    return replace(text, examples=tuple(example for example in text.examples if example not in hidden))


def with_examples(text: GuideText, before: GuideText, hidden: frozenset[tuple[str, str]]) -> GuideText:
    """An entry's text with those examples of the one before it that its writer was not shown, at their places."""
    examples = [example for example in text.examples if example not in hidden]
    for place, example in enumerate(before.examples):
        if example in hidden:
            examples.insert(place, example)
    return replace(text, examples=tuple(examples))


def other_images(site: Site, space: ClassSpace, index: int, person: Person) -> list[str]:
    """Addresses of more images of a class, from sets that no one is examined on."""
    examinations, hidden = site.ledger.examinations(), site.hidden_from(person)
    return reference_addresses(site, hidden, space, index, examinations=examinations, count=_IMAGES)


def _position(site: Site, test_set: str, example: str) -> int | None:
    """Where an example is in its test set; none where either is gone or damaged."""
    if not site.workspace.store.has_test_set(test_set) or test_set in site.damaged_test_sets():
        return None
    return site.test_set(test_set).position_of.get(example)


def changes(
    space: ClassSpace, before: GuideText, after: GuideText, *, examples: bool
) -> dict[str, tuple[TextChange, ...]]:
    """What changed between two texts of an entry, part by part; parts that are alike are left out."""
    old, new = (_parts(space, one) for one in (before, after))
    shown = {name: difference(old[name], new[name]) for name in old if old[name] != new[name]}
    return {name: pieces for name, pieces in shown.items() if examples or name != "Examples"}


def _parts(space: ClassSpace, said: GuideText) -> dict[str, str]:
    return {
        "Traits": "\n".join(said.traits),
        "Text": said.text,
        "Looks like": "\n".join(space.names[space.index_of[one]] for one in said.alike if one in space.index_of),
        "Examples": example_lines(said.examples),
    }


def example_lines(examples: Iterable[tuple[str, str]]) -> str:
    """Examples as they are typed: test set, slash, id, each on a line of its own."""
    return "\n".join(f"{test_set}/{example}" for test_set, example in examples)


def examples_from(site: Site, lines: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Examples from how they are typed; a image that is not there raises."""
    return tuple(dict.fromkeys(_example(site, line) for line in lines))


def _example(site: Site, line: str) -> tuple[str, str]:
    names = site.workspace.store.test_set_names()
    for name in sorted(names, key=len, reverse=True):
        if line.startswith(f"{name}/"):
            example = line.removeprefix(f"{name}/")
            site.test_set(name).position(example)
            return name, example
    raise InputError(f"an example is a test set, a slash and a image's id, got {line!r}")


def _distances(space: ClassSpace) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    steps, paths = VARIANT
    return np.asarray(hierarchy_distances(space, steps=steps, paths=paths), dtype=np.int64)


def _distance(space: ClassSpace, one: int, other: int) -> int | None:
    if space.hierarchy is None:
        return None
    found = int(_distances(space)[one, other])
    return None if found == UNRELATED else found


def standing(site: Site, class_space: str) -> list[tuple[GuideEntry, str]]:
    """The entries of a class space with the names of their classes, the last changed first."""
    space = site.class_space(class_space)
    entries = site.guide.entries(class_space)
    return [(one, space.names[space.index_of[one.class_id]]) for one in entries if one.class_id in space.index_of]
