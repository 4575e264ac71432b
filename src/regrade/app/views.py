"""What pages are told of classes and items: plain values that become JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from regrade.app.hidden_images import HiddenImages
from regrade.app.references import reference_addresses
from regrade.app.scores import in_words
from regrade.app.site import Site
from regrade.classes import definition
from regrade.core import UNLABELED, ClassSpace
from regrade.ledger import Item, Person, Question, Queue

_REFERENCES = 12  # images of a class that come with an item

WITHHELD = "shown once you have labeled this image"
"""What is said in place of labels that would give the answer to another question away."""


def class_view(space: ClassSpace, index: int) -> dict[str, Any]:
    """A class by its names and its definition, if one is at hand."""
    return {
        "space": space.name,
        "id": space.ids[index],
        "name": space.names[index],
        "words": list(space.lemmas[index]),
        "definition": definition(space.ids[index]) or "",
    }


def references(
    site: Site,
    queue: Queue,
    hidden: HiddenImages,
    class_index: int,
    *,
    examinations: Collection[Queue],
    count: int = _REFERENCES,
) -> list[str]:
    """Addresses of images of a class, none of them from a test set that the queue or an examination asks about.

    Nor are they ``hidden`` images or such that anyone is examined on, in any test set.
    """
    space = site.test_set(queue.test_set).class_space
    excluded = frozenset({queue.test_set})
    return reference_addresses(
        site, hidden, space, class_index, examinations=examinations, excluded=excluded, count=count
    )


def item_view(site: Site, queue: Queue, item: Item, person: Person) -> dict[str, Any]:
    """What someone is shown who is asked about an item; a labeler gets the image and nothing else."""
    shown: dict[str, Any] = {"id": item.id, "image": image_address(site, queue, item)}
    if queue.question is Question.LABEL:
        return shown
    test_set = site.test_set(queue.test_set)
    space = test_set.class_space
    class_index = space.index(item.class_id)
    examinations, hidden = site.ledger.examinations(), site.hidden_from(person)
    if queue.question is Question.MISTAKE:
        shown["score"] = score_words(site, queue, item, all_voted=False)
    return shown | {
        "class": class_view(space, class_index),
        "references": references(site, queue, hidden, class_index, examinations=examinations),
        "labels": labels_before_answer(site, queue, item, hidden),
    }


def image_address(site: Site, queue: Queue, item: Item) -> str | None:
    """Where those who are asked find the image of an item, or none where the test set has no images."""
    position = site.test_set(queue.test_set).position(item.example)
    return site.images.address_in_queue(queue.test_set, position, queue.id)


def score_words(site: Site, queue: Queue, item: Item, *, all_voted: bool) -> str:
    """How sure the queue's model is of the class, or those that predict it.

    Where people's answers may be among models', whose it is stays untold until all have voted.
    """
    if not all_voted and site.hiding.hides_whose_answer(queue):
        return "shown once all have voted, so that no one can tell whose answer it is"
    test_set = site.test_set(queue.test_set)
    place = test_set.position(item.example), test_set.class_space.index(item.class_id)
    return in_words(site.scores.of(test_set, *place, model=queue.model), model=queue.model)


def labels_before_answer(site: Site, queue: Queue, item: Item, hidden: HiddenImages) -> dict[str, Any]:
    """The known labels of an image; withheld where the ``hidden`` images have it as one that is still to be labeled."""
    test_set = site.test_set(queue.test_set)
    position = test_set.position(item.example)
    if hidden.to_label().asking(test_set, position):
        return {"correct": [], "unclear": [], "wrong": [], "problematic": "", "withheld": WITHHELD}
    return known_labels(site, queue, position, but=test_set.class_space.index(item.class_id))


def known_labels(site: Site, queue: Queue, position: int, *, but: int) -> dict[str, Any]:
    """The names of the classes that are known to be correct, unclear or wrong for a image.

    What is known of the class that is asked about is left out: who judges it a second time must not be told.
    """
    test_set = site.test_set(queue.test_set)

    def named(classes: Iterable[int]) -> list[str]:
        return [test_set.class_space.names[one] for one in classes if one != but]

    if not queue.labels:
        own = [int(label) for label in (test_set.labels[position],) if label != UNLABELED]
        return {"correct": named(own), "unclear": [], "wrong": [], "problematic": ""}
    known = site.label_book(test_set.name, queue.labels).of(position)
    return {
        "correct": named(known.correct),
        "unclear": named(known.unclear),
        "wrong": named(known.wrong),
        "problematic": known.problematic,
    }
