"""The choice of an Explore page, stored in its URL, and the images that match its filters, in its sort order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import numpy as np
from fastapi import Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict, Field

from regrade.app.explore.answers import WORDS, AnswerKind, AnswerOutcome, has_kind
from regrade.app.explore.explorer import Explorer, View
from regrade.app.hidden_images import HiddenImages
from regrade.app.site import Site
from regrade.core import UNLABELED, ClassSpace, InputError, TestSet, UndefinedError, UnknownName
from regrade.core.arrays import BoolArray, IntArray

Text = Annotated[str, Field(max_length=500)]

TABLE, IMAGES, IMAGE, CLASS = "/explore", "/explore/images", "/explore/image", "/explore/class"
"""Paths of the Explore pages."""


class Choice(BaseModel):
    """Filters and sort order; empty values are not chosen.

    ``was`` is the test set that a form was rendered for: if the test set changes, its other filters are dropped.
    """

    model_config = ConfigDict(frozen=True)

    set: Text = ""
    labels: Text = ""
    slice: Text = ""
    models: Text = ""
    sort: Text = ""
    x: Annotated[str, Field(max_length=2000)] = ""
    y: Annotated[str, Field(max_length=2000)] = ""
    model: Text = ""
    outcome: Text = ""
    other_model: Annotated[str, Field(max_length=500, alias="other")] = ""
    other_outcome: Text = ""
    label: Text = ""
    predicted: Text = ""
    find: Text = ""
    order: Text = ""
    page: Annotated[int, Field(ge=1, le=10**7)] = 1
    image: Annotated[int | None, Field(ge=0, lt=2**31)] = None
    id: Annotated[str, Field(max_length=1000)] = ""
    near: Text = ""
    was: Text = ""
    class_id: Annotated[str, Field(max_length=500, alias="class")] = ""

    def replace(self, **changes: Any) -> Choice:
        """The choice with some values changed; a change of the filters or the order goes back to the first page."""
        if not {"page", "image", "near"} & set(changes):
            changes["page"] = 1
        return self.model_copy(update=changes)

    def address(self, path: str, **changes: Any) -> str:
        """The URL of a page with this choice, with some values changed."""
        chosen = self.replace(**changes) if changes else self
        query = chosen.model_dump(by_alias=True, exclude_defaults=True)
        return f"{path}?{urlencode(query, quote_via=quote)}" if query else path

    def basis(self) -> Choice:
        """The choice of test set, labels and slice only."""
        return Choice(set=self.set, labels=self.labels, slice=self.slice)

    def images(self, **filters: Any) -> str:
        """The URL of the images page with these filters, on this test set, labels and slice."""
        return self.basis().address(IMAGES, **filters)

    def image_page(self, position: int) -> str:
        """The URL of one of the chosen images."""
        return self.address(IMAGE, image=position, near="", sort="")

    def class_page(self, class_id: str) -> str:
        """The URL of a class."""
        return Choice(set=self.set, labels=self.labels).address(CLASS, class_id=class_id)

    def settled(self) -> Choice:
        """The choice for a URL: without ``was``, and without filters that belong to another test set."""
        if self.was and self.was != self.set:
            return Choice(set=self.set, models=self.models)
        return self.model_copy(update={"was": ""})


ChoiceQuery = Annotated[Choice, Query()]
"""The choice in the query of a URL."""


def redirect_submitted_form(request: Request, requested: Choice) -> Response | None:
    """Redirect a submitted form to the short URL of its choice; None if the URL is short already."""
    return RedirectResponse(requested.settled().address(request.url.path), 303) if requested.was else None


def resolve_choice(site: Site, requested: Choice) -> tuple[Choice, View]:
    """Resolve a requested choice to an existing test set and one label version, and load its view."""
    explorer, names = site.explorer, site.workspace.testsets.names()
    with_models = (name for name in names if site.workspace.store.predictions.model_names(name))
    name = requested.set or next(with_models, "") or next(iter(names), "")
    if not name:
        raise UnknownName("test set", "", [], hint=": add one with regrade testsets add")
    if name not in names:
        raise UnknownName("test set", name, names)
    labels = explorer.labels_named(name, requested.labels)
    return requested.model_copy(update={"set": name, "labels": labels}), explorer.view(name, labels)


def form_options(site: Site, choice: Choice, view: View) -> dict[str, Any]:
    """The choice, and the options of a page's forms."""
    return {
        "choice": choice,
        "test_sets": site.workspace.testsets.names(),
        "label_sets": label_sets(site, choice),
        "slices": site.explorer.available_slices(view),
        "rows": view.answers.rows,
    }


def label_sets(site: Site, choice: Choice) -> tuple[str, ...]:
    """The label sets of the test set, in reverse order, newest version first."""
    return tuple(reversed(site.workspace.store.labels.names(choice.set)))


PAGE_SIZE = 60
"""Images per page."""

