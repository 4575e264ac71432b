"""Agreement between the reviewers of a queue, from independent votes given before the others' were visible."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

import numpy as np

from regrade.core import Column, Estimate, InputError, Table, Tabular, UndefinedError
from regrade.core.arrays import IntArray
from regrade.core.record import json_key
from regrade.stats import fleiss_kappa, krippendorff_alpha, pairwise_agreement, proportion, quantile
from regrade.studies.agreement.reviewer_models import PanelVote, ReviewerModels

_UNDECIDED = "the others' votes are tied or missing on every item"


@dataclass(frozen=True)
class AgreementMeasures:
    """Agreement of answers: share of equal pairs, Fleiss' kappa and Krippendorff's alpha; None where undefined.

    ``of`` names the question, and ``undefined`` says why a measure has no value.
    """

    of: str
    equal: Estimate | None
    fleiss: Estimate | None
    krippendorff: Estimate | None
    undefined: tuple[str, ...]


@dataclass(frozen=True)
class ReviewerAgreement:
    """How often a reviewer votes with the majority of the others, and the median seconds per vote.

    The reviewer's own vote does not count towards the majority; items on which the others are tied are left out.
    """

    person: str
    votes: int
    with_others: Estimate | None
    seconds: Estimate | None


@dataclass(frozen=True, repr=False)
class PanelAgreement(Tabular):
    """Agreement in one queue; ``items`` counts the items with votes of two or more people."""

    queue: str
    votes: int
    items: int
    measures: tuple[AgreementMeasures, ...]
    seconds: Estimate | None
    reviewers: tuple[ReviewerAgreement, ...]
    models: ReviewerModels | None = field(default=None, metadata=json_key("models", only_if_set=True))

    def table(self) -> Table:
        """One row per question."""
        columns = (
            Column("queue", "queue"), Column("of", "question"), Column("people", "people"), Column("votes", "votes"),
            Column("items", "items with two votes"), Column("equal", "equal answers, %"),
            Column("fleiss", "Fleiss' kappa", percent=False, digits=2),
            Column("krippendorff", "Krippendorff's alpha", percent=False, digits=2),
            Column("seconds", "median seconds", percent=False),
        )  # fmt: skip
        rows = tuple(
            (self.queue, measures.of, len(self.reviewers), self.votes, self.items, measures.equal, measures.fleiss,
             measures.krippendorff, self.seconds)
            for measures in self.measures
        )  # fmt: skip
        return Table(f"agreement in {self.queue}", columns, rows, (_INDEPENDENT, *self.reasons))

    def reviewer_table(self) -> Table:
        """One row per reviewer."""
        columns = (
            Column("person", "reviewer"), Column("votes", "votes"),
            Column("with_others", "agrees with most others, %"), Column("items", "of items"),
            Column("seconds", "median seconds", percent=False),
        )  # fmt: skip
        rows = tuple(
            (
                reviewer.person,
                reviewer.votes,
                reviewer.with_others,
                reviewer.with_others.n if reviewer.with_others else 0,
                reviewer.seconds,
            )
            for reviewer in self.reviewers
        )
        alone = tuple(f"{person.person}: {_UNDECIDED}" for person in self.reviewers if person.with_others is None)
        notes = (_INDEPENDENT, "items on which the others are tied are left out", *alone)
        return Table(f"reviewers of {self.queue} compared with the others", columns, rows, notes)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why some measures have no value."""
        several = len(self.measures) > 1
        return tuple(
            f"{f'{measures.of}, ' if several else ''}{reason}"
            for measures in self.measures
            for reason in measures.undefined
        )


class AgreementPart(Enum):
    """The tables of the agreement in queues."""

    PANEL = "panel"
    REVIEWERS = "reviewers"
    MODELS = "models"
    DISAGREEMENTS = "disagreements"


