"""How far the reviewers of a queue agree, from what each said before anyone could see what the others say."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regrade.core import Column, Estimate, Table, Tabular, UndefinedError
from regrade.core.arrays import IntArray
from regrade.stats import fleiss_kappa, krippendorff_alpha, pairwise_agreement, proportion, quantile

_UNDECIDED = "the others' votes are tied or missing on every item"


@dataclass(frozen=True)
class PanelVote:
    """What someone said of an item, independently of the others."""

    item: int
    person: str
    answer: str
    severity: str | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class AgreementMeasures:
    """How far answers agree: pairs that are equal, Fleiss' kappa and Krippendorff's alpha; what is undefined is none.

    ``of`` is what was asked, and ``undefined`` says why a measure has no value.
    """

    of: str
    equal: Estimate | None
    fleiss: Estimate | None
    krippendorff: Estimate | None
    undefined: tuple[str, ...]


@dataclass(frozen=True)
class ReviewerAgreement:
    """How often someone's votes are what most of the others say, and the median of the seconds a vote took.

    One's own vote does not count among the others', and items on which these are tied say nothing.
    """

    person: str
    votes: int
    with_others: Estimate | None
    seconds: Estimate | None


@dataclass(frozen=True, repr=False)
class PanelAgreement(Tabular):
    """Agreement in one queue; ``items`` have the votes of two people or more."""

    queue: str
    votes: int
    items: int
    measures: tuple[AgreementMeasures, ...]
    seconds: Estimate | None
    reviewers: tuple[ReviewerAgreement, ...]

    def table(self) -> Table:
        """One line a question that was asked."""
        columns = (
            Column("queue", "queue"), Column("of", "of"), Column("people", "people"), Column("votes", "votes"),
            Column("items", "items with two votes"), Column("equal", "equal answers, %"),
            Column("fleiss", "Fleiss' kappa", percent=False, digits=2),
            Column("krippendorff", "Krippendorff's alpha", percent=False, digits=2),
            Column("seconds", "median seconds", percent=False),
        )  # fmt: skip
        rows = tuple(
            (self.queue, one.of, len(self.reviewers), self.votes, self.items, one.equal, one.fleiss, one.krippendorff,
             self.seconds)
            for one in self.measures
        )  # fmt: skip
        return Table(f"agreement in {self.queue}", columns, rows, (_INDEPENDENT, *self.reasons))

    def reviewer_table(self) -> Table:
        """One line a reviewer."""
        columns = (
            Column("person", "reviewer"), Column("votes", "votes"), Column("with_others", "as most others, %"),
            Column("items", "of items"), Column("seconds", "median seconds", percent=False),
        )  # fmt: skip
        rows = tuple(
            (one.person, one.votes, one.with_others, one.with_others.n if one.with_others else 0, one.seconds)
            for one in self.reviewers
        )
        alone = tuple(f"{one.person}: {_UNDECIDED}" for one in self.reviewers if one.with_others is None)
        notes = (_INDEPENDENT, "items on which the others are tied are left out", *alone)
        return Table(f"reviewers of {self.queue} against the others", columns, rows, notes)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why some measures have no value."""
        several = len(self.measures) > 1
        return tuple(f"{f'{one.of}, ' if several else ''}{reason}" for one in self.measures for reason in one.undefined)

    def as_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "queue": self.queue,
            "votes": self.votes,
            "items": self.items,
            "measures": [
                {
                    "of": one.of,
                    "equal": _plain(one.equal),
                    "fleiss": _plain(one.fleiss),
                    "krippendorff": _plain(one.krippendorff),
                    "undefined": list(one.undefined),
                }
                for one in self.measures
            ],
            "seconds": _plain(self.seconds),
            "reviewers": [
                {
                    "person": one.person,
                    "votes": one.votes,
                    "with_others": _plain(one.with_others),
                    "seconds": _plain(one.seconds),
                }
                for one in self.reviewers
            ],
        }


_INDEPENDENT = "from independent votes, before anyone could see the others'"


