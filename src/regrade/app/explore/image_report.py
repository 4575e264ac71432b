"""What is known of one image: its labels by version, its slices, and what everyone said of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import isnan

from regrade.app.explore.explorer import View
from regrade.app.explore.outcomes import WORDS, AnswerOutcome
from regrade.app.label_lookup import KnownLabels
from regrade.app.site import Site
from regrade.core import PERSON_PREFIX, UNLABELED, TestSet, UnknownName

_VERSIONS = 3  # of each label set that are shown, the newest first


@dataclass(frozen=True)
class RankedClass:
    """One of the best classes of a model: its name and score; ``class_id`` is empty where the set has no such class."""

    name: str
    class_id: str
    score: float | None


@dataclass(frozen=True)
class AnswerReport:
    """What one model or person said of the image, best first, and what comes of it."""

    name: str
    full_name: str
    person: bool
    outcome: AnswerOutcome
    best: tuple[RankedClass, ...]

    @property
    def word(self) -> str:
        """The outcome as the page says it."""
        return WORDS[self.outcome]

    @property
    def confidence(self) -> float:
        """The score of the best class, below all others where there is none."""
        score = self.best[0].score if self.best else None
        return float("-inf") if score is None else score


@dataclass(frozen=True)
class AlternativeClass:
    """A class that the image is taken for: by how many, and what comes of it."""

    name: str
    class_id: str
    count: int
    outcome: AnswerOutcome


@dataclass(frozen=True)
class VersionOfLabels:
    """What one version of a label set says of the image, and whether the version before it said the same."""

    full_name: str
    covered: bool
    known: KnownLabels
    unchanged: bool


def position_of(test_set: TestSet, number: int | None, example: str) -> int:
    """The place of an image by its number or its id; one that is not there raises."""
    if example:
        return test_set.position(example)
    if number is None or number >= len(test_set):
        raise UnknownName(f"image of {test_set.name}", "" if number is None else str(number), None)
    return number


def said_of(view: View, position: int, *, by_name: bool) -> list[AnswerReport]:
    """What everyone said who was asked: the most confident mistakes first, or by name."""
    answers, own = view.answers, view.test_set.class_space.index_of
    found = []
    for place, row in enumerate(answers.rows):
        if row.asked is not None and not row.asked[position]:
            continue
        space = row.class_space
        classes, scores = answers.classes[place, position].tolist(), answers.scores[place, position].tolist()
        best = tuple(
            RankedClass(
                space.names[one], space.ids[one] if space.ids[one] in own else "", None if isnan(score) else score
            )
            for one, score in zip(classes, scores, strict=True)
            if one >= 0
        )
        name = row.name.removeprefix(PERSON_PREFIX) if row.is_person else row.name
        found.append(AnswerReport(name, row.name, row.is_person, AnswerOutcome(int(view.codes[place, position])), best))
    if by_name:
        return sorted(found, key=lambda one: one.name.casefold())
    return sorted(
        found, key=lambda one: (one.outcome < AnswerOutcome.WRONG, one.outcome == 0, -one.confidence, one.name)
    )


def taken_for(view: View, position: int) -> list[AlternativeClass]:
    """The answers by how many gave them."""
    answers, space = view.answers, view.test_set.class_space
    asked = [row.asked is None or bool(row.asked[position]) for row in answers.rows]
    said = zip(answers.answered[:, position].tolist(), view.codes[:, position].tolist(), asked, strict=True)
    counts = Counter((one, code) for one, code, was_asked in said if was_asked)
    return [
        AlternativeClass(
            space.names[one] if one >= 0 else "none of its classes", space.ids[one] if one >= 0 else "", count,
            AnswerOutcome(code),
        )
        for (one, code), count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    ]  # fmt: skip


def versions_of(site: Site, test_set: TestSet, position: int, chosen: str) -> list[VersionOfLabels]:
    """What the newest versions of each label set say of an image, and the chosen one."""
    names = site.workspace.store.label_set_names(test_set.name)
    by_name: dict[str, list[str]] = {}
    for full in names:
        by_name.setdefault(full.rpartition("@")[0], []).append(full)
    found = []
    for versions in by_name.values():
        shown = [full for full in versions if full in versions[-_VERSIONS:] or full == chosen]
        before = None
        for full in shown:
            book = site.label_book(test_set.name, full)
            known = book.of(position)
            found.append(VersionOfLabels(full, bool(book.labels.covered[position]), known, known == before))
            before = known
    return found


def slices_with(test_set: TestSet, position: int) -> list[str]:
    """The slices that an image is in."""
    label = int(test_set.labels[position])
    groups = test_set.class_space.groups
    return [
        *(name for name, inside in test_set.subsets.items() if inside[position]),
        *(f"{column}={values[position]}" for column, values in test_set.group_columns.items()),
        *(name for name, classes in groups.items() if label != UNLABELED and label in classes),
    ]
