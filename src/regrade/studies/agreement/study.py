"""The record of the agreement between reviewers: its options, and the votes that it reads."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol

import numpy as np

from regrade.core import InputError
from regrade.studies.agreement.analysis import (
    AgreementPart,
    PanelAgreement,
    QueueAgreements,
    panel_agreement,
)
from regrade.studies.agreement.reviewer_models import PanelVote, reviewer_models
from regrade.studies.study import Parts, Study, StudyOptions, option, seed_option

if TYPE_CHECKING:
    from regrade.ledger import Ledger, Queue
    from regrade.store import Store


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
    reviewer_models: bool = option(
        "Fit models of the reviewers to the votes on a queue: the accuracy of each reviewer, and items on which a "
        "model contradicts the majority. Decisions stay as they are.",
        False,
    )
    seed: int = seed_option("the intervals of --reviewer-models")
    revealed_only: bool = field(default=False, kw_only=True)


def run(review: HasLedger, options: AgreementOptions) -> QueueAgreements:
    """Agreement of the reviewers of a queue, from votes cast before they could see each other's votes.

    Without a name these are all queues but those for training and grids. ``revealed_only`` keeps items with all votes,
    which is what reviewers who still have to vote may see. ``reviewer_models`` adds the accuracies of the reviewers of
    one queue under models of annotators, next to majority votes; ``seed`` is that of their intervals.
    """
    ledger = review.readable_ledger
    from regrade.ledger import Mode, Question

    if options.queue is None:
        if options.reviewer_models:
            raise InputError("--reviewer-models needs the name of a queue")
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
    panel = panel_agreement(
        votes, queue=queue.name, of=queue.question.subject, overlap=queue.overlap, confidence=confidence
    )
    if not options.reviewer_models:
        return panel
    rng = np.random.default_rng(options.seed)
    return replace(panel, models=reviewer_models(votes, partial(_name, ledger), rng=rng, confidence=confidence))


def _name(ledger: Ledger, item_id: int) -> str:
    """The image of an item, with its class if the question is about one."""
    item = ledger.items.with_id(item_id)
    return f"{item.example}, {item.class_id}" if item.class_id else item.example


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
        "panel: agreement of all reviewers (default). reviewers: each reviewer of a queue compared with the others. "
        "models, disagreements: with --reviewer-models.",
        lambda options, _result: AgreementPart.MODELS if options.reviewer_models else AgreementPart.PANEL,
    ),
    data=attrgetter("review"),
    head=None,
)
"""Agreement between the reviewers of one queue or of all queues."""
