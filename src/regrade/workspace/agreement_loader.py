"""Agreement of a queue's reviewers, from their independent votes."""

from __future__ import annotations

from regrade.core import InputError
from regrade.ledger import Ledger, Mode, Queue
from regrade.studies import PanelAgreement, PanelVote, panel_agreement


def study_agreement(ledger: Ledger, queue: Queue, *, confidence: float, revealed_only: bool) -> PanelAgreement:
    """Compute how far the reviewers of a queue agree; a training queue raises."""
    if queue.mode is Mode.TRAINING:
        raise InputError(f"{queue.name} is for training: agreement is not computed for training queues")
    votes = [
        PanelVote(vote.item_id, vote.person, vote.answer, vote.severity, vote.seconds)
        for vote in ledger.votes.independent(queue, revealed_only=revealed_only)
    ]
    return panel_agreement(
        votes, queue=queue.name, of=queue.question.subject, overlap=queue.overlap, confidence=confidence
    )
