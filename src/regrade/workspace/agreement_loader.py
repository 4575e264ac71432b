"""Agreement of a queue's reviewers, from their independent votes."""

from __future__ import annotations

from regrade.core import InputError
from regrade.ledger import Ledger, Mode, Question, Queue
from regrade.studies import PanelAgreement, PanelVote, panel_agreement

_SUBJECTS = {Question.JUDGE: "verdict", Question.LABEL: "label", Question.MISTAKE: "category"}


def study_agreement(ledger: Ledger, queue: Queue, *, confidence: float, revealed_only: bool) -> PanelAgreement:
    """Compute how far the reviewers of a queue agree; a training queue raises."""
    if queue.mode is Mode.TRAINING:
        raise InputError(f"{queue.name} is for training: agreement is not computed for training queues")
    votes = [
        PanelVote(vote.item_id, vote.person, vote.answer, vote.severity, vote.seconds)
        for vote in ledger.votes.independent(queue, revealed_only=revealed_only)
    ]
    subject = _SUBJECTS[queue.question]
    return panel_agreement(votes, queue=queue.name, of=subject, overlap=queue.overlap, confidence=confidence)
