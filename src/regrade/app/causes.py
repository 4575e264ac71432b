"""The likely causes of a mistake, for a reviewer who has answered: similar training images, scores, and other models.

None of this leaves the server before the reviewer's own answer is stored, or while the image is pending in another
queue: it would bias the answer.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from math import exp, isnan, log2

from pydantic import BaseModel

from regrade.app.explore.answers import AnswerRow
from regrade.app.explore.explorer import View
from regrade.app.explore.selection import Choice
from regrade.app.selection_index import BuildFrequencies
from regrade.app.site import Site
from regrade.app.views import image_address
from regrade.core import UNLABELED, InputError, RegradeError, ScoreKind, TestSet
from regrade.core.test_set import SELECTION_FREQUENCY
from regrade.core.training_neighbors import NO_NEIGHBOR, Duplicate, TrainingNeighbors
from regrade.ledger import Item, Person, Queue, Role
from regrade.metrics import confusion_score
from regrade.store import Store

_MAX_CHECKPOINTS = 1000  # of each of which one row is read for a page
_NO_NEIGHBORS = "No up-to-date nearest training images of this test set are stored."


class Fact(BaseModel):
    """A heading and a text."""

    heading: str
    text: str


class ScoredClass(BaseModel):
    """One of the best classes of the model, with its score as text; empty if it is not stored."""

    name: str
    score: str


class PredictedClass(BaseModel):
    """A class, and the other models that predict it."""

    name: str
    models: list[str]


class NeighborView(BaseModel):
    """A training image: its URL, that of its page, its label, its distance, and whether it is a duplicate."""

    image: str | None
    page: str
    label: str
    is_predicted: bool
    distance: str
    duplicate: str


class NeighborsView(BaseModel):
    """The nearest training images, without those that are ``hidden``, or a ``note`` why there are none."""

    training_set: str = ""
    model: str = ""
    images: list[NeighborView] = []
    hidden: int = 0
    note: str = ""


class Causes(BaseModel):
    """The likely causes of a mistake; all is empty if they are ``withheld``, for the reason given."""

    withheld: str = ""
    name: str = ""
    image: str | None = None
    best: list[ScoredClass] = []
    other_models: list[PredictedClass] = []
    facts: list[Fact] = []
    neighbors: NeighborsView | None = None


def likely_causes(site: Site, queue: Queue, item: Item, person: Person) -> Causes:
    """The causes of a mistake; raise unless the person's answer is stored."""
    standing = site.ledger.discussions.seen_by(item.id, person).standing
    if all(vote.person_id != person.id for vote in standing):
        raise InputError("the likely causes are shown once your answer is stored: answer first")
    test_set = site.test_set(queue.test_set)
    position = test_set.position(item.example)
    if site.hidden_from(person).asking(test_set, position):
        return Causes(withheld="shown once you have answered about this image in your other queues")
    view = site.explorer.view(queue.test_set, "")
    space = test_set.class_space
    return Causes(
        name=space.names[space.index(item.class_id)],
        image=image_address(site, queue, item),
        best=best_classes(view, position, queue.model),
        other_models=predicted_classes(view, position, excluded=queue.model),
        facts=list(_facts(site, view, position, item)),
        neighbors=_nearest(site, queue, item, person),
    )


def _nearest(site: Site, queue: Queue, item: Item, person: Person) -> NeighborsView:
    """The nearest training images of an item; owners read which command finds them if they are missing."""
    test_set = site.test_set(queue.test_set)
    try:
        training_set, neighbors = site.neighbors.of(test_set, queue.model)
    except RegradeError as error:
        return NeighborsView(note=f"{error}" if person.role is Role.OWNER else _NO_NEIGHBORS)
    position, predicted = test_set.position(item.example), test_set.class_space.index(item.class_id)
    places = [place for place, near in enumerate(neighbors.positions[position].tolist()) if near != NO_NEIGHBOR]
    visible = _visible(site, person, training_set, neighbors.positions[position][places].tolist())
    images = [
        _neighbor_view(site, training_set, neighbors, (position, place), predicted)
        for place in places
        if int(neighbors.positions[position, place]) in visible
    ]
    return NeighborsView(
        training_set=training_set.name,
        model=neighbors.question.model,
        images=images,
        hidden=len(places) - len(images),
        note="" if places else f"{neighbors.question.model} has no embedding of this image.",
    )


