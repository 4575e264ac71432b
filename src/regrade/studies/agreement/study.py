"""The record of the agreement between reviewers: its options, and the votes that it reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol

from regrade.core import InputError
from regrade.store import Store
from regrade.studies.agreement.analysis import (
    AgreementPart,
    PanelAgreement,
    PanelVote,
    QueueAgreements,
    panel_agreement,
)
from regrade.studies.study import Parts, Study, StudyOptions, option

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Queue


class HasLedger(Protocol):
    """An object with a store and its ledger of votes."""

    store: Store

    @property
    def readable_ledger(self) -> Ledger:
        """The ledger, for reading."""


@dataclass(frozen=True)
class AgreementOptions(StudyOptions):
    """Which queues, and which of their items."""

    queue: str | None = option("The queue (default: all queues).", None, is_argument=True)
    revealed_only: bool = field(default=False, kw_only=True)


def run(review: HasLedger, options: AgreementOptions) -> QueueAgreements:
    """Agreement of the reviewers of a queue, from votes cast before they could see each other's votes.

    Without a name these are all queues but those for training and grids. ``revealed_only`` keeps items with all votes,
    which is what reviewers who still have to vote may see.
    """
    ledger = review.readable_ledger
    from regrade.ledger import Mode, Question

    if options.queue is None:
        counted = [queue for queue in ledger.queues.all() if queue.mode is not Mode.TRAINING]
        queues = [queue for queue in counted if queue.question is not Question.SELECT]
        if not queues:
            raise InputError("there is no queue yet whose answers count: create one with regrade review queue")
    else:
        queues = [ledger.queues.named(options.queue)]
        if queues[0].mode is Mode.TRAINING:
            raise InputError(f"{queues[0].name} is for training: agreement is not computed for training queues")
        if queues[0].question is Question.SELECT:
            raise InputError(f"the agreement on grids is on the page of build {queues[0].build} in the app")
    confidence = review.store.config.confidence
    panels = [_panel(ledger, queue, options, confidence) for queue in queues]
    return QueueAgreements(tuple(panels), is_named=options.queue is not None)


def _panel(ledger: Ledger, queue: Queue, options: AgreementOptions, confidence: float) -> PanelAgreement:
    votes = [
        PanelVote(vote.item_id, vote.person, vote.answer, vote.severity, vote.seconds)
        for vote in ledger.votes.independent(queue, revealed_only=options.revealed_only)
    ]
    return panel_agreement(
        votes, queue=queue.name, of=queue.question.subject, overlap=queue.overlap, confidence=confidence
    )


AGREEMENT = Study(
    name="agreement",
    question="How far do the reviewers of a queue agree?",
    summary="Measure agreement between reviewers: equal answers, Fleiss' kappa and Krippendorff's alpha."
    "\n\nOnly independent votes count, which were cast before the reviewers could see each other's votes.",
    options=AgreementOptions,
    result=QueueAgreements,
    run=run,
    parts=Parts(
        AgreementPart,
        "panel: agreement of all reviewers (default). reviewers: each reviewer of a queue compared with the others.",
        lambda _options, _result: AgreementPart.PANEL,
    ),
    data=attrgetter("review"),
    head=None,
)
"""Agreement between the reviewers of one queue or of all queues."""