ORDERS = {"": "As stored", "hardest": "Missed by most first", "confident": "Most confident first"}
"""Sort orders, with their names on pages."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The positions of the selected images, in order."""

    positions: IntArray

    @property
    def pages(self) -> int:
        """Number of pages, at least one."""
        return max(1, -(-len(self.positions) // PAGE_SIZE))

    def on_page(self, page: int) -> list[int]:
        """The positions on a page; the last page for larger numbers."""
        begin = (min(page, self.pages) - 1) * PAGE_SIZE
        return [int(position) for position in self.positions[begin : begin + PAGE_SIZE]]

    def around(self, position: int) -> tuple[int | None, int | None, int | None]:
        """The number of an image in the selection, and the images before and after it, each None if missing."""
        places = np.flatnonzero(self.positions == position)
        if not places.size:
            return None, None, None
        at = int(places[0])
        before = int(self.positions[at - 1]) if at else None
        after = int(self.positions[at + 1]) if at + 1 < len(self.positions) else None
        return at + 1, before, after


def select_images(explorer: Explorer, view: View, choice: Choice, hidden: BoolArray) -> Selection:
    """Select images; without a model, an image matches if any model or person has an answer that fits all filters.

    ``hidden`` images (n,) are never selected.
    """
    test_set, answers = view.test_set, view.answers
    inside = explorer.inside(view, choice.slice) & ~hidden
    if choice.label:
        inside &= view.of_class(class_named(test_set.class_space, choice.label))
    places = [answers.place(choice.model)] if choice.model else list(range(len(answers.rows)))
    if choice.outcome or choice.predicted:
        inside &= _any_fits(view, places, choice)
    if choice.other_model:
        inside &= _of_kind(view, answers.place(choice.other_model), kind_named(choice.other_outcome or "right"))
    if choice.find:
        text = choice.find.casefold()
        inside &= np.fromiter((text in id.casefold() for id in test_set.ids), dtype=bool, count=len(test_set))
    return Selection(_ordered(view, choice, np.flatnonzero(inside)))


def kind_named(name: str) -> AnswerKind:
    """A kind of answers by its name; an unknown name raises."""
    try:
        return AnswerKind(name)
    except ValueError:
        raise UnknownName("outcome", name, [kind.value for kind in AnswerKind]) from None


def class_named(space: ClassSpace, text: str) -> int:
    """A class by its id, its name or a synonym; an unknown or ambiguous text raises."""
    if text in space.index_of:
        return space.index_of[text]
    name = text.strip().casefold()
    for matches in (
        [index for index, class_name in enumerate(space.names) if class_name.casefold() == name],
        [index for index, words in enumerate(space.lemmas) if name in (word.casefold() for word in words)],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            few = ", ".join(f"{space.ids[index]} ({space.names[index]})" for index in matches[:5])
            raise InputError(f"{text!r} is ambiguous: give the id of one of {few}")
    raise UnknownName(f"class of {space.name}", text, [*space.ids, *space.names])


def _any_fits(view: View, places: list[int], choice: Choice) -> BoolArray:
    """Shape (n,): the images with an answer of the chosen kind and class in any of the rows ``places``."""
    kind = kind_named(choice.outcome) if choice.outcome else None
    predicted = class_named(view.test_set.class_space, choice.predicted) if choice.predicted else None
    fits = np.zeros(len(view.test_set), dtype=bool)
    for place in places:
        row_fits = np.ones(len(fits), dtype=bool) if kind is None else _of_kind(view, place, kind)
        fits |= row_fits if predicted is None else row_fits & (view.answers.answered[place] == predicted)
    return fits


def _of_kind(view: View, place: int, kind: AnswerKind) -> BoolArray:
    if kind is not AnswerKind.NOT_IN_FIVE:
        return has_kind(kind, view.codes[place])
    answers = view.answers
    try:
        in_top_five = answers.rows[place].scoring.top_k(answers.predictions(place), 5)
    except UndefinedError as error:
        raise InputError(str(error)) from None
    return np.asarray(~in_top_five.right & (answers.own[place] != AnswerOutcome.NOT_COUNTED))


def _ordered(view: View, choice: Choice, positions: IntArray) -> IntArray:
    match choice.order:
        case "":
            return positions
        case "hardest":
            return positions[np.argsort(-view.missed[positions], kind="stable")]
        case "confident":
            if not choice.model:
                raise InputError("choose a model to sort by its confidence")
            scores = np.asarray(view.answers.scores[view.answers.place(choice.model), :, 0])[positions]
            return positions[np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")]
    raise UnknownName("order", choice.order, [order for order in ORDERS if order])


@dataclass(frozen=True)
class ImageTile:
    """One thumbnail: the URLs of the image and of its page, the label, and the model's answer with its outcome."""

    image: str | None
    address: str
    id: str
    label: str
    answer: str
    outcome: str
    score: float | None
    note: str


def tiles(site: Site, view: View, choice: Choice, positions: Iterable[int], hidden: HiddenImages) -> list[ImageTile]:
    """The tiles of a page, without hidden images; they show a model's answer only if a model is chosen."""
    answers = view.answers
    place = answers.place(choice.model) if choice.model else None
    shown = []
    for position in hidden.visible(view.test_set, positions):
        answer, outcome, score, note = "", "", None, ""
        if place is not None:
            top = int(answers.classes[place, position, 0])
            answer = answers.rows[place].class_space.names[top] if top >= 0 else "no answer"
            outcome = WORDS[AnswerOutcome(int(view.codes[place, position]))]
            score = float(answers.scores[place, position, 0])
        if answers.rows:
            note = f"{view.missed[position]} of {view.counted[position]} wrong"
        shown.append(
            ImageTile(
                site.images.address(view.test_set.name, position), choice.image_page(position),
                view.test_set.ids[position], label_of(view.test_set, position), answer, outcome, score, note,
            )
        )  # fmt: skip
    return shown


def label_of(test_set: TestSet, position: int) -> str:
    """The name of an image's original label; empty if it has none."""
    label = int(test_set.labels[position])
    return "" if label == UNLABELED else test_set.class_space.names[label]