def _visible(site: Site, person: Person, training_set: TestSet, positions: list[int]) -> frozenset[int]:
    """The training images that a person may see with their labels: none of a set with an examination."""
    if training_set.name in site.examined():
        return frozenset()
    hidden = site.hidden_from(person) | site.hiding.all_of(site.ledger.queues.examinations())
    return frozenset(hidden.visible(training_set, positions))


def _neighbor_view(
    site: Site, training_set: TestSet, neighbors: TrainingNeighbors, at: tuple[int, int], predicted: int
) -> NeighborView:
    near = int(neighbors.positions[at])
    label = int(training_set.labels[near])
    return NeighborView(
        image=site.images.address(training_set.name, near),
        page=Choice(set=training_set.name).image_page(near),
        label="no label" if label == UNLABELED else training_set.class_space.names[label],
        is_predicted=label == predicted,
        distance=f"{neighbors.distances[at]:.3f}",
        duplicate=Duplicate(int(neighbors.duplicates[at])).word,
    )


def best_classes(view: View, position: int, model: str) -> list[ScoredClass]:
    """The best five classes of a model with their scores; none without its predictions."""
    answers = view.answers
    if model not in answers.place_of:
        return []
    place = answers.place_of[model]
    row = answers.rows[place]
    rows = zip(answers.classes[place, position].tolist(), answers.scores[place, position].tolist(), strict=True)
    return [
        ScoredClass(name=row.class_space.names[index], score=_score(row, score)) for index, score in rows if index >= 0
    ]


def _score(row: AnswerRow, score: float) -> str:
    """A score as text: a probability in percent, a logit as a number; empty for NaN."""
    if isnan(score):
        return ""
    if row.score_kind is ScoreKind.LOGITS:
        return f"{score:.2f}"
    return f"{100 * (exp(score) if row.score_kind is ScoreKind.LOG_PROBABILITIES else score):.1f}%"


def predicted_classes(view: View, position: int, *, excluded: str) -> list[PredictedClass]:
    """The classes that other models predict for an image, most frequent first, each with the models."""
    answers, by_class = view.answers, defaultdict(list)
    for row, index in zip(answers.rows, answers.answered[:, position].tolist(), strict=True):
        if not row.is_person and row.name != excluded:
            by_class[index].append(row.name)
    ordered = sorted(by_class.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return [PredictedClass(name=_class_name(view.test_set, index), models=names) for index, names in ordered]


def _class_name(test_set: TestSet, index: int) -> str:
    return test_set.class_space.names[index] if index >= 0 else "none of its classes"


def _facts(site: Site, view: View, position: int, item: Item) -> Iterator[Fact]:
    """What is stored about an image: confusion, selection by people, and their answers."""
    test_set = view.test_set
    yield from _confusion(site.workspace.store, test_set, position)
    if SELECTION_FREQUENCY in test_set.group_columns:
        yield Fact(heading="Selection frequency", text=test_set.group_columns[SELECTION_FREQUENCY][position])
    for build, frequencies in site.selections.on(test_set.name):
        yield from _selections(test_set, build, frequencies, item.example)
    if answers := _people(view, position):
        yield Fact(heading="People", text=answers)


def _confusion(store: Store, test_set: TestSet, position: int) -> Iterator[Fact]:
    """The confusion score of an image by each ensemble, in bits."""
    for name in store.ensembles.names(test_set.name):
        try:
            checkpoints = store.ensembles.read(test_set, name)
            if len(checkpoints.members) * len(checkpoints.epochs) > _MAX_CHECKPOINTS:
                continue
            score = float(confusion_score(checkpoints.of_example(position))[0])
        except RegradeError:
            continue
        text = f"{score:.2f} of at most {log2(checkpoints.classes):.2f} bits, by {name}"
        yield Fact(heading="Confusion score", text=text)


def _selections(test_set: TestSet, build: str, counted: BuildFrequencies, image: str) -> Iterator[Fact]:
    for class_id in counted.classes.get(image, ()):
        share = counted.frequencies.estimate(image, class_id)
        index = test_set.class_space.index_of.get(class_id)
        name = class_id if index is None else test_set.class_space.names[index]
        text = f"{100 * share.value:.0f}% of {share.n:,} workers select it for {name} (build {build})"
        yield Fact(heading="Selection frequency", text=text)


def _people(view: View, position: int) -> str:
    """How many of the people who were asked answered each class."""
    rows = zip(view.answers.rows, view.answers.answered[:, position].tolist(), strict=True)
    counts = Counter(
        index for row, index in rows if row.is_person and (row.was_asked is None or row.was_asked[position])
    )
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    return ", ".join(f"{count} answered {_class_name(view.test_set, index)}" for index, count in ordered)