def panel_agreement(
    votes: Sequence[PanelVote], *, queue: str, of: str, overlap: int, confidence: float = 0.95
) -> PanelAgreement:
    """Measure agreement from the independent votes on a queue's items, each for ``overlap`` people.

    Votes that changed in discussion would show agreement that the discussion made. A reviewer is held against what most
    of the *others* said, not against the decision: one's own vote is part of that, and with two people would be half of
    it. Kappa takes the items that have all votes, which need not be of the same people (Fleiss 1971); the others take
    all items with two votes or more. Intervals are over items; those of reviewers are exact.
    """
    by_item: dict[int, list[PanelVote]] = defaultdict(list)
    for one in votes:
        by_item[one.item].append(one)
    shared = [said for said in by_item.values() if len(said) > 1]
    measures = [_measures(of, [[one.answer for one in said] for said in shared], overlap, confidence)]
    if any(one.severity is not None for one in votes):
        graded = [[one.severity for one in said if one.severity is not None] for said in shared]
        measures.append(_measures("severity", [said for said in graded if len(said) > 1], overlap, confidence))
    return PanelAgreement(
        queue,
        len(votes),
        len(shared),
        tuple(measures),
        _median(votes, confidence),
        _reviewers(votes, by_item, confidence),
    )


def _measures(of: str, answers: Sequence[Sequence[str]], overlap: int, confidence: float) -> AgreementMeasures:
    if not answers:
        return AgreementMeasures(of, None, None, None, ("no item has the votes of two people yet",))
    codes = {answer: code for code, answer in enumerate(dict.fromkeys(one for said in answers for one in said))}
    every = [[codes[one] for one in said] for said in answers]
    complete = [said for said in every if len(said) == overlap]
    undefined: list[str] = []

    def measured(name: str, measure: Callable[..., Estimate], items: Sequence[Sequence[int]]) -> Estimate | None:
        try:
            if len(items) < 2:
                raise UndefinedError(f"fewer than two items have {'all votes' if items is complete else 'two votes'}")
            return measure(_matrix(items), confidence=confidence)
        except UndefinedError as error:
            undefined.append(f"no {name}: {error}")
            return None

    return AgreementMeasures(
        of,
        measured("share of equal answers", pairwise_agreement, every),
        measured("Fleiss' kappa", fleiss_kappa, complete),
        measured("Krippendorff's alpha", krippendorff_alpha, every),
        tuple(undefined),
    )


def _matrix(items: Sequence[Sequence[int]]) -> IntArray:
    """Answers (most votes of an item, items), -1 for none: who gave which does not matter to agreement."""
    answers = np.full((max(len(said) for said in items), len(items)), -1, dtype=np.int64)
    for place, said in enumerate(items):
        answers[: len(said), place] = said
    return answers


def _reviewers(
    votes: Iterable[PanelVote], by_item: Mapping[int, Sequence[PanelVote]], confidence: float
) -> tuple[ReviewerAgreement, ...]:
    own: dict[str, list[PanelVote]] = defaultdict(list)
    alike: dict[str, list[bool]] = defaultdict(list)
    for vote in votes:
        own[vote.person].append(vote)
    for said in by_item.values():
        counts = Counter(one.answer for one in said)
        for vote in said:
            if (most := _most_of_the_others(counts, vote.answer)) is not None:
                alike[vote.person].append(most == vote.answer)
    return tuple(
        ReviewerAgreement(
            person,
            len(own[person]),
            proportion(sum(alike[person]), len(alike[person]), confidence=confidence) if alike[person] else None,
            _median(own[person], confidence),
        )
        for person in sorted(own)
    )


def _most_of_the_others(counts: Counter[str], mine: str) -> str | None:
    """What most of an item's other voters say; none in a tie, or without any."""
    (best, most), *rest = Counter({**counts, mine: counts[mine] - 1}).most_common()
    return best if most > 0 and not (rest and rest[0][1] == most) else None


def _median(votes: Iterable[PanelVote], confidence: float) -> Estimate | None:
    try:
        return quantile([one.seconds for one in votes if one.seconds is not None], 0.5, confidence=confidence)
    except UndefinedError:
        return None


def _plain(estimate: Estimate | None) -> dict[str, Any] | None:
    return None if estimate is None else estimate.as_dict()
