"""Models of the reviewers of a queue, next to majority votes: how accurate each is, and where the answers differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core import Column, Estimate, Table
from regrade.core.amounts import amount
from regrade.core.arrays import IntArray
from regrade.stats import VoteArrays, dawid_skene, identified, one_coin, reviewer_accuracies

_LISTED = 5  # items that the warning names
_SURE = 0.9
"""The probability from which a model contradicts a majority.

Where it is nearer to one half, equally good reviewers seem different by chance: with 3 to 5 of them who are right 80 %
of the time, 13 to 62 % of queues of 60 or 200 items with two answers would have a warning, and 4 of 5 of the majorities
that it names would be right. From 0.9, one queue in 100 has one.
"""


@dataclass(frozen=True)
class PanelVote:
    """One reviewer's independent vote on an item."""

    item: int
    person: str
    answer: str
    severity: str | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class ModeledReviewer:
    """A reviewer's accuracy in the one-coin model; None if the votes do not determine it.

    ``only_answer`` is the answer of a reviewer who never gave another one.
    """

    person: str
    votes: int
    accuracy: Estimate | None
    only_answer: str | None


@dataclass(frozen=True)
class ModelAnswer:
    """The most probable answer of a model to an item."""

    answer: str
    probability: float


@dataclass(frozen=True)
class ItemDisagreement:
    """An item for which a model gives another answer than the majority a probability of at least 90 %."""

    item: str
    votes: tuple[tuple[str, int], ...]
    majority: str
    one_coin: ModelAnswer
    dawid_skene: ModelAnswer


@dataclass(frozen=True)
class ReviewerModels:
    """The reviewers of a queue under models of annotators, and the items on which a model contradicts the majority.

    ``items`` have an untied majority of two or more votes. No decision is changed.
    """

    reviewers: tuple[ModeledReviewer, ...]
    disagreements: tuple[ItemDisagreement, ...]
    items: int
    notes: tuple[str, ...]

    def table(self, title: str) -> Table:
        """One row per reviewer."""
        columns = (
            Column("person", "reviewer"), Column("votes", "votes"),
            Column("accuracy", "accuracy, one-coin model, %"), Column("only_answer", "only answer"),
        )  # fmt: skip
        rows = tuple((each.person, each.votes, each.accuracy, each.only_answer) for each in self.reviewers)
        return Table(title, columns, rows, (*self._warnings(), *self.notes))

    def disagreement_table(self, title: str) -> Table:
        """One row per item on which a model contradicts the majority."""
        columns = (
            Column("item", "item"), Column("votes", "votes"), Column("majority", "majority"),
            Column("one_coin", "one-coin"), Column("one_coin_probability", "probability, %"),
            Column("dawid_skene", "Dawid-Skene"), Column("dawid_skene_probability", "its probability, %"),
        )  # fmt: skip
        rows = tuple(
            (
                each.item,
                ", ".join(f"{answer} {count}" for answer, count in each.votes),
                each.majority,
                each.one_coin.answer,
                each.one_coin.probability,
                each.dawid_skene.answer,
                each.dawid_skene.probability,
            )
            for each in self.disagreements
        )
        return Table(title, columns, rows, (*self._warnings(), *self.notes))

    def _warnings(self) -> Iterator[str]:
        if self.disagreements:
            named = "; ".join(each.item for each in self.disagreements[:_LISTED])
            more = f" and {len(self.disagreements) - _LISTED} more" if len(self.disagreements) > _LISTED else ""
            yield (
                f"WARNING: on {len(self.disagreements)} of {amount(self.items, 'item')} a model contradicts the "
                f"majority with a probability of at least {100 * _SURE:.0f} %: {named}{more}; decisions stay as they "
                "are: discuss these items"
            )


