"""Images as small images with what matters of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from regrade.app.explore.choice import Choice
from regrade.app.explore.explorer import View
from regrade.app.explore.outcomes import WORDS, AnswerOutcome
from regrade.app.hidden_images import HiddenImages
from regrade.app.site import Site
from regrade.core import UNLABELED, TestSet


@dataclass(frozen=True)
class ImageTile:
    """One image: where its image and its page are, its label, and what was said of it."""

    image: str | None
    address: str
    id: str
    label: str
    said: str
    outcome: str
    score: float | None
    note: str


def tiles(site: Site, view: View, choice: Choice, positions: Iterable[int], hidden: HiddenImages) -> list[ImageTile]:
    """The images of a page but hidden ones: with a model what it says, without one how many have them wrong."""
    answers = view.answers
    place = answers.place(choice.model) if choice.model else None
    found = []
    for one in hidden.visible(view.test_set, positions):
        said, outcome, score, note = "", "", None, ""
        if place is not None:
            best = int(answers.classes[place, one, 0])
            said = answers.rows[place].class_space.names[best] if best >= 0 else "no answer"
            outcome = WORDS[AnswerOutcome(int(view.codes[place, one]))]
            score = float(answers.scores[place, one, 0])
        if answers.rows:
            note = f"{view.missed[one]} of {view.counted[one]} wrong"
        found.append(
            ImageTile(
                site.images.address(view.test_set.name, one), choice.image_page(one), view.test_set.ids[one],
                label_of(view.test_set, one), said, outcome, score, note,
            )
        )  # fmt: skip
    return found


def label_of(test_set: TestSet, position: int) -> str:
    """The name of an image's own label; empty where it has none."""
    label = int(test_set.labels[position])
    return "" if label == UNLABELED else test_set.class_space.names[label]
