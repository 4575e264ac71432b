"""Reading the independent votes of a queue for the agreement of its reviewers."""

from __future__ import annotations

from regrade.core import InputError
from regrade.ledger import Ledger, Mode, Question, Queue
from regrade.studies import PanelAgreement, PanelVote, panel_agreement

_ASKED = {Question.JUDGE: "verdict", Question.LABEL: "label", Question.MISTAKE: "category"}


def study_agreement(ledger: Ledger, queue: Queue, *, confidence: float, revealed_only: bool) -> PanelAgreement:
    """How far the people of a queue agree; one for training raises, its answers count for nothing."""
    if queue.mode is Mode.TRAINING:
        raise InputError(f"{queue.name} is for training: its answers count for nothing")
    votes = [
        PanelVote(one.item_id, one.person, one.answer, one.severity, one.seconds)
        for one in ledger.independent_votes(queue, revealed_only=revealed_only)
    ]
    asked = _ASKED[queue.question]
    return panel_agreement(votes, queue=queue.name, of=asked, overlap=queue.overlap, confidence=confidence)