def reviewer_models(
    votes: Sequence[PanelVote], name: Callable[[int], str], *, rng: np.random.Generator, confidence: float = 0.95
) -> ReviewerModels:
    """Fit models of annotators to the votes of a queue; ``name`` names an item.

    Items with a single vote tell nothing about who is right, and are left out. Undefined results are None or empty, and
    the notes explain why.
    """
    by_item: dict[int, list[PanelVote]] = defaultdict(list)
    for vote in votes:
        by_item[vote.item].append(vote)
    shared = [vote for item_votes in by_item.values() if len(item_votes) > 1 for vote in item_votes]
    people, answers = sorted({vote.person for vote in votes}), sorted({vote.answer for vote in shared})
    own = Counter(vote.person for vote in votes)
    if len(answers) < 2:
        reason = "all votes are the same answer" if shared else "no item has the votes of two people yet"
        rows = tuple(ModeledReviewer(person, own[person], None, _only(votes, person)) for person in people)
        return ReviewerModels(rows, (), len({vote.item for vote in shared}), (f"no models: {reason}",))
    items, voters = list(dict.fromkeys(vote.item for vote in shared)), sorted({vote.person for vote in shared})
    numbered = VoteArrays(
        _codes(items, [vote.item for vote in shared]),
        _codes(voters, [vote.person for vote in shared]),
        _codes(answers, [vote.answer for vote in shared]),
    )
    accuracies = dict(zip(voters, _accuracies(numbered, rng, confidence), strict=True))
    rows = tuple(
        ModeledReviewer(person, own[person], accuracies.get(person), _only(votes, person)) for person in people
    )
    disagreements, untied = _disagreements(numbered, lambda place: name(items[place]), answers)
    return ReviewerModels(
        rows, disagreements, untied, tuple(_notes(rows, len(items), untied, len(answers), confidence))
    )


def _codes(values: Sequence[Any], of_votes: Sequence[Any]) -> IntArray:
    """Shape (v,): the place of each vote's value among the values."""
    place = {value: number for number, value in enumerate(values)}
    return np.array([place[value] for value in of_votes])


def _accuracies(votes: VoteArrays, rng: np.random.Generator, confidence: float) -> list[Estimate | None]:
    determined = identified(votes)
    if not determined.any():
        return [None] * len(determined)
    estimates = reviewer_accuracies(votes, rng=rng, confidence=confidence)
    return [each if is_determined else None for each, is_determined in zip(estimates, determined, strict=True)]


def _only(votes: Sequence[PanelVote], person: str) -> str | None:
    given = {vote.answer for vote in votes if vote.person == person}
    return given.pop() if len(given) == 1 else None


def _disagreements(
    votes: VoteArrays, name: Callable[[int], str], answers: Sequence[str]
) -> tuple[tuple[ItemDisagreement, ...], int]:
    """The items on which a model contradicts the untied majority, and the number of items with such a majority."""
    counts = votes.counts()
    untied = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
    models = one_coin(votes), dawid_skene(votes)
    majority = counts.argmax(axis=1)
    best = np.stack([model.posterior.argmax(axis=1) for model in models])
    sure = np.stack([model.posterior.max(axis=1) for model in models]) >= _SURE
    differing = np.flatnonzero(untied & ((best != majority) & sure).any(axis=0) & identified(votes).any())
    rows = []
    for place in differing.tolist():
        by_votes = np.argsort(-counts[place], kind="stable")
        rows.append(
            ItemDisagreement(
                name(place),
                tuple((answers[code], int(counts[place, code])) for code in by_votes if counts[place, code]),
                answers[majority[place]],
                *(
                    ModelAnswer(answers[codes[place]], float(model.posterior[place, codes[place]]))
                    for model, codes in zip(models, best, strict=True)
                ),
            )
        )
    return tuple(rows), int(untied.sum())


def _notes(
    reviewers: Sequence[ModeledReviewer], items: int, untied: int, answers: int, confidence: float
) -> Iterator[str]:
    yield f"from independent votes on {amount(items, 'item')} with two votes or more, {items - untied} of them tied"
    if not any(each.accuracy for each in reviewers):
        yield (
            "no accuracies: they are not identified, since no three people share items two by two; two people's "
            "agreement does not tell which of them is right"
        )
        return
    yield (
        "accuracy: one-coin model with a prior of two right votes and one wrong one; right answers are not known, and "
        f"{100 * confidence:g}% intervals hold if people err independently and items are equally hard"
    )
    if answers == 2:
        yield "with two answers, the accuracy and interval of one good reviewer among weak ones are too low"
    if without := [each.person for each in reviewers if each.accuracy is None]:
        yield f"no accuracy, since too few items are shared with two others: {', '.join(without)}"
    if same := [each.person for each in reviewers if each.only_answer is not None]:
        yield f"one answer only, which tells nothing about the items: {', '.join(same)}"
