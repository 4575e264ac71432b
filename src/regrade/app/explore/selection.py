"""The images that a choice of filters leaves, in the order that is asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regrade.app.explore.choice import Choice
from regrade.app.explore.explorer import Explorer, View
from regrade.app.explore.outcomes import AnswerKind, AnswerOutcome, are
from regrade.core import ClassSpace, InputError, UndefinedError, UnknownName
from regrade.core.arrays import BoolArray, IntArray

PAGE = 60
"""Images a page."""

ORDERS = {"": "As stored", "hardest": "Missed by most first", "confident": "Most confident first"}
"""The orders of images, as pages call them."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The places of the images that are chosen, in order."""

    positions: IntArray

    @property
    def pages(self) -> int:
        """How many pages they fill; one where there are none."""
        return max(1, -(-len(self.positions) // PAGE))

    def shown(self, page: int) -> list[int]:
        """The images of a page, of the last one for a page after it."""
        begin = (min(page, self.pages) - 1) * PAGE
        return [int(one) for one in self.positions[begin : begin + PAGE]]

    def around(self, position: int) -> tuple[int | None, int | None, int | None]:
        """The number of an image among the chosen, and the images before and after it; none where there is none."""
        found = np.flatnonzero(self.positions == position)
        if not found.size:
            return None, None, None
        at = int(found[0])
        before = int(self.positions[at - 1]) if at else None
        after = int(self.positions[at + 1]) if at + 1 < len(self.positions) else None
        return at + 1, before, after


def selected(explorer: Explorer, view: View, choice: Choice, hidden: BoolArray) -> Selection:
    """Choose images; without a model, one answer of any model or person that fits all filters is enough.

    ``hidden`` (n,) are never chosen, whatever the filters are.
    """
    test_set, answers = view.test_set, view.answers
    inside = explorer.inside(view, choice.slice) & ~hidden
    if choice.label:
        inside &= view.of_class(class_named(test_set.class_space, choice.label))
    places = [answers.place(choice.model)] if choice.model else list(range(len(answers.rows)))
    if choice.outcome or choice.predicted:
        inside &= _any_fits(view, places, choice)
    if choice.other:
        inside &= _of_kind(view, answers.place(choice.other), kind_named(choice.other_outcome or "right"))
    if choice.find:
        wanted = choice.find.casefold()
        inside &= np.fromiter((wanted in one.casefold() for one in test_set.ids), dtype=bool, count=len(test_set))
    return Selection(_ordered(view, choice, np.flatnonzero(inside)))


def kind_named(name: str) -> AnswerKind:
    """A kind of answers by its name; an unknown one raises."""
    try:
        return AnswerKind(name)
    except ValueError:
        raise UnknownName("outcome", name, [kind.value for kind in AnswerKind]) from None


def class_named(space: ClassSpace, text: str) -> int:
    """A class by its id, its name or one of its words; what fits none or several raises."""
    if text in space.index_of:
        return space.index_of[text]
    wanted = text.strip().casefold()
    for found in (
        [place for place, name in enumerate(space.names) if name.casefold() == wanted],
        [place for place, words in enumerate(space.lemmas) if wanted in (word.casefold() for word in words)],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            few = ", ".join(f"{space.ids[one]} ({space.names[one]})" for one in found[:5])
            raise InputError(f"{text!r} may be {few}: give the id")
    raise UnknownName(f"class of {space.name}", text, [*space.ids, *space.names])


def _any_fits(view: View, places: list[int], choice: Choice) -> BoolArray:
    """Shape (n,): the images of which some answer is of the kind and class that are asked for."""
    kind = kind_named(choice.outcome) if choice.outcome else None
    asked = None
    if choice.predicted:
        asked = class_named(view.test_set.class_space, choice.predicted)
    fits = np.zeros(len(view.test_set), dtype=bool)
    for place in places:
        one = np.ones(len(fits), dtype=bool) if kind is None else _of_kind(view, place, kind)
        fits |= one if asked is None else one & (view.answers.answered[place] == asked)
    return fits


def _of_kind(view: View, place: int, kind: AnswerKind) -> BoolArray:
    if kind is not AnswerKind.NOT_IN_FIVE:
        return are(kind, view.codes[place])
    answers = view.answers
    try:
        found = answers.rows[place].scoring.top_k(answers.predictions(place), 5)
    except UndefinedError as error:
        raise InputError(str(error)) from None
    return np.asarray(~found.right & (answers.own[place] != AnswerOutcome.NOT_COUNTED))


def _ordered(view: View, choice: Choice, positions: IntArray) -> IntArray:
    match choice.order:
        case "":
            return positions
        case "hardest":
            return positions[np.argsort(-view.missed[positions], kind="stable")]
        case "confident":
            if not choice.model:
                raise InputError("images are in the order of a model's confidence once a model is chosen")
            scores = np.asarray(view.answers.scores[view.answers.place(choice.model), :, 0])[positions]
            return positions[np.argsort(-np.nan_to_num(scores, nan=-np.inf), kind="stable")]
    raise UnknownName("order", choice.order, [one for one in ORDERS if one])
