"""Thumbnails of images, with label, answer and outcome."""

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
