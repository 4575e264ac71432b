"""Classes, reference images and items as plain values for pages and JSON responses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from regrade.app.hidden_images import HiddenImages
from regrade.app.image_lookup import format_scores
from regrade.app.pair_views import distance_text, pair_addresses, pair_view
from regrade.app.references import question_references
from regrade.app.site import Site
from regrade.classes import definition
from regrade.core import UNLABELED, ClassSpace
from regrade.ledger import Item, Person, Question, Queue, image_set

WITHHELD = "shown once you have labeled this image"
"""Shown instead of labels that would reveal the answer to another question."""

_REFERENCES = 12  # reference images sent with an item


def class_view(space: ClassSpace, index: int) -> dict[str, Any]:
    """A class with its names and its definition, if it has one."""
    return {
        "space": space.name,
        "id": space.ids[index],
        "name": space.names[index],
        "words": list(space.lemmas[index]),
        "definition": definition(space.ids[index]) or "",
    }


def item_view(site: Site, queue: Queue, item: Item, person: Person) -> dict[str, Any]:
    """An item as the person who answers it sees it; labeling queues show only the image, pairs only both images."""
    if queue.question is Question.PAIR:
        return pair_view(site, queue, item)
    shown: dict[str, Any] = {"id": item.id, "image": image_address(site, queue, item)}
    if queue.question is Question.LABEL:
        return shown
    test_set = site.test_set(queue.test_set)
    space = test_set.class_space
    class_index = space.index(item.class_id)
    hidden = site.hidden_from(person)
    if queue.question is Question.MISTAKE:
        shown["score"] = score_text(site, queue, item, all_voted=False)
    return shown | {
        "class": class_view(space, class_index),
        "references": question_references(site, queue, person, class_index, count=_REFERENCES),
        "labels": labels_before_answer(site, queue, item, hidden),
    }


def image_address(site: Site, queue: Queue, item: Item) -> str | None:
    """The URL of an item's image in its queue, or None if the test set has no images."""
    test_set = site.test_set(image_set(queue, item.class_id))
    return site.images.address_in_queue(test_set.name, test_set.position(item.example), queue.id)


def image_addresses(site: Site, queue: Queue, item: Item) -> list[str | None]:
    """The URLs of everything that an item shows: its image, or both images of a pair."""
    if queue.question is Question.PAIR:
        return pair_addresses(site, queue, item)
    return [image_address(site, queue, item)]


def score_text(site: Site, queue: Queue, item: Item, *, all_voted: bool) -> str:
    """The confidence of the queue's model, or of the models that predict the class; for a pair, its distances.

    If people's answers may be among the predictions, the source stays hidden until all have voted. Empty for questions
    without predictions.
    """
    if queue.question is Question.PAIR:
        return distance_text(site, queue, item, all_voted=all_voted)
    if not queue.question.shows_predictions:
        return ""
    if not all_voted and site.hiding.hides_answer_source(queue):
        return "shown once all have voted, so that its source stays unknown"
    test_set = site.test_set(queue.test_set)
    position, class_index = test_set.position(item.example), test_set.class_space.index(item.class_id)
    return format_scores(site.scores.of(test_set, position, class_index, model=queue.model), model=queue.model)


def labels_before_answer(site: Site, queue: Queue, item: Item, hidden: HiddenImages) -> dict[str, Any]:
    """The known labels of an image; withheld if the ``hidden`` images contain it as one still to be labeled."""
    test_set = site.test_set(queue.test_set)
    position = test_set.position(item.example)
    if hidden.to_label().asking(test_set, position):
        return {"correct": [], "unclear": [], "wrong": [], "problematic": "", "withheld": WITHHELD}
    return known_labels(site, queue, position, excluded=test_set.class_space.index(item.class_id))


def known_labels(site: Site, queue: Queue, position: int, *, excluded: int) -> dict[str, Any]:
    """The names of the classes that were judged correct, unclear or wrong for an image.

    The class in question, ``excluded``, is left out: people who judge it again must not see the earlier judgment.
    """
    test_set = site.test_set(queue.test_set)

    def named(classes: Iterable[int]) -> list[str]:
        return [test_set.class_space.names[index] for index in classes if index != excluded]

    if not queue.labels:
        own = [int(label) for label in (test_set.labels[position],) if label != UNLABELED]
        return {"correct": named(own), "unclear": [], "wrong": [], "problematic": ""}
    labels = site.label_index(test_set.name, queue.labels).of(position)
    return {
        "correct": named(labels.correct),
        "unclear": named(labels.unclear),
        "wrong": named(labels.wrong),
        "problematic": labels.problematic,
    }