@dataclass(frozen=True, repr=False)
class QueueAgreements(Tabular):
    """Agreement in one named queue, or in every queue."""

    panels: tuple[PanelAgreement, ...]
    is_named: bool

    @property
    def parts(self) -> tuple[AgreementPart, ...]:
        """The tables that the result has."""
        if not self.is_named:
            return (AgreementPart.PANEL,)
        own = (AgreementPart.PANEL, AgreementPart.REVIEWERS)
        return own if self.panels[0].models is None else tuple(AgreementPart)

    def part(self, part: AgreementPart) -> Table:
        """One of the tables."""
        if part is AgreementPart.PANEL:
            return self.table()
        if not self.is_named:
            raise InputError(f"--show {part.value} needs the name of a queue")
        panel = self.panels[0]
        if part is AgreementPart.REVIEWERS:
            return panel.reviewer_table()
        if panel.models is None:
            raise InputError(f"--show {part.value} needs --reviewer-models")
        title = f"{part.value} of {panel.queue}"
        return panel.models.table(title) if part is AgreementPart.MODELS else panel.models.disagreement_table(title)

    def table(self) -> Table:
        """One row per queue and question."""
        tables = [panel.table() for panel in self.panels]
        if self.is_named:
            return tables[0]
        rows = tuple(row for table in tables for row in table.rows)
        reasons = tuple(f"{panel.queue}: {reason}" for panel in self.panels for reason in panel.reasons)
        return replace(tables[0], title="agreement", rows=rows, notes=(_INDEPENDENT, *reasons))

    def json_fields(self) -> dict[str, Any]:
        """The agreement in the named queue, or a list of all."""
        return self.panels[0].json_fields() if self.is_named else {"agreement": self.panels}


_INDEPENDENT = "from independent votes, given before the others' votes were visible"


def panel_agreement(
    votes: Sequence[PanelVote], *, queue: str, of: str, overlap: int, confidence: float = 0.95
) -> PanelAgreement:
    """Measure agreement from the independent votes on a queue's items, each voted on by ``overlap`` people.

    Votes changed in a discussion are not used: they would measure the agreement that the discussion produced. A
    reviewer is compared with the majority of the *others*, not with the decision, which the reviewer's own vote is part
    of. Kappa uses the items with all votes, not necessarily by the same people (Fleiss 1971); the other measures use
    all items with two or more votes. Intervals are over items; those of reviewers are exact.
    """
    by_item: dict[int, list[PanelVote]] = defaultdict(list)
    for vote in votes:
        by_item[vote.item].append(vote)
    shared = [item_votes for item_votes in by_item.values() if len(item_votes) > 1]
    answers = [[vote.answer for vote in item_votes] for item_votes in shared]
    measures = [_measures(of, answers, overlap, confidence)]
    if any(vote.severity is not None for vote in votes):
        severities = [[vote.severity for vote in item_votes if vote.severity is not None] for item_votes in shared]
        several = [severity for severity in severities if len(severity) > 1]
        measures.append(_measures("severity", several, overlap, confidence))
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
    distinct = dict.fromkeys(answer for item_answers in answers for answer in item_answers)
    codes = {answer: code for code, answer in enumerate(distinct)}
    every = [[codes[answer] for answer in item_answers] for item_answers in answers]
    complete = [item_codes for item_codes in every if len(item_codes) == overlap]
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
    """Answers (most votes of an item, items), -1 for none: agreement does not depend on who gave which answer."""
    answers = np.full((max(len(codes) for codes in items), len(items)), -1, dtype=np.int64)
    for place, codes in enumerate(items):
        answers[: len(codes), place] = codes
    return answers


def _reviewers(
    votes: Iterable[PanelVote], by_item: Mapping[int, Sequence[PanelVote]], confidence: float
) -> tuple[ReviewerAgreement, ...]:
    own: dict[str, list[PanelVote]] = defaultdict(list)
    agrees: dict[str, list[bool]] = defaultdict(list)
    for vote in votes:
        own[vote.person].append(vote)
    for item_votes in by_item.values():
        counts = Counter(vote.answer for vote in item_votes)
        for vote in item_votes:
            if (majority := _majority_of_others(counts, vote.answer)) is not None:
                agrees[vote.person].append(majority == vote.answer)
    return tuple(
        ReviewerAgreement(
            person,
            len(own[person]),
            proportion(sum(agrees[person]), len(agrees[person]), confidence=confidence) if agrees[person] else None,
            _median(own[person], confidence),
        )
        for person in sorted(own)
    )


def _majority_of_others(counts: Counter[str], mine: str) -> str | None:
    """The most common answer of an item's other voters; None if they are tied or there are none."""
    (best, most), *rest = Counter({**counts, mine: counts[mine] - 1}).most_common()
    return best if most > 0 and not (rest and rest[0][1] == most) else None


def _median(votes: Iterable[PanelVote], confidence: float) -> Estimate | None:
    try:
        return quantile([vote.seconds for vote in votes if vote.seconds is not None], 0.5, confidence=confidence)
    except UndefinedError:
        return None
